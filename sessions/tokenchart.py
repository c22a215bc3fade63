"""The token chart as geometry: one bar a step (or the largest of a stretch), limits, compactions, rollbacks, forks. Pure.

A drawing is made for a width in pixels, so that its text keeps its size. The page, the export and the form without script are all this
one drawing; a script only lays the cursor over it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

LEFT = 46  # pixels for the figures of the axis
WIDE = 900  # width from which limits are named at the right, with leaders
RIGHT = 272  # pixels for those names
FOOT = 44  # pixels below the bars: brackets, numbers of turns, the cursor's flag
NARROW = 5.2  # pixels that one takes in a longer name, of which few are capitals and figures
LETTER = 6.1  # pixels that a letter of 11 px takes, on average
LINE = 15  # pixels from one label to the next

type Scale = Callable[[float], float]
"""From a step, or from tokens, to pixels."""

RANK = {"compaction": 0, "input_limit": 1, "total": 2}  # which limits are named first where there is little room
LAYERS = ("cache_read", "cache_write", "fresh", "whole", "answer", "reasoning")  # from the foot up


@dataclass(frozen=True, slots=True)
class Bar:
    """One step, or the one with the largest context of the steps `start` to `stop` (excluded). None: not recorded.

    `whole`: the context where the agent records it without telling its parts apart. `reasoning` is part of `output`.
    """

    n: int
    turn: int | None
    seq: int
    start: int
    stop: int
    cache_read: int | None = None
    cache_write: int | None = None
    fresh: int | None = None
    output: int | None = None
    reasoning: int | None = None
    whole: int | None = None
    estimated: bool = False

    @property
    def context(self) -> int:
        return sum(self.layers)

    @property
    def prompt(self) -> int:
        return (self.cache_read or 0) + (self.cache_write or 0) + (self.fresh or 0) + (self.whole or 0)

    @property
    def layers(self) -> tuple[int, ...]:
        """Tokens of each of `LAYERS`."""
        output = self.output or 0
        thought = min(self.reasoning or 0, output)
        return (
            self.cache_read or 0, self.cache_write or 0, self.fresh or 0, self.whole or 0, output - thought, thought,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Limit:
    """A threshold: what it is, tokens, whose rule and by which formula."""

    name: str
    label: str
    tokens: int
    whose: str
    rule: str


@dataclass(frozen=True, slots=True)
class Flag:
    """A compaction in front of step `at`. Tokens of the context before and after, where they are known."""

    number: int
    at: int
    label: str
    seq: int
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class Rolled:
    """Steps `first` to `last` that were rolled back or left; `before` and `after`: tokens of the context around that."""

    first: int
    last: int
    label: str
    before: int | None = None
    after: int | None = None


@dataclass(frozen=True, slots=True)
class Fork:
    """Where a session leaves another, in front of step `at`."""

    at: int
    label: str
    session: str


@dataclass(frozen=True, slots=True)
class Chart:
    """What is drawn: steps `first` to `last` of `steps`. `marks`: steps in front of which another rule would have compacted."""

    bars: tuple[Bar, ...]
    first: int
    last: int
    steps: int
    limits: tuple[Limit, ...] = ()
    flags: tuple[Flag, ...] = ()
    rolled: tuple[Rolled, ...] = ()
    forks: tuple[Fork, ...] = ()
    marks: tuple[int, ...] = ()

    @property
    def span(self) -> int:
        return self.last - self.first + 1


# -- what is drawn -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the bars stand, in pixels."""

    width: int
    height: int
    left: int
    top: int
    plot_width: int
    plot_height: int

    @property
    def foot(self) -> int:
        return self.top + self.plot_height

    @property
    def right(self) -> int:
        return self.left + self.plot_width


@dataclass(frozen=True, slots=True)
class Words:
    """A label: `strong` first, then `plain`, then `quiet`. `anchor`: start, middle or end."""

    x: float
    y: float
    anchor: str
    strong: str = ""
    plain: str = ""
    quiet: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A limit's line (`y` None: it lies above the chart), its leader as a path, its words."""

    limit: Limit
    y: float | None
    leader: str
    words: Words | None


@dataclass(frozen=True, slots=True)
class Pole:
    """A vertical with a head: a compaction, a rollback, a fork. `title`: all of it in words."""

    x: float
    number: str
    words: Words | None
    title: str
    seq: int | None = None
    session: str = ""


