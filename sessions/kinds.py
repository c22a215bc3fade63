"""What fills a context: its tokens by kind, tool results by tool, and its biggest entries. Pure, over rows without text.

A row counts under the kind of its entry. Two things are told apart within a row: media, which a meter weighs by number, and the
calls and results of a row that holds several (`shares`): there its tokens are dealt out by the length of each part's text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from heapq import nsmallest

from sessions.entries import SizeVector
from sessions.meters import Meter


class Fill(StrEnum):
    """What a stretch of a context is, in the order in which pages and figures show it."""

    SYSTEM = "system"  # what the harness put in: environment, reminders, skills, hook output
    MEMORY = "memory"  # CLAUDE.md, AGENTS.md, GEMINI.md
    SUMMARY = "summary"
    REINJECTED = "reinjected"  # files, skills, plans and notices that a version put back, and its messages
    USER = "user"
    ASSISTANT = "assistant"
    REASONING = "reasoning"
    CALLS = "tool_calls"
    RESULTS = "tool_results"
    MEDIA = "media"


WORDS: Mapping[Fill, str] = {
    Fill.SYSTEM: "system and harness",
    Fill.MEMORY: "memory files",
    Fill.SUMMARY: "summaries",
    Fill.REINJECTED: "re-injected",
    Fill.USER: "user",
    Fill.ASSISTANT: "assistant",
    Fill.REASONING: "reasoning",
    Fill.CALLS: "tool calls",
    Fill.RESULTS: "tool results",
    Fill.MEDIA: "media",
}

_OF_KIND: Mapping[str, Fill] = {
    "prompt": Fill.USER,
    "command": Fill.USER,
    "message": Fill.ASSISTANT,
    "reasoning": Fill.REASONING,
    "tool_call": Fill.CALLS,
    "tool_result": Fill.RESULTS,
    "summary": Fill.SUMMARY,
    "media": Fill.MEDIA,
    "context": Fill.SYSTEM,
}


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a row that holds several calls or results: its kind as an entry's, its tool, the bytes of its text."""

    kind: str
    tool: str | None
    bytes: int


@dataclass(frozen=True, slots=True)
class Row:
    """One place of a context, without its text. `seq` None: inserted text, which stands behind entry `after`.

    `calls`: ids of its calls or results. `memory`: it holds a memory file. `shares` as the module says, else empty.
    `position`: of the insertion or replacement that gives its body; `ordinal`: of an insertion among its version's insertions.
    """

    seq: int | None
    after: int
    kind: str
    role: str | None = None
    tool: str | None = None
    calls: tuple[str, ...] = ()
    sizes: SizeVector = field(default_factory=SizeVector)
    masked: bool = False
    memory: bool = False
    label: str = ""
    position: int | None = None
    ordinal: int | None = None
    shares: tuple[Share, ...] = ()

    @property
    def key(self) -> str:
        """As in a context: e1083 for entry 1083, i2 for the version's third insertion."""
        return f"i{self.ordinal}" if self.seq is None else f"e{self.seq}"

    @property
    def place(self) -> tuple[int, int]:
        return (self.after, -1 if self.seq is not None else self.position or 0)


@dataclass(frozen=True, slots=True)
class Amount:
    """`share` of the whole, 0 to 1. `entries`: rows that count here with any of their tokens, insertions among them."""

    name: str
    tokens: int
    entries: int
    share: float


@dataclass(frozen=True, slots=True)
class Big:
    """One of the largest rows, with the kind under which most of it counts. `call`: of a result, the entry that asked for it."""

    row: Row
    fill: Fill
    tool: str | None
    tokens: int
    call: int | None = None


@dataclass(frozen=True, slots=True)
class Filling:
    """`by_tool`: tool results, the largest first; "" is a result whose call is not in the context. `next`: see `after_cursor`."""

    tokens: int
    entries: int
    by_kind: tuple[Amount, ...]
    by_tool: tuple[Amount, ...]
    biggest: tuple[Big, ...]
    next: str | None


def fill_of(row: Row) -> Fill:
    """The kind under which a row counts, but for its media."""
    if row.memory or row.kind == "memory":
        return Fill.MEMORY
    if row.kind == "summary":
        return Fill.SUMMARY
    if row.seq is None:
        return Fill.RESULTS if row.kind == "tool_result" else Fill.REINJECTED
    return _OF_KIND.get(row.kind, Fill.SYSTEM)


