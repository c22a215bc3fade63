"""The rows of search, and what the database sees to by itself. What is here already is looked through by a worker, or by `reindex`.

The middle of a word is found by trigrams where the server has `pg_trgm`; without it, by reading all words.
"""

import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import DatabaseError, connection, migrations, models, transaction

from sessions.search.statements import FORGET, KEEP, TRIGRAMS


def trigrams(apps, schema_editor):
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
            cursor.execute(TRIGRAMS)
    except DatabaseError:
        return


class Migration(migrations.Migration):
    dependencies = [("agent_sessions", "0009_audit_sums")]

    operations = [
        migrations.CreateModel(
            name="SearchWord",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                ("word", models.TextField(db_collation="C")),
            ],
            options={"constraints": [models.UniqueConstraint(fields=("word",), name="search_word")]},
        ),
        migrations.CreateModel(
            name="SearchPosting",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "word", "stretch", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("word", models.IntegerField()),
                ("stretch", models.IntegerField()),
                ("places", models.BinaryField()),
            ],
            options={
                "indexes": [
                    django.contrib.postgres.indexes.BrinIndex(
                        fields=["stretch"], name="search_posting_stretch", pages_per_range=16
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SearchStretch",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                ("first", models.IntegerField()),
                ("stop", models.IntegerField()),
                ("classes", models.BinaryField()),
                ("made_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "session",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.DB_CASCADE,
                        related_name="stretches",
                        to="agent_sessions.session",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("session", "first"), name="search_stretch")],
            },
        ),
        migrations.RunSQL(FORGET, KEEP),
        migrations.RunPython(trigrams, migrations.RunPython.noop),
    ]
