"""What any strategy must beat: the newest part alone, plain masking, and a list of bare names that games recall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log

from compaction.measure.fitting import Fitted, newest_within, tokens_of
from compaction.measure.future import said
from compaction.plan import Count
from compaction.summary.items import shown, terms
from sessions.contexts import InsertKind, Item
from sessions.entries import Part, PartKind, Role

PLACEHOLDER = "[output cleared]"


def keep_last(items: Sequence[Item], tokens: Sequence[int], budget: int, count: Count) -> Fitted:
    """The newest items, the one that does not fit whole with its end."""
    return newest_within(list(items), list(tokens), budget, count)


def mask_old(items: Sequence[Item], tokens: Sequence[int], budget: int, count: Count) -> Fitted:
    """Old tool results replaced by one fixed line: as many of the newest kept as fit; where all masked is still too much, the newest."""
    results = [n for n, item in enumerate(items) if item.results]
    masked = {n: _cleared(items[n]) for n in results}
    costs = dict(zip(masked, tokens_of(list(masked.values()), count), strict=True))
    body, sizes = list(items), list(tokens)
    for n in results:
        if costs[n] < tokens[n]:
            body[n], sizes[n] = masked[n], costs[n]
    left = budget - sum(sizes)
    for n in reversed(results):
        left -= tokens[n] - sizes[n]
        if left < 0:
            break
        body[n], sizes[n] = items[n], tokens[n]
    return newest_within(body, sizes, budget, count)


def bag_of_names(items: Sequence[Item], tokens: Sequence[int], budget: int, count: Count) -> Fitted:
    """Every name by how often and how lately it was used, nothing else: useless to an agent, and full marks where support is not asked for."""
    times: Counter[str] = Counter()
    last: dict[str, int] = {}
    events = said(items)
    for event in events:
        for term in terms(event.text):
            times[term] += 1
            last[term] = event.n
    names = sorted(times, key=lambda term: (-log(1 + times[term]) / (1 + log(len(events) - last[term])), term))
    names = [shown(term) for term in names]
    low, high = 0, len(names)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count([" ".join(names[:middle])])[0] <= budget else (low, middle - 1)
    text = " ".join(names[:low])
    part = Part(PartKind.TEXT, text)
    item = Item(key="i0", seq=None, role=Role.USER, kind=InsertKind.NOTICE, parts=(part,))
    return Fitted((item,), count([text])[0])


def _cleared(item: Item) -> Item:
    parts = tuple(
        replace(part, text=PLACEHOLDER) if part.kind is PartKind.TOOL_RESULT else part
        for part in item.parts
        if part.kind is not PartKind.MEDIA
    )
    return replace(item, parts=parts, masked=True)


BASELINES: dict[str, Callable[[Sequence[Item], Sequence[int], int, Count], Fitted]] = {
    "last-n": keep_last,
    "plain-mask": mask_old,
    "bag-of-names": bag_of_names,
}
