"""A session in memory, changed and written: what the tests of every writer begin with."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath

from sessions.adapters import by_agent, claims
from sessions.adapters.base import HEAD, Adapter
from sessions.adapters.lineage import Lineage
from sessions.assembly import Reading, read_whole
from sessions.contexts import Edit, Hide, Insert, InsertKind, Item, Replace, hidden_by, project
from sessions.entries import Kind, Part, PartKind, Role
from sessions.ranges import Ranges
from sessions.writers import writers
from sessions.writers.base import Draft, Names, Written, ghosts_of, unchanged_until
from sessions.writers.compare import Block, blocks
from sessions.writers.crossing import crossed

NOW = datetime.now(UTC)  # agents put what they are told next behind what they find, by the clock


@dataclass(frozen=True)
class Taken:
    """A session read from bytes, with the edits of the agent's own head."""

    adapter: Adapter
    path: PurePath
    data: bytes
    reading: Reading

    @property
    def edits(self) -> tuple[Edit, ...]:
        return self.reading.versions[-1].edits if self.reading.versions else ()

    def items(self, edits: Sequence[Edit]) -> list[Item]:
        return project(self.reading.items(), edits)

    def wired(self, edits: Sequence[Edit]) -> list[Item]:
        return self.adapter.wire(self.items(edits), self.reading.facts)


def taken(path: PurePath, data: bytes) -> Taken:
    found = claims(path, data[:HEAD])
    assert found is not None, path
    return Taken(found[0], path, data, read_whole(found[0], path, [(data, False)]))


def draft_of(session: Taken, edits: Sequence[Edit], agent: str, *, seed: int = 1) -> Draft:
    """What a writer of `agent` is given."""
    placed = session.reading.placed
    items = session.items(edits)
    sent = [p.seq for p in placed if p.entry.sent and not p.entry.lane]
    draft = Draft(
        agent=session.adapter.agent,
        facts=session.reading.facts,
        links=[p.link() for p in placed],
        record=lambda seq: session.data[placed[seq].offset : placed[seq].offset + placed[seq].length],
        parts_of=lambda seq: placed[seq].entry.parts,
        items=items,
        ghosts=ghosts_of(items, hidden_by(edits), sent),
        changed_from=unchanged_until(items, sent),
        lineage=Lineage(session.adapter.agent, session.reading.facts.native_id, None, 3),
        names=Names(NOW, random.Random(seed)),
        title=session.reading.facts.title,
    )
    return crossed(draft, session.adapter.wire(items, session.reading.facts), agent)


def written(session: Taken, edits: Sequence[Edit], agent: str, *, seed: int = 1) -> Written:
    return writers()[agent].write(draft_of(session, edits, agent, seed=seed))


def read_back(made: Written, agent: str) -> Taken:
    file = made.files[0]
    back = taken(PurePath("/sessions/there") / file.name, file.data)
    assert back.adapter.agent == agent
    return back


def said(items: Sequence[Item]) -> list[Block]:
    return blocks(items)


def saved(made: Written, folder: Path) -> Path:
    for file in made.files:
        path = folder / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)
    return folder / made.files[0].name


def text(words: str) -> tuple[Part, ...]:
    return (Part(PartKind.TEXT, words),)


def folded(session: Taken, *, upto: float = 0.5, file: bool = True, mask: bool = True) -> tuple[Edit, ...]:
    """A fold of the beginning, a file brought back behind it, and a masked result after it: as a run of `hybrid` leaves a session."""
    before = session.edits
    hidden = hidden_by(before)
    view = [item for item in session.items(before) if item.seq is not None]
    cut = _whole_until(view, max(1, int(len(view) * upto)))
    fold = Ranges.from_numbers(item.seq for item in view[:cut] if item.seq is not None)
    after = view[cut - 1].seq
    assert after is not None
    stands = fold
    inserts: list[Edit] = []
    for edit in before:
        if isinstance(edit, Insert):
            if edit.after < after:
                stands |= edit.stands_for
            else:
                inserts.append(edit)
    out: list[Edit] = [Hide(hidden | fold)]
    out += [edit for edit in before if isinstance(edit, Replace) and edit.seq not in fold]
    if mask:
        old = next((item for item in view[cut:] if len(item.results) == 1 and not item.masked), None)
        if old is not None and old.seq is not None:
            out.append(
                Replace(
                    old.seq,
                    tuple(
                        Part(p.kind, "[output taken out]", p.tool, p.call_id, p.is_error, meta=p.meta)
                        if p.kind is PartKind.TOOL_RESULT
                        else p
                        for p in old.parts
                        if p.kind is not PartKind.MEDIA
                    ),
                )
            )
    out += inserts
    out.append(
        Insert(after, Role.USER, InsertKind.SUMMARY, text("## Summary\n\nWhat was done <so far> & why."), stands)
    )
    if file:
        out.append(
            Insert(
                after,
                Role.USER,
                InsertKind.FILE,
                text("The file src/main.rs now:\n\nfn main() {}"),
                Ranges(),
                "src/main.rs",
            )
        )
    return tuple(out)


def rolled_back(session: Taken, *, to: float = 0.6) -> tuple[Edit, ...]:
    """Everything after a point hidden, the point before an answer's calls would lose their results."""
    before = session.edits
    view = [item for item in session.items(before) if item.seq is not None]
    cut = _whole_until(view, max(1, int(len(view) * to)))
    last = view[cut - 1].seq
    assert last is not None
    gone = Ranges.of([(last + 1, len(session.reading.placed))])
    return (
        Hide(hidden_by(before) | gone),
        *(e for e in before if isinstance(e, Replace) and e.seq <= last),
        *(e for e in before if isinstance(e, Insert) and e.after <= last),
    )


def _whole_until(view: Sequence[Item], at: int) -> int:
    """The nearest place from `at` on at which no answer and no pair of call and result is parted; else the nearest before it."""
    for place in [*range(at, len(view)), *range(at, 0, -1)]:
        left, right = view[:place], view[place:]
        steps = {item.step for item in left if item.step is not None}
        calls = {call for item in left for call in item.calls}
        if not right or (right[0].step is not None and right[0].step in steps):
            continue
        if any(item.step in steps for item in right if item.step is not None):
            continue
        if calls.isdisjoint(result for item in right for result in item.results):
            return place
    return len(view)


def kinds(session: Taken) -> list[Kind]:
    return [p.entry.kind for p in session.reading.placed]


def adapter_of(agent: str) -> Adapter:
    return by_agent(agent)
