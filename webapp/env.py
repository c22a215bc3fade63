"""Typed readers of the environment. A value that cannot be read is an error that names its variable."""

import os
from pathlib import Path
from typing import Any, Final

from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

TRUE: Final = frozenset({"1", "true", "yes", "on"})
FALSE: Final = frozenset({"0", "false", "no", "off"})


def text(name: str, default: str | None = None) -> str | None:
    """Give the value of `name`, or `default` where it is unset or empty."""
    return os.environ.get(name, "").strip() or default


def flag(name: str, *, default: bool) -> bool:
    """Read a yes or no; anything else is an error, so that a typo is never silently a no."""
    value = text(name)
    if value is None:
        return default
    if value.lower() in TRUE:
        return True
    if value.lower() in FALSE:
        return False
    raise ImproperlyConfigured(f"{name} must be one of yes, no, true, false, 1, 0; it is {value!r}.")


def number(name: str, *, default: int) -> int:
    """Read a whole number."""
    value = text(name)
    if value is None:
        return default
    try:
        return int(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be a whole number; it is {value!r}.") from error


def words(name: str, default: tuple[str, ...] = ()) -> list[str]:
    """Read a list separated by commas."""
    value = text(name)
    return list(default) if value is None else [word.strip() for word in value.split(",") if word.strip()]


def secret(name: str) -> str | None:
    """Read a secret from `NAME`, or from the file that `NAME_FILE` names (as container secrets are handed over).

    Both at once is an error: which of the two holds would depend on the reader's memory.
    """
    value, path = text(name), text(f"{name}_FILE")
    if value is not None and path is not None:
        raise ImproperlyConfigured(f"Both {name} and {name}_FILE are set; keep one of them.")
    if path is None:
        return value
    try:
        return Path(path).read_text(encoding="utf-8").strip() or None
    except OSError as error:
        raise ImproperlyConfigured(f"{name}_FILE names {path}, which cannot be read: {error.strerror}.") from error


def database(name: str, *, pool: dict[str, Any] | None) -> dict[str, Any]:
    """Translate a PostgreSQL URL (or libpq connection string) into Django's settings.

    Unset gives Django's dummy engine: commands that need no database still run, and the others fail with a message.
    `pool` is given to psycopg's connection pool; None means one plain connection for each thread.
    """
    url = secret(name)
    if url is None:
        return {"ENGINE": "django.db.backends.dummy"}
    try:
        given = conninfo_to_dict(url)
    except ProgrammingError as error:
        # libpq's own message may repeat the string, and with it the password.
        raise ImproperlyConfigured(f"{name} is not a PostgreSQL address (postgresql://user@host:port/name).") from error
    options: dict[str, Any] = {
        "connect_timeout": 5,
        **{key: value for key, value in given.items() if key not in {"dbname", "user", "password", "host", "port"}},
    }
    if pool is not None:
        options["pool"] = pool
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": given.get("dbname") or "palimpsest",
        "USER": given.get("user") or "",
        "PASSWORD": given.get("password") or "",
        "HOST": given.get("host") or "",
        "PORT": str(given.get("port") or ""),
        # A cursor on the server that is left before its end is closed when its generator is collected, perhaps in a later
        # transaction, which that breaks. What is too large to be fetched at once is read key by key.
        "DISABLE_SERVER_SIDE_CURSORS": True,
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": options,
    }
