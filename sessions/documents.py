"""A document that changed: read whole again, while only what differs from what is stored is written.

An agent writes such a file anew each time, most of it as it was. All its records are read, placed and followed as if for the first time,
so that what is stored is what reading the file once would store; entries, steps and goals that are the same stay. Records that merely
lie elsewhere in the file are told by `Source.moved`, and of the bytes the chunks that did not change stay too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import PurePath
from typing import Any

from django.db import connection, transaction

from sessions.adapters.base import Adapter, Amending, Documents
from sessions.assembly import Assembly, Step
from sessions.differing import Differences
from sessions.documentbytes import keep_changed
from sessions.goalmarks import timeline_of
from sessions.goals import GoalTracker
from sessions.models import Entry, Session, Version
from sessions.projection import facts_of, measure
from sessions.reading import Going, Read, describe, mark_counted_elsewhere, stretches, sums
from sessions.sourcebytes import stored
from sessions.store import (
    GOAL_FIELDS,
    STEP_FIELDS,
    WORK_FIELDS,
    edits_of,
    goal_row,
    step_values,
    write_goals,
    write_steps,
)
from sessions.telling import Telling

_PIECES = 100  # stretches of moved records, beyond which all rows are told their places anew


class _Another(Exception):
    """The document is not the one that was read; rolls back what was written of it."""


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
