"""The registry of rules: whose arithmetic says when a context is masked, compacted or refused. A literal table, one file an agent."""

from __future__ import annotations

from sessions.windows import claude_code, codex, gemini, opencode, others
from sessions.windows.base import Limits, Measure, Name, Rule, Screen, Settings, Threshold, Window, window
from sessions.windows.presets import Preset, presets

BUILT_IN: tuple[Rule, ...] = (
    *claude_code.RULES,
    *codex.RULES,
    *opencode.RULES,
    *gemini.RULES,
    *others.RULES,
)


def rules() -> dict[str, Rule]:
    """Every rule by id, in order of the table."""
    return {rule.id: rule for rule in BUILT_IN}


def rule_of(agent: str, version: str | None = None) -> Rule | None:
    """The rule by which `agent` went at `version` (None: goes today), the first of its own that fits; None where none is known."""
    own = [rule for rule in BUILT_IN if rule.agent == agent]
    return next((rule for rule in own if rule.fits(version)), own[0] if own else None)


__all__ = [
    "Limits",
    "Measure",
    "Name",
    "Preset",
    "Rule",
    "Screen",
    "Settings",
    "Threshold",
    "Window",
    "presets",
    "rule_of",
    "rules",
    "window",
]
