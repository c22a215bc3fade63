"""Places of words by volumes of several sessions instead of by stretches of one; saved searches.

What was looked through is looked through again: by a worker, or by `reindex`.
"""

import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from sessions.search.statements import UNVOLUMES, VOLUMES


class Migration(migrations.Migration):
    dependencies = [
        ("agent_sessions", "0012_audit_orders"),
        ("webapp", "0002_auditor"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.DeleteModel(name="SearchPosting"),
        migrations.DeleteModel(name="SearchStretch"),
        migrations.CreateModel(
            name="SavedSearch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.TextField()),
                ("query", models.TextField()),
                ("saved_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.DB_CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.DB_CASCADE, related_name="+", to="webapp.workspace"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "user", "name"), name="saved_search_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="SearchVolume",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                ("size", models.IntegerField()),
                ("classes", models.BinaryField()),
                ("made_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.DB_CASCADE, related_name="+", to="webapp.workspace"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SearchStretch",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                ("at", models.IntegerField()),
                ("first", models.IntegerField()),
                ("stop", models.IntegerField()),
                (
                    "session",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.DB_CASCADE,
                        related_name="stretches",
                        to="agent_sessions.session",
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.DB_CASCADE,
                        related_name="+",
                        to="agent_sessions.version",
                    ),
                ),
                (
                    "volume",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.DB_CASCADE,
                        related_name="stretches",
                        to="agent_sessions.searchvolume",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("session", "version", "first"), name="search_stretch", nulls_distinct=False
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SearchPosting",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "word", "volume", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("word", models.IntegerField()),
                ("volume", models.IntegerField()),
                ("places", models.BinaryField()),
            ],
            options={
                "indexes": [
                    django.contrib.postgres.indexes.BrinIndex(
                        fields=["volume"], name="search_posting_volume", pages_per_range=16
                    )
                ],
            },
        ),
        migrations.RunSQL(VOLUMES, UNVOLUMES),
    ]
