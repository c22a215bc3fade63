"""The app of recorded sessions; its label differs from its folder because Django's own `sessions` app has that label."""

from django.apps import AppConfig


class SessionsConfig(AppConfig):
    name = "sessions"
    label = "agent_sessions"
    verbose_name = "Agent sessions"
    default_auto_field = "django.db.models.BigAutoField"
