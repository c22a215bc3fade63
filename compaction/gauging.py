"""Before and after on one scale, with the thresholds of the session's own agent, each by its name and rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from compaction.shown import Bar, Gauge, Tick
from compaction.strips import percent
from sessions.gauge import window_of
from sessions.meters import by_id
from sessions.models import Session
from sessions.templatetags.palimpsest import n as number
from sessions.templatetags.palimpsest import percent as percentage
from sessions.windows import Name, Window


def gauge_of(session: Session, report: Mapping[str, Any]) -> Gauge:
    tokens = report["tokens"]
    before, after, lands = tokens["before"], tokens["after"], report["lands"]
    window = window_of(session)
    total = tokens["window"] or (window.total if window is not None else None)
    threshold = tokens["threshold"] or (window.compaction if window is not None else None)
    meter = meter_label(tokens["meter"])
    out = Gauge()
    if total is None:
        out.words = _("the window is not known; {meter} for both").format(meter=meter)
        scale = max(before, after, 1)
    else:
        out.words = _("of the total window, {total} · {meter} for both").format(total=number(total), meter=meter)
        scale = max(total, before, after)
        out.ticks = _ticks(window, threshold, total, scale)
        out.ticks_height = 18 * len({tick.y for tick in out.ticks})
    out.bars = [Bar(_("before"), before, percent(before / scale), "f-before")]
    if lands:
        out.bars.append(Bar(_("after"), after, percent(after / scale), "f-after"))
        if before:
            share = percentage(abs(before - after) / before)
            out.smaller = (_("{share} smaller.") if after < before else _("{share} larger.")).format(share=share)
    if threshold is not None:
        now = threshold - before
        if lands:
            out.left = _distance(threshold - after)
            out.over = after >= threshold
            out.against = ", " + (
                _("against {n} now.").format(n=number(now))
                if now > 0
                else _("against {n} over now.").format(n=number(-now))
            )
        else:
            out.left = _distance(now) + "."
            out.over = now <= 0
    return out


def _distance(left: int) -> str:
    if left <= 0:
        return _("{n} over the threshold of compaction").format(n=number(-left))
    return _("{n} until the next compaction").format(n=number(left))


def _ticks(window: Window | None, threshold: int | None, total: int, scale: int) -> list[Tick]:
    """The compaction threshold and the input limit (or what else blocks), each with whose it is; one under the other."""
    out: list[Tick] = []
    rule = window.rule.label if window is not None else ""
    if threshold is not None:
        share = threshold / scale
        left = share > 0.5
        out.append(
            Tick(
                percent(share),
                threshold,
                _("compaction, {rule}").format(rule=rule),
                True,
                "end" if left else "start",
                -4 if left else 4,
                11,
            )
        )
    other = None
    if window is not None:
        other = window.at(Name.BLOCK) or window.at(Name.INPUT_LIMIT)
    if other is not None and other.tokens <= scale:
        share = other.tokens / scale
        words = _("hard block") if other.name is Name.BLOCK else _("input limit")
        # Where both words would lie left of their ticks, the second goes a line down.
        anchor = "start" if share < 0.7 else "end"
        y = 11 if out and out[0].anchor == "end" and anchor == "start" else 27
        out.append(
            Tick(percent(share), other.tokens, words, False, anchor, 4 if anchor == "start" else -4, y if out else 11)
        )
    return out


def meter_label(meter: str) -> str:
    return by_id(meter).label
