"""The registry of rules: whose arithmetic says when a context is masked, compacted or refused. A literal table, one file an agent."""

from __future__ import annotations

from sessions.windows import claude_code, codex
from sessions.windows.base import Limits, Measure, Name, Rule, Screen, Settings, Threshold, Window, window

BUILT_IN: tuple[Rule, ...] = (*claude_code.RULES, *codex.RULES)


def rules() -> dict[str, Rule]:
    """Every rule by id, in order of the table."""
    return {rule.id: rule for rule in BUILT_IN}


def rule_of(agent: str) -> Rule | None:
    """The rule by which `agent` goes today, the first of its own; None where none is known."""
    return next((rule for rule in BUILT_IN if rule.agent == agent), None)


__all__ = [
    "Limits",
    "Measure",
    "Name",
    "Rule",
    "Screen",
    "Settings",
    "Threshold",
    "Window",
    "rule_of",
    "rules",
    "window",
]