@dataclass(frozen=True, slots=True)
class Ground:
    """Rolled back: a dashed ground, the bars as outline, and an arrow back where there is room."""

    x: float
    width: float
    outline: str
    arrow: str
    words: Words | None
    title: str


@dataclass(frozen=True, slots=True)
class Bracket:
    """A turn's line at the foot; `number` None where its number does not fit."""

    turn: int
    x: float
    width: float
    middle: float
    number: str | None
    shaded: bool


@dataclass(slots=True)
class Drawing:
    frame: Frame
    top: int
    layers: list[tuple[str, str]] = field(default_factory=list)
    ticks: list[tuple[float, str]] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    poles: list[Pole] = field(default_factory=list)
    forks: list[Pole] = field(default_factory=list)
    grounds: list[Ground] = field(default_factory=list)
    brackets: list[Bracket] = field(default_factory=list)
    marks: list[float] = field(default_factory=list)


def frame_of(width: int, height: int) -> Frame:
    """The places for a drawing of this size: with names at the right where it is wide."""
    wide = width >= WIDE
    head = 38 if width >= 600 else 26
    return Frame(width, height, LEFT, head, width - LEFT - (RIGHT if wide else 8), height - head - FOOT)


def draw(chart: Chart, width: int, height: int) -> Drawing:
    """Lay the chart out for a place of so many pixels."""
    frame = frame_of(width, height)
    scale = scale_of(chart)
    out = Drawing(frame, scale)

    def x(step: float) -> float:
        return round(frame.left + (step - chart.first) * frame.plot_width / max(1, chart.span), 1)

    def y(tokens: float) -> float:
        return round(frame.foot - tokens * frame.plot_height / scale, 1)

    gone = [(one.first, one.last) for one in chart.rolled]
    out.layers = _layers(chart, gone, frame, x, y)
    out.ticks = [(y(value), short(value)) for value in ticks(scale, 3 if frame.width < 600 else 5)]
    shown = [flag for flag in chart.flags if chart.first <= flag.at <= chart.last + 1]
    rolled = [one for one in chart.rolled if one.last >= chart.first and one.first <= chart.last]
    forks = [one for one in chart.forks if chart.first <= one.at <= chart.last + 1]
    taken: list[tuple[float, float]] = []
    heads = sorted([x(flag.at) for flag in shown] + [x(max(one.first, chart.first)) for one in rolled])
    out.lines = _lines(chart.limits, frame, y, heads)
    for flag in shown:
        out.poles.append(_pole(flag, x(flag.at), frame, heads, taken))
    for one in rolled:
        out.grounds.append(_ground(one, chart, frame, x, y, heads, taken))
    for fork in forks:
        place = x(fork.at)
        words = _beside(place + 8, "", fork.label, frame, heads, taken, at=place) if frame.width >= 600 else None
        out.forks.append(Pole(place, "", words, fork.label, session=fork.session))
    out.brackets = _brackets(chart, frame, x)
    out.marks = [x(n) for n in chart.marks if chart.first <= n <= chart.last + 1]
    return out


def scale_of(chart: Chart) -> int:
    """Tokens of the whole height. A window that is never neared would press the bars flat; then its limits lie outside."""
    largest = max((bar.context for bar in chart.bars), default=0)
    near = [one.tokens for one in chart.limits if one.tokens <= largest * 4]
    return max([int(largest * 1.08), *(int(tokens * 1.01) for tokens in near), 1])


def ticks(scale: int, most: int = 5) -> list[int]:
    """Round figures from 0 to `scale`, at most so many."""
    rough = scale / most
    size = 1
    while size * 10 <= rough:
        size *= 10
    unit = next((part * size // 2 for part in (2, 4, 5, 10, 20) if part * size / 2 >= rough), 10 * size)
    return list(range(0, scale + 1, max(1, unit)))


def short(tokens: int) -> str:
    """A figure of the axis: 350k."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if tokens >= size:
            return f"{tokens / size:.1f}".rstrip("0").rstrip(".") + unit
    return str(tokens)


def merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans of steps (last included) in order, those that touch as one."""
    out: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if out and first <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], last))
        else:
            out.append((first, last))
    return out


