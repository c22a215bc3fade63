"""Indexes for every order of the audit, for one project's goals, and for what was tried again."""

import django.db.models.functions.comparison
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agent_sessions", "0011_list_views"),
        ("webapp", "0002_auditor"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="abandonment",
            name="abandonment_family",
        ),
        migrations.AddIndex(
            model_name="abandonment",
            index=models.Index(
                models.F("workspace"),
                models.OrderBy(
                    django.db.models.functions.comparison.Coalesce(models.F("cost"), models.Value(Decimal("-1"))),
                    descending=True,
                ),
                models.OrderBy(models.F("id"), descending=True),
                condition=models.Q(("stands", True)),
                name="abandonment_dearest",
            ),
        ),
        migrations.AddIndex(
            model_name="abandonment",
            index=models.Index(
                models.F("workspace"),
                models.OrderBy(
                    django.db.models.functions.comparison.Coalesce(models.F("seconds"), models.Value(-1)),
                    descending=True,
                ),
                models.OrderBy(models.F("id"), descending=True),
                condition=models.Q(("stands", True)),
                name="abandonment_longest",
            ),
        ),
        migrations.AddIndex(
            model_name="abandonment",
            index=models.Index(
                condition=models.Q(("stands", True)),
                fields=["workspace", "-attempts", "-id"],
                name="abandonment_oftenest",
            ),
        ),
        migrations.AddIndex(
            model_name="abandonment",
            index=models.Index(
                condition=models.Q(("stands", True)), fields=["workspace", "project"], name="abandonment_project"
            ),
        ),
        migrations.AddIndex(
            model_name="abandonment",
            index=models.Index(
                condition=models.Q(("stands", True)),
                fields=["workspace", "family"],
                include=("id", "session", "review", "tokens", "cost"),
                name="abandonment_families",
            ),
        ),
    ]
