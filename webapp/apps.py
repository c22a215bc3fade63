"""The composition root as a Django app: accounts, workspaces, system checks."""

from django.apps import AppConfig


class WebappConfig(AppConfig):
    name = "webapp"
    label = "webapp"
    verbose_name = "Palimpsest"

    def ready(self) -> None:
        # Imported here because a check may only be registered once the app registry is being filled.
        from webapp import checks  # noqa: PLC0415

        checks.collect_vocabularies()
