"""Puts a reader's entries in their places: seq, turn, step, goal; and sums usage into steps. Pure and incremental.

The state between two appends is small and goes into JSON, so that a grown file costs only what was appended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePath
from typing import Any

from sessions.adapters.base import HEAD, Adapter, Documents, Line, Link, NativeVersion, Reader
from sessions.contexts import Item, project
from sessions.entries import Entry, Facts, Usage, digest_of
from sessions.goals import Goal, GoalTracker
from sessions.values import value

_OPEN_STEPS = 64  # steps whose records may still come: lines of one answer are seldom further apart than a few results


@dataclass(slots=True)
class Step:
    """One model request and its answer, with the entries it spans. `copied`: its request was made in another session."""

    n: int
    turn: int | None
    first_seq: int
    last_seq: int
    response_id: str | None = None
    model: str | None = None
    usage: Usage | None = None
    at: datetime | None = None
    copied: bool = False

    def to_json(self) -> list[Any]:
        usage = self.usage
        return [
            self.n,
            self.turn,
            self.first_seq,
            self.last_seq,
            self.response_id,
            self.model,
            None
            if usage is None
            else [
                usage.fresh,
                usage.cache_read,
                usage.cache_write,
                usage.output,
                usage.reasoning,
                usage.total,
                usage.window,
                usage.estimated,
            ],
            self.at.isoformat() if self.at else None,
            self.copied,
        ]

    @classmethod
    def from_json(cls, raw: list[Any]) -> Step:
        n, turn, first, last, response, model, usage, at, copied = raw
        return cls(
            n,
            turn,
            first,
            last,
            response,
            model,
            None if usage is None else Usage(*usage),
            datetime.fromisoformat(at) if at else None,
            copied,
        )


@value(frozen=True, slots=True)
class Placed:
    """An entry in its place."""

    seq: int
    entry: Entry
    turn: int | None
    step: int | None
    goal: str | None
    offset: int
    length: int
    copied: bool
    digest: bytes
    call_ids: tuple[str, ...]

    def link(self) -> Link:
        entry = self.entry
        return Link(
            seq=self.seq,
            kind=entry.kind,
            role=entry.role,
            native_id=entry.native_id,
            native_parent=entry.native_parent,
            sent=entry.sent,
            lane=entry.lane,
            turn=self.turn,
            step=self.step,
            response_id=entry.response_id,
            call_ids=self.call_ids,
            opens_turn=entry.opens_turn,
            copied=self.copied,
            digest=self.digest,
            length=self.length,
            facts=entry.link or {},
        )


@dataclass(slots=True)
class Assembly:
    """Places entries one by one. `changed` holds the steps that are new or differ since the last `take_changed`."""

    next_seq: int = 0
    turn: int = 0
    step: int = 0
    goals: GoalTracker = field(default_factory=GoalTracker)
    open_steps: dict[str, Step] = field(default_factory=dict)
    changed: dict[int, Step] = field(default_factory=dict)

    def place(self, entry: Entry, line: Line, *, copied: bool = False) -> Placed:
        """Give `entry` its place after all before it."""
        seq = self.next_seq
        self.next_seq += 1
        if entry.opens_turn and not entry.lane:
            self.turn += 1
            self.goals.request(entry.text, seq)
        turn = self.turn or None
        if entry.goals is not None:
            self.goals.apply(entry.goals, seq, entry.lane)
        goal = self.goals.at(seq, entry.lane)
        step = self._count(entry, seq, turn, copied=copied)
        self.goals.count(goal, seq, entry, step)
        return Placed(
            seq,
            entry,
            turn,
            step,
            goal,
            line.offset,
            line.length,
            copied,
            digest_of(entry.role, entry.parts),
            entry.call_ids,
        )

    @property
    def oldest_open(self) -> int:
        """The first step whose records may still come."""
        return min((step.n for step in self.open_steps.values()), default=self.step + 1)

    def take_changed(self) -> list[Step]:
        """The steps to write: new ones and those that changed, in order; none of them is given again unless it changes again."""
        out = sorted(self.changed.values(), key=lambda step: step.n)
        self.changed = {}
        return out

    def take_closed(self) -> list[Step]:
        """As `take_changed`, of those steps alone whose records have all come."""
        still = {step.n for step in self.open_steps.values()}
        out = [step for n, step in sorted(self.changed.items()) if n not in still]
        self.changed = {n: step for n, step in self.changed.items() if n in still}
        return out

    def state(self) -> dict[str, Any]:
        return {
            "next_seq": self.next_seq,
            "turn": self.turn,
            "step": self.step,
            "goals": self.goals.to_json(),
            "open": {key: step.to_json() for key, step in self.open_steps.items()},
        }

    @classmethod
    def from_state(cls, raw: Mapping[str, Any]) -> Assembly:
        return cls(
            next_seq=raw["next_seq"],
            turn=raw["turn"],
            step=raw["step"],
            goals=GoalTracker.from_json(raw["goals"]),
            open_steps={key: Step.from_json(step) for key, step in raw["open"].items()},
        )

    def _count(self, entry: Entry, seq: int, turn: int | None, *, copied: bool) -> int | None:
        if entry.step_key is None:
            return None
        step = self.open_steps.get(entry.step_key)
        if step is None:
            self.step += 1
            step = Step(self.step, turn, seq, seq, at=entry.at, copied=copied)
            self.open_steps[entry.step_key] = step
            while len(self.open_steps) > _OPEN_STEPS:
                del self.open_steps[next(iter(self.open_steps))]
        step.last_seq = seq
        step.response_id = entry.response_id or step.response_id
        step.model = entry.model or step.model
        if entry.usage is not None:
            step.usage = merged(step.usage, entry.usage)
        self.changed[step.n] = step
        return step.n


def merged(old: Usage | None, new: Usage) -> Usage:
    """Two statements of one request's usage: never added. Input figures are equal on every record; of output the larger holds."""
    if old is None:
        return new
    return Usage(
        fresh=new.fresh if new.fresh is not None else old.fresh,
        cache_read=new.cache_read if new.cache_read is not None else old.cache_read,
        cache_write=new.cache_write if new.cache_write is not None else old.cache_write,
        output=_larger(old.output, new.output),
        reasoning=_larger(old.reasoning, new.reasoning),
        total=new.total if new.total is not None else old.total,
        window=new.window if new.window is not None else old.window,
        estimated=new.estimated,
    )


