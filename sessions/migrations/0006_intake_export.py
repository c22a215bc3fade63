"""Telemetry that is exported here is one more way in."""

from django.db import migrations, models

WAYS = [
    ("command", "ingest"),
    ("watch", "watched folder"),
    ("upload", "upload"),
    ("push", "push"),
    ("export", "telemetry"),
]


class Migration(migrations.Migration):
    dependencies = [("agent_sessions", "0005_marks")]

    operations = [
        migrations.AlterField(model_name="intake", name="how", field=models.TextField(choices=WAYS)),
    ]
