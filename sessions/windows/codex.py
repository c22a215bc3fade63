"""Codex's thresholds: nine tenths of the window start a compaction, 95 hundredths are all a prompt may hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sessions.windows.base import (
    SUMMARY,
    Held,
    Limits,
    Name,
    Rule,
    Screen,
    Settings,
    Threshold,
    numbers_of,
    shown_percent,
)

_BASELINE = 12_000  # tokens of fixed prompt that its screen leaves out of both sides
_MESSAGES = 20_000  # tokens of the person's messages that a compaction keeps
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


def _draw_after_prefix(limits: Limits, settings: Settings) -> Sequence[Threshold]:
    """The scope that leaves the first prompt of a window out of what it counts; the hard limit holds as ever."""
    drawn = list(_draw(limits, settings))
    found = next((one for one in drawn if one.name is Name.COMPACTION), None)
    if found is not None and limits.context is not None:
        drawn.remove(found)
        hard = limits.context * 95 // 100
        if settings.prefill is None:
            drawn.append(Threshold(Name.COMPACTION, hard, "C × 95/100 (the first prompt is not known)"))
        else:
            moved = found.tokens + settings.prefill
            formula = f"{found.formula} + the first prompt" if moved < hard else "C × 95/100"
            drawn.append(Threshold(Name.COMPACTION, min(moved, hard), formula))
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
    numbers = numbers_of(version)
    if numbers is not None and numbers < _EFFECTIVE_SINCE:
        return recorded
    return -(-recorded * 100 // 95)


_LEAVES = f"the newest messages of the person, up to 20,000 tokens, and a summary of {SUMMARY:,} tokens (assumed)"


def _left(held: Held) -> int:
    return SUMMARY + min(_MESSAGES, sum(held.prompts))


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
    left=_left,
    leaves=_LEAVES,
)

AFTER_PREFIX = replace(
    CURRENT,
    id="codex-0.148-body-after-prefix",
    label="Codex 0.148, without the first prompt",
    source="Codex's own source, August 2026: the scope body_after_prefix",
    counts="the last answer's total less the window's first prompt, and an estimate of the items after it",
    draw=_draw_after_prefix,
)

RULES = (CURRENT, AFTER_PREFIX)
