"""A document that changed: read whole again, while only what differs from what is stored is written.

An agent writes such a file anew each time, most of it as it was. All its records are read, placed and followed as if for the first time,
so that what is stored is what reading the file once would store; entries, steps and goals that are the same stay. Records that merely
lie elsewhere in the file are told by `Source.moved`, and of the bytes the chunks that did not change stay too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import PurePath
from typing import Any

import orjson
from django.db import connection, transaction
from django.utils import timezone

from sessions.adapters.base import Adapter, Amending, Documents
from sessions.assembly import Assembly, Placed, Step
from sessions.documentbytes import keep_changed
from sessions.entries import Entry as EntryValue
from sessions.entries import Kind, Part
from sessions.goalmarks import timeline_of
from sessions.goals import GoalTracker
from sessions.models import Entry, Session, Version
from sessions.packing import pack, unpack
from sessions.projection import facts_of, measure
from sessions.reading import Going, Read, describe, mark_counted_elsewhere, stretches, sums
from sessions.sourcebytes import place, stored
from sessions.store import (
    GOAL_FIELDS,
    STEP_FIELDS,
    WORK_FIELDS,
    clean,
    clean_json,
    copy_entries,
    edits_of,
    goal_row,
    step_values,
    write_goals,
    write_steps,
)
from sessions.telling import Telling

PROVISIONAL = 8  # last records of a document that may grow while it stays the same one: tools still come back to them
_PAGE = 2000  # stored entries that are compared at once
_WAITING = 500  # entries that wait to be written
_BYTES = 8 << 20  # and bytes of their records
_PIECES = 100  # stretches of moved records, beyond which all rows are told their places anew
_AHEAD = timedelta(days=1)  # by which another machine's clock may be ahead

_SAID = (
    "kind", "role", "native_id", "native_parent", "response_id", "call_ids", "is_error", "sent", "opens_turn", "copied", "lane", "at",
    "digest", "link", "problem",
)  # fmt: skip
_PLACE = ("turn", "step", "goal")


class _Another(Exception):
    """The document is not the one that was read; rolls back what was written of it."""


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


def read_changed(
    session: Session, adapter: Adapter, data: bytes, *, longer: bool, modified: datetime | None
) -> Read | None:
    """Read `data`, what a document says now, over what is stored of the session's source; None where it is another one by now.

    It is the same where its records are those that were read, and perhaps more behind them: a head may have changed, one of the last
    records may have grown or become whole, and of an agent that changes records where they stand (`Amending`) any may have, and others
    may have come between them. `longer`: it begins with the bytes that are stored, and is the same whatever came of them. The caller
    holds the source's lock and a transaction, and saves the session.
    """
    if not isinstance(adapter, Documents):
        return None
    try:
        with transaction.atomic():
            return _read(session, adapter, data, longer=longer, modified=modified)
    except _Another:
        return None


def _read(session: Session, adapter: Any, data: bytes, *, longer: bool, modified: datetime | None) -> Read:
    source = session.source
    going = Going(Assembly(), partial(adapter.reader, PurePath(source.path)), None, 0, 0)
    going.assembly.goals.timeline = timeline_of(session)
    old = b"".join(stored(source))
    found = Differences(session, old, data, amends=isinstance(adapter, Amending) and adapter.amends)
    going.telling = Telling(session, adapter, found.parts_of, begun=True, tip=None)
    for some in stretches(adapter.documents(PurePath(source.path), data)):
        going.take(some, found, source.pk)
    found.write()
    continues = found.continues and going.assembly.next_seq >= session.entries_count
    if not (longer or continues or found.amended):
        raise _Another
    if longer or continues:
        found.shifted = None
    session.entries.filter(seq__gte=going.assembly.next_seq).delete()
    source.moved = found.moved
    if len(source.moved) > _PIECES:
        _settle(session, source.moved)
        source.moved = []
    _write_steps(session, going.assembly.take_changed())
    _write_goals(session, going.assembly.goals)
    mark_counted_elsewhere(session, since=1)
    session.totals = sums(session)
    before = session.entries_count
    session.started_at = session.last_at = None
    describe(session, going, found, modified)
    source.adapter_version = adapter.version
    source.modified_at = modified
    source.state = {"document": True}
    source.size = source.consumed = len(data)
    source.digest, source.digested = hashlib.sha256(data).digest(), None
    keep_changed(source, old, data)
    source.save()
    _measure_anew(session, found)
    versions, _ = going.telling.told(facts_of(session), lasting=False)
    return Read(max(0, session.entries_count - before), versions)


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


def _settle(session: Session, moved: Sequence[Sequence[int]]) -> None:
    """Tell all rows their places."""
    with connection.cursor() as cursor:
        stops = [seq for seq, _ in moved[1:]] + [session.entries.count()]
        cursor.execute(
            f"UPDATE {Entry._meta.db_table} e SET byte_offset = e.byte_offset + m.by "  # noqa: S608 -- our own names
            "FROM unnest(%s::int[], %s::int[], %s::bigint[]) AS m (start, stop, by) "
            "WHERE e.session_id = %s AND e.seq >= m.start AND e.seq < m.stop AND m.by <> 0",
            [[seq for seq, _ in moved], stops, [by for _, by in moved], session.pk],
        )


def _write_steps(session: Session, steps: Sequence[Step]) -> None:
    """Write the steps that differ. That a step is a copy is found later, and stays where its answer is the same."""
    known = {n: values for n, *values in session.steps.values_list("n", *STEP_FIELDS)}
    answer, copied = STEP_FIELDS.index("response_id"), STEP_FIELDS.index("copied")
    differ: list[Step] = []
    for step in steps:
        values, was = list(step_values(step)), known.get(step.n)
        if was is not None and was[copied] and was[answer] == values[answer]:
            values[copied] = True
        if values != was:
            differ.append(step)
    session.steps.filter(n__gt=len(steps)).delete()
    write_steps(session.pk, differ, newest=max(known, default=0))


def _write_goals(session: Session, tracker: GoalTracker) -> None:
    """Write the goals that differ, and how many entries came to each."""
    known = {row.path: row for row in session.goals.all()}
    now = [*tracker.tree(), *tracker.marked.values()]
    differ = [goal for goal in now if _differs(known.get(goal.path), goal_row(session.pk, goal, {}))]
    gone = set(known) - {goal.path for goal in now}
    session.goals.filter(path__in=gone, added=False).delete()
    write_goals(session.pk, differ, {})
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE agent_sessions_goal g SET entries_count = coalesce(s.n, 0), tokens = coalesce(s.t, 0) FROM agent_sessions_goal o "
            "LEFT JOIN (SELECT goal, count(*) n, sum(tokens) t FROM agent_sessions_entry "
            "           WHERE session_id = %(session)s AND goal IS NOT NULL GROUP BY goal) s ON s.goal = o.path "
            "WHERE o.session_id = %(session)s AND g.session_id = o.session_id AND g.path = o.path "
            "AND (g.entries_count, g.tokens) IS DISTINCT FROM (coalesce(s.n, 0), coalesce(s.t, 0))",
            {"session": session.pk},
        )


def _differs(known: Any, now: Any) -> bool:
    if known is None:
        return True
    fields = WORK_FIELDS if now.added else GOAL_FIELDS
    return any(getattr(known, name) != getattr(now, name) for name in fields)


def _measure_anew(session: Session, found: Differences) -> None:
    """What versions say of their contexts goes with the entries; those the agent made over numbers that entries no longer have go."""
    if found.shifted is not None:
        stale = session.versions.filter(origin=Version.Origin.NATIVE, at_seq__gte=found.shifted)
        gone = set(stale.values_list("pk", flat=True))
        if gone:
            session.native_head_id = None if session.native_head_id in gone else session.native_head_id
            session.head_id = None if session.head_id in gone else session.head_id
            session.redo = [pk for pk in session.redo if pk not in gone]
            session.save(update_fields=["native_head", "head", "redo"])
            stale.delete()
    if found.changed is None:
        return
    for version in session.versions.filter(at_seq__gte=found.changed):
        digest, tokens = measure(session.pk, edits_of(version), version.at_seq)
        if (digest, tokens) != (version.content_hash, version.tokens):
            session.versions.filter(pk=version.pk).update(content_hash=digest, tokens=tokens)
