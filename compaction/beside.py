"""A context beside what a dry run makes of it: the difference of two lists of items, neither of which need be stored. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compaction.preview import Preview
from sessions.contexts import Item
from sessions.differences import Body, Difference, Shown, Side, difference
from sessions.ranges import Ranges


def beside(
    before: Sequence[Item], tokens: Sequence[int], made: Preview, *, after: int = 0, count: int | None = None
) -> Difference:
    """How `made` differs from the context it was made of. `tokens`: of each item before, by the same meter as the preview's.

    `after`, `count`: the blocks to keep, by number. A body's `position` is its place among the items of its side.
    """
    last = max((item.seq for item in (*before, *made.items) if item.seq is not None), default=-1)
    left, right = _side(before, tokens, last), _side(made.items, made.tokens, last)
    return difference(_shown(before, tokens, made), left, right, after=after, count=count)


def _shown(before: Sequence[Item], tokens: Sequence[int], made: Preview) -> Iterator[Shown]:
    """Every entry that either side shows, in order, with its size unmasked where either has it so."""
    found: dict[int, Shown] = {}
    for items, sizes in ((made.items, made.tokens), (before, tokens)):
        for item, size in zip(items, sizes, strict=True):
            if item.seq is not None and (item.seq not in found or not item.masked):
                found[item.seq] = Shown(item.seq, str(item.kind), size)
    for seq in sorted(found):
        yield found[seq]


def _side(items: Sequence[Item], tokens: Sequence[int], last: int) -> Side:
    bodies: dict[int, Body] = {}
    inserted: list[Body] = []
    there: list[int] = []
    for place, (item, size) in enumerate(zip(items, tokens, strict=True)):
        if item.seq is not None:
            there.append(item.seq)
            if item.masked:
                bodies[item.seq] = Body(place, item.digest, size)
            continue
        role = "" if item.role is None else str(item.role)
        follows = -1 if item.after is None else item.after
        inserted.append(Body(place, item.digest, size, str(item.kind), role, item.label, follows, item.stands_for))
    inserted.sort(key=lambda body: (body.after, body.position))
    return Side(_gaps(sorted(there), last), None, bodies, inserted)


def _gaps(there: Sequence[int], last: int) -> Ranges:
    """The numbers up to `last` that are not in `there`, which is sorted."""
    spans: list[tuple[int, int]] = []
    at = 0
    for seq in there:
        if seq > at:
            spans.append((at, seq))
        at = seq + 1
    if at <= last:
        spans.append((at, last + 1))
    return Ranges.of(spans)
