"""Gemini CLI: whole-file sessions of 0.1.21 to 0.38, append-only ones from 0.39 on, saved checkpoints, sub-agents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path, PurePath
from typing import Any

from sessions.adapters.base import Claim, Follow, Line, Link, NativeVersion, PartsOf, Reader
from sessions.adapters.following import Held
from sessions.adapters.gemini_cli import typed
from sessions.adapters.gemini_cli.claims import claim
from sessions.adapters.gemini_cli.documents import documents
from sessions.adapters.gemini_cli.history import steady, tip_of, versions
from sessions.adapters.gemini_cli.reader import GeminiReader
from sessions.adapters.gemini_cli.wire import sent
from sessions.contexts import Item
from sessions.entries import Facts


class GeminiCli:
    """See `sessions.adapters.base.Adapter`, `Documents`, `Beside` and `Typed`."""

    agent = "gemini-cli"
    label = "Gemini CLI"
    version = 2

    def roots(self, home: Path, env: Mapping[str, str]) -> Sequence[Path]:
        """Where the agent keeps the sessions of each project."""
        base = Path(env["GEMINI_CLI_HOME"]) if env.get("GEMINI_CLI_HOME") else home
        return [base / ".gemini" / "tmp"]

    def claim(self, path: PurePath, head: bytes) -> Claim | None:
        return claim(path, head)

    def documents(self, path: PurePath, data: bytes) -> Iterator[Line]:
        return documents(data)

    def place_file(self, path: PurePath) -> PurePath | None:
        """The agent writes the project's folder into the folder of its sessions, from 0.29 on."""
        chats = next((folder for folder in list(path.parents)[:3] if folder.name == "chats"), None)
        return None if chats is None else chats.parent / ".project_root"

    def typed(self, path: PurePath) -> bool:
        return path.name.endswith(typed.FILE)

    def commands(self, data: bytes) -> Mapping[str, Sequence[tuple[str, datetime]]]:
        return typed.commands(data)

    def reader(self, path: PurePath, state: Mapping[str, Any] | None = None) -> Reader:
        return GeminiReader(path, state)

    def history(self, links: Sequence[Link], parts_of: PartsOf, facts: Facts) -> Sequence[NativeVersion]:
        return versions(links, parts_of, facts)

    def follow(self, parts_of: PartsOf, *, whole: bool = False) -> Follow:
        return Held(self, parts_of, tip_of)

    def steady(self, tip: Mapping[str, Any], link: Link, *, repeated: bool) -> dict[str, Any] | None:
        return steady(tip, link, repeated=repeated)

    def wire(self, items: Sequence[Item], facts: Facts) -> list[Item]:
        return sent(items)


ADAPTER = GeminiCli()
