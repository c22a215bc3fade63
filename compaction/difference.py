"""What became of each item of a context: found in one walk, and shared by tokens, fates, the table of changes, checks and retention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sessions.contexts import Item
from sessions.entries import Part

GONE, LESS, WHOLE = 0, 1, 2
"""An item is hidden; it stands there with another body; it stands there word for word."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Two contexts, the second made of the first by edits. `stands`: of each item before, GONE, LESS or WHOLE.

    `origin`: of each item after its position before, -1 where it was put in. `less`: positions (before, after) of what has another body;
    `put`: positions after of what was put in.
    """

    before: Sequence[Item]
    after: Sequence[Item]
    stands: bytearray
    origin: list[int]
    less: list[tuple[int, int]]
    put: list[int]

    @property
    def gone(self) -> list[int]:
        """Positions before of what is hidden now, insertions that were taken out among them."""
        return [n for n, stands in enumerate(self.stands) if stands == GONE]

    @property
    def new(self) -> list[Item]:
        """The items that were put in."""
        return [self.after[n] for n in self.put]


def same(now: tuple[Part, ...], was: tuple[Part, ...]) -> bool:
    """Whether two bodies are one. Most that are not differ in their first text: told so, since values compare slowly."""
    return now is was or (len(now) == len(was) and (not now or now[0].text == was[0].text) and now == was)


def difference(before: Sequence[Item], after: Sequence[Item]) -> Difference:
    """Compare two contexts of one order. An item is known by itself, an entry by its key, an insertion, whose number may change, by its parts."""
    size = len(before)
    stands = bytearray(size)
    origin: list[int] = []
    less: list[tuple[int, int]] = []
    put: list[int] = []
    inserted = {id(item.parts): n for n, item in enumerate(before) if item.seq is None}
    keys: dict[str, int] = {}
    at = 0
    for n, item in enumerate(after):
        if at < size and before[at] is item:
            origin.append(at)
            stands[at] = WHOLE
            at += 1
            continue
        place: int | None = None
        if item.seq is None:
            place = inserted.get(id(item.parts))
        elif at < size and before[at].key == item.key:
            place = at
        else:
            place = next((here for here in range(at, size) if before[here].key == item.key), None)
        if place is None and item.key[:1] != "i":  # out of its order, or an agent's own repair that was made anew
            keys = keys or {one.key: here for here, one in enumerate(before)}
            place = keys.get(item.key)
        if place is None:
            origin.append(-1)
            put.append(n)
            continue
        origin.append(place)
        at = place + 1
        if same(item.parts, before[place].parts):
            stands[place] = WHOLE
        else:
            stands[place] = LESS
            less.append((place, n))
    return Difference(before, after, stands, origin, less, put)