def _layers(chart: Chart, gone: Sequence[tuple[int, int]], frame: Frame, x: Scale, y: Scale) -> list[tuple[str, str]]:
    """One outline a layer, each from the foot to the top of what it adds to those below it; the largest is drawn first."""
    hidden = merged(gone)
    kept = [bar for bar in chart.bars if not any(first <= bar.n <= last for first, last in hidden)]
    out: list[tuple[str, str]] = []
    for at in reversed(range(len(LAYERS))):
        if not any(bar.layers[at] for bar in kept):
            continue
        out.append(
            (LAYERS[at], _outline([(bar.start, bar.stop, sum(bar.layers[: at + 1])) for bar in kept], frame, x, y))
        )
    return out


def _outline(bars: Sequence[tuple[int, int, int]], frame: Frame, x: Scale, y: Scale) -> str:
    """Bars as closed outlines; those that touch are one."""
    path: list[str] = []
    open_until: int | None = None
    for start, stop, tokens in bars:
        if open_until != start:
            if open_until is not None:
                path.append(f"V{frame.foot}Z")
            path.append(f"M{x(start):g} {frame.foot}")
        path.append(f"V{y(tokens):g}H{x(stop):g}")
        open_until = stop
    if open_until is not None:
        path.append(f"V{frame.foot}Z")
    return "".join(path)


def _lines(limits: Sequence[Limit], frame: Frame, y: Scale, heads: Sequence[float]) -> list[Line]:
    """Limits with their names: at the right with leaders, or in the chart above their lines where it is narrow."""
    levels = sorted(((y(one.tokens), one) for one in limits), key=lambda pair: pair[0])
    inside = [(level, one) if level >= frame.top - 1 else (None, one) for level, one in levels]
    if frame.plot_width + LEFT + RIGHT > frame.width:
        return _lines_within(inside, frame, heads)
    heights: list[float] = []
    last = float("-inf")
    for level, _ in inside:
        last = max((level if level is not None else frame.top - 12) + 4, last + LINE)
        heights.append(last)
    # Where lines lie close together their labels are spread round them.
    floor = float(frame.foot)
    for at in reversed(range(len(heights))):
        heights[at] = min(heights[at], floor)
        floor = heights[at] - LINE
    out: list[Line] = []
    for (level, one), height in zip(inside, heights, strict=True):
        leader = "" if level is None else f"M{frame.right} {level:g}h6L{frame.right + 16} {height - 4:g}h3"
        strong, plain = f"{one.tokens:,}", one.label + (" ↑" if level is None else "")
        # Whose rule it is stands in the title too.
        fits = (len(strong) + len(plain) + len(one.whose) + 4) * NARROW <= RIGHT - 22
        words = Words(frame.right + 22, height, "start", strong, plain, one.whose if fits else "")
        out.append(Line(one, level, leader, words))
    return out


def _lines_within(levels: Sequence[tuple[float | None, Limit]], frame: Frame, heads: Sequence[float]) -> list[Line]:
    """In a narrow chart: names in one row where no line crosses them, compaction's first, others behind it as far as they fit."""
    inside = sorted(level for level, _ in levels if level is not None)
    row = next(
        (level - 4 for level in reversed(inside) if not any(level - 15 < other < level for other in inside)), None
    )
    words: dict[int, Words] = {}
    start = frame.left + 5.0
    order = sorted(range(len(levels)), key=lambda at: RANK.get(levels[at][1].name, len(RANK)))
    for at in order:
        level, one = levels[at]
        strong, plain = short(one.tokens), one.label
        width = (len(strong) + len(plain) + 1) * (LETTER + 0.4)
        if level is None or row is None:
            continue
        for head in heads:
            if start - 10 < head < start + width + 10:
                start = head + 12
        if start + width > frame.right:
            continue
        words[at] = Words(round(start, 1), row, "start", strong, plain)
        start += width + 10
    return [Line(one, level, "", words.get(at)) for at, (level, one) in enumerate(levels)]


def change(before: int | None, after: int | None) -> str:
    """What a compaction did: 352,480 → 48,310; what is not known is –."""
    if before is None and after is None:
        return ""
    return " → ".join("–" if tokens is None else f"{tokens:,}" for tokens in (before, after))


