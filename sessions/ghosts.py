"""Bands of ghosts: which stretches of a session the model no longer sees, and which version took each away. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sessions.ranges import Ranges

FOLDS = frozenset({"compaction", "microcompaction", "replacement", "run", "fold", "goal"})
ROLLBACKS = frozenset({"rollback", "rewind", "revert"})
BRANCHES = frozenset({"branch"})


@dataclass(frozen=True, slots=True)
class Maker:
    """What a band needs of a version. `made_here`: by a person or a run, not by the agent; `run`: the number of that run."""

    n: int
    kind: str
    label: str
    made_here: bool
    hidden: Ranges
    run: int | None = None


@dataclass(frozen=True, slots=True)
class Band:
    """Entries `start` to `stop` (excluded), taken out of the context by one version.

    `number` counts bands in order of place, from 1. `fold`: the how-manieth compaction of the line it is, None for other kinds.
    `part`, `parts`: where one version took several stretches.
    """

    number: int
    start: int
    stop: int
    maker: Maker
    fold: int | None
    part: int = 1
    parts: int = 1

    @property
    def records(self) -> int:
        return self.stop - self.start

    @property
    def nature(self) -> str:
        """Folded · rolled back · branch · lost: what kind of ghost this is."""
        kind = self.maker.kind
        if kind in ROLLBACKS:
            return "rolled back"
        if kind in BRANCHES:
            return "branch"
        if self.fold is not None:
            return "folded"
        return "lost"


def bands(chain: Sequence[Maker]) -> list[Band]:
    """The bands that the last version of `chain` (oldest first, each the parent of the next) shows.

    An entry belongs to the version since which it has been hidden without a break.
    """
    owned: list[tuple[Ranges, Maker]] = []
    before = Ranges()
    for maker in chain:
        fresh = maker.hidden - before
        if before - maker.hidden:
            owned = [(left, owner) for ranges, owner in owned if (left := ranges & maker.hidden)]
        if fresh:
            owned.append((fresh, maker))
        before = maker.hidden
    folds = {maker.n: n for n, maker in enumerate((m for m in chain if m.kind in FOLDS), start=1)}
    spans = sorted(
        ((start, stop, owner) for ranges, owner in owned for start, stop in ranges.spans), key=lambda span: span[0]
    )
    total = {owner.n: len(ranges.spans) for ranges, owner in owned}
    seen: dict[int, int] = {}
    out: list[Band] = []
    for number, (start, stop, owner) in enumerate(spans, start=1):
        seen[owner.n] = seen.get(owner.n, 0) + 1
        out.append(Band(number, start, stop, owner, folds.get(owner.n), seen[owner.n], total[owner.n]))
    return out


def band_of(found: Sequence[Band], seq: int) -> Band | None:
    """The band that entry `seq` lies in."""
    at = bisect_right(found, seq, key=lambda band: band.start) - 1
    return found[at] if at >= 0 and found[at].start <= seq < found[at].stop else None


@dataclass(frozen=True, slots=True)
class Stretch:
    """A window on the entries that are not hidden: `seqs` in order, and the places `low < place ≤ high` that it answers for.

    Bands and insertions belong to the window that answers for their place, so that neighbouring windows neither lose nor repeat one.
    `earlier`, `later`: whether anything lies beyond.
    """

    seqs: tuple[int, ...]
    low: int
    high: int
    earlier: bool
    later: bool


def stretch_after(hidden: Ranges, total: int, after: int, count: int) -> Stretch:
    """The next `count` entries behind entry `after` (-1: from the beginning)."""
    seqs: list[int] = []
    for seq in _visible(hidden, after + 1, total):
        if len(seqs) == count:
            return Stretch(tuple(seqs), after, seqs[-1], after >= 0, later=True)
        seqs.append(seq)
    return Stretch(tuple(seqs), after, max(total - 1, after), after >= 0, later=False)


def stretch_before(hidden: Ranges, total: int, before: int, count: int) -> Stretch:
    """The last `count` entries in front of entry `before`."""
    seqs: list[int] = []
    low = -1
    for seq in _visible_back(hidden, min(before, total) - 1):
        if len(seqs) == count:
            low = seq
            break
        seqs.append(seq)
    return Stretch(tuple(reversed(seqs)), low, before - 1, earlier=low >= 0, later=before < total)


def _visible(hidden: Ranges, start: int, total: int) -> Iterator[int]:
    spans = hidden.spans
    at = max(0, bisect_right(spans, (start, float("inf"))) - 1)
    seq = start
    while seq < total:
        while at < len(spans) and spans[at][1] <= seq:
            at += 1
        if at < len(spans) and spans[at][0] <= seq:
            seq = spans[at][1]
            continue
        stop = min(total, spans[at][0]) if at < len(spans) else total
        yield from range(seq, stop)
        seq = stop


def _visible_back(hidden: Ranges, start: int) -> Iterator[int]:
    spans = hidden.spans
    at = bisect_right(spans, (start, float("inf"))) - 1
    seq = start
    while seq >= 0:
        while at >= 0 and spans[at][0] > seq:
            at -= 1
        if at >= 0 and spans[at][0] <= seq < spans[at][1]:
            seq = spans[at][0] - 1
            continue
        floor = spans[at][1] if at >= 0 else 0
        yield from range(seq, floor - 1, -1)
        seq = floor - 1