def _larger(one: int | None, other: int | None) -> int | None:
    known = [value for value in (one, other) if value is not None]
    return max(known) if known else None


def lines(data: bytes) -> Iterator[Line]:
    """The lines of bytes held in memory; the shell streams files in the same way."""
    offset = 0
    number = 0
    while offset < len(data):
        number += 1
        stop = data.find(b"\n", offset)
        if stop < 0:
            yield Line(offset, data[offset:], False, number)
            return
        yield Line(offset, data[offset:stop], True, number)
        offset = stop + 1


def records(adapter: Adapter, path: PurePath, data: bytes) -> Iterator[Line]:
    """The records of a source held in memory, whether it is a log of lines or one document."""
    claim = adapter.claim(path, data[:HEAD])
    if claim is not None and claim.whole and isinstance(adapter, Documents):
        return adapter.documents(path, data)
    return lines(data)


@dataclass(slots=True)
class Reading:
    """A whole source read into memory: for tests, small files and questions that need no database."""

    adapter: Adapter
    placed: list[Placed]
    steps: list[Step]
    goals: list[Goal]
    facts: Facts
    versions: list[NativeVersion]

    def items(self, until_seq: int | None = None) -> list[Item]:
        """The sent entries as items, up to and including `until_seq`."""
        return [item_of(p) for p in self.placed if p.entry.sent and (until_seq is None or p.seq <= until_seq)]

    def context(self) -> list[Item]:
        """What the agent itself would send next."""
        edits = self.versions[-1].edits if self.versions else ()
        return self.adapter.wire(project(self.items(), edits), self.facts)


def item_of(placed: Placed) -> Item:
    """An entry as an item of a context, whole."""
    entry = placed.entry
    return Item(
        key=f"e{placed.seq}",
        seq=placed.seq,
        role=entry.role,
        kind=entry.kind,
        parts=entry.parts,
        turn=placed.turn,
        step=placed.step,
        goal=placed.goal,
        at=entry.at,
    )


def read_whole(adapter: Adapter, path: PurePath, chain: Iterable[tuple[bytes, bool]]) -> Reading:
    """Read a session from bytes in memory. `chain`: its sources in order, each with whether it is copied from another session."""
    assembly = Assembly()
    placed: list[Placed] = []
    reader: Reader = adapter.reader(path)
    for data, copied in chain:
        placed.extend(assembly.place(reader.read(line), line, copied=copied) for line in records(adapter, path, data))
    parts = {p.seq: p.entry.parts for p in placed}
    versions = list(adapter.history([p.link() for p in placed], lambda seq: parts[seq], reader.facts))
    return Reading(adapter, placed, assembly.take_changed(), assembly.goals.tree(), reader.facts, versions)
