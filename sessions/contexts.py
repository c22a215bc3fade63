"""What the model sees: a version's edits, and their projection over the entries.

Entries never change. A version is a full set of edits against the raw log; projecting it is one pass. The vocabulary of edits is
closed: `Hide`, `Replace`, `Insert`. A fold is a Hide with the Insert that stands for it; a mask is a Replace.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from sessions.entries import Kind, Part, PartKind, Role, SizeVector, digest_of
from sessions.ranges import Ranges
from sessions.values import value


class InsertKind(StrEnum):
    SUMMARY = "summary"
    FILE = "file"  # a re-injected file
    SKILL = "skill"
    PLAN = "plan"
    GOALS = "goals"  # the open goals of the session's tree
    MEMORY = "memory"  # of the session, in its sections
    LAYER = "layer"  # a memory file: a person's own, the project's, a folder's
    LEARNED = "learned"  # what the project's sessions taught
    NOTICE = "notice"
    MESSAGE = "message"  # an item the agent itself put into its new history


@dataclass(frozen=True, slots=True)
class Hide:
    """Entries that are not sent."""

    ranges: Ranges


@value(frozen=True, slots=True)
class Replace:
    """An entry that stays in place while its body is replaced. `parts` keep the pairing: same calls and results, other text."""

    seq: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Insert:
    """Text a version adds after entry `after` (-1: before all). Several at one place keep the order in which they stand in the edits.

    `stands_for`: the entries it was written for (a fold), else empty.
    """

    after: int
    role: Role
    kind: InsertKind
    parts: tuple[Part, ...]
    stands_for: Ranges = field(default_factory=Ranges)
    label: str = ""

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.parts if part.text)


type Edit = Hide | Replace | Insert


@value(frozen=True, slots=True)
class Item:
    """One place of a context: an entry kept, an entry masked, or inserted text.

    `seq` is None for inserted text. `key` names it in pages and plans: "e1083" for entry 1083, "i2" for the version's third insertion.
    `step_key` holds the entries of one answer together. `sizes` are those of what is sent: of the replacement, where masked.
    """

    key: str
    seq: int | None
    role: Role | None
    kind: Kind | InsertKind
    parts: tuple[Part, ...]
    sizes: SizeVector = field(default_factory=SizeVector)
    masked: bool = False
    pinned: bool = False
    turn: int | None = None
    step: int | None = None
    goal: str | None = None
    at: datetime | None = None
    after: int | None = None  # of inserted text: the entry it follows
    stands_for: Ranges = field(default_factory=Ranges)
    label: str = ""

    @property
    def inserted(self) -> bool:
        return self.seq is None

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.parts if part.text)

    @property
    def calls(self) -> tuple[str, ...]:
        if len(self.parts) == 1:  # most items, and asked of every one of them many times
            part = self.parts[0]
            return (part.call_id,) if part.kind is PartKind.TOOL_CALL and part.call_id else ()
        return tuple([p.call_id for p in self.parts if p.kind is PartKind.TOOL_CALL and p.call_id])

    @property
    def results(self) -> tuple[str, ...]:
        if len(self.parts) == 1:
            part = self.parts[0]
            return (part.call_id,) if part.kind is PartKind.TOOL_RESULT and part.call_id else ()
        return tuple([p.call_id for p in self.parts if p.kind is PartKind.TOOL_RESULT and p.call_id])

    @property
    def signed(self) -> bool:
        for part in self.parts:  # noqa: SIM110 -- asked of every item: without a generator
            if part.signed:
                return True
        return False

    @property
    def digest(self) -> bytes:
        return digest_of(self.role, self.parts)

    def left_with(self, parts: tuple[Part, ...]) -> Item:
        """The item with another body. By its fields in order: `replace` takes five times as long, and masks are many."""
        return Item(
            self.key,
            self.seq,
            self.role,
            self.kind,
            parts,
            self.sizes,
            True,
            self.pinned,
            self.turn,
            self.step,
            self.goal,
            self.at,
            self.after,
            self.stands_for,
            self.label,
        )


def hidden_by(edits: Iterable[Edit]) -> Ranges:
    """All entries that these edits hide."""
    spans: list[tuple[int, int]] = []
    for edit in edits:
        if isinstance(edit, Hide):
            spans.extend(edit.ranges.spans)
    return Ranges.of(spans)


def project(entries: Iterable[Item], edits: Sequence[Edit]) -> list[Item]:
    """The context that `edits` make of `entries`.

    `entries`: the sent entries of the session as unmasked items, in order of seq. Insertions stand after the entry they name even
    where that entry is hidden or not sent. Sizes of replaced and inserted bodies are left for the caller (`sized`).
    """
    hidden = hidden_by(edits)
    bodies = {edit.seq: edit.parts for edit in edits if isinstance(edit, Replace)}
    waiting = sorted(
        ((edit.after, n, edit) for n, edit in enumerate(e for e in edits if isinstance(e, Insert))), key=lambda w: w[:2]
    )
    out: list[Item] = []
    at = 0
    for entry in entries:
        assert entry.seq is not None
        while at < len(waiting) and waiting[at][0] < entry.seq:
            out.append(inserted_item(waiting[at][2], waiting[at][1]))
            at += 1
        if entry.seq in hidden:
            continue
        body = bodies.get(entry.seq)
        out.append(entry if body is None else replace(entry, parts=body, masked=True))
    out.extend(inserted_item(edit, n) for _, n, edit in waiting[at:])
    return out


def inserted_item(edit: Insert, n: int) -> Item:
    """The item that the version's `n`-th insertion becomes."""
    return Item(
        key=f"i{n}",
        seq=None,
        role=edit.role,
        kind=edit.kind,
        parts=edit.parts,
        after=edit.after,
        stands_for=edit.stands_for,
        label=edit.label,
    )


def content_hash(items: Iterable[Item]) -> str:
    """Hex digest of a context: equal exactly when the model would be sent the same."""
    hasher = hashlib.blake2b(digest_size=16)
    for item in items:
        hasher.update(item.digest)
    return hasher.hexdigest()


def unpaired(items: Sequence[Item]) -> tuple[list[str], list[str]]:
    """Call ids without exactly one later result, and result ids without an earlier call."""
    calls: dict[str, int] = {}
    answered: dict[str, int] = {}
    orphans: list[str] = []
    for item in items:
        for call in item.calls:
            calls[call] = calls.get(call, 0) + 1
        for result in item.results:
            if calls.get(result, 0) > answered.get(result, 0):
                answered[result] = answered.get(result, 0) + 1
            else:
                orphans.append(result)
    open_calls = [call for call, n in calls.items() for _ in range(n - answered.get(call, 0))]
    return open_calls, orphans
