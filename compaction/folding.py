"""What strategies that fold have in common: what may never be folded, where a fold ends, and where the text stands that stands for it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from compaction.blocks import Blocks, blocks, newest_boundary, standing
from compaction.masks import masked_parts
from compaction.merge import is_made, number_of
from compaction.plan import Ask, Budget, Fold, Plan, Snapshot, Status, SummaryAsk
from sessions.contexts import InsertKind, Item
from sessions.entries import Kind
from sessions.ranges import Ranges

LEAST_FOLD = 600
"""Tokens: a summary of less would not be smaller than what it stands for."""


def blocks_of(snapshot: Snapshot) -> Blocks:
    """The blocks of a context, found once per snapshot."""
    known: Blocks | None = snapshot.memo.get("blocks")
    if known is None:
        known = snapshot.memo["blocks"] = blocks(snapshot.items)
    return known


def standing_of(snapshot: Snapshot) -> set[int]:
    """Positions of what holds for the whole session, found once per snapshot."""
    known: set[int] | None = snapshot.memo.get("standing")
    if known is None:
        known = snapshot.memo["standing"] = standing(snapshot.items)
    return known


def is_summary(item: Item) -> bool:
    return item.kind is Kind.SUMMARY or item.kind is InsertKind.SUMMARY


def stays(item: Item) -> bool:
    """An item no edit of ours can take: the agent's own repair of a call, which goes with its call."""
    return item.seq is None and number_of(item) is None


def numbers_of(items: Sequence[Item], positions: Collection[int]) -> tuple[int, ...]:
    """The insertions at these positions, by their place among the version's insertions."""
    inserted = [
        items[n] for n in positions if items[n].seq is None
    ]  # few or none, and most contexts hold very many items
    return tuple(sorted(number for item in inserted if (number := number_of(item)) is not None))


def unfoldable(snapshot: Snapshot) -> set[int]:
    """Positions that are never folded: pinned entries, the newest message of a person, what holds for the whole session."""
    pinned = snapshot.pinned
    never = {n for n, item in enumerate(snapshot.items) if item.pinned or (item.seq in pinned)}
    newest = newest_boundary(snapshot.items)
    return never | standing_of(snapshot) | (set() if newest is None else {newest})


def kept_blocks(snapshot: Snapshot) -> set[int]:
    """Blocks that stay whole since something in them may not be folded; found once per snapshot."""
    known: set[int] | None = snapshot.memo.get("kept blocks")
    if known is None:
        of = blocks_of(snapshot).of
        known = snapshot.memo["kept blocks"] = {of[n] for n in unfoldable(snapshot)}
    return known


def hopeless(name: str, snapshot: Snapshot, budget: Budget) -> Plan | None:
    """The plan that says why nothing can be done at all: an empty context, or a newest message larger than the window."""
    if not snapshot.items:
        return Plan(name, Status.NOOP_NOTHING_TO_DO, "the context is empty", facts={"before": 0})
    newest = newest_boundary(snapshot.items)
    if newest is None or budget.window is None or snapshot.tokens[newest] <= budget.window:
        return None
    reason = (
        f"the newest message alone is {snapshot.tokens[newest]:,} tokens, more than the window of {budget.window:,}: "
        "no compaction can make room for it"
    )
    return Plan(name, Status.FAILED_CONTEXT_OVERFLOW, reason, facts={"before": snapshot.total})


def spans(folded: Collection[int], items: Sequence[Item]) -> Ranges:
    """The entries at the positions `folded` as few long ranges: gaps that hold no other entry of the context are closed."""
    taken = {seq for n in folded if (seq := items[n].seq) is not None}
    if not taken:
        return Ranges()
    low, high = min(taken), max(taken) + 1
    start, stop = min(folded), max(folded) + 1
    if stop - start == len(taken):  # all items between are taken, and all are entries
        return Ranges(((low, high),))
    out: list[tuple[int, int]] = []
    opened: int | None = None
    last = low
    between = [item.seq for item in items[start:stop]]
    if taken.issuperset(between):
        return Ranges(((low, high),))
    for seq in between:
        if seq is None or not low <= seq < high:
            continue
        if seq in taken:
            opened = seq if opened is None else opened
            last = seq
        elif opened is not None:
            out.append((opened, last + 1))
            opened = None
    if opened is not None:
        out.append((opened, last + 1))
    return Ranges.of(out)


