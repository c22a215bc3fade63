"""From a plan and its answers to the full edits of the new version: the base version's own edits included, nothing twice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from compaction.difference import same
from compaction.files import inserted_text
from compaction.masks import masked_parts
from compaction.plan import FilesAnswer, GivenAnswer, Plan, Snapshot, SummaryAnswer
from sessions.contexts import Edit, Hide, Insert, InsertKind, Item, Replace, hidden_by, inserted_item
from sessions.entries import Part, PartKind, Role
from sessions.ranges import Ranges


def merged(snapshot: Snapshot, plan: Plan, added: Iterable[Insert] = ()) -> tuple[Edit, ...]:
    """Every edit of the new version.

    Hidden: the base's and the plan's. Replacements of entries now hidden vanish, a new mask supersedes an older one. The base's
    insertions stay in their order, without the absorbed ones; the new ones follow.
    """
    hidden = hidden_by(snapshot.edits) | plan.fold
    by_seq = {item.seq: item for item in snapshot.items if item.seq in plan.masks}
    bodies = {edit.seq: edit for edit in snapshot.edits if isinstance(edit, Replace) and edit.seq not in hidden}
    for seq, text in plan.masks.items():
        if seq not in hidden:
            bodies[seq] = Replace(seq, masked_parts(by_seq[seq], text))
    for seq, parts in plan.bodies.items():
        if seq not in hidden:
            bodies[seq] = Replace(seq, parts)
    absorbed = set(plan.absorb)
    inserts = [edit for edit in snapshot.edits if isinstance(edit, Insert)]
    left = [edit for n, edit in enumerate(inserts) if n not in absorbed]
    out: list[Edit] = [Hide(hidden)] if hidden else []
    out.extend(bodies[seq] for seq in sorted(bodies))
    out.extend(left)
    out.extend(added)
    return tuple(out)


_MADE = re.compile(r".*, made at entry (\d+)\Z", re.DOTALL)


def made(what: str, snapshot: Snapshot) -> str:
    """The label of what a run puts in for what it folds."""
    return f"{what}, made at entry {snapshot.last_seq}"


def is_made(item: Item) -> bool:
    """Whether an item is what a run of ours put in for something it folded."""
    return item.seq is None and _MADE.match(item.label) is not None


def number_of(item: Item) -> int | None:
    """The place of inserted text among the version's insertions; None for entries and repairs."""
    return int(item.key[1:]) if item.seq is None and item.key[:1] == "i" and item.key[1:].isdigit() else None


def made_at(snapshot: Snapshot) -> int | None:
    """The entry up to which the context had grown when our newest fold in it was made; None where there is none of ours."""
    found = (_MADE.match(edit.label) for edit in snapshot.edits if isinstance(edit, Insert))
    return max((int(match[1]) for match in found if match is not None), default=None)


def stood_for(inserts: Sequence[Insert], absorbed: Sequence[int]) -> Ranges:
    """What the absorbed ones among the base version's insertions stood for."""
    return Ranges.of(span for n in absorbed for span in inserts[n].stands_for.spans)


def summary_insert(plan: Plan, snapshot: Snapshot, answer: SummaryAnswer) -> Insert:
    """The summary as an insertion; it stands for what is folded now and for what the summaries it absorbs stood for."""
    inserts = [edit for edit in snapshot.edits if isinstance(edit, Insert)]
    stands = plan.fold | stood_for(inserts, plan.absorb)
    part = Part(PartKind.TEXT, answer.text)
    return Insert(plan.after, Role.USER, InsertKind.SUMMARY, (part,), stands, made("Summary", snapshot))


