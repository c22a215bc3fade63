"""Which entries of a document that is read again differ from those that are stored, and whether it is still the same document."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.db import connection
from django.utils import timezone

from sessions.assembly import Placed
from sessions.entries import Entry as EntryValue
from sessions.entries import Kind, Part
from sessions.models import Entry, Session, Version
from sessions.packing import pack, unpack
from sessions.sourcebytes import place
from sessions.store import clean, clean_json, copy_entries

PROVISIONAL = 8  # last records of a document that may grow while it stays the same one: tools still come back to them
_PAGE = 2000  # stored entries that are compared at once
_WAITING = 500  # entries that wait to be written
_BYTES = 8 << 20  # and bytes of their records
_AHEAD = timedelta(days=1)  # by which another machine's clock may be ahead

_SAID = (
    "kind", "role", "native_id", "native_parent", "response_id", "call_ids", "is_error", "sent", "opens_turn", "copied", "lane", "at",
    "digest", "link", "problem",
)  # fmt: skip
_PLACE = ("turn", "step", "goal")


@dataclass(frozen=True, slots=True)
class _Row:
    """A stored entry, as far as it is compared. `said`: what its record says; `placed`: turn, step and goal."""

    seq: int
    offset: int
    length: int
    placed: tuple[Any, ...]
    said: tuple[Any, ...]

    @property
    def kind(self) -> str:
        return str(self.said[0])

    @property
    def native_id(self) -> str | None:
        return None if self.said[2] is None else str(self.said[2])

    @property
    def idle(self) -> bool:
        """Whether it is of no account but what it says."""
        return self.kind == Kind.META and not self.said[7] and self.placed[1] is None


class Differences:
    """Takes the entries of a document in order, as `Batches` does; writes those that are not stored as they are now.

    `continues`: no record so far says something else than it said, but for those that may. `amended`: the stored ones are all there, in
    their order, and nothing that people made reaches to where others came between them. `changed`: the first entry whose content is new;
    `shifted`: the first that has another number.
    """

    def __init__(self, session: Session, old: bytes, new: bytes, *, amends: bool) -> None:
        self.session = session
        self.first_at: datetime | None = None
        self.last_at: datetime | None = None
        self.beyond: datetime | None = None
        self.continues = True
        self.changed: int | None = None
        self.shifted: int | None = None
        self.moved: list[list[int]] = []
        self._old, self._new = old, new
        self._count = session.entries_count
        self._names: list[tuple[Any, Any]] = []
        if amends:
            named = session.entries.order_by("seq").values_list("native_id", "native_parent")
            self._names = list(named)
        self._amends = amends
        self._met = 0  # stored entries that were found again
        self._page: dict[int, _Row] = {}
        self._paged = -1
        self._by = 0
        self._waiting: list[Placed] = []
        self._bytes = 0
        self._latest = timezone.now() + _AHEAD

    @property
    def amended(self) -> bool:
        """Whether what is stored is all there."""
        if not self._amends or self._met < len(self._names):
            return False
        return self.shifted is None or self.shifted > _newest_of_people(self.session)

    def add(self, placed: Placed, source_id: int) -> None:
        self._date(placed.entry.at)
        self._meet(placed)
        row = self._row(placed.seq)
        said = _said(placed)
        if row is None:
            self._write_later(placed)
            return
        start = place(self.session.source, row.seq, row.offset)
        same = self._old[start : start + row.length] == self._new[placed.offset : placed.offset + placed.length]
        if not same and self.continues:
            self.continues = self._may_change(row, placed)
        if said != row.said and self.changed is None:
            self.changed = placed.seq
        if said == row.said and (placed.turn, placed.step, placed.goal) == row.placed and placed.length == row.length:
            if placed.offset - row.offset != self._by:
                self._by = placed.offset - row.offset
                self.moved.append([placed.seq, self._by])
        else:
            self._write_later(placed)

    def parts_of(self, seq: int) -> tuple[Part, ...]:
        """The parts of an entry that came, whether it waits or is stored."""
        for placed in reversed(self._waiting):
            if placed.seq == seq:
                return placed.entry.parts
        packed = self.session.entries.filter(seq=seq).values_list("parts", flat=True).first()
        return () if packed is None else unpack(packed)

    def write(self) -> None:
        """Write what waits in the place of what is stored."""
        if self._waiting:
            self.session.entries.filter(seq__in=[placed.seq for placed in self._waiting]).delete()
            copy_entries(self.session.pk, self.session.source_id, self._waiting)
            self._waiting, self._bytes = [], 0

    def _write_later(self, placed: Placed) -> None:
        self._waiting.append(replace(placed, offset=placed.offset - self._by))
        self._bytes += placed.length
        if len(self._waiting) >= _WAITING or self._bytes >= _BYTES:
            self.write()

    def _may_change(self, row: _Row, placed: Placed) -> bool:
        entry = placed.entry
        if row.idle and _idle(entry):
            return True
        if row.seq < self._count - PROVISIONAL:
            return False
        grew = row.native_id is not None and clean(entry.native_id) == row.native_id and placed.length >= row.length
        return grew or row.kind == Kind.MALFORMED

    def _meet(self, placed: Placed) -> None:
        """Look whether it is the next of those that are stored."""
        if self._met == len(self._names):
            return
        entry = placed.entry
        if self._names[self._met] == (clean(entry.native_id), clean(entry.native_parent)):
            self._met += 1
        elif self.shifted is None:
            self.shifted = placed.seq

    def _row(self, seq: int) -> _Row | None:
        if seq >= self._count:
            return None
        if seq > self._paged:
            # What waits is of rows before these.
            self._page = {row.seq: row for row in _rows(self.session, seq, seq + _PAGE)}
            self._paged = seq + _PAGE - 1
        return self._page.get(seq)

    def _date(self, at: datetime | None) -> None:
        if at is None:
            return
        if at > self._latest:
            self.beyond = at
            return
        self.first_at = at if self.first_at is None else min(self.first_at, at)
        self.last_at = at if self.last_at is None else max(self.last_at, at)


def _rows(session: Session, start: int, stop: int) -> Iterator[_Row]:
    names = ", ".join(f'"{name}"' for name in (*_PLACE, *_SAID))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT seq, byte_offset, byte_length, md5(parts), {names} FROM {Entry._meta.db_table} "  # noqa: S608 -- our own names
            "WHERE session_id = %s AND seq >= %s AND seq < %s ORDER BY seq",
            [session.pk, start, stop],
        )
        for seq, offset, length, parts, turn, step, goal, *said in cursor:
            calls, digest, link = (_SAID.index(name) for name in ("call_ids", "digest", "link"))
            said[digest] = bytes(said[digest])
            for column in (calls, link):
                said[column] = _loaded(said[column])
            yield _Row(seq, offset, length, (turn, step, goal), (*said, parts))


def _loaded(value: Any) -> Any:
    """JSON as a cursor gives it, which knows no fields: as text, or taken apart already."""
    return orjson.loads(value) if isinstance(value, str | bytes) else value


def _said(placed: Placed) -> tuple[Any, ...]:
    """In the order of _SAID, and a digest of the parts as they are kept; each as its column gives it back."""
    entry = placed.entry
    return (
        entry.kind.value, entry.role and entry.role.value, clean(entry.native_id), clean(entry.native_parent), clean(entry.response_id),
        list(placed.call_ids) or None, entry.is_error, entry.sent, entry.opens_turn, placed.copied, entry.lane, entry.at, placed.digest,
        clean_json(entry.link), clean(entry.problem), hashlib.md5(pack(entry.parts), usedforsecurity=False).hexdigest(),
    )  # fmt: skip


def _idle(entry: EntryValue) -> bool:
    """Whether an entry is of no account but what it says."""
    counted = entry.step_key is not None or entry.goals is not None or entry.opens_turn
    return entry.kind is Kind.META and not entry.sent and not counted


def _newest_of_people(session: Session) -> int:
    """The last entry that something names which people made: it holds as long as entries before it keep their numbers."""
    made = session.versions.exclude(origin__in=(Version.Origin.RECORDED, Version.Origin.NATIVE))
    named = [
        made.order_by("-at_seq").values_list("at_seq", flat=True).first(),
        *(
            rows.order_by("-seq").values_list("seq", flat=True).first()
            for rows in (session.pins, session.bookmarks, session.comments)
        ),
    ]
    marked = session.goal_marks.order_by("-at_seq").values_list("at_seq", flat=True).first()
    named.append(None if marked is None else marked - 1)
    return max((seq for seq in named if seq is not None), default=-1)
