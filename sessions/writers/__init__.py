"""The writers, by agent: a literal table, and those that other packages publish under the entry point `palimpsest.writers`."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from sessions.writers.base import Writer

ENTRY_POINTS = "palimpsest.writers"

BUILT_IN = {
    "claude-code": "sessions.writers.claude_code:WRITER",
    "codex": "sessions.writers.codex:WRITER",
    "gemini-cli": "sessions.writers.gemini_cli:WRITER",
    "opencode": "sessions.writers.opencode:WRITER",
    "j-cli": "sessions.writers.jcli:WRITER",
    "trace": "sessions.writers.trace:WRITER",
    "ai-sdk": "sessions.writers.generic:AI_SDK",
    "openai": "sessions.writers.generic:OPENAI",
    "anthropic": "sessions.writers.generic:ANTHROPIC",
}


@cache
def writers() -> dict[str, Writer]:
    """Every writer by agent name: the built-in ones, then those of installed packages."""
    found: dict[str, Writer] = {agent: _load(target) for agent, target in BUILT_IN.items()}
    for point in entry_points(group=ENTRY_POINTS):
        writer: Writer = point.load()
        found.setdefault(writer.agent, writer)
    return found


def _load(target: str) -> Writer:
    module, _, name = target.partition(":")
    writer: Writer = getattr(import_module(module), name)
    return writer
