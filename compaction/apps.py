"""The app that makes new versions of a session's context, and takes them back."""

from django.apps import AppConfig


class CompactionConfig(AppConfig):
    name = "compaction"
    verbose_name = "Compaction"
    default_auto_field = "django.db.models.BigAutoField"
