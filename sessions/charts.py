"""Figures as geometry: the context meter, the sparkline of a list, the strip map. Pure. The token chart is `tokenchart`.

Templates draw these numbers as SVG attributes; no style is written inline. Horizontal places are per cent of the whole width, so that
a drawing is as wide as its column and its text keeps its size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sessions.ranges import Ranges

MERGED = 600  # bars of a chart: more steps are merged into the largest of each stretch

# -- the context meter ------------------------------------------------------------------------------------------------

LETTER = 6.3  # pixels that a letter of 11 px takes, on average
BAR = 940  # pixels the bar has on a wide page: what labels are kept apart by
EDGE = 103.5  # per cent up to which a label may stand out at the right: the gap to the next column
LEGEND = 52.0  # per cent below the bar that the legend takes from the left


@dataclass(frozen=True, slots=True)
class Segment:
    name: str  # cached, fresh, output, estimate
    label: str
    tokens: int
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A threshold on the bar. `side`: above, below, or "" where no label fits (the list under the bar has it all)."""

    name: str
    label: str
    rule: str
    tokens: int
    x: float
    side: str = ""
    anchor: str = "end"
    signal: bool = False


@dataclass(frozen=True, slots=True)
class Meter:
    """`scale`: tokens that the whole bar stands for; `known`: whether that is the total window."""

    segments: tuple[Segment, ...]
    ticks: tuple[Tick, ...]
    scale: int
    known: bool
    used: int | None


