"""OpenCode: exports, its database and its storage tree."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from sessions.adapters.base import Claim, Line, Link, NativeVersion, PartsOf
from sessions.adapters.expanding import Folders, Kept, Member
from sessions.adapters.opencode import claims, database, documents, history, tree, wire
from sessions.adapters.opencode.reader import Reader
from sessions.contexts import Item
from sessions.entries import Facts

_DATABASES = ("opencode.db", "opencode-dev.db", "opencode-local.db")  # of released, and of other builds


class OpenCode:
    """The adapter: `sessions.adapters.base.Adapter` says what each verb promises."""

    agent = "opencode"
    label = "OpenCode"
    version = 1
    tables = database.TABLES
    amends = True

    def roots(self, home: Path, env: Mapping[str, str]) -> Sequence[Path]:
        data = Path(env["XDG_DATA_HOME"]) if env.get("XDG_DATA_HOME") else home / ".local" / "share"
        folder = data / "opencode"
        databases = [folder / name for name in _DATABASES]
        if env.get("OPENCODE_DB"):
            databases.append(folder / env["OPENCODE_DB"])
        # Nothing else of that folder is looked through: it holds keys, and a copy of every project's files.
        logs = [path.with_name(f"{path.name}-wal") for path in databases]
        return (*databases, *logs, folder / "storage" / "session", folder / "project")

    def claim(self, path: PurePath, head: bytes) -> Claim | None:
        return claims.claim(path, head)

    def expands(self, path: PurePath, head: bytes) -> Kept | None:
        return claims.kept(path, head)

    def of_database(self, connection: sqlite3.Connection) -> Iterator[Member]:
        return database.members(connection)

    def of_folder(self, path: PurePath, folders: Folders) -> Iterator[Member]:
        return tree.members(path, folders)

    def documents(self, path: PurePath, data: bytes) -> Iterator[Line]:
        return documents.records(data)

    def reader(self, path: PurePath, state: Mapping[str, Any] | None = None) -> Reader:
        return Reader(path, state)

    def history(self, links: Sequence[Link], parts_of: PartsOf, facts: Facts) -> Sequence[NativeVersion]:
        return history.versions(links, parts_of)

    def wire(self, items: Sequence[Item], facts: Facts) -> list[Item]:
        return wire.sent(items)


ADAPTER = OpenCode()
