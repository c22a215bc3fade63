"""A session's kept memory in the place of what it covers: a compaction without any model, where somebody wrote the notes as it went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compaction.folding import (
    LEAST_FOLD,
    Places,
    blocks_of,
    is_summary,
    kept_blocks,
    numbers_of,
    spans,
    stays,
)
from compaction.merge import made, number_of, stood_for
from compaction.outputs import Left
from compaction.plan import Budget, Plan, Snapshot
from compaction.reinject.cutting import head_of
from compaction.strategies.emulation import Again, end_of, room_again, tail_to, untouched
from sessions.contexts import Insert, InsertKind, Item
from sessions.entries import Kind, Part, PartKind, Role


@dataclass(frozen=True, slots=True)
class Kept:
    """How much stays word for word behind the memory: what it does not cover, and more before that until there are `least` tokens and `messages`
    with words, but no more than `most` tokens. `memory`: tokens of the memory itself, cut to its head beyond.
    """

    least: int
    messages: int
    most: int
    memory: int


def remembered(
    name: str, snapshot: Snapshot, budget: Budget, left: Left, kept: Kept, again: Again, facts: dict[str, Any]
) -> tuple[Plan, int] | None:
    """The plan with the memory instead of a summary, and the tokens it would leave; None where no memory is kept, or it covers too little."""
    memory = snapshot.memory
    if memory is None or not memory.text.strip():
        return None
    items = snapshot.items
    start = tail_to(blocks_of(snapshot).cuts(), _start(items, left.tokens, memory.until, kept))
    of, whole = blocks_of(snapshot).of, kept_blocks(snapshot)
    earlier = {n for n, item in enumerate(items) if item.kind is InsertKind.MEMORY and item.stands_for}
    superseded = {n for n, item in enumerate(items) if item.kind in again.kinds and number_of(item) is not None}
    told = {n for n in range(start) if of[n] not in whole and not stays(items[n])} | earlier
    gone = told | superseded
    if sum(snapshot.tokens[n] for n in told - earlier if not is_summary(items[n])) < LEAST_FOLD:
        return None
    text, cut = head_of(memory.text.strip(), kept.memory, budget.count)
    if not text:
        return None
    size = sum(left.tokens[n] for n in told)
    written = budget.count([text])[0]
    room = again.within(room_again(snapshot, left, told, written, budget.window))
    hidden, absorb, places = spans(gone, items), numbers_of(items, gone), Places(snapshot, gone)
    stands = hidden | stood_for([edit for edit in snapshot.edits if isinstance(edit, Insert)], absorb)
    after = places.before(min(told))
    part = Part(PartKind.TEXT, text)
    insert = Insert(after, Role.USER, InsertKind.MEMORY, (part,), stands, made("Session memory", snapshot))
    stay = tuple(left.items[n] for n in range(len(items)) if n not in gone)
    facts |= {
        "session_memory": True,
        "memory_cut": cut,
        "folded_entries": sum(1 for n in told if items[n].seq is not None),
        "folded_tokens": size,
        "tail_from": next((item.seq for item in items[start:] if item.seq is not None), None),
    }
    facts.setdefault("used", {}).update(file_each=room.file_each, file_total=room.file_total)
    plan = Plan(
        name,
        bodies={seq: parts for seq, parts in left.bodies.items() if seq not in hidden},
        fold=hidden,
        absorb=absorb,
        after=after,
        files_after=places.before(end_of(snapshot, gone)),
        inserts=(insert,),
        asks=tuple(room.asks(untouched(stay))),
        facts=facts,
    )
    return plan, left.total - sum(left.tokens[n] for n in gone) + written


def _start(items: Sequence[Item], tokens: Sequence[int], until: int, kept: Kept) -> int:
    start = next((n for n, item in enumerate(items) if item.seq is not None and item.seq > until), len(items))
    size = sum(tokens[start:])
    spoken = sum(_speaks(item) for item in items[start:])
    while start > 0 and (size < kept.least or spoken < kept.messages) and size + tokens[start - 1] <= kept.most:
        start -= 1
        size += tokens[start]
        spoken += _speaks(items[start])
    return start


def _speaks(item: Item) -> bool:
    return item.kind in (Kind.PROMPT, Kind.MESSAGE, InsertKind.MESSAGE)
