"""From rows to what a strategy works on: the context in force, frozen, and how large it may be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from compaction import project_memory, remembered
from compaction.budget import budget_for, meter_for
from compaction.disk import Disk, allowed
from compaction.plan import Budget, Learned, Snapshot
from sessions.contexts import Item
from sessions.entries import GoalStatus
from sessions.gauge import window_of
from sessions.goalmarks import note_of, standing
from sessions.goals import Goal
from sessions.models import Session, Version
from sessions.projection import as_sent, log_beside, measure, projected
from sessions.store import edits_of
from sessions.versions import Refused


@dataclass(frozen=True, slots=True)
class Base:
    """What a run starts from, by name: the version in force, how far its context reached, and that context's hash."""

    version: Version
    last_seq: int
    content_hash: str


@contextmanager
def reading() -> Iterator[None]:
    """A transaction that PostgreSQL itself keeps from writing; where it is the outermost, all of it sees one moment."""
    outermost = not connection.in_atomic_block
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(
                "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
                if outermost
                else "SET TRANSACTION READ ONLY"
            )
            # A session's rows lie together: by their key they come in their order, and need no sorting.
            cursor.execute("SET LOCAL random_page_cost = 1.1")
        yield


def base_of(session: Session) -> Base:
    """The base of a run that starts now. Refused for a session without entries."""
    version = session.current
    last_seq = session.entries_count - 1
    if version is None or last_seq < 0:
        raise Refused("empty", "This session has no entries yet: there is nothing to compact.")
    return Base(version, last_seq, hash_at(session, version, last_seq))


def hash_at(session: Session, version: Version, last_seq: int) -> str:
    """Of the context that `version` makes of the entries up to `last_seq`."""
    return measure(session.pk, edits_of(version), last_seq)[0]


def pins_of(session: Session, also: Iterable[int] = ()) -> frozenset[int]:
    """Entries to be kept word for word: those pinned in the session and those of this run."""
    return frozenset(session.pins.values_list("seq", flat=True)) | frozenset(also)


def snapshot_of(
    session: Session, base: Base, *, pins: frozenset[int] = frozenset(), remembered_by: datetime | None = None
) -> Snapshot:
    """The context of `base`, frozen, counted by its agent's meter. What its edits hide or replace of the transcript (`log`) is read only where
    a strategy asks for it.

    `remembered_by`: the session's memory as it was then; None: as it is.
    """
    edits = edits_of(base.version)
    shown = projected(session, edits, until_seq=base.last_seq)
    items = as_sent(session, shown)
    meter = meter_for(session.agent, session.agent_version)

    @cache
    def log() -> Sequence[Item]:
        if not edits and not pins:
            return tuple(shown)
        return tuple(log_beside(session, base.last_seq, edits, shown))

    @cache
    def goals() -> Sequence[Goal]:
        rows = session.goals.order_by("position").values_list(*GOAL_COLUMNS, named=True)
        return tuple(goal_of(row) for row in rows)

    @cache
    def learned() -> Sequence[Learned]:
        return tuple(project_memory.accepted(session))

    return Snapshot(
        items=tuple([replace(item, pinned=True) if item.seq in pins else item for item in items] if pins else items),
        tokens=tuple(meter.each_of([item.sizes for item in items])),
        last_seq=base.last_seq,
        edits=tuple(edits),
        ghosts=base.version.hidden,
        pinned=pins,
        log=log,
        goals=goals,
        memory=remembered.kept(session, until=base.last_seq, by_then=remembered_by),
        disk=disk_of(session),
        learned=learned,
        agent=session.agent,
        cwd=session.cwd,
        now=timezone.now(),
    )


def disk_of(session: Session) -> Disk | None:
    """What may be read of this machine's disk for a session: nothing, unless the operator named folders."""
    roots = allowed(settings.FILE_ROOTS)
    return Disk(roots, session.cwd, str(Path.home())) if roots else None


GOAL_COLUMNS = (
    *("path", "text", "status", "parent", "note", "first_seq", "last_seq", "inferred"),
    *("marked", "mark_note"),
)


def goal_of(row: Any) -> Goal:
    """A stored node of a session's goal tree as a value. `row`: a named tuple of GOAL_COLUMNS: rows of their model take ten times as long."""
    return Goal(
        row.path,
        row.text,
        GoalStatus(standing(row)),
        parent=row.parent,
        note=note_of(row),
        first_seq=row.first_seq,
        last_seq=row.last_seq,
        inferred=row.inferred,
    )


def budget_of(session: Session) -> Budget:
    """How large the session's context may be, by its own agent's rule; None what is not known."""
    meter = meter_for(session.agent, session.agent_version)
    its = window_of(session)
    if its is None:
        return budget_for(meter, window=session.window)
    return budget_for(meter, window=its.total, threshold=its.compaction)
