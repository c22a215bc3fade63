"""What a writer is: it makes a new native session of a context. Pure: values in, bytes out; the shell owns files and the database."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from sessions.adapters.base import Link, PartsOf
from sessions.adapters.lineage import Lineage
from sessions.contexts import InsertKind, Item
from sessions.entries import Facts, GoalStatus, Kind, Part
from sessions.ranges import Ranges


class CannotWrite(Exception):
    """No session can be made of this context; the message says why."""


@dataclass(frozen=True, slots=True)
class PlannedGoal:
    """A goal as it is to travel. `path`: "1.2"; `note`: its summary, or the reason why it was abandoned."""

    path: str
    text: str
    status: GoalStatus
    note: str | None = None
    changed: bool = False  # by a person or a program here: the agent does not know of it


class Names:
    """Makes ids. `source` decides them all, so that a test gets the same ones again."""

    def __init__(self, now: datetime, source: random.Random | None = None) -> None:
        self.now = now.astimezone(UTC)
        self._source = source or random.SystemRandom()
        self._count = 0

    def uuid4(self) -> str:
        return str(uuid.UUID(int=self._source.getrandbits(128), version=4))

    def uuid7(self) -> str:
        """A UUIDv7 of now; each is greater than the one before."""
        self._count += 1
        milliseconds = int(self.now.timestamp() * 1000) & ((1 << 48) - 1)
        tail = (self._count & 0xFFF) << 64 | self._source.getrandbits(62)
        return str(uuid.UUID(int=milliseconds << 80 | 0x7 << 76 | 0x2 << 62 | tail))

    def word(self, letters: str, length: int) -> str:
        return "".join(self._source.choice(letters) for _ in range(length))

    def stamp(self) -> str:
        """Now, as ISO 8601 with milliseconds and Z."""
        return stamp(self.now)


def stamp(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


@dataclass(frozen=True, slots=True)
class Draft:
    """A context to be written, and the log it comes from.

    `agent`: whose records they are. `links`: every entry of the log, in order; `record` and `parts_of` give one's bytes and parts.
    `items`: what the version projects, before the agent's own wiring; for another agent's writer, as `crossing.adapted` leaves them.
    `ghosts`: entries that the context's summaries stand for; a writer keeps them readable where its format can. `changed_from`: place
    of the first item that is not where and as it was recorded: figures of requests from there on say nothing of this context.
    """

    agent: str
    facts: Facts
    links: Sequence[Link]
    record: Callable[[int], bytes]
    parts_of: PartsOf
    items: Sequence[Item]
    ghosts: Ranges
    changed_from: int
    lineage: Lineage
    names: Names
    title: str | None = None
    goals: Sequence[PlannedGoal] = ()
    notes: tuple[str, ...] = ()  # what was given up on the way to this draft


@dataclass(frozen=True, slots=True)
class File:
    """A file to be written. `name`: its path below the folder that is asked for."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Written:
    """A session made. `files`: the first is the one that is resumed. `expected`: the context as the agent will send it, before its own
    wiring. `notes`: what could not be kept as it was, in words for a person.
    """

    native_id: str
    files: tuple[File, ...]
    expected: tuple[Item, ...]
    notes: tuple[str, ...] = ()


class Writer(Protocol):
    """One agent's sessions, written."""

    agent: str  # as the adapter's
    label: str

    def write(self, draft: Draft) -> Written:
        """Raises CannotWrite."""
        ...

    def command(self, native_id: str, file: str, *, placed: bool) -> str:
        """The exact command that goes on from the session, in its folder; "" where there is none.

        `file`: the path of the first file, for a shell; `placed`: it lies where the agent looks for it.
        """
        ...


@dataclass(slots=True)
class Notes:
    """Collects what could not be kept, each thing once, with how often."""

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, words: str) -> None:
        self.counts[words] = self.counts.get(words, 0) + 1

    def lines(self) -> tuple[str, ...]:
        return tuple(words if n == 1 else f"{words} ({n} times)" for words, n in self.counts.items())


def is_summary(item: Item) -> bool:
    """Whether a place of a context is a compaction's summary."""
    return item.kind in (Kind.SUMMARY, InsertKind.SUMMARY)


def last_summary(items: Sequence[Item]) -> int | None:
    """The place of the last summary; None: nothing was folded."""
    return next((n for n in range(len(items) - 1, -1, -1) if is_summary(items[n])), None)


def ghosts_of(items: Sequence[Item], hidden: Ranges, sent: Sequence[int]) -> Ranges:
    """The entries that the summaries of a context stand for: what they say they do; of a recorded summary, all hidden before it."""
    out = Ranges()
    for item in items:
        if not is_summary(item):
            continue
        out |= item.stands_for
        if not item.stands_for and item.seq is not None:
            out |= hidden & Ranges.of([(0, item.seq)])
    return out & Ranges.from_numbers(sent)


def unchanged_until(items: Sequence[Item], sent: Sequence[int]) -> int:
    """How many items at the beginning are the first entries of the log as they were recorded."""
    n = 0
    for item, seq in zip(items, sent, strict=False):
        if item.seq != seq or item.masked:
            break
        n += 1
    return n


def groups(parts: Sequence[Part]) -> Iterator[tuple[Part, ...]]:
    """Parts as blocks: a result takes the media behind it that came with it."""
    held: list[Part] = []
    for part in parts:
        if held and part.media_type is not None and part.call_id is not None and part.call_id == held[0].call_id:
            held.append(part)
            continue
        if held:
            yield tuple(held)
        held = [part]
    if held:
        yield tuple(held)
