"""Claude Code: transcripts of every era, from 1.0 on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from sessions.adapters.base import Claim, Follow, Link, NativeVersion, PartsOf, Reader
from sessions.adapters.claude_code import following
from sessions.adapters.claude_code.claims import claim
from sessions.adapters.claude_code.history import native_versions
from sessions.adapters.claude_code.reader import ClaudeReader
from sessions.adapters.claude_code.wire import as_sent
from sessions.contexts import Item
from sessions.entries import Facts


class ClaudeCode:
    """See `sessions.adapters.base.Adapter` and `Following`."""

    agent = "claude-code"
    label = "Claude Code"
    version = 1

    def roots(self, home: Path, env: Mapping[str, str]) -> Sequence[Path]:
        """Where the agent keeps its projects."""
        base = Path(env["CLAUDE_CONFIG_DIR"]) if env.get("CLAUDE_CONFIG_DIR") else home / ".claude"
        return [base / "projects"]

    def claim(self, path: PurePath, head: bytes) -> Claim | None:
        return claim(path, head)

    def reader(self, path: PurePath, state: Mapping[str, Any] | None = None) -> Reader:
        return ClaudeReader(path, state)

    def history(self, links: Sequence[Link], parts_of: PartsOf, facts: Facts) -> Sequence[NativeVersion]:
        return native_versions(links, parts_of, facts)

    def follow(self, parts_of: PartsOf, *, whole: bool = False) -> Follow:
        return following.ClaudeFollow(parts_of, whole=whole)

    def steady(self, tip: Mapping[str, Any], link: Link, *, repeated: bool) -> dict[str, Any] | None:
        return following.steady(tip, link, repeated=repeated)

    def wire(self, items: Sequence[Item], facts: Facts) -> list[Item]:
        return as_sent(items)


ADAPTER = ClaudeCode()
