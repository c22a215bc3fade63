"""What is compressed already is not compressed again: PostgreSQL would try, on every row, and give up."""

from django.db import migrations

COLUMNS = [("agent_sessions_sourcechunk", "data"), ("agent_sessions_entry", "parts"), ("agent_sessions_insertion", "parts")]


class Migration(migrations.Migration):
    dependencies = [("agent_sessions", "0001_sessions")]

    operations = [
        migrations.RunSQL(
            f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL",
            f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTENDED",
        )
        for table, column in COLUMNS
    ]
