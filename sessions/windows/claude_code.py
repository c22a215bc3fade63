"""Claude Code's thresholds: everything hangs on E, the window less what a summary may cost."""

from __future__ import annotations

from collections.abc import Sequence

from sessions.windows.base import (
    SUMMARY,
    Draw,
    Held,
    Limits,
    Name,
    Rule,
    Screen,
    Settings,
    Threshold,
    shown_percent,
)

_SUMMARY = 20_000  # output kept free for writing a summary
_BUFFER = 13_000
_WARNING = 20_000
_BLOCK = 3_000
_GROWTH = 15_000  # results expected of the next round
_FILES = 5 * 5_000  # files it reads again after a compaction


def _reserve(limits: Limits, settings: Settings) -> int:
    output = limits.output if settings.max_output is None else settings.max_output
    return _SUMMARY if output is None else min(output, _SUMMARY)


def _effective(limits: Limits, settings: Settings) -> int:
    assert limits.context is not None
    usable = limits.context if settings.window is None else min(limits.context, settings.window)
    return usable - _reserve(limits, settings)


def tiered_buffer(effective: int) -> int:
    """The buffer before compaction where it grows with the window."""
    if effective >= 800_000:
        return 50_000
    return 30_000 if effective >= 400_000 else _BUFFER


def _draw(limits: Limits, settings: Settings, *, tiered: bool = False, ahead: bool = False) -> Sequence[Threshold]:
    assert limits.context is not None
    effective = _effective(limits, settings)
    reserve = (
        "min(O, 20,000)" if limits.output is not None or settings.max_output is not None else "20,000 (O is not known)"
    )
    buffer = tiered_buffer(effective) if tiered else _BUFFER
    automatic, formula = effective - buffer, f"E − {buffer:,}"
    if settings.percent is not None:
        early = effective * settings.percent // 100
        if early < automatic:
            automatic, formula = early, f"E × {settings.percent} %"
    off = settings.automatic is False
    community = "community reading of the program; its maker documents no such step"
    drawn = [
        Threshold(
            Name.WARNING,
            (effective if off else automatic) - _WARNING,
            "E − 20,000" if off else f"{formula} − 20,000",
            acts=False,
        ),
        Threshold(
            Name.PREDICTIVE,
            effective - _reserve(limits, settings) - _GROWTH,
            f"E − {reserve} − 15,000",
            acts=ahead and not off,
            source=community,
            strict=True,
        ),
        Threshold(Name.BLOCK, effective - _BLOCK, "E − 3,000"),
        Threshold(Name.INPUT_LIMIT, effective, f"E = C − {reserve}"),
        Threshold(Name.TOTAL, limits.context, "C", acts=False),
    ]
    if not off:
        drawn.append(Threshold(Name.COMPACTION, automatic, formula))
    return drawn


def _show(limits: Limits, prompt: int | None, context: int | None) -> Screen | None:
    if not limits.context or prompt is None:
        return None
    percent = shown_percent(prompt, limits.context)
    return Screen(
        f"{percent}%",
        prompt,
        limits.context,
        "the last prompt, cached and fresh, without its output, of the full window",
    )


def _draw_without_reserve(limits: Limits, settings: Settings) -> Sequence[Threshold]:
    """The same steps with E = C: what follows where the summary's reserve is left out."""
    assert limits.context is not None
    drawn = [Threshold(Name.TOTAL, limits.context, "C", acts=False)]
    if settings.automatic is not False:
        drawn.append(Threshold(Name.COMPACTION, limits.context - _BUFFER, "C − 13,000"))
    return drawn


def _left(held: Held) -> int:
    return SUMMARY + min(_FILES, held.history)


_COUNTS = "the last prompt (fresh and cached), its output, and a rough estimate of the messages after it"
_LEAVES = f"a summary of {SUMMARY:,} tokens (assumed) and up to five files of 5,000 tokens that it reads again"


def _rule(name: str, label: str, source: str, date: str, draw: Draw) -> Rule:
    return Rule(
        id=name,
        agent="claude-code",
        label=label,
        source=source,
        date=date,
        counts=_COUNTS,
        meter="claude-rough",
        draw=draw,
        show=_show,
        left=_left,
        leaves=_LEAVES,
    )


CURRENT = _rule(
    "claude-code-2.1",
    "Claude Code 2.1",
    "write-ups of Claude Code 2.1; its documentation names the percentage override alone",
    "2026-10",
    _draw,
)

PREDICTIVE = _rule(
    "claude-code-2.1-predictive",
    "Claude Code 2.1, predictive",
    "community reading of the program: compacts ahead, and keeps a larger buffer in large windows",
    "2026-10",
    lambda limits, settings: _draw(limits, settings, tiered=True, ahead=True),
)

TIERED = _rule(
    "claude-code-2.1-tiered",
    "Claude Code 2.1, tiered buffer",
    "community reading of the program: keeps a larger buffer in large windows",
    "2026-10",
    lambda limits, settings: _draw(limits, settings, tiered=True),
)

SEED = _rule(
    "claude-code-187k",
    "Claude Code, 187K of 200K",
    "a comparison of agents' compaction, 2026: the window less 13,000, without the summary's reserve; write-ups say 167K",
    "2026",
    _draw_without_reserve,
)

RULES = (CURRENT, PREDICTIVE, TIERED, SEED)
