"""Claude Code's thresholds: everything hangs on E, the window less what a summary may cost."""

from __future__ import annotations

from collections.abc import Sequence

from sessions.windows.base import Limits, Name, Rule, Screen, Settings, Threshold, shown_percent

_SUMMARY = 20_000  # output kept free for writing a summary
_BUFFER = 13_000
_WARNING = 20_000
_BLOCK = 3_000
_GROWTH = 15_000  # results expected of the next round


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


def _draw(limits: Limits, settings: Settings, *, tiered: bool) -> Sequence[Threshold]:
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
            acts=tiered and not off,
            source=community,
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


_COUNTS = "the last prompt (fresh and cached), its output, and a rough estimate of the messages after it"

CURRENT = Rule(
    id="claude-code-2.1",
    agent="claude-code",
    label="Claude Code 2.1",
    source="write-ups of Claude Code 2.1; its documentation names the percentage override alone",
    date="2026-10",
    counts=_COUNTS,
    meter="claude-rough",
    draw=lambda limits, settings: _draw(limits, settings, tiered=False),
    show=_show,
)

PREDICTIVE = Rule(
    id="claude-code-2.1-predictive",
    agent="claude-code",
    label="Claude Code 2.1, predictive",
    source="community reading of the program: compacts ahead, and keeps a larger buffer in large windows",
    date="2026-10",
    counts=_COUNTS,
    meter="claude-rough",
    draw=lambda limits, settings: _draw(limits, settings, tiered=True),
    show=_show,
)

RULES = (CURRENT, PREDICTIVE)