def as_kept(item: Item, masks: Mapping[int, str]) -> Item:
    """The item as it stands after `masks`."""
    text = None if item.seq is None else masks.get(item.seq)
    return item if text is None else item.left_with(masked_parts(item, text))


def fold_of(snapshot: Snapshot, wanted: Iterable[int]) -> set[int]:
    """Of the positions `wanted` those that may be folded: only blocks that are wanted whole, and none that stays whole."""
    of = blocks_of(snapshot).of
    chosen = set(wanted)
    whole, there = Counter(of), Counter(map(of.__getitem__, chosen))
    kept = kept_blocks(snapshot) | {block for block, size in whole.items() if there[block] < size}
    items = snapshot.items
    return {n for n in chosen if of[n] not in kept and (items[n].seq is not None or not stays(items[n]))}


def worth(snapshot: Snapshot, fold: Collection[int]) -> int:
    """The tokens of a fold without what earlier folds put in: where there are none, nothing came since."""
    return sum(snapshot.tokens[n] for n in fold if not is_summary(snapshot.items[n]) and not is_made(snapshot.items[n]))


def folded_behind(
    name: str,
    snapshot: Snapshot,
    fold: set[int],
    *,
    summary: int,
    template: str,
    facts: dict[str, Any],
    extra: tuple[Ask, ...] = (),
    focus: str = "",
) -> Plan:
    """The plan that puts one text in the place of `fold`: a summary of at most `summary` tokens, or with 0 a line that says it is gone."""
    items = snapshot.items
    seqs = spans(fold, items)
    left = [item for n, item in enumerate(items) if n not in fold]
    absorb = numbers_of(items, fold)
    entries = sum(1 for n in fold if items[n].seq is not None)
    facts |= {"folded_entries": entries, "folded_tokens": sum(snapshot.tokens[n] for n in fold)}
    after = Places(snapshot, fold).before(min(fold))
    told: dict[str, Any] = {"fold": seqs, "absorb": absorb, "after": after, "files_after": after, "facts": facts}
    if summary:
        parts = tuple(items[n] for n in sorted(fold))
        ask = SummaryAsk("summary", parts, tuple(left), summary, template=template, focus=focus)
        return Plan(name, asks=(ask, *extra), **told)
    line = f"[{entries:,} earlier {'entry' if entries == 1 else 'entries'} of this session are left out here]"
    return Plan(name, folds=(Fold("", seqs, after, "Left out", head=line, absorb=absorb),), asks=extra, **told)


class Places:
    """Where text may stand: nowhere between a kept answer and its results. `gone`: positions that will be hidden."""

    def __init__(self, snapshot: Snapshot, gone: Collection[int]) -> None:
        self.items = snapshot.items
        of = blocks_of(snapshot).of
        bounds: dict[int, tuple[int, int]] = {}
        for n, item in enumerate(self.items):
            if item.seq is not None and n not in gone:
                low, high = bounds.get(of[n], (item.seq, item.seq))
                bounds[of[n]] = (min(low, item.seq), max(high, item.seq))
        self.inside = Ranges.of(bounds.values())
        self.starts = [start for start, _ in self.inside.spans]

    def before(self, position: int) -> int:
        """The entry behind which text goes that should stand before `position`, moved up out of any answer."""
        following = next(
            (seq for n in range(position, len(self.items)) if (seq := self.items[n].seq) is not None), None
        )
        if following is None:
            return max((item.seq for item in self.items if item.seq is not None), default=-1)
        after = following - 1
        at = bisect_right(self.starts, after) - 1
        if at >= 0 and after < self.inside.spans[at][1]:
            return self.inside.spans[at][0] - 1
        return after
