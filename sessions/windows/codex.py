"""Codex's thresholds: nine tenths of the window start a compaction, 95 hundredths are all a prompt may hold."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sessions.windows.base import Limits, Name, Rule, Screen, Settings, Threshold, shown_percent

_BASELINE = 12_000  # tokens of fixed prompt that its screen leaves out of both sides
_EFFECTIVE_SINCE = (0, 48)  # from here on what is recorded is the effective window, 95 % of C


def _draw(limits: Limits, settings: Settings) -> Sequence[Threshold]:
    assert limits.context is not None
    automatic, formula = limits.context * 9 // 10, "C × 9/10"
    if settings.limit is not None and settings.limit < automatic:
        automatic, formula = settings.limit, "the configured limit"
    drawn = [
        Threshold(Name.INPUT_LIMIT, limits.context * 95 // 100, "C × 95/100"),
        Threshold(Name.TOTAL, limits.context, "C", acts=False),
    ]
    if settings.automatic is not False:
        drawn.append(Threshold(Name.COMPACTION, automatic, formula))
    return drawn


def left_percent(window: int, used: int) -> int:
    """What its screen shows as left of an effective window."""
    if window <= _BASELINE:
        return 0
    whole = window - _BASELINE
    return shown_percent(max(0, whole - max(0, used - _BASELINE)), whole)


def _show(limits: Limits, prompt: int | None, context: int | None) -> Screen | None:
    if limits.context is None or context is None:
        return None
    effective = limits.context * 95 // 100
    return Screen(
        f"{left_percent(effective, context)}% left",
        max(0, context - _BASELINE),
        effective - _BASELINE,
        "the last answer's total of the effective window, both less 12,000",
    )


def _total(recorded: int, version: str | None) -> int:
    """C of a window as a session records it: 258,400 is what 95 % of 272,000 leave."""
    numbers = re.match(r"(\d+)\.(\d+)", version or "")
    if numbers is not None and (int(numbers[1]), int(numbers[2])) < _EFFECTIVE_SINCE:
        return recorded
    return -(-recorded * 100 // 95)


CURRENT = Rule(
    id="codex-0.148",
    agent="codex",
    label="Codex 0.148",
    source="Codex's own source, August 2026; the same fractions since October 2025",
    date="2026-08",
    counts="the last answer's total, and an estimate of the items after it",
    meter="codex-bytes4",
    draw=_draw,
    show=_show,
    recorded=_total,
)

RULES = (CURRENT,)
