"""Celery's broker: by URL, or kombu's own pgmq transport in a database of its own on the server we already have."""

from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

import psycopg
from kombu import Connection
from kombu.exceptions import KombuError
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

TASK_SOFT_TIME_LIMIT: Final = 20 * 60
TASK_TIME_LIMIT: Final = 25 * 60
# Above the longest task, else a message comes back while its task still runs and is done twice.
VISIBILITY_TIMEOUT: Final = TASK_TIME_LIMIT + 5 * 60

BROKER_SUFFIX: Final = "_broker"


@dataclass(frozen=True, slots=True)
class Address:
    """What kombu needs. `conninfo` is set only where the messages lie in a PostgreSQL database of ours."""

    url: str
    transport_options: dict[str, Any] = field(default_factory=dict)
    conninfo: str | None = None


def address(broker_url: str | None, database_url: str | None) -> Address:
    """Choose the broker: the one named, else pgmq beside the database, else none (commands that send nothing)."""
    if broker_url is not None:
        if broker_url.startswith(("redis", "rediss", "valkey", "sentinel")):
            return Address(
                broker_url,
                {"visibility_timeout": VISIBILITY_TIMEOUT, "unacked_restore_interval": 10, "socket_timeout": 30},
            )
        if broker_url.startswith("pgmq://"):
            return _on_postgres("postgresql" + broker_url.removeprefix("pgmq"))
        return Address(broker_url)
    if database_url is None:
        return Address("memory://")
    given = {key: str(value) for key, value in conninfo_to_dict(database_url).items() if value is not None}
    given["dbname"] = f"{given.get('dbname', 'palimpsest')}{BROKER_SUFFIX}"
    return _on_postgres(make_conninfo(**given))


def _on_postgres(conninfo: str) -> Address:
    """Name a broker that lies in a PostgreSQL database. The SQL is laid by `lay`; no server extension is asked for.

    The URL is what logs and banners show; the options carry the password, and what a URL of kombu's cannot: a socket.
    """
    given = {key: str(value) for key, value in conninfo_to_dict(conninfo).items() if value is not None}
    full = make_conninfo(**{"connect_timeout": "5", **given})
    options: dict[str, Any] = {
        "init_extension": False,
        "visibility_timeout": VISIBILITY_TIMEOUT,
        "wait_time_seconds": 1,
        "polling_interval": 0.2,
        "conn_string": full,
    }
    return Address(f"pgmq://localhost/{quote(given.get('dbname', ''))}", options, full)


def lay(conninfo: str) -> bool:
    """Make sure that the broker's database exists and holds pgmq's objects; say whether anything had to be done.

    Raises psycopg.Error where the server cannot be reached or refuses.
    """
    created = _create_database(conninfo)
    with psycopg.connect(conninfo) as connection:
        if not created and _is_laid(connection):
            return False
        # Two processes may start together; the second waits here and finds it done.
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('palimpsest.broker'))")
        if _is_laid(connection):
            return False
        from pgmq.install import get_embedded_install_sql  # noqa: PLC0415 -- slow to load, and needed once in a life

        connection.execute(get_embedded_install_sql().encode())
    return True


def reachable(broker: Address) -> bool:
    """Say whether the broker answers within a few seconds."""
    connection = Connection(broker.url, transport_options=broker.transport_options, connect_timeout=3)
    try:
        connection.ensure_connection(max_retries=1, interval_start=0, timeout=5)
    except connection.connection_errors + connection.channel_errors + (KombuError, OSError):
        return False
    finally:
        connection.release()
    return True


def _is_laid(connection: "psycopg.Connection[Any]") -> bool:
    row = connection.execute("SELECT to_regclass('pgmq.meta') IS NOT NULL").fetchone()
    return row is not None and bool(row[0])


def _create_database(conninfo: str) -> bool:
    """Create the database that `conninfo` names where the server lacks it; say whether it was created."""
    try:
        psycopg.connect(conninfo).close()
    except psycopg.OperationalError as error:
        if "does not exist" not in str(error):
            raise
    else:
        return False
    name = str(conninfo_to_dict(conninfo)["dbname"])
    with psycopg.connect(make_conninfo(conninfo, dbname="postgres"), autocommit=True) as connection:
        try:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        except psycopg.errors.DuplicateDatabase:
            return False
    return True
