"""The difference between two contexts of one session: one pass over what either of them shows, stretches of one fate as one.

Entries never change, so two contexts differ in which entries they show, in the bodies they give them, and in what they insert.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from sessions.ranges import Ranges


class Change(StrEnum):
    """How the right context differs from the left one, at a place."""

    SAME = "same"
    ADDED = "added"  # an entry that only the right one shows
    GONE = "gone"  # an entry that only the left one shows
    MASKED = "masked"  # shown by both, its body replaced in the right one alone
    UNMASKED = "unmasked"
    REWRITTEN = (
        "rewritten"  # replaced in both, by different bodies; or an insertion in the place of another of its kind
    )
    INSERTED = "inserted"  # text that only the right one puts in
    DROPPED = "dropped"  # text that only the left one put in


SIGNS: Mapping[Change, str] = {
    Change.SAME: "=",
    Change.ADDED: "+",
    Change.GONE: "−",
    Change.MASKED: "~",
    Change.UNMASKED: "~",
    Change.REWRITTEN: "→",
    Change.INSERTED: "+",
    Change.DROPPED: "−",
}


@dataclass(frozen=True, slots=True)
class Body:
    """A replacement or insertion of a version: `digest` tells contents apart, `position` names it in its version."""

    position: int
    digest: bytes
    tokens: int
    kind: str = ""
    role: str = ""
    label: str = ""
    after: int = -1
    stands_for: Ranges = field(default_factory=Ranges)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: what it hides, where it ends (None: nowhere), its replacements by entry, its insertions in order."""

    hidden: Ranges
    until: int | None
    bodies: Mapping[int, Body]
    inserted: Sequence[Body]

    def shows(self, seq: int) -> bool:
        return (self.until is None or seq <= self.until) and seq not in self.hidden


@dataclass(frozen=True, slots=True)
class Shown:
    """An entry that at least one side shows."""

    seq: int
    kind: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of one change. `n`: its number among all blocks, from 1. `left`, `right`: tokens on either side.

    `d`: its number among the differences, from 1; 0 where both are the same.

    `first`, `last`: its entries; of insertions both are the entry they follow, and `before`, `body` say what stood and what stands
    there. `kinds`: entries by kind.
    """

    n: int
    change: Change
    first: int
    last: int
    count: int
    left: int
    right: int
    kinds: Mapping[str, int] = field(default_factory=dict)
    before: Body | None = None
    body: Body | None = None
    d: int = 0

    @property
    def inserts(self) -> bool:
        """Whether it is text that a version puts in, and no entry's."""
        return not self.kinds


@dataclass(slots=True)
class Difference:
    """`blocks`: the page asked for; the sums are over everything. `differences`: blocks that are not the same in both."""

    blocks: list[Block] = field(default_factory=list)
    differences: int = 0
    total: int = 0
    left_items: int = 0
    right_items: int = 0
    left_tokens: int = 0
    right_tokens: int = 0
    counts: dict[Change, int] = field(default_factory=lambda: dict.fromkeys(Change, 0))
    change: dict[Change, int] = field(default_factory=lambda: dict.fromkeys(Change, 0))
    next: int | None = None

    @property
    def equal(self) -> bool:
        return self.differences == 0


def difference(
    entries: Iterable[Shown], left: Side, right: Side, *, after: int = 0, count: int | None = None
) -> Difference:
    """What differs, in order. `after`, `count`: the blocks to keep, by number; everything is counted, only those are held.

    `entries`: those that either side shows, in order of seq. Time and reading are linear in them, memory in the blocks kept.
    """
    out = Difference()
    for block in blocks(entries, left, right):
        out.total = block.n
        out.counts[block.change] += block.count
        out.change[block.change] += block.right - block.left
        out.left_tokens += block.left
        out.right_tokens += block.right
        if block.change not in (Change.ADDED, Change.INSERTED):
            out.left_items += block.count
        if block.change not in (Change.GONE, Change.DROPPED):
            out.right_items += block.count
        out.differences += block.change is not Change.SAME
        if block.n <= after:
            continue
        if count is None or len(out.blocks) < count:
            out.blocks.append(block if block.change is Change.SAME else replace(block, d=out.differences))
        elif out.next is None:
            out.next = block.n - 1
    return out


def blocks(entries: Iterable[Shown], left: Side, right: Side) -> Iterator[Block]:
    """All blocks in order. Replaced bodies and insertions are a block each; entries of one fate in a row are one."""
    number = 0
    run: _Run | None = None
    for one in _steps(entries, left, right):
        if isinstance(one, _Run):
            if run is not None and run.takes(one):
                run.add(one)
                continue
            if run is not None:
                number += 1
                yield run.block(number)
            run = one
        else:
            if run is not None:
                number += 1
                yield run.block(number)
                run = None
            number += 1
            yield Block(
                number,
                one.change,
                one.after,
                one.after,
                1,
                one.before.tokens if one.before else 0,
                one.body.tokens if one.body else 0,
                before=one.before,
                body=one.body,
            )
    if run is not None:
        yield run.block(number + 1)


