"""OpenAI Codex CLI, versions 0.25 to 0.171: rollouts, flat, wrapped and paginated."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from sessions.adapters.base import Claim, Follow, Link, NativeVersion, PartsOf
from sessions.adapters.codex import claims, history, index, names, wire
from sessions.adapters.codex.reader import Reader
from sessions.adapters.following import Held
from sessions.adapters.indexed import Known
from sessions.contexts import Item
from sessions.entries import Facts


class Codex:
    """The adapter: `sessions.adapters.base.Adapter` says what each verb promises."""

    agent = "codex"
    label = "Codex"
    version = 2
    index_tables = index.TABLES

    def roots(self, home: Path, env: Mapping[str, str]) -> Sequence[Path]:
        root = Path(env["CODEX_HOME"]) if env.get("CODEX_HOME") else home / ".codex"
        # Their numbers are those of their schemas: which there are can only be looked up.
        databases = sorted(path for name in index.FILES for path in root.glob(name))
        logs = [path.with_name(f"{path.name}-wal") for path in databases]
        return (root / "sessions", root / "archived_sessions", root / names.FILE, *databases, *logs)

    def claim(self, path: PurePath, head: bytes) -> Claim | None:
        return claims.claim(path, head)

    def names(self, path: PurePath) -> bool:
        return path.name == names.FILE

    def named(self, data: bytes) -> Mapping[str, str]:
        return names.named(data)

    def indexes(self, path: PurePath) -> bool:
        return index.is_index(path.name)

    def indexed(self, connection: sqlite3.Connection) -> Mapping[str, Known]:
        return index.known(connection)

    def reader(self, path: PurePath, state: Mapping[str, Any] | None = None) -> Reader:
        return Reader(path, state)

    def history(self, links: Sequence[Link], parts_of: PartsOf, facts: Facts) -> Sequence[NativeVersion]:
        return history.versions(links, parts_of, facts)

    def follow(self, parts_of: PartsOf, *, whole: bool = False) -> Follow:
        return Held(self, parts_of, history.tip_of)

    def steady(self, tip: Mapping[str, Any], link: Link, *, repeated: bool) -> dict[str, Any] | None:
        return dict(tip) if history.steady(tip, link) else None

    def wire(self, items: Sequence[Item], facts: Facts) -> list[Item]:
        return wire.sent(items)


ADAPTER = Codex()
