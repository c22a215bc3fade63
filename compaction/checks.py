"""What must hold of every new context, checked on the items before and after. A run whose checks do not all hold is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from compaction.blocks import newest_boundary
from compaction.plan import Status
from compaction.summary.shapes import NINE, SHAPES, faults
from compaction.tools import PROTECTED, kind_of
from sessions.contexts import InsertKind, Item, unpaired
from sessions.entries import PartKind, Role


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold. `label`: as a page lists it; `detail`: what is wrong, in words, "" where it holds."""

    id: str
    label: str
    ok: bool
    detail: str = ""
    status: Status = Status.FAILED_INVARIANT


def checks(
    before: Sequence[Item],
    after: Sequence[Item],
    *,
    tokens_before: int,
    tokens_after: int,
    pinned: Iterable[int] = (),
    shape: str = NINE,
) -> list[Check]:
    """All checks, in the order in which pages list them. Tokens are by one meter. `shape`: the one a new summary must have."""
    bodies: dict[int | None, Item] = {item.seq: item for item in after if item.seq is not None}
    return [
        _pairing(before, after),
        _reasoning(before, bodies),
        _opening(before, after),
        _newest(before, after, bodies),
        _pins(before, bodies, frozenset(pinned)),
        _protected(before, bodies),
        _summaries(before, after, shape),
        _smaller(tokens_before, tokens_after),
    ]


def failures(found: Iterable[Check]) -> list[Check]:
    return [check for check in found if not check.ok]


def _made(id_: str, label: str, wrong: Sequence[str], status: Status = Status.FAILED_INVARIANT) -> Check:
    shown = "; ".join(wrong[:3]) + (f"; and {len(wrong) - 3} more" if len(wrong) > 3 else "")
    return Check(id_, label, not wrong, shown, status)


def _pairing(before: Sequence[Item], after: Sequence[Item]) -> Check:
    """I1, I2: a call without result, or a result without call, only where the context before had the same one; and nothing that was put
    in stands between a call and its result.
    """
    open_after, orphans_after = unpaired(after)
    open_before, orphans_before = unpaired(before) if open_after or orphans_after else ([], [])
    wrong = [f"call {call} has no result any more" for call in (Counter(open_after) - Counter(open_before))]
    wrong += [f"result {call} has no call any more" for call in (Counter(orphans_after) - Counter(orphans_before))]
    old = {id(item.parts) for item in before if item.inserted}
    put = {n for n, item in enumerate(after) if item.inserted and id(item.parts) not in old and not item.results}
    if not put:
        return _made("pairing", "every call has its one result", wrong)
    waiting: set[str] = set()
    answered = {call for item in after for call in item.results}
    for n, item in enumerate(after):
        if n in put and waiting:
            wrong.append(f"{item.key} stands between call {min(waiting)} and its result")
        if calls := item.calls:
            waiting.update(call for call in calls if call in answered)
        if waiting:
            waiting.difference_update(item.results)
    return _made("pairing", "every call has its one result", wrong)


def _reasoning(before: Sequence[Item], bodies: Mapping[int | None, Item]) -> Check:
    """I3: an answer with signed reasoning is there whole and unchanged, or not at all."""
    signed = {item.step for item in before if item.signed and item.step is not None}
    answers: dict[int, list[Item]] = {}
    wrong = []
    for item in before:
        if item.seq is None:
            continue
        if item.step in signed and item.role is Role.ASSISTANT and item.step is not None:
            answers.setdefault(item.step, []).append(item)
        elif item.signed and (new := bodies.get(item.seq)) is not None and new.parts != item.parts:
            wrong.append(f"entry {item.seq} was changed")
    for members in answers.values():
        there = [new for item in members if (new := bodies.get(item.seq)) is not None]
        if there and len(there) < len(members):
            wrong.append(f"the answer of entry {members[0].seq} is there in part")
        elif any(
            new.parts is not item.parts and new.parts != item.parts for new, item in zip(there, members, strict=False)
        ):
            wrong.append(f"the answer of entry {members[0].seq} was changed")
    return _made("reasoning", "signed reasoning whole or gone", wrong)