def meter(
    parts: Sequence[tuple[str, str, int]], thresholds: Sequence[tuple[str, str, str, int]], total: int | None
) -> Meter:
    """`parts`: name, label and tokens of what is used, from the left. `thresholds`: name, label, rule, tokens, in order of tokens."""
    used = sum(tokens for _, _, tokens in parts)
    scale = max([total or 0, used, *(tokens for _, _, _, tokens in thresholds)]) or 1
    if total is None and not thresholds:
        scale = max(used * 5 // 4, 1)
    segments: list[Segment] = []
    at = 0
    for name, label, tokens in parts:
        segments.append(Segment(name, label, tokens, _share(at, scale), _share(tokens, scale)))
        at += tokens
    return Meter(tuple(segments), _labelled(thresholds, scale), scale, total is not None, used if parts else None)


def _share(tokens: float, scale: int) -> float:
    return round(min(100.0, tokens * 100 / scale), 3)


def _labelled(thresholds: Sequence[tuple[str, str, str, int]], scale: int) -> tuple[Tick, ...]:
    taken: dict[str, list[tuple[float, float]]] = {"above": [(0.0, 9.0)], "below": [(0.0, LEGEND)]}
    places: dict[str, tuple[str, str, str]] = {}
    # Compaction first: it is what a reader looks for. A label that does not fit with its rule stands without it.
    first = ("compaction", "total")
    for name, label, rule, tokens in sorted(
        thresholds, key=lambda one: first.index(one[0]) if one[0] in first else len(first)
    ):
        x = _share(tokens, scale)
        for words, (side, anchor) in ((words, place) for words in (rule, "") for place in _preferred(name)):
            long = (
                max(len(f"{tokens:,} {label}"), len(words))
                if side == "above"
                else len(f"{tokens:,} {label} {words}".rstrip())
            )
            width = long * LETTER * 100 / BAR
            span = (x - width - 0.6, x + 0.2) if anchor == "end" else (x - 0.2, x + width + 0.6)
            if span[0] < 0 or span[1] > EDGE or any(span[0] < b and a < span[1] for a, b in taken[side]):
                continue
            taken[side].append(span)
            places[name] = (words, side, anchor)
            break
    return tuple(
        Tick(name, label, *_placed(places.get(name), rule, tokens, scale), signal=name == "compaction")
        for name, label, rule, tokens in thresholds
    )


def _placed(place: tuple[str, str, str] | None, rule: str, tokens: int, scale: int) -> tuple[str, int, float, str, str]:
    words, side, anchor = place or (rule, "", "end")
    return words, tokens, _share(tokens, scale), side, anchor


def _preferred(name: str) -> tuple[tuple[str, str], ...]:
    if name == "compaction":
        return (("above", "end"), ("below", "end"), ("above", "start"))
    if name == "block":
        return (("below", "end"), ("below", "start"), ("above", "start"), ("above", "end"))
    if name == "total":
        return (("above", "end"), ("below", "end"))
    return (("above", "start"), ("above", "end"), ("below", "start"), ("below", "end"))


# -- shares: small bars -----------------------------------------------------------------------------------------------


def shares(amounts: Sequence[tuple[str, int]]) -> list[tuple[str, float, float]]:
    """Name, x and width in per cent of each amount in one bar; those of nothing are left out."""
    total = sum(amount for _, amount in amounts)
    out: list[tuple[str, float, float]] = []
    at = 0.0
    for name, amount in amounts:
        if amount and total:
            width = amount * 100 / total
            out.append((name, round(at, 2), round(width, 2)))
            at += width
    return out


# -- the sparkline ----------------------------------------------------------------------------------------------------

SPARK_WIDTH, SPARK_HEIGHT = 148, 34
SPARK_POINTS = 60


@dataclass(frozen=True, slots=True)
class Spark:
    """Context per step: `line` and `area` are paths, `threshold` its height in pixels or None, `drops` the places of compactions."""

    line: str
    area: str
    threshold: float | None
    drops: tuple[float, ...]
    end: tuple[float, float]


def spark(values: Sequence[int], threshold: int | None, drops: Sequence[float] = ()) -> Spark | None:
    """`drops`: places of compactions as shares of the way, 0 to 1. None where there are no values."""
    if not values:
        return None
    foot, head = SPARK_HEIGHT - 5, 6
    top = max([*values, threshold or 0]) or 1

    def y(value: int) -> float:
        return round(foot - (foot - head) * value / top, 1)

    step = (SPARK_WIDTH - 6) / max(1, len(values) - 1)
    points = [(round(i * step, 1), y(value)) for i, value in enumerate(values)]
    if len(points) == 1:
        points.append((SPARK_WIDTH - 6, points[0][1]))
    line = "M" + "L".join(f"{x} {at}" for x, at in points)
    return Spark(
        line,
        f"{line}L{points[-1][0]} {foot}L0 {foot}Z",
        None if not threshold else y(threshold),
        tuple(round(drop * (SPARK_WIDTH - 6), 1) for drop in drops),
        points[-1],
    )


def sample(count: int, points: int = SPARK_POINTS) -> list[int]:
    """At most `points` numbers from 1 to `count`, evenly spread, first and last among them."""
    if count <= points:
        return list(range(1, count + 1))
    return sorted({1 + round(i * (count - 1) / (points - 1)) for i in range(points)})


# -- the strip map ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mark:
    """A rectangle of a strip, in per cent of its width. `fate`: kept, masked, folded, ghost."""

    fate: str
    x: float
    width: float
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Strip:
    marks: tuple[Mark, ...]
    pins: tuple[float, ...] = ()
    again: tuple[float, ...] = ()
    turns: tuple[tuple[int, float, float], ...] = ()


def strip(
    total: int,
    fates: Mapping[str, Ranges],
    *,
    pins: Sequence[int] = (),
    again: Sequence[int] = (),
    turns: Sequence[tuple[int, int]] = (),
) -> Strip:
    """A whole session, entry by entry. `fates`: masked, folded, ghost; the rest is kept. `turns`: turn and its first entry, in order."""
    whole = max(1, total)
    spans: list[tuple[int, int, str]] = []
    for fate in ("ghost", "folded", "masked"):
        spans.extend(
            (start, min(stop, total), fate) for start, stop in fates.get(fate, Ranges()).spans if start < total
        )
    spans.sort()
    marks: list[Mark] = []
    at = 0
    for start, stop, fate in spans:
        if start > at:
            marks.append(_mark("kept", at, start, whole))
        if stop > max(at, start):
            marks.append(_mark(fate, max(at, start), stop, whole))
        at = max(at, stop)
    if at < total:
        marks.append(_mark("kept", at, total, whole))
    ends = [first for _, first in turns[1:]] + [total]
    return Strip(
        tuple(_merged(marks)),
        tuple(_share(pin, whole) for pin in pins),
        tuple(_share(place, whole) for place in again),
        tuple(
            (turn, _share(first, whole), _share(end - first, whole))
            for (turn, first), end in zip(turns, ends, strict=True)
        ),
    )


def _mark(fate: str, start: int, stop: int, whole: int) -> Mark:
    return Mark(fate, _share(start, whole), max(0.05, _share(stop - start, whole)), start, stop - 1)


def _merged(marks: Sequence[Mark]) -> list[Mark]:
    """Neighbours of one fate as one; with thousands of slivers, those under a tenth of a pixel go with what is before them."""
    out: list[Mark] = []
    for mark in marks:
        last = out[-1] if out else None
        if last is not None and (last.fate == mark.fate or (len(marks) > 2 * MERGED and mark.width < 0.06)):
            out[-1] = Mark(last.fate, last.x, round(mark.x + mark.width - last.x, 3), last.first, mark.last)
        else:
            out.append(mark)
    return out
