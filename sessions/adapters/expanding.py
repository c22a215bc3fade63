"""What an adapter has besides where one file holds many sessions, or one session lies in many files.

Such a file is no source itself. Each session in it becomes a source of its own, whose bytes are a document that the adapter makes of
what is stored, always the same for the same rows or files. The shell opens what there is; the adapter asks through what it is given.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal, Protocol, runtime_checkable

type Kept = Literal["database", "folder"]


@dataclass(frozen=True, slots=True)
class Member:
    """One session. `name`: what tells it from the others of its file. `stamp`: as long as it is the same, so is the session.

    `document` makes its bytes; it may be called only before the next member is asked for.
    """

    name: str
    native_id: str
    stamp: str
    document: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Found:
    """A file in a folder, as its folder lists it. `stamp`: changes when its content does."""

    name: str
    stamp: str


class Folders(Protocol):
    """What an adapter may ask of files: nothing else is read."""

    def files(self, folder: PurePath) -> list[Found]:
        """The regular files in a folder, by name; none where it is not there."""
        ...

    def bytes_of(self, path: PurePath) -> bytes | None:
        """A file's bytes; None where it went, or is too large to be a record."""
        ...


@runtime_checkable
class Expanding(Protocol):
    """An adapter whose sessions are not all files of their own."""

    tables: frozenset[str]  # of its databases, those that are read; all others stay closed

    def expands(self, path: PurePath, head: bytes) -> Kept | None:
        """How the sessions of this file are kept, where it is not one source itself."""
        ...

    def of_database(self, connection: sqlite3.Connection) -> Iterator[Member]:
        """The sessions of a database. Text comes as bytes."""
        ...

    def of_folder(self, path: PurePath, folders: Folders) -> Iterator[Member]:
        """The session that is anchored at `path`."""
        ...