@dataclass(slots=True)
class _Run:
    change: Change
    first: int
    last: int
    count: int
    left: int
    right: int
    kinds: Counter[str]
    before: Body | None = None
    body: Body | None = None

    def takes(self, other: _Run) -> bool:
        return self.change is other.change and self.change in (Change.SAME, Change.ADDED, Change.GONE)

    def add(self, other: _Run) -> None:
        self.last = other.last
        self.count += 1
        self.left += other.left
        self.right += other.right
        self.kinds.update(other.kinds)

    def block(self, n: int) -> Block:
        return Block(
            n,
            self.change,
            self.first,
            self.last,
            self.count,
            self.left,
            self.right,
            dict(self.kinds),
            self.before,
            self.body,
        )


@dataclass(frozen=True, slots=True)
class _Put:
    after: int
    change: Change
    before: Body | None
    body: Body | None


def _steps(entries: Iterable[Shown], left: Side, right: Side) -> Iterator[_Run | _Put]:
    puts = _insertions(left, right)
    waiting = next(puts, None)
    for entry in entries:
        while waiting is not None and waiting.after < entry.seq:
            if waiting.change is not Change.SAME:
                yield waiting
            else:
                yield _same_put(waiting)
            waiting = next(puts, None)
        step = _of_entry(entry, left, right)
        if step is not None:
            yield step
    while waiting is not None:
        yield waiting if waiting.change is not Change.SAME else _same_put(waiting)
        waiting = next(puts, None)


def _same_put(put: _Put) -> _Run:
    """An insertion that both have goes with what is the same around it."""
    assert put.body is not None
    tokens = put.body.tokens
    return _Run(Change.SAME, put.after, put.after, 1, tokens, tokens, Counter({"inserted": 1}))


def _of_entry(entry: Shown, left: Side, right: Side) -> _Run | None:
    was, now = left.shows(entry.seq), right.shows(entry.seq)
    before = left.bodies.get(entry.seq) if was else None
    body = right.bodies.get(entry.seq) if now else None
    if was and now:
        if before is None and body is None:
            change = Change.SAME
        elif before is None:
            change = Change.MASKED
        elif body is None:
            change = Change.UNMASKED
        else:
            change = Change.SAME if before.digest == body.digest else Change.REWRITTEN
    elif was:
        change = Change.GONE
    elif now:
        change = Change.ADDED
    else:
        return None
    return _Run(
        change,
        entry.seq,
        entry.seq,
        1,
        (before.tokens if before is not None else entry.tokens) if was else 0,
        (body.tokens if body is not None else entry.tokens) if now else 0,
        Counter({entry.kind: 1}),
        before,
        body,
    )


def _insertions(left: Side, right: Side) -> Iterator[_Put]:
    """Insertions of both, in order of place. At one place equal ones pair first, then those of one kind: rewritten."""
    places = sorted({body.after for body in left.inserted} | {body.after for body in right.inserted})
    by_place: dict[int, tuple[list[Body], list[Body]]] = {place: ([], []) for place in places}
    for side, bodies in enumerate((left.inserted, right.inserted)):
        for body in bodies:
            by_place[body.after][side].append(body)
    for place in places:
        yield from _at_place(place, *by_place[place])


def _at_place(place: int, olds: Sequence[Body], news: Sequence[Body]) -> Iterator[_Put]:
    waiting: dict[tuple[str, str, bytes], list[int]] = {}
    for n, old in enumerate(olds):
        waiting.setdefault((old.kind, old.role, old.digest), []).append(n)
    pair: dict[int, tuple[int, Change]] = {}
    for m, new in enumerate(news):
        same = waiting.get((new.kind, new.role, new.digest))
        if same:
            pair[m] = (same.pop(0), Change.SAME)
    taken = {n for n, _ in pair.values()}
    spare: dict[str, list[int]] = {}
    for n, old in enumerate(olds):
        if n not in taken:
            spare.setdefault(old.kind, []).append(n)
    for m, new in enumerate(news):
        if m not in pair and spare.get(new.kind):
            pair[m] = (spare[new.kind].pop(0), Change.REWRITTEN)
    taken = {n for n, _ in pair.values()}
    for n, old in enumerate(olds):
        if n not in taken:
            yield _Put(place, Change.DROPPED, old, None)
    for m, new in enumerate(news):
        if m in pair:
            yield _Put(place, pair[m][1], olds[pair[m][0]], new)
        else:
            yield _Put(place, Change.INSERTED, None, new)
