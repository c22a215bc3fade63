"""A session's memory brought up to date with the entries since the last time, without a model. Pure; the same input gives the same notes.

What has been taken in is not read again: figures go on counting where they stood, a later word on the same thing takes the place of an
earlier one. Calls whose results are still to come wait for the next time. What a person wrote stays where it stands; what a person took
out does not come back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from compaction.notes.gathering import Gathered, gather
from compaction.notes.sections import ERRORS, STATE, Line, Notes, fitted, uncounted
from compaction.plan import Count
from compaction.summary.events import read
from sessions.contexts import Item
from sessions.entries import Kind
from sessions.ranges import Ranges

_OPEN, _PASSED = " → not seen to pass since", " → passed later"


def update(notes: Notes, items: Iterable[Item], count: Count, *, title: str = "", gone: Ranges | None = None) -> Notes:
    """The memory with these entries in it. `items`: entries in their order; those up to `notes.until` are passed over.

    `gone`: entries that were rolled back: lines that rest on them alone go too. Twice is the same as once.
    """
    start = notes if not gone else without(notes, gone)
    new = [item for item in items if item.seq is not None and item.seq > notes.until]
    taken = [item for item in new[: settled(new)] if not gone or item.seq not in gone]
    until = new[end - 1].seq if (end := settled(new)) else notes.until
    if not end or until is None:
        return start
    found = gather(read(taken), start, title=title)
    sections = tuple(
        _merged(n, lines, new_lines, start.struck)
        for n, (lines, new_lines) in enumerate(zip(start.sections, found.lines, strict=True))
    )
    sections = (*sections[:ERRORS], _solved(sections[ERRORS], found), *sections[ERRORS + 1 :])
    return fitted(replace(start, sections=sections, until=until, open=found.open), count)


def settled(items: Sequence[Item]) -> int:
    """How many of these entries may be taken in: up to where every call has its result, or nobody waits for it any more: a person has spoken
    since, or the model has gone on to another answer.
    """
    waiting: dict[str, int | None] = {}
    end = 0
    for n, item in enumerate(items):
        if item.kind is Kind.PROMPT:
            waiting.clear()
        elif waiting and item.step is not None:
            waiting = {call: step for call, step in waiting.items() if step is None or step >= item.step}
        if not waiting:
            end = n
        for result in item.results:
            waiting.pop(result, None)
        waiting.update(dict.fromkeys(item.calls, item.step))
        if not waiting:
            end = n + 1
    return end


def without(notes: Notes, gone: Ranges) -> Notes:
    """The notes without the lines that rest on these entries alone; a person's stay. A turn that goes on from nothing else is counted no more."""
    sections = tuple(tuple(line for line in lines if line.own or not _rests_on(line, gone)) for lines in notes.sections)
    open_ = notes.open
    if open_ is not None and open_.data and _rests_on(open_, gone):
        open_ = uncounted(open_.key)
    return notes if (sections, open_) == (notes.sections, notes.open) else replace(notes, sections=sections, open=open_)


def _rests_on(line: Line, gone: Ranges) -> bool:
    return bool(line.seqs) and all(seq in gone for seq in line.seqs)


def _merged(n: int, lines: Sequence[Line], new: Sequence[Line], struck: frozenset[str]) -> tuple[Line, ...]:
    """Old and new lines, each thing once: where it is spoken of again it moves to the end, with what is worth most kept of both."""
    wanted = {
        line.name if n == STATE and not line.key else line.key or line.text: line
        for line in new
        if line.name not in struck
    }
    kinds = {_kind(line) for line in new} if n == STATE else set()
    texts = {line.text for line in lines if line.own}
    weights = {line.key: line.weight for line in lines if line.key}
    kept = [
        line
        for line in lines
        if line.own
        or ((line.key or line.text) not in wanted and not (n == STATE and line.key and _kind(line) in kinds))
    ]
    added = [
        replace(line, weight=max(line.weight, weights.get(line.key, 0)) if n != ERRORS else line.weight)
        for line in wanted.values()
        if line.text not in texts
    ]
    return _in_order(kept, added) if n == STATE else (*kept, *added)


def _in_order(kept: Sequence[Line], added: Sequence[Line]) -> tuple[Line, ...]:
    """The state of things: a person's words first, then what was asked, what is open, what was said."""
    order = ("state:asked", "state:todo", "state:said")
    lines = [*kept, *added]
    return tuple(sorted(lines, key=lambda line: order.index(_kind(line)) if _kind(line) in order else -1))


def _kind(line: Line) -> str:
    """Of what sort a line about the state of things is: the newest of a sort stand for it."""
    return ":".join(line.key.split(":")[:2])


def _solved(lines: Sequence[Line], found: Gathered) -> tuple[Line, ...]:
    """The errors, those that have passed since marked so."""
    fresh = {line.key for line in found.lines[ERRORS]}
    out = []
    for line in lines:
        of = str(line.data.get("of"))
        passed = line.data.get("open") and line.key not in fresh and of in found.solved
        out.append(line if line.own or not passed else _passed(line, found.solved[of]))
    return tuple(out)


def _passed(line: Line, at: int) -> Line:
    text = line.text.removesuffix(_OPEN) + _PASSED
    seqs = tuple(dict.fromkeys([*line.seqs, at]))
    return replace(line, text=text, weight=1, seqs=seqs, data={**line.data, "open": False})
