"""Goal-tree traces: `.trace/<trace_id>/` with `messages.jsonl`, `goal.json` and `meta.json`, each explored branch a trace of its own.

The messages alone are a log. Where their folder can be looked into, the session is a document of all three, so that the goals and the
parent are known; its first record holds what the two small files say, and the log follows it unchanged.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from sessions.adapters.base import Claim, Follow, Line, Link, NativeVersion, PartsOf
from sessions.adapters.expanding import Folders, Kept, Member
from sessions.adapters.following import Held
from sessions.adapters.trace import claims, folder, history
from sessions.adapters.trace.reader import Reader
from sessions.contexts import Item
from sessions.entries import Facts


class Trace:
    """The adapter: `base.Adapter`, `base.Documents` and `expanding.Expanding` say what each verb promises."""

    agent = "trace"
    label = "Goal-tree trace"
    version = 1
    tables: frozenset[str] = frozenset()

    def roots(self, home: Path, env: Mapping[str, str]) -> Sequence[Path]:
        return (home / ".trace",)

    def claim(self, path: PurePath, head: bytes) -> Claim | None:
        return claims.claim(path, head)

    def expands(self, path: PurePath, head: bytes) -> Kept | None:
        return "folder" if claims.is_log(path, head) else None

    def of_database(self, connection: sqlite3.Connection) -> Iterator[Member]:
        return iter(())

    def of_folder(self, path: PurePath, folders: Folders) -> Iterator[Member]:
        return folder.members(path, folders)

    def documents(self, path: PurePath, data: bytes) -> Iterator[Line]:
        return folder.records(data)

    def reader(self, path: PurePath, state: Mapping[str, Any] | None = None) -> Reader:
        return Reader(path, state)

    def history(self, links: Sequence[Link], parts_of: PartsOf, facts: Facts) -> Sequence[NativeVersion]:
        return history.versions(links, parts_of)

    def follow(self, parts_of: PartsOf, *, whole: bool = False) -> Follow:
        return Held(self, parts_of, lambda _: {})

    def steady(self, tip: Mapping[str, Any], link: Link, *, repeated: bool) -> dict[str, Any] | None:
        return {} if not repeated and history.steady(link) else None

    def wire(self, items: Sequence[Item], facts: Facts) -> list[Item]:
        return list(items)


ADAPTER = Trace()
