"""What an adapter is: recognise a source, read it line by line, tell its native history, and say how the agent would send it.

An adapter is pure: it gets bytes and values and returns values. The shell owns files, the database and the watcher.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePath
from typing import Any, Protocol, runtime_checkable

from sessions.contexts import Edit, Item
from sessions.entries import Entry, Facts, Kind, Part, Role
from sessions.values import value

HEAD = 64 * 1024  # bytes of a source by which it is claimed


@value(frozen=True, slots=True)
class Line:
    """One record's exact bytes: split on 0x0A only. `raw` is without the line end; `ended` says whether one stood there.

    `beyond`: bytes of a line too long to be held that `raw` does not have; such a line is never given to a reader. `span`: of a record
    of a document, how many bytes of the source it stands for (`raw` may be made from them).
    """

    offset: int
    raw: bytes
    ended: bool = True
    number: int = 0  # from 1, for messages
    beyond: int = 0
    span: int | None = None

    @property
    def length(self) -> int:
        if self.span is not None:
            return self.span
        return len(self.raw) + self.beyond + (1 if self.ended else 0)


@dataclass(frozen=True, slots=True)
class Base:
    """Another source whose beginning this one continues (Codex `history_base`)."""

    native_id: str  # names the base source: what `Claim.source_id` of that one says
    until_offset: int | None = None  # bytes of the base that count; None: by `until_ordinal`
    until_ordinal: int | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """An adapter's word that a source is its own.

    `role`: "session" (a transcript), or "sidecar" (a file that belongs to a session and is kept with it: overflow output, titles,
    sub-agent meta). `source_id`: how other sources name this one; `native_id`: the agent's id of the session. Of a sidecar,
    `owner_id` is the native id of its session. `reason`: for a refusal to take the file as a session, what it is instead. `whole`: the
    source is one document (JSON, a database) and no log of lines; its adapter has `documents` (see `Documents`).
    """

    role: str
    native_id: str | None = None
    source_id: str | None = None
    owner_id: str | None = None
    base: Base | None = None
    reason: str | None = None
    whole: bool = False


@value(frozen=True, slots=True)
class Link:
    """What `history` needs of one stored entry: no text."""

    seq: int
    kind: Kind
    role: Role | None
    native_id: str | None
    native_parent: str | None
    sent: bool
    lane: str
    turn: int | None
    step: int | None
    response_id: str | None
    call_ids: tuple[str, ...]
    opens_turn: bool
    copied: bool  # of a base source, not of the session's own
    digest: bytes  # `digest_of` its role and parts
    length: int  # bytes of its record
    facts: Mapping[str, Any] = field(default_factory=dict)  # the entry's `link`


@dataclass(frozen=True, slots=True)
class NativeVersion:
    """A version the agent itself made. `edits` are the full set against the raw log, in force once entry `at_seq` is there.

    `kind`: compaction, microcompaction, rewind, rollback, revert, replacement, branch (another leaf was chosen), cut (history the
    agent lost silently). `facts`: what the record says (trigger, tokens before and after, reason), for the page.
    """

    kind: str
    at_seq: int
    edits: tuple[Edit, ...]
    label: str
    facts: Mapping[str, Any] = field(default_factory=dict)


type PartsOf = Callable[[int], tuple[Part, ...]]


class Reader(Protocol):
    """Reads one source in order. Holds little, whatever the length of the source; `state` goes into JSON and back."""

    facts: Facts

    def read(self, line: Line) -> Entry:
        """The entry of this line, always exactly one; a line that is no record becomes kind `malformed` with its `problem`."""
        ...

    def state(self) -> dict[str, Any]:
        """All a new reader needs to go on after the last line read. JSON types only."""
        ...


class Adapter(Protocol):
    """One agent's formats. `version` grows when what it makes of the same bytes changes: sources are then read again."""

    agent: str  # "claude-code": in the database, the API and addresses
    label: str  # "Claude Code": on pages
    version: int

    def roots(self, home: Path, env: Mapping[str, str]) -> Sequence[Path]:
        """Folders of this machine in which the agent keeps its sessions (they need not exist)."""
        ...

    def claim(self, path: PurePath, head: bytes) -> Claim | None:
        """Whether the source is this agent's, by its content first: `head` is its first 64 KiB (of what was compressed, unpacked).

        Cheap: it looks at the first records and parses no more. None: not mine.
        """
        ...

    def reader(self, path: PurePath, state: Mapping[str, Any] | None = None) -> Reader: ...

    def history(self, links: Sequence[Link], parts_of: PartsOf, facts: Facts) -> Sequence[NativeVersion]:
        """The versions the agent made, oldest first, so that the last one over all entries is what it would send next.

        Deterministic; never raises on any sequence of links (a graph that is not well formed has a named fallback).
        """
        ...

    def wire(self, items: Sequence[Item], facts: Facts) -> list[Item]:
        """The context as the agent itself would send it: its own order inside one answer, its own repair of calls without result."""
        ...


