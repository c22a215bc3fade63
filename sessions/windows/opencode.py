"""OpenCode's thresholds: what the input limit leaves beside a reserve; where there is none, what the total leaves beside an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sessions.windows.base import (
    SUMMARY,
    Held,
    Limits,
    Measure,
    Name,
    Rule,
    Screen,
    Settings,
    Threshold,
    shown_percent,
    summary_alone,
)

_ANSWER = 32_000  # the most output it asks for
_RESERVE = 20_000
_PROTECTED = 40_000  # tokens of the newest tool results that pruning leaves
_PRUNABLE = 20_000  # what there must be beyond them for pruning to act


def _answer(limits: Limits, settings: Settings) -> tuple[int, str]:
    output = limits.output if settings.max_output is None else settings.max_output
    if not output:
        return _ANSWER, "32,000 (O is not known)"
    return min(output, _ANSWER), "min(O, 32,000)"


def _limits(limits: Limits) -> list[Threshold]:
    assert limits.context is not None
    drawn = [Threshold(Name.TOTAL, limits.context, "C", acts=False)]
    if limits.input is not None:
        # The agent itself refuses nothing here; the provider does.
        drawn.append(Threshold(Name.INPUT_LIMIT, limits.input, "I", acts=False))
    return drawn


def _prune(*, acts: bool) -> Threshold:
    words = "old tool results beyond the newest 40,000 tokens and two turns: more than 20,000"
    return Threshold(
        Name.MASKING,
        _PRUNABLE,
        words if acts else f"{words}; only where pruning is on",
        Measure.TOOL_OUTPUT,
        acts=acts,
        strict=True,
    )


def _draw_1(limits: Limits, settings: Settings, *, prunes: bool = False) -> Sequence[Threshold]:
    assert limits.context is not None
    answer, words = _answer(limits, settings)
    drawn = [*_limits(limits), _prune(acts=prunes)]
    if settings.automatic is False:
        return drawn
    if limits.input is not None:
        reserve = min(_RESERVE, answer) if settings.reserve is None else settings.reserve
        formula = f"I − min(20,000, {words})" if settings.reserve is None else "I − R"
        drawn.append(Threshold(Name.COMPACTION, limits.input - reserve, formula))
    else:
        drawn.append(Threshold(Name.COMPACTION, limits.context - answer, f"C − {words}"))
    return drawn


def _draw_2(limits: Limits, settings: Settings) -> Sequence[Threshold]:
    assert limits.context is not None
    answer, words = _answer(limits, settings)
    drawn = [*_limits(limits), _prune(acts=False)]
    if settings.automatic is False:
        return drawn
    buffer, letter = (_RESERVE, "20,000") if settings.reserve is None else (settings.reserve, "R")
    tokens, formula = limits.context - max(answer, buffer), f"C − max({words}, {letter})"
    if limits.input is not None and limits.input - buffer < tokens:
        tokens, formula = limits.input - buffer, f"I − {letter}"
    drawn.append(Threshold(Name.COMPACTION, tokens, formula))
    return drawn


def _show(limits: Limits, prompt: int | None, context: int | None) -> Screen | None:
    if not limits.context or context is None:
        return None
    return Screen(
        f"{shown_percent(context, limits.context)}%",
        context,
        limits.context,
        "input, cached input, output and reasoning of the last answer, of the total window",
    )


def _tail(held: Held) -> int:
    """A quarter of what is usable, between 2,000 and 8,000 tokens."""
    return min(held.history, 8_000, max(2_000, (held.usable or 0) // 4))


ONE = Rule(
    id="opencode-1.18",
    agent="opencode",
    label="OpenCode 1.18",
    source="OpenCode's own source, engine 1, mid-2026",
    date="2026-07",
    counts="input, cached input and output of the last answer (its total where the provider says one)",
    meter="opencode-chars4-1",
    draw=_draw_1,
    show=_show,
    until=(2,),
    protects=_PROTECTED,
    protected_turns=2,
    left=lambda held: SUMMARY + _tail(held),
    leaves=f"a summary of {SUMMARY:,} tokens (assumed) and the newest turns, 2,000 to 8,000 tokens",
)

EARLY = replace(
    ONE,
    id="opencode-1.2",
    label="OpenCode, early 1.x",
    source="field notes and OpenCode's own source of early 2026: prunes unless that is switched off, keeps no turns",
    date="2026-02",
    draw=lambda limits, settings: _draw_1(limits, settings, prunes=True),
    until=(1, 3),
    left=summary_alone,
    leaves=f"a summary of {SUMMARY:,} tokens (assumed)",
)

TWO = replace(
    ONE,
    id="opencode-2.0",
    label="OpenCode 2.0",
    source="OpenCode's own source, engine 2 (commit 031a4a9c), September 2026",
    date="2026-09",
    counts="the last answer's usage (input, cached input, output, reasoning), and an estimate of everything after it",
    meter="opencode-chars4",
    draw=_draw_2,
    since=(2,),
    until=None,
    left=lambda held: SUMMARY + min(15_000, held.history),
    leaves=f"a summary of {SUMMARY:,} tokens (assumed) and up to 15,000 tokens of what is newest",
)

# A version that is not known goes by the first without an end.
RULES = (EARLY, ONE, TWO)