def fold_inserts(plan: Plan, snapshot: Snapshot, answers: Mapping[str, SummaryAnswer]) -> list[Insert]:
    """Each fold of a plan that has several, as the insertion that stands for it. `answers`: those of their asks, by key."""
    inserts = [edit for edit in snapshot.edits if isinstance(edit, Insert)]
    out = []
    for fold in plan.folds:
        written = answers.get(fold.key)
        text = "\n\n".join(piece for piece in (fold.head, written.text if written else "", fold.tail) if piece)
        kind = InsertKind.SUMMARY if written is not None else InsertKind.NOTICE
        stands = fold.ranges | stood_for(inserts, fold.absorb) if fold.absorb else fold.ranges
        out.append(
            Insert(fold.after, Role.USER, kind, (Part(PartKind.TEXT, text),), stands, made(fold.label, snapshot))
        )
    return out


def file_inserts(plan: Plan, answer: FilesAnswer) -> list[Insert]:
    """Files as insertions, the most recently used last: nearest to where the work goes on."""
    return [
        Insert(
            plan.files_after,
            Role.USER,
            InsertKind.FILE,
            (Part(PartKind.TEXT, inserted_text(state)),),
            Ranges(),
            state.path,
        )
        for state in reversed(answer.files)
    ]


def given_inserts(plan: Plan, answer: GivenAnswer) -> list[Insert]:
    """Skills, plan and goals as insertions, the best of them last: nearest to where the work goes on."""
    return [
        Insert(plan.files_after, Role.USER, one.kind, (Part(PartKind.TEXT, one.text),), Ranges(), one.label)
        for one in reversed(answer.given)
    ]


def applied(snapshot: Snapshot, edits: Sequence[Edit]) -> list[Item]:
    """The context after `edits`, made of the snapshot's items.

    `edits` hide and replace no less than the base's. Items that are neither entries nor insertions (an agent's own repair of a call
    without result) stay exactly where their call stays.
    """
    newly = set(hidden_by(edits) - hidden_by(snapshot.edits))  # asked for every item: a set answers faster than ranges
    bodies = {edit.seq: edit.parts for edit in edits if isinstance(edit, Replace)}
    old_inserts = [edit for edit in snapshot.edits if isinstance(edit, Insert)]
    new_inserts = [(n, edit) for n, edit in enumerate(edit for edit in edits if isinstance(edit, Insert))]
    numbers = _kept_numbers(old_inserts, [edit for _, edit in new_inserts])
    kept_new = set(numbers.values())
    new = ((edit.after, n, edit) for n, edit in new_inserts if n not in kept_new)
    waiting = sorted(new, key=lambda one: one[:2], reverse=True)  # the next one is the last
    out: list[Item] = []
    calls = _Calls(out)
    for item in snapshot.items:
        seq = item.seq
        if seq is not None:
            while waiting and waiting[-1][0] < seq:
                _, n, edit = waiting.pop()
                out.append(inserted_item(edit, n))
            if seq in newly:
                continue
            body = bodies.get(seq)
            out.append(item if body is None or same(body, item.parts) else item.left_with(body))
            continue
        old = number_of(item)
        if old is not None:
            number = numbers.get(old)
            if number is None:
                continue
            while waiting and waiting[-1][:2] < (-1 if item.after is None else item.after, number):
                _, n, edit = waiting.pop()
                out.append(inserted_item(edit, n))
            out.append(item if number == old else replace(item, key=f"i{number}"))
        elif all(call in calls for call in item.results):
            out.append(item)
    out.extend(inserted_item(edit, n) for _, n, edit in reversed(waiting))
    return out


class _Calls:
    """The calls of a list of items that grows, read as far as it has come where somebody asks: most contexts hold no repair of a call."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.read = 0
        self.known: set[str] = set()

    def __contains__(self, call: str) -> bool:
        for n in range(self.read, len(self.items)):
            self.known.update(self.items[n].calls)
        self.read = len(self.items)
        return call in self.known


def _kept_numbers(old: Sequence[Insert], new: Sequence[Insert]) -> dict[int, int]:
    """Old insertion number → new one, for those that stay. Both lists keep their order, so one walk suffices."""
    numbers: dict[int, int] = {}
    at = 0
    for n, edit in enumerate(old):
        look = at
        while look < len(new) and new[look] is not edit and new[look] != edit:
            look += 1
        if look < len(new):
            numbers[n] = look
            at = look + 1
    return numbers