def filling(rows: Iterable[Row], meter: Meter, *, count: int = 50, after: str | None = None) -> Filling:
    """One pass over a context's rows, in order; memory grows with the calls and with `count`, not with the text.

    `after`: a cursor of `Filling.next`: the biggest entries behind that one. Raises ValueError for a cursor that none of ours is.
    """
    start = after_cursor(after) if after else None
    tokens: dict[Fill, int] = dict.fromkeys(Fill, 0)
    entries: dict[Fill, int] = dict.fromkeys(Fill, 0)
    tools: dict[str, list[int]] = {}
    names: dict[str, str] = {}
    asked: dict[str, int] = {}
    whole = number = 0

    def weighed() -> Iterator[Big]:
        nonlocal whole, number
        for row in rows:
            number += 1
            if row.kind == "tool_call" and row.seq is not None:
                asked.update(dict.fromkeys(row.calls, row.seq))
            own, most, tool = 0, Fill.SYSTEM, None
            largest = -1
            for fill, name, amount in _pieces(row, meter, names):
                own += amount
                tokens[fill] += amount
                entries[fill] += 1
                if fill is Fill.RESULTS:
                    sums = tools.setdefault(name or "", [0, 0])
                    sums[0] += amount
                    sums[1] += 1
                if amount > largest:
                    largest, most, tool = amount, fill, name
            whole += own
            call = next((asked[one] for one in row.calls if one in asked), None) if most is Fill.RESULTS else None
            big = Big(row, most, tool, own, call)
            if start is None or _rank(big) > start:
                yield big

    # One more than is shown says whether there are more.
    found = nsmallest(count + 1, weighed(), key=_rank)
    shown = found[:count]
    return Filling(
        whole,
        number,
        tuple(_amount(fill.value, tokens[fill], entries[fill], whole) for fill in Fill if entries[fill]),
        tuple(
            _amount(name, amount, rows, whole)
            for name, (amount, rows) in sorted(tools.items(), key=lambda one: (-one[1][0], one[0]))
        ),
        tuple(shown),
        cursor_of(shown[-1]) if len(found) > count else None,
    )


def _amount(name: str, tokens: int, entries: int, whole: int) -> Amount:
    return Amount(name, tokens, entries, tokens / whole if whole else 0.0)


def _rank(big: Big) -> tuple[int, int, int]:
    """Biggest first; of equal ones the earlier."""
    return (-big.tokens, *big.row.place)


def cursor_of(big: Big) -> str:
    after, position = big.row.place
    return f"{big.tokens}.{after}.{position}"


def after_cursor(text: str) -> tuple[int, int, int]:
    """The rank behind which a page begins. ValueError where the text is no cursor of ours."""
    pieces = text.split(".")
    if len(pieces) != 3:
        raise ValueError("no cursor of ours")
    tokens, after, position = (int(piece) for piece in pieces)
    return (-tokens, after, position)


def _pieces(row: Row, meter: Meter, names: dict[str, str]) -> Iterator[tuple[Fill, str | None, int]]:
    """The kinds under which a row counts, each with a tool and its tokens; learns the tools of its calls."""
    if row.kind == "tool_call":
        if row.tool and not row.shares:
            names.update(dict.fromkeys(row.calls, row.tool))
        for call, share in zip(row.calls, row.shares, strict=False):
            if share.kind == "tool_call" and share.tool:
                names[call] = share.tool
    whole = meter.of(row.sizes)
    media = 0
    if row.sizes.images or row.sizes.documents:
        media = max(0, whole - meter.of(replace(row.sizes, images=0, documents=0)))
        yield Fill.MEDIA, None, media
    words = whole - media
    fill = fill_of(row)
    if fill is Fill.MEDIA and media:
        if words:
            yield fill, None, words
        return
    if not row.shares:
        if words or not media:
            tool = row.tool or next((names[call] for call in row.calls if call in names), None)
            yield fill, tool if fill in (Fill.CALLS, Fill.RESULTS) else None, words
        return
    for one, share, amount in zip(
        _padded(row.calls, len(row.shares)), row.shares, dealt(words, [s.bytes for s in row.shares]), strict=True
    ):
        named = share.tool or (names.get(one) if one else None)
        yield _OF_KIND.get(share.kind, fill), named, amount


def _padded(calls: Sequence[str], length: int) -> list[str | None]:
    return [*calls, *[None] * length][:length]


def dealt(tokens: int, weights: Sequence[int]) -> list[int]:
    """`tokens` in whole numbers, in proportion to `weights`; the sum is kept. Without any weight the first takes all."""
    total = sum(weights)
    if not total:
        return [tokens, *[0] * (len(weights) - 1)] if weights else []
    out: list[int] = []
    before = given = 0
    for weight in weights:
        before += weight
        upto = tokens * before // total
        out.append(upto - given)
        given = upto
    return out
