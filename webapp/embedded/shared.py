"""One embedded server for all processes of a data folder: the first who needs it starts it, the last one out stops it."""

import fcntl
import secrets
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
    """Say where the cluster of this data folder lies: in it, or where the file `cluster` says.

    The latter where the server's account cannot walk to the data folder (root's home): then a folder with a name of its
    own among the machine's state is taken, and remembered, since what lies there is the data.
    """
    inside = data_dir / "postgres"
    note = data_dir / "cluster"
    if note.exists():
        return Path(note.read_text(encoding="utf-8").strip())
    account = unprivileged_account(inside)
    if (inside / "PG_VERSION").exists() or can_walk(account, data_dir):
        return inside
    outside = walkable_state_folder(account) / f"cluster-{secrets.token_hex(8)}"
    write_whole(note, f"{outside}\n")
    return outside


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