def _opening(before: Sequence[Item], after: Sequence[Item]) -> Check:
    """I4: the first message that is not the system's is a user's, unless it was none before either; no message is empty."""
    wrong = []
    if _opens(before) and not _opens(after):
        wrong.append("the context no longer opens with a user message")
    empty_before = {item.key for item in before if not item.parts}
    wrong += [f"{item.key} is empty" for item in after if not item.parts and item.key not in empty_before]
    if not after:
        wrong.append("nothing is left")
    return _made("opening", "opens with a user message, none empty", wrong)


def _opens(items: Sequence[Item]) -> bool:
    first = next((item for item in items if item.role not in (Role.SYSTEM, Role.DEVELOPER, None)), None)
    return first is None or first.role is Role.USER


def _newest(before: Sequence[Item], after: Sequence[Item], bodies: Mapping[int | None, Item]) -> Check:
    """I5: the newest message of a person stands there word for word."""
    place = newest_boundary(before)
    wrong = []
    if place is not None:
        newest = before[place]
        if newest.seq is not None:
            there = bodies.get(newest.seq)
            if there is None or there.parts != newest.parts:
                wrong.append(f"entry {newest.seq}, the newest message, is {'gone' if there is None else 'changed'}")
        elif all(item.parts != newest.parts for item in after if item.inserted):
            wrong.append("the newest message is gone")
    return _made("newest", "newest message word for word", wrong)


def _pins(before: Sequence[Item], bodies: Mapping[int | None, Item], pinned: frozenset[int]) -> Check:
    """I7: pinned entries that the context held are there, unchanged."""
    wrong = []
    for item in before:
        if item.seq is not None and (item.pinned or item.seq in pinned):
            there = bodies.get(item.seq)
            if there is None or there.parts != item.parts:
                wrong.append(f"pinned entry {item.seq} is {'gone' if there is None else 'changed'}")
    return _made("pins", "pinned entries kept word for word", wrong)


def _protected(before: Sequence[Item], bodies: Mapping[int | None, Item]) -> Check:
    """I7: results of plan, skill, question and agent tools are never masked."""
    changed = [
        item
        for item in before
        if item.seq is not None and (new := bodies.get(item.seq)) is not None and new.parts is not item.parts
    ]
    results = {call: item for item in changed if item.parts != bodies[item.seq].parts for call in item.results}
    wrong = []
    if results:
        for item in before:
            for part in item.parts:
                if (
                    part.kind is PartKind.TOOL_CALL
                    and part.call_id in results
                    and kind_of(part.tool or "") in PROTECTED
                ):
                    wrong.append(f"the result of {part.tool} in entry {results[part.call_id].seq} was masked")
    return _made("protected", "plans, answers and agents' results whole", wrong)


def _summaries(before: Sequence[Item], after: Sequence[Item], shape: str) -> Check:
    """A summary that was put in is not empty and has the shape that was asked for."""
    old = {id(item.parts) for item in before if item.inserted}
    new = [item for item in after if item.kind is InsertKind.SUMMARY and id(item.parts) not in old]
    wrong = [fault for item in new for fault in faults(shape, item.text)]
    empty = any(not item.text.strip() for item in new)
    status = Status.FAILED_EMPTY_SUMMARY if empty else Status.FAILED_BAD_TEMPLATE
    label = "summary not empty"
    if shape in SHAPES:
        label = f"summary: {SHAPES[shape].label}" if shape != NINE else "summary of nine sections"
    return _made("summary", label, wrong, status)


def _smaller(before: int, after: int) -> Check:
    """I6: fewer tokens than before, by one meter."""
    wrong = [] if after < before else [f"{after:,} tokens after, {before:,} before"]
    return _made("smaller", "smaller than before", wrong, Status.FAILED_INFLATED)
