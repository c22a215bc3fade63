"""The sums of the audit, its append-only history, and its indexes by trigrams where the server has `pg_trgm`.

Without that extension (it comes with PostgreSQL, and an owner of the database may add it) words are looked for by reading all rows, and
only goals of the same words are taken for the same goal.
"""

from django.db import DatabaseError, connection, migrations, transaction

from sessions.audit_sql import WORDS, differences, triggers, undone


def trigrams(apps, schema_editor):
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
            for statement in WORDS:
                cursor.execute(statement)
    except DatabaseError:
        return


def no_trigrams(apps, schema_editor):
    for name in ("abandonment_words", "abandonment_kin"):
        schema_editor.execute(f"DROP INDEX IF EXISTS {name}")


class Migration(migrations.Migration):
    dependencies = [("agent_sessions", "0008_audit"), ("webapp", "0002_auditor")]

    operations = [
        migrations.RunSQL("UPDATE agent_sessions_abandonment SET family = folded", migrations.RunSQL.noop),
        migrations.RunSQL(triggers(), undone()),
        migrations.RunSQL(
            differences("SELECT 1 AS sign, a.* FROM agent_sessions_abandonment a"), "DELETE FROM agent_sessions_audittally"
        ),
        migrations.RunPython(trigrams, no_trigrams),
    ]
