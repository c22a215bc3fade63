"""One embedded server for all processes of a data folder: the first who needs it starts it, the last one out stops it."""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

from webapp.embedded import broker
from webapp.embedded.data_dir import lock, write_whole
from webapp.embedded.places import can_walk, unprivileged_account, walkable_state_folder
from webapp.embedded.postgres import DATABASE, Server


def cluster_folder(data_dir: Path) -> Path:
    """Say where the cluster of this data folder lies; decided once and remembered in `cluster`.

    In the data folder, or, where the server's account cannot walk there (root's home), in the machine's state folder.
    """
    note = data_dir / "cluster"
    try:
        return Path(note.read_text(encoding="utf-8").strip())
    except FileNotFoundError:
        pass
    inside = data_dir / "postgres"
    account = unprivileged_account(inside)
    if can_walk(account, data_dir):
        chosen = inside
    else:
        name = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
        chosen = walkable_state_folder(account) / f"cluster-{name}"
    write_whole(note, f"{chosen}\n")
    return chosen


def server_of(data_dir: Path) -> Server:
    """Describe the embedded server of a data folder; nothing is started."""
    data_dir.mkdir(parents=True, exist_ok=True)
    return Server.at(
        cluster_folder(data_dir),
        password_file=data_dir / "postgres.password",
        log=data_dir / "logs" / "postgres.log",
    )


@contextmanager
def attached(data_dir: Path, *, always_stop: bool = False) -> Iterator[Server]:
    """Hold the running server of `data_dir` for the block.

    Started where it does not run, also where a killed process left one running; stopped after the block by the last who
    holds it, or in any case with `always_stop` (`up` ends for everybody). A database and a broker are on it.
    """
    server = server_of(data_dir)
    with lock(data_dir / "server.users", shared=True) as users:
        with lock(data_dir / "server.lock"):
            server.start()
            _lay(server)
        try:
            yield server
        finally:
            with lock(data_dir / "server.lock"):
                if always_stop or _alone(users):
                    server.stop()


def _alone(users: int) -> bool:
    """Say whether nobody else holds the server: only then can our share of the lock become the whole."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lay(server: Server) -> None:
    """Create what a fresh cluster lacks: the database, and the broker in a database of its own."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
        if known is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
    conninfo = broker.address(None, server.url()).conninfo
    if conninfo is not None:
        broker.lay(conninfo)