def _pole(flag: Flag, place: float, frame: Frame, heads: Sequence[float], taken: list[tuple[float, float]]) -> Pole:
    figures = change(flag.before, flag.after)
    words = None
    if frame.width >= 600:
        words = _beside(place + 14, flag.label, figures, frame, heads, taken, at=place)
        if words is None and figures:
            words = _beside(place + 14, "", figures, frame, heads, taken, at=place)
    return Pole(place, str(flag.number), words, f"Compaction {flag.number}: {flag.label} {figures}".rstrip(), flag.seq)


def _beside(
    start: float,
    strong: str,
    plain: str,
    frame: Frame,
    heads: Sequence[float],
    taken: list[tuple[float, float]],
    *,
    at: float,
) -> Words | None:
    """Words beside a pole: to its right where nothing stands there, else to its left, else none."""
    width = (len(strong) + len(plain) + (1 if strong and plain else 0)) * LETTER
    limit = frame.right + (100 if frame.right + RIGHT <= frame.width else 0)
    for low, anchor in ((start, "start"), (2 * at - start - width, "end")):
        high = low + width
        if low < frame.left or high > limit:
            continue
        if any(low - 10 < head < high + 10 for head in heads if head != at):
            continue
        if any(low < b and a < high for a, b in taken):
            continue
        taken.append((low - 6, high + 6))
        return Words(round(low if anchor == "start" else high, 1), 15, anchor, strong, plain)
    return None


def _ground(
    one: Rolled,
    chart: Chart,
    frame: Frame,
    x: Scale,
    y: Scale,
    heads: Sequence[float],
    taken: list[tuple[float, float]],
) -> Ground:
    first, last = max(one.first, chart.first), min(one.last, chart.last)
    low, high = x(first), x(last + 1)
    inside = [bar for bar in chart.bars if first <= bar.n <= last]
    outline = "".join(
        f"{'M' if at == 0 else 'L'}{x(bar.start):g} {y(bar.context):g}H{x(bar.stop):g}" for at, bar in enumerate(inside)
    )
    head = frame.top + 8
    arrow = f"M{high - 3:g} {head - 4}v8M{high - 3:g} {head}H{low + 4:g}m5 -4l-5 4l5 4" if high - low > 24 else ""
    turns = sorted({bar.turn for bar in inside if bar.turn is not None})
    which = "" if not turns else f"turn {turns[0]}" if len(turns) == 1 else f"turns {turns[0]}–{turns[-1]}"
    figures = change(one.before, one.after)
    words = None
    if frame.width >= 600:
        words = _beside(
            low, one.label, " · ".join(part for part in (which, figures) if part), frame, heads, taken, at=low
        )
        words = words or _beside(low, one.label, which, frame, heads, taken, at=low)
    return Ground(
        low, max(2.0, round(high - low, 1)), outline, arrow, words, f"{one.label}: {which} {figures}".rstrip(" :")
    )


def _brackets(chart: Chart, frame: Frame, x: Scale) -> list[Bracket]:
    """Turns at the foot, each with its number where that fits; every other one has a ground."""
    spans: list[tuple[int, int, int]] = []
    for bar in chart.bars:
        if bar.turn is None:
            continue
        if spans and spans[-1][0] == bar.turn:
            spans[-1] = (bar.turn, spans[-1][1], bar.stop)
        else:
            spans.append((bar.turn, bar.start, bar.stop))
    dense = len(spans) * 3 > frame.plot_width  # then grounds would flicker and brackets be dots
    sparse = len(spans) * 26 > frame.plot_width  # then numbers stand for a few turns each
    written = float("-inf")
    out: list[Bracket] = []
    for at, (turn, start, stop) in enumerate(spans):
        low, high = x(start) + 1, x(stop) - 1
        middle = round((low + high) / 2, 1)
        words = f"turn {turn}" if (high - low > 44 or sparse) and frame.width >= 600 else str(turn)
        half = len(words) * 3.2
        fits = middle - half > written + (60 if sparse else 4) and (sparse or high - low > half)
        if fits and frame.left <= middle - half and middle + half <= frame.right + 6:
            written = middle + half
        else:
            fits = False
        if dense and not fits:
            continue
        out.append(
            Bracket(
                turn,
                low,
                max(1.0, round(high - low, 1)),
                middle,
                words if fits else None,
                shaded=bool(at % 2) and not dense,
            )
        )
    return out
