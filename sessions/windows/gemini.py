"""Gemini CLI's thresholds: a share of the window, which changed from era to era; masking of old tool results since February 2026."""

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
)

_PROTECTED = 50_000  # tokens of the newest tool results that masking leaves
_MASKED = 30_000  # what there must be beyond them for masking to act
_PIPELINE, _RETAINED = 150_000, 65_000
_PIPELINE_MARKS = 65_000


def _draw(limits: Limits, settings: Settings, *, percent: int, masks: bool) -> Sequence[Threshold]:
    assert limits.context is not None
    share = percent if settings.percent is None else settings.percent
    drawn = [
        Threshold(Name.BLOCK, limits.context, "C: the estimated request exceeds what the last prompt leaves"),
        Threshold(Name.TOTAL, limits.context, "C", acts=False),
    ]
    if settings.automatic is not False:
        # It does nothing while prompt < t × C, so the first whole number that is not below.
        drawn.append(Threshold(Name.COMPACTION, -(-limits.context * share // 100), f"C × {share / 100:g}"))
    if masks:
        drawn.append(
            Threshold(
                Name.MASKING,
                _MASKED,
                "tool results beyond the newest 50,000 tokens: at least 30,000",
                Measure.TOOL_OUTPUT,
            )
        )
    return drawn


def _draw_pipeline(limits: Limits, settings: Settings) -> Sequence[Threshold]:
    drawn = [
        Threshold(
            Name.MASKING, _PIPELINE_MARKS, "retainedTokens = 65,000: long nodes are distilled or cut", strict=True
        ),
        Threshold(Name.COMPACTION, _PIPELINE, "maxTokens = 150,000", strict=True),
    ]
    if limits.context is not None:
        drawn.append(Threshold(Name.TOTAL, limits.context, "C", acts=False))
    return drawn


def _show(limits: Limits, prompt: int | None, context: int | None) -> Screen | None:
    if not limits.context or prompt is None:
        return None
    return Screen(
        f"{shown_percent(prompt, limits.context)}% used",
        prompt,
        limits.context,
        "the last prompt, cached and fresh, of the model's limit",
    )


def _left(held: Held) -> int:
    return SUMMARY + held.history * 3 // 10


CURRENT = Rule(
    id="gemini-0.56",
    agent="gemini-cli",
    label="Gemini CLI 0.56",
    source="Gemini CLI's own source, August 2026: half of the window since 20 November 2025, masking since February 2026",
    date="2026-08",
    counts="the last prompt alone; after a history was rewritten, its own estimate",
    meter="gemini",
    draw=lambda limits, settings: _draw(limits, settings, percent=50, masks=True),
    show=_show,
    holds="prompt",
    since=(0, 18),
    protects=_PROTECTED,
    left=_left,
    leaves=f"the newest 30 % of the history and a snapshot of {SUMMARY:,} tokens (assumed)",
)

HALF = replace(
    CURRENT,
    id="gemini-0.5",
    label="Gemini CLI, threshold 0.5",
    source="Gemini CLI's own source, 20 November 2025 to February 2026: half of the window, no masking",
    date="2025-11",
    meter="gemini-2026-01",
    draw=lambda limits, settings: _draw(limits, settings, percent=50, masks=False),
    since=(0, 18),
    until=(0, 18),  # no version's own: chosen by a person
)

FIFTH = replace(
    HALF,
    id="gemini-0.2",
    label="Gemini CLI, threshold 0.2",
    source="Gemini CLI's own source, 30 October to 14 November 2025 (0.13); then 0.7 again for six days",
    date="2025-10",
    draw=lambda limits, settings: _draw(limits, settings, percent=20, masks=False),
    since=(0, 13),
    until=(0, 18),
)

SEVENTH = replace(
    HALF,
    id="gemini-0.7",
    label="Gemini CLI, threshold 0.7",
    source="Gemini CLI's own source, mid 2025 (0.1.9) to 30 October 2025: seven tenths of the window",
    date="2025-07",
    draw=lambda limits, settings: _draw(limits, settings, percent=70, masks=False),
    since=None,
    until=(0, 13),
)

PIPELINE = replace(
    CURRENT,
    id="gemini-pipeline",
    label="Gemini CLI, new pipeline",
    source="Gemini CLI's own source, August 2026: the experimental context pipeline",
    date="2026-08",
    counts="its own estimate of the view",
    draw=_draw_pipeline,
    holds="estimate",
    bound=False,
    until=(0,),  # no version's own: chosen by a person
    protects=0,
    left=lambda held: min(_RETAINED, held.history),
    leaves="65,000 tokens, its snapshot among them",
)

RULES = (CURRENT, HALF, FIFTH, SEVENTH, PIPELINE)
