"""Agents whose thresholds do not hang on the model: j-cli by its own estimate, UniversalAIClient only when it is told to."""

from __future__ import annotations

from collections.abc import Sequence

from sessions.windows.base import SUMMARY, Held, Limits, Name, Rule, Settings, Threshold

_JCLI = 256 * 800
_LEAST = 1_000
_KEPT = 2  # messages


def _total(limits: Limits) -> list[Threshold]:
    return [] if limits.context is None else [Threshold(Name.TOTAL, limits.context, "C", acts=False)]


def _draw_jcli(limits: Limits, settings: Settings) -> Sequence[Threshold]:
    if settings.automatic is False:
        return _total(limits)
    at, formula = (_JCLI, "256 × 800") if settings.limit is None else (settings.limit, "the configured limit")
    return [*_total(limits), Threshold(Name.COMPACTION, at, formula, strict=True)]


def _draw_universal(limits: Limits, settings: Settings) -> Sequence[Threshold]:
    words = f"when it is told to: refuses below 1,000 tokens or with {_KEPT} messages or fewer"
    return [*_total(limits), Threshold(Name.MANUAL, _LEAST, words, acts=False)]


def _left_jcli(held: Held) -> int:
    return SUMMARY + sum(held.prompts[-5:])


JCLI = Rule(
    id="j-cli-12.9",
    agent="j-cli",
    label="j-cli 12.9",
    source="j-cli's own source, 2026; a comparison of agents' compaction gives the same figure",
    date="2026",
    counts="its own estimate: bytes of the messages' JSON / 4",
    meter="jcli-json4",
    draw=_draw_jcli,
    holds="estimate",
    bound=False,
    left=_left_jcli,
    leaves=f"the person's last five messages and a summary of {SUMMARY:,} tokens (assumed)",
)

UNIVERSAL = Rule(
    id="universal-ai-client",
    agent="universal",
    label="UniversalAIClient",
    source="a description of its /compress command, 2025",
    date="2025",
    counts="its own estimate: characters of all texts / 4",
    meter="universal-chars4",
    draw=_draw_universal,
    holds="estimate",
    bound=False,
    leaves=f"the last {_KEPT} messages and a summary of {SUMMARY:,} tokens (assumed)",
)

RULES = (JCLI, UNIVERSAL)
