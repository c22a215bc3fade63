"""The registry of adapters: a literal table, and the entry point group through which others add theirs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import PurePath

from sessions.adapters.base import Adapter, Claim

ENTRY_POINTS = "palimpsest.adapters"

BUILT_IN = {
    "claude-code": "sessions.adapters.claude_code:ADAPTER",
    "codex": "sessions.adapters.codex:ADAPTER",
    "gemini-cli": "sessions.adapters.gemini_cli:ADAPTER",
    "opencode": "sessions.adapters.opencode:ADAPTER",
    "j-cli": "sessions.adapters.jcli:ADAPTER",
    "universal": "sessions.adapters.universal:ADAPTER",
    "trace": "sessions.adapters.trace:ADAPTER",
    "openai": "sessions.adapters.generic.openai:ADAPTER",
    "anthropic": "sessions.adapters.generic.anthropic:ADAPTER",
    "ai-sdk": "sessions.adapters.generic.aisdk:ADAPTER",
    "otel": "sessions.adapters.generic.otel:ADAPTER",
    "atif": "sessions.adapters.generic.atif:ADAPTER",
    "mapped": "sessions.adapters.generic.mapping:ADAPTER",
}


class TwoClaims(ValueError):
    """Two adapters claim one source; guessing would be worse than saying so."""


@cache
def adapters() -> dict[str, Adapter]:
    """Every adapter by agent name: the built-in ones, then those of installed packages."""
    found: dict[str, Adapter] = {agent: _load(target) for agent, target in BUILT_IN.items()}
    for point in entry_points(group=ENTRY_POINTS):
        adapter: Adapter = point.load()
        found.setdefault(adapter.agent, adapter)
    return found


def by_agent(agent: str) -> Adapter:
    """The adapter of `agent`; KeyError where there is none."""
    return adapters()[agent]


def claims(path: PurePath, head: bytes) -> tuple[Adapter, Claim] | None:
    """The adapter whose source this is, with its claim; None where nobody's. TwoClaims where more than one says so.

    An adapter with `last` (a person's declared mappings) is asked only where no other claims the source.
    """
    found = list(_claims(path, head, last=False)) or list(_claims(path, head, last=True))
    if len(found) > 1:
        raise TwoClaims(f"{path.name}: claimed by {' and '.join(adapter.label for adapter, _ in found)}")
    return found[0] if found else None


def _claims(path: PurePath, head: bytes, *, last: bool) -> Iterator[tuple[Adapter, Claim]]:
    for adapter in adapters().values():
        if getattr(adapter, "last", False) is not last:
            continue
        claim = adapter.claim(path, head)
        if claim is not None:
            yield adapter, claim


def _load(target: str) -> Adapter:
    module, _, name = target.partition(":")
    adapter: Adapter = getattr(import_module(module), name)
    return adapter
