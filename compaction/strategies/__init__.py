"""The registry of strategies: a literal table, and the entry point group through which others add theirs."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from compaction.strategies.base import Strategy

ENTRY_POINTS = "palimpsest.strategies"

AGENTS = {
    "claude-code": "compaction.strategies.claude_code:STRATEGY",
    "codex": "compaction.strategies.codex:STRATEGY",
    "gemini": "compaction.strategies.gemini:STRATEGY",
    "opencode": "compaction.strategies.opencode:STRATEGY",
    "j-cli": "compaction.strategies.jcli:STRATEGY",
    "universal": "compaction.strategies.universal:STRATEGY",
}
"""Strategies that do as an agent does."""

BUILT_IN = {
    "hybrid": "compaction.strategies.hybrid:STRATEGY",
    "mask": "compaction.strategies.mask:STRATEGY",
    "dedupe": "compaction.strategies.dedupe:STRATEGY",
    "goal-tree": "compaction.strategies.goal_tree:STRATEGY",
    "sliding": "compaction.strategies.sliding:STRATEGY",
    "pi": "compaction.strategies.pi:STRATEGY",
    "range": "compaction.strategies.range:STRATEGY",
    "handoff": "compaction.strategies.handoff:STRATEGY",
    **AGENTS,
}

RECOMMENDED = "hybrid"


@cache
def strategies() -> dict[str, Strategy]:
    """Every strategy by id: the built-in ones in order of the table, then those of installed packages."""
    found: dict[str, Strategy] = {}
    for name, target in BUILT_IN.items():
        module, _, attribute = target.partition(":")
        found[name] = getattr(import_module(module), attribute)
    for point in entry_points(group=ENTRY_POINTS):
        strategy: Strategy = point.load()
        found.setdefault(strategy.id, strategy)
    return found


def by_id(name: str) -> Strategy:
    """The strategy called `name`; KeyError where there is none."""
    return strategies()[name]
