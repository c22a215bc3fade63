"""What tells a file that only grew from another one: its identity, and how much of it the digest is of."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agent_sessions", "0002_storage")]

    operations = [
        migrations.AddField(
            model_name="source",
            name="digested",
            field=models.BigIntegerField(
                help_text="NULL: all of them; what was appended since is not in it", null=True
            ),
        ),
        migrations.AddField(
            model_name="source",
            name="identity",
            field=models.TextField(help_text="device and number of the file it was last read from", null=True),
        ),
        migrations.AlterField(
            model_name="source",
            name="digest",
            field=models.BinaryField(help_text="SHA-256 of the first `digested` bytes", null=True),
        ),
    ]
