"""What must hold of every new context, checked on the items before and after. A run whose checks do not all hold is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from compaction.blocks import newest_boundary
from compaction.difference import GONE, WHOLE, Difference, difference
from compaction.plan import Status
from compaction.summary.shapes import NINE, SHAPES, faults
from compaction.tools import PROTECTED, kind_of
from sessions.contexts import InsertKind, Item, unpaired
from sessions.entries import Part, PartKind, Role


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
    changed: Difference | None = None,
) -> list[Check]:
    """All checks, in the order in which pages list them. Tokens are by one meter. `shape`: the one a new summary must have. `changed`: the
    difference of the two contexts, where the caller has it already.

    Only what changed is looked at: a check that held before holds of the rest.
    """
    found = difference(before, after) if changed is None else changed
    return [
        _pairing(found),
        _reasoning(found),
        _opening(found),
        _newest(found),
        _pins(found, frozenset(pinned)),
        _protected(found),
        _summaries(found, shape),
        _smaller(tokens_before, tokens_after),
    ]


def failures(found: Iterable[Check]) -> list[Check]:
    return [check for check in found if not check.ok]


def words_of(wrong: Sequence[Check]) -> str:
    """What does not hold, as one clause: labels say what should be so, and alone would read as if it were."""
    return "does not hold: " + "; ".join(
        f"{check.label} ({check.detail})" if check.detail else check.label for check in wrong
    )


def _made(id_: str, label: str, wrong: Sequence[str], status: Status = Status.FAILED_INVARIANT) -> Check:
    shown = "; ".join(wrong[:3]) + (f"; and {len(wrong) - 3} more" if len(wrong) > 3 else "")
    return Check(id_, label, not wrong, shown, status)


def _pairing(found: Difference) -> Check:
    """I1, I2: a call without result, or a result without call, only where the context before had the same one; and nothing that was put
    in stands between a call and its result.
    """
    after = found.after
    wrong = [] if _as_paired(found) else _unpaired(found)
    put = {n for n in found.put if not after[n].results}
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


def _as_paired(found: Difference) -> bool:
    """Whether calls and results plainly are those of before: nothing of them is gone, new or other than it was."""
    return (
        GONE not in found.stands
        and not any(item.calls or item.results for item in found.new)
        and all(_same_ids(found.before[place].parts, found.after[n].parts) for place, n in found.less)
    )


def _same_ids(was: Sequence[Part], now: Sequence[Part]) -> bool:
    if len(was) == 1 == len(now) and was[0].kind is now[0].kind:  # most
        return (was[0].call_id or "") == (now[0].call_id or "")
    return _ids(was) == _ids(now)


def _ids(parts: Iterable[Part]) -> list[tuple[PartKind, str]]:
    return [(part.kind, part.call_id) for part in parts if part.call_id]


def _unpaired(found: Difference) -> list[str]:
    """What calls and results lack that lacked nothing before."""
    open_after, orphans_after = unpaired(found.after)
    if not open_after and not orphans_after:
        return []
    open_before, orphans_before = unpaired(found.before)
    wrong = [f"call {call} has no result any more" for call in (Counter(open_after) - Counter(open_before))]
    return wrong + [
        f"result {call} has no call any more" for call in (Counter(orphans_after) - Counter(orphans_before))
    ]


def _reasoning(found: Difference) -> Check:
    """I3: an answer with signed reasoning is there whole and unchanged, or not at all."""
    before, stands = found.before, found.stands
    touched = {
        item.step
        for item, stand in zip(before, stands, strict=True)
        if stand != WHOLE and item.role is Role.ASSISTANT and item.step is not None and item.seq is not None
    }
    kept = {
        item.step
        for item, stand in zip(before, stands, strict=True)
        if stand and item.role is Role.ASSISTANT and item.step in touched and item.seq is not None
    }
    answers: dict[int, list[int]] = {}
    signed: set[int] = set()
    if kept:  # the only answers of which a part is there, or which are there otherwise
        for n, item in enumerate(before):
            if item.step is not None and item.step in kept:
                if item.signed:
                    signed.add(item.step)
                if item.role is Role.ASSISTANT and item.seq is not None:
                    answers.setdefault(item.step, []).append(n)
    wrong = []
    for place, _ in found.less:
        item = before[place]
        in_answer = item.step in signed and item.role is Role.ASSISTANT and item.step is not None
        if item.seq is not None and item.signed and not in_answer:
            wrong.append(f"entry {item.seq} was changed")
    for step, members in answers.items():
        if step not in signed:
            continue
        if any(stands[n] == GONE for n in members):
            wrong.append(f"the answer of entry {before[members[0]].seq} is there in part")
        else:
            wrong.append(f"the answer of entry {before[members[0]].seq} was changed")
    return _made("reasoning", "signed reasoning whole or gone", wrong)


def _opening(found: Difference) -> Check:
    """I4: the first message that is not the system's is a user's, unless it was none before either; no message is empty."""
    wrong = []
    if _opens(found.before) and not _opens(found.after):
        wrong.append("the context no longer opens with a user message")
    others = sorted([*found.put, *(n for _, n in found.less)])
    was_empty = {found.before[place].key for place, _ in found.less if not found.before[place].parts}
    wrong += [
        f"{item.key} is empty" for n in others if not (item := found.after[n]).parts and item.key not in was_empty
    ]
    if not found.after:
        wrong.append("nothing is left")
    return _made("opening", "opens with a user message, none empty", wrong)


def _opens(items: Sequence[Item]) -> bool:
    first = next((item for item in items if item.role not in (Role.SYSTEM, Role.DEVELOPER, None)), None)
    return first is None or first.role is Role.USER


def _newest(found: Difference) -> Check:
    """I5: the newest message of a person stands there word for word."""
    place = newest_boundary(found.before)
    wrong = []
    if place is not None and (stand := found.stands[place]) != WHOLE:
        newest = found.before[place]
        if newest.seq is not None:
            wrong.append(f"entry {newest.seq}, the newest message, is {'gone' if stand == GONE else 'changed'}")
        elif all(item.parts != newest.parts for item in found.after if item.inserted):
            wrong.append("the newest message is gone")
    return _made("newest", "newest message word for word", wrong)


def _pins(found: Difference, pinned: frozenset[int]) -> Check:
    """I7: pinned entries that the context held are there, unchanged."""
    wrong = [
        f"pinned entry {item.seq} is {'gone' if stand == GONE else 'changed'}"
        for item, stand in zip(found.before, found.stands, strict=True)
        if stand != WHOLE and item.seq is not None and (item.pinned or item.seq in pinned)
    ]
    return _made("pins", "pinned entries kept word for word", wrong)


def _protected(found: Difference) -> Check:
    """I7: results of plan, skill, question and agent tools are never masked."""
    if not found.less:
        return _made("protected", "plans, answers and agents' results whole", ())
    tools: dict[str, bool] = {}  # whether results of it are protected
    protected: dict[str, str] = {}
    call = PartKind.TOOL_CALL
    for item in found.before:
        for part in item.parts:
            if part.kind is call and part.call_id:
                tool = part.tool or ""
                if tool not in tools:
                    tools[tool] = kind_of(tool) in PROTECTED
                if tools[tool]:
                    protected[part.call_id] = tool
    changed = (found.before[place] for place, _ in found.less) if protected else ()
    wrong = [
        f"the result of {protected[result]} in entry {item.seq} was masked"
        for item in changed
        for result in item.results
        if result in protected
    ]
    return _made("protected", "plans, answers and agents' results whole", wrong)


def _summaries(found: Difference, shape: str) -> Check:
    """A summary that was put in is not empty and has the shape that was asked for."""
    new = [item for item in found.new if item.kind is InsertKind.SUMMARY]
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
