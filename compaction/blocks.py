"""What must stay or go together: the blocks of a context, where it may be cut, and what a fold may never take.

A block is one answer of the model with all results of its calls: splitting it would leave a call without result, or signed reasoning
without its answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from compaction.summary.events import is_wrapper
from sessions.contexts import InsertKind, Item
from sessions.entries import Kind, PartKind, Role


@dataclass(slots=True)
class Blocks:
    """`of`: the block of each item by position; `first`, `last`: positions of each block."""

    of: list[int]
    first: list[int]
    last: list[int]

    def cuts(self) -> list[bool]:
        """For each position 0…n: whether a context may be cut before it without splitting a block."""
        size = len(self.of)
        inside = [0] * (size + 2)
        for first, last in zip(self.first, self.last, strict=True):
            if first < last:
                inside[first + 1] += 1
                inside[last + 1] -= 1
        out = []
        depth = 0
        for position in range(size + 1):
            depth += inside[position]
            out.append(depth == 0)
        return out


def blocks(items: Sequence[Item]) -> Blocks:
    """The blocks of a context, numbered by their first item."""
    parent: list[int] = []
    apart = True  # no block was found to be a part of another
    steps: dict[int, int] = {}
    calls: dict[str, int] = {}
    entries: dict[int, int] = {}

    def root(n: int) -> int:
        while parent[n] != n:
            parent[n] = parent[parent[n]]
            n = parent[n]
        return n

    def joined(here: int, other: int) -> int:
        """The block of both: the one that began first. `here`: -1 where there is none yet."""
        nonlocal apart
        found = root(other)
        if here < 0 or found == here:
            return found
        apart = False
        low, high = min(here, found), max(here, found)
        parent[high] = low
        return low

    rough: list[int] = []
    seqs = [item.seq for item in items if item.seq is not None]
    in_pieces = len(set(seqs)) < len(seqs)
    assistant, is_call, is_result = Role.ASSISTANT, PartKind.TOOL_CALL, PartKind.TOOL_RESULT
    for item in items:
        step = item.step if item.role is assistant else None
        here = -1 if step is None else steps.get(step, -1)
        if here >= 0 and parent[here] != here:
            here = root(here)
        if in_pieces and item.seq is not None and item.seq in entries:
            # sent in two pieces: results, and words beside them
            here = joined(here, entries[item.seq])
        own: list[str] | None = None
        for part in item.parts:
            call_id = part.call_id
            if not call_id:
                continue
            if part.kind is is_call:
                if own is None:
                    own = []
                own.append(call_id)
            elif part.kind is is_result and call_id in calls:
                other = calls[call_id]
                # Most results are an item of their own, and their call's block was never joined to another.
                here = other if here < 0 and parent[other] == other else joined(here, other)
        if here < 0:
            here = len(parent)
            parent.append(here)
        if step is not None:
            steps[step] = here
        if in_pieces and item.seq is not None:
            entries[item.seq] = here
        if own is not None:
            for call_id in own:
                calls[call_id] = here
        rough.append(here)
    # Where they stayed apart, as in most contexts, they are numbered in the order of their first items already.
    return _ended(rough, len(parent)) if apart else _numbered([root(block) for block in rough])


def _ended(of: list[int], size: int) -> Blocks:
    """Blocks whose numbers are those of their first items."""
    last = [0] * size
    for position, block in enumerate(of):
        last[block] = position
    first = [0] * size
    for position in range(len(of) - 1, -1, -1):
        first[of[position]] = position
    return Blocks(of, first, last)


def _numbered(roots: Sequence[int]) -> Blocks:
    """The blocks, numbered in the order of their first items."""
    numbers: dict[int, int] = {}
    of: list[int] = []
    first: list[int] = []
    last: list[int] = []
    for position, found in enumerate(roots):
        number = numbers.get(found)
        if number is None:
            number = numbers[found] = len(first)
            first.append(position)
            last.append(position)
        else:
            last[number] = position
        of.append(number)
    return Blocks(of, first, last)


def is_boundary(item: Item) -> bool:
    """Whether a person speaks here: a prompt, or one that the agent carried into its own new history."""
    if item.kind is Kind.PROMPT:
        return True
    return item.kind is InsertKind.MESSAGE and item.role is Role.USER and not is_wrapper(item.text)


def newest_boundary(items: Sequence[Item]) -> int | None:
    """The position of the newest message of a person."""
    return next((n for n in range(len(items) - 1, -1, -1) if is_boundary(items[n])), None)


_STANDING = re.compile(
    r"CLAUDE(?:\.local)?\.md|AGENTS(?:\.override)?\.md|GEMINI\.md|claudeMd|<user_instructions>|<INSTRUCTIONS>|memory files?|"
    r"<environment_context>|<permissions",
    re.IGNORECASE,
)


def standing(items: Sequence[Item]) -> set[int]:
    """Positions of what holds for the whole session and no fold may take: system and developer text, memory files, environment.

    What comes before the first message of a person stays whole; later on the newest of each kind stays, since it replaces the older.
    """
    kept: set[int] = set()
    newest: dict[tuple[str, str], int] = {}
    spoken = False
    call, result, reasoning = Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.REASONING
    for n, item in enumerate(items):
        kind = item.kind
        if kind is call or kind is result or kind is reasoning:
            continue
        if kind in (InsertKind.MEMORY, InsertKind.PLAN, InsertKind.SKILL):
            kept.add(n)
            continue
        if is_boundary(item):
            spoken = True
            continue
        if kind is not Kind.CONTEXT and kind is not InsertKind.MESSAGE:
            continue
        text = item.text
        official = item.role in (Role.SYSTEM, Role.DEVELOPER)
        if not official and (kind is InsertKind.MESSAGE and item.role is not Role.USER):
            continue
        if not spoken and (official or kind is Kind.CONTEXT or is_wrapper(text)):
            kept.add(n)
        elif official or _STANDING.search(text[:600]):
            newest[(item.role or "", text[:48])] = n
    return kept | set(newest.values())
