"""Files that hold many sessions, and sessions that lie in many files: each session as a source with bytes of its own.

A database is read as it was at one moment, without a lock that its owner would feel: while it is in use, by a reader's transaction of
its write-ahead log, which writers do not wait for; else from a copy. Nothing is ever written beside it.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath
from stat import S_ISREG

from sessions.adapters import adapters
from sessions.adapters.base import Adapter
from sessions.adapters.expanding import Expanding, Found, Kept, Member

HEAD = 64 * 1024
LARGEST = 128 << 20  # bytes of one stored record beyond which it is not read
_COPIES = 8  # attempts at a copy of which no byte changed meanwhile
_WAL_HEAD = 32
_OPEN_TO_ALL = frozenset({"sqlite_master", "sqlite_schema"})


class Unreadable(Exception):
    """A database that cannot be read now; the message says why."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """A file that is not one source itself."""

    path: Path
    adapter: Adapter
    expanding: Expanding
    kept: Kept
    modified: datetime

    def name_of(self, member: Member) -> str:
        """The path under which a member is kept."""
        path = str(self.path.resolve())
        return f"{path}#{member.name}" if member.name else path

    def document(self, member: Member) -> bytes:
        """A member's bytes. Unreadable where they cannot be had."""
        try:
            return member.document()
        except sqlite3.Error as error:
            raise Unreadable(f"the database cannot be read: {error}") from error

    def members(self) -> Iterator[Member]:
        """The sessions in it. Each one's document is to be made before the next is asked for. Unreadable where that cannot be."""
        if self.kept == "folder":
            yield from self.expanding.of_folder(self.path.resolve(), _Files())
            return
        try:
            with snapshot(self.path, self.expanding.tables) as connection:
                yield from self.expanding.of_database(connection)
        except sqlite3.Error as error:
            raise Unreadable(f"the database cannot be read: {error}") from error


def expanded(path: Path) -> Expanded | None:
    """What a file holds, where it is not one source itself; None for all others, and for what cannot be opened."""
    able = [adapter for adapter in adapters().values() if isinstance(adapter, Expanding)]
    if not able:
        return None
    try:
        stat = path.stat()
        if not S_ISREG(stat.st_mode):
            return None
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError:
        return None
    for adapter in able:
        kept = adapter.expands(path.absolute(), head)
        if kept is not None:
            modified = datetime.fromtimestamp(stat.st_mtime, UTC)
            return Expanded(path, adapter, adapter, kept, modified)
    return None


@contextmanager
def snapshot(path: Path, tables: frozenset[str]) -> Iterator[sqlite3.Connection]:
    """A connection to a database as it is now; it may read `tables` and no others. Text comes as bytes."""
    with tempfile.TemporaryDirectory(prefix="palimpsest-") as folder:
        connection = _in_use(path) or _copied(path, Path(folder))
        try:
            _close_to_others(connection, tables)
            connection.text_factory = bytes
            yield connection
        finally:
            connection.close()


def _in_use(path: Path) -> sqlite3.Connection | None:
    """A reader's transaction on a database whose write-ahead log somebody has open; None where nobody has, or it does not let us in."""
    if not (_beside(path, "-wal").exists() and _beside(path, "-shm").exists()):
        return None
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=1.0, isolation_level=None)
        if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            connection.close()
            return None
        connection.execute("BEGIN")
        connection.execute(
            "SELECT count(*) FROM sqlite_master"
        ).fetchone()  # the moment that is read begins with the first look
    except sqlite3.Error:
        if connection is not None:
            connection.close()
        return None
    return connection


def _copied(path: Path, folder: Path) -> sqlite3.Connection:
    """A connection to a copy that holds one moment: of the database, and of what is written but not yet in it."""
    copy = folder / "copy.db"
    for _ in range(_COPIES):
        before = _state(path)
        for suffix in ("", "-wal", "-journal"):
            target = _beside(copy, suffix)
            target.unlink(missing_ok=True)
            try:
                shutil.copyfile(_beside(path, suffix), target)
            except FileNotFoundError:
                if not suffix:
                    raise Unreadable("there is no such file any more") from None
            except OSError as error:
                raise Unreadable(f"cannot be read: {error.strerror or error}") from error
        if _state(path) == before:
            break
    else:
        raise Unreadable("the database kept changing while it was read; it is read again when it changes next")
    connection = sqlite3.connect(copy, isolation_level=None)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _state(path: Path) -> list[object]:
    """What must stay the same during a copy. A log may grow: what is behind its last whole transaction is not read."""
    out: list[object] = []
    for suffix in ("", "-journal"):
        try:
            stat = _beside(path, suffix).stat()
        except FileNotFoundError:
            out.append(None)
        else:
            out.append((stat.st_ino, stat.st_size, stat.st_mtime_ns))
    try:
        with _beside(path, "-wal").open("rb") as file:
            out.append(file.read(_WAL_HEAD))
    except FileNotFoundError:
        out.append(None)
    return out


def _close_to_others(connection: sqlite3.Connection, tables: frozenset[str]) -> None:
    """Whatever is asked, only these tables answer: a database also holds keys and tokens."""
    may = tables | _OPEN_TO_ALL

    def allowed(action: int, first: str | None, second: str | None, _database: str | None, _trigger: str | None) -> int:
        if action == sqlite3.SQLITE_READ:
            return sqlite3.SQLITE_OK if first in may else sqlite3.SQLITE_DENY
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_TRANSACTION):
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    connection.set_authorizer(allowed)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


class _Files:
    """The folders that an adapter may ask of."""

    def files(self, folder: PurePath) -> list[Found]:
        try:
            with os.scandir(folder) as found:
                listed = [(entry.name, entry.stat(follow_symlinks=False)) for entry in found]
        except OSError:
            return []
        return [
            Found(name, str(stat.st_mtime_ns + stat.st_size)) for name, stat in sorted(listed) if S_ISREG(stat.st_mode)
        ]

    def bytes_of(self, path: PurePath) -> bytes | None:
        try:
            with Path(path).open("rb") as file:
                body = file.read(LARGEST + 1)
        except OSError:
            return None
        return body if len(body) <= LARGEST else None
