"""Finds, for the items of a replacement history, the entries that they repeat: what is kept need not be inserted again."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sessions.entries import Kind, Part, PartKind, Role, digest_of

_OWN = frozenset({"item", "kind", "id", "user", "trim"})
_CUT = re.compile(r"…\d+ (?:tokens|chars) truncated…")
_CANDIDATES = 24  # equal entries looked at for one item, the newest


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item of a replacement history. `user`, `trim`: as `items.Item.facts` has them."""

    role: Role
    parts: tuple[Part, ...]
    kind: Kind
    native_id: str | None
    user: bool
    trim: bool
    digest: bytes

    @property
    def weight(self) -> int:
        """How much it matters that this one is kept rather than another: a person's words most."""
        return 1000 if self.kind is Kind.PROMPT else 1 if self.kind is Kind.CONTEXT else 10


def new_items(parts: Iterable[Part]) -> list[NewItem]:
    """The items whose parts a compaction entry holds (`items.of_replacement`)."""
    groups: list[list[Part]] = []
    number: object = None
    for part in parts:
        here = part.meta.get("item")
        if groups and here is not None and here == number:
            groups[-1].append(part)
        else:
            groups.append([part])
        number = here
    return [_new_item(group) for group in groups]


def _new_item(group: list[Part]) -> NewItem:
    first = group[0]
    role = first.role or Role.USER
    parts = tuple(_bare(part) for part in group)
    name = first.meta.get("id")
    return NewItem(
        role,
        parts,
        _kind(first.meta.get("kind")),
        name if isinstance(name, str) else None,
        bool(first.meta.get("user")),
        bool(first.meta.get("trim")),
        digest_of(role, parts),
    )


def _bare(part: Part) -> Part:
    meta = {key: value for key, value in part.meta.items() if key not in _OWN}
    return Part(
        part.kind,
        part.text,
        part.tool,
        part.call_id,
        part.is_error,
        part.signed,
        part.media_type,
        part.media_bytes,
        None,
        meta,
    )


def _kind(value: object) -> Kind:
    try:
        return Kind(str(value))
    except ValueError:
        return Kind.MESSAGE


def in_order(candidates: Sequence[Sequence[int]], weights: Sequence[int]) -> dict[int, int]:
    """Item → place, for the heaviest choice in which places rise with items. `candidates[i]`: the places item i may take."""
    places = sorted({place for those in candidates for place in those})
    best: list[tuple[int, int]] = [(0, -1)] * (len(places) + 1)  # a Fenwick tree: weight, node
    nodes: list[tuple[int, int, int]] = []  # item, place, node before
    top = (0, -1)
    for item, those in enumerate(candidates):
        for place in sorted(set(those), reverse=True):
            rank = bisect_left(places, place)
            score, before = 0, -1
            at = rank
            while at > 0:
                if best[at][0] > score:
                    score, before = best[at]
                at -= at & -at
            nodes.append((item, place, before))
            found = (score + weights[item], len(nodes) - 1)
            if found[0] > top[0]:
                top = found
            at = rank + 1
            while at < len(best):
                if found[0] > best[at][0]:
                    best[at] = found
                at += at & -at
    chosen: dict[int, int] = {}
    node = top[1]
    while node >= 0:
        item, place, node = nodes[node]
        chosen[item] = place
    return chosen


def newest(places: Sequence[int]) -> Sequence[int]:
    return places[-_CANDIDATES:]


def altered(old: tuple[Part, ...], new: tuple[Part, ...]) -> bool:
    """Whether `new` is `old` with less in it: images left out, or the middle cut away, or another output for the same call."""
    calls = {part.call_id for part in new if part.kind is PartKind.TOOL_RESULT and part.call_id}
    if calls:
        return calls == {part.call_id for part in old if part.kind is PartKind.TOOL_RESULT and part.call_id}
    before, after = [p.text for p in old if p.kind is PartKind.TEXT], [p.text for p in new if p.kind is PartKind.TEXT]
    if not after or any(part.kind is not PartKind.TEXT for part in new):
        return False
    if _within(after, before):
        return True
    whole, cut = "".join(before), "".join(after)
    mark = _CUT.search(cut)
    return mark is not None and whole.startswith(cut[: mark.start()]) and whole.endswith(cut[mark.end() :])


def _within(some: list[str], all_: list[str]) -> bool:
    rest: Iterator[str] = iter(all_)
    return all(text in rest for text in some)