@runtime_checkable
class Documents(Protocol):
    """What an adapter has besides where some of its sources are whole documents (`Claim.whole`)."""

    def documents(self, path: PurePath, data: bytes) -> Iterator[Line]:
        """The records of the whole source in stable order, as lines for the reader.

        `raw` is the record's own bytes where it has such (`offset` then is their real place), else its JSON. Every record `ended`,
        but for a last one that breaks off. A document that only grew must give the same records again, and then the new ones.
        """
        ...


@runtime_checkable
class Amending(Protocol):
    """An adapter whose agent changes records where they stand (a call gets its result, an old result is cleared).

    A document that has all record ids it had, in the same order, and perhaps others, is then the same one: entries whose records changed
    are written in the place of the former ones, and its versions stay.
    """

    amends: bool


@runtime_checkable
class Beside(Protocol):
    """An adapter some of whose sources do not say which folder they are about, but lie near a file that does."""

    def place_file(self, path: PurePath) -> PurePath | None:
        """The file near the source at `path` whose first line names that folder."""
        ...


@runtime_checkable
class Naming(Protocol):
    """An adapter whose agent keeps the names that people gave to sessions in one file for all of them."""

    def names(self, path: PurePath) -> bool:
        """Whether that is such a file."""
        ...

    def named(self, data: bytes) -> Mapping[str, str]:
        """The name of each session, by the agent's id of it; the last one given."""
        ...


@runtime_checkable
class Typed(Protocol):
    """An adapter whose agent keeps what people typed in one file for many sessions, commands among it that leave no other trace."""

    def typed(self, path: PurePath) -> bool:
        """Whether that is such a file."""
        ...

    def commands(self, data: bytes) -> Mapping[str, Sequence[tuple[str, datetime]]]:
        """The commands of each session that change its context: the kind of version that each makes, and when it was typed."""
        ...


class Unfollowed(Exception):
    """A follow that let go of what it had passed is asked about it: the history is to be followed once more, holding all."""


class Follow(Protocol):
    """The history of one session, followed entry by entry as they are read, so that no list of all entries is needed."""

    def add(self, link: Link) -> None:
        """The next entry."""
        ...

    def end(self, facts: Facts) -> tuple[Sequence[NativeVersion], dict[str, Any] | None]:
        """The versions, as `Adapter.history` gives them; and the tip by which `Following.steady` goes on, None where there is none.

        Unfollowed where it cannot say because it did not hold all.
        """
        ...


@runtime_checkable
class Following(Protocol):
    """An adapter that follows a history as it is read, and mostly sees of an appended entry that the versions stay as they are."""

    def follow(self, parts_of: PartsOf, *, whole: bool = False) -> Follow:
        """A new follow. Not `whole`: it may let go of what the agent can hardly come back to, and says so if the agent does."""
        ...

    def steady(self, tip: Mapping[str, Any], link: Link, *, repeated: bool) -> dict[str, Any] | None:
        """The tip after an entry that leaves the versions as they are; None where the whole history has to say.

        `repeated`: the entry's native id was there before. What is said of every entry in order must hold of all of them together.
        """
        ...
