"""The values that the templates of compaction draw: strips, bars, sums, losses, sections, files. Figures are numbers, words are ready."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from compaction import strips


@dataclass(frozen=True, slots=True)
class Refusal:
    """What happened, why, what stayed unchanged, what to do: shown where it was asked."""

    title: str
    reason: str
    unchanged: str
    actions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Tick:
    x: str
    value: int
    words: str
    signal: bool
    anchor: str
    dx: int
    y: int


@dataclass(frozen=True, slots=True)
class Bar:
    words: str
    tokens: int
    width: str
    fill: str


@dataclass(slots=True)
class Gauge:
    """Before and after on one scale. `words`: of what, by whose rule, by which meter. No bars where the window is not known."""

    words: str = ""
    bars: list[Bar] = field(default_factory=list)
    ticks: list[Tick] = field(default_factory=list)
    ticks_height: int = 0
    smaller: str = ""
    left: str = ""
    over: bool = False
    against: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a sum. `delta`: the figure is a difference."""

    words: str
    tokens: int | None
    count: int | None = None
    delta: bool = False
    total: bool = False


@dataclass(frozen=True, slots=True)
class Cost:
    words: str
    figure: str
    total: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fact. `width`: the weighted share that is there, as SVG takes it; `low`: under three fifths."""

    words: str
    figure: str
    width: str
    low: bool
    lost: int
    note: str


@dataclass(slots=True)
class Lost:
    kind: str
    glyph: str
    grave: bool
    words: str
    seq: int | None
    why: str
    turn: int | None = None


@dataclass(slots=True)
class Kept:
    """The retention report. `lost`: the first, weightiest; `more`: the others that are listed; `lost_count`: all there are."""

    rows: list[Kind]
    lost: list[Lost]
    more: list[Lost]
    lost_count: int
    need: str
    need_error: str
    errors: list[int]

    @property
    def all_lost(self) -> list[Lost]:
        return self.lost + self.more


@dataclass(frozen=True, slots=True)
class Part:
    """A section of the summary, to be read and edited."""

    n: int
    title: str
    text: str
    tokens: int
    first: str
    rows: int
    open: bool


@dataclass(frozen=True, slots=True)
class File:
    path: str
    shown: str
    tokens: int
    note: str
    width: str
    on: bool = True


@dataclass(slots=True)
class Files:
    rows: list[File] = field(default_factory=list)
    each: int = 0
    limit: int = 0
    total: int = 0
    rule: str = ""
    words: str = ""
    left_out: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Given:
    """A skill, the plan or the open goals, brought back: what it is, its name, its tokens."""

    what: str
    name: str
    tokens: int
    note: str


@dataclass(slots=True)
class Strip:
    """A strip with its words."""

    drawn: strips.Strip
    legend: list[Legend]
    said: str

    def __getattr__(self, name: str) -> Any:
        return getattr(self.drawn, name)


@dataclass(frozen=True, slots=True)
class Legend:
    fate: str
    words: str
    count: int


@dataclass(slots=True)
class Draft:
    """A model's draft as the compact page shows it. `live`: it is being written; `held`: its texts stand in the page."""

    run: Any
    progress: Any
    account: Any
    model: str
    live: bool = False
    held: bool = False


@dataclass(slots=True)
class Page:
    """All the compact page shows of a preview; without one (nothing can be planned) it says so and holds nothing."""

    entries: int
    next_version: int
    blocked: str = ""
    said: str = ""
    before: int | None = None
    after: int | None = None
    strip: Strip | None = None
    gauge: Gauge = field(default_factory=Gauge)
    changes: list[Row] = field(default_factory=list)
    retention: Kept | None = None
    sections: list[Part] = field(default_factory=list)
    summary_tokens: int = 0
    edited: bool = False
    files: Files = field(default_factory=Files)
    given: list[Given] = field(default_factory=list)
    cost: list[Cost] = field(default_factory=list)
    price: str = ""
    draft: Draft | None = None
    by_model: str = ""  # the model that will write the summary; "" where none will
    checks: list[Mapping[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    hidden: list[tuple[str, str]] = field(default_factory=list)
    used: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Report:
    """What the page of a run shows of what it did."""

    changes: list[Row]
    kept: list[Line]
    retention: Kept | None
    strip: Strip


@dataclass(frozen=True, slots=True)
class Line:
    words: str
    bad: bool = False


@dataclass(frozen=True, slots=True)
class Summariser:
    id: str
    label: Any
    ready: bool
    chosen: bool = False
