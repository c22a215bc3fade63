"""The kept memory of a session as rows: the newest version, any other, and what a run's snapshot takes of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from compaction.models_memory import MemoryKeeping, MemoryNote
from compaction.notes.sections import Notes, render
from compaction.plan import KeptMemory
from sessions.models import Session
from sessions.versions import Refused

LISTED = 200


def newest(session: Session, *, until: int | None = None, by_then: datetime | None = None) -> MemoryNote | None:
    """The version that holds; None where none is kept. `until`: the newest that takes in no entry behind that one. `by_then`: as of then."""
    found = MemoryNote.objects.filter(session=session)
    if until is not None:
        found = found.filter(until__lte=until)
    if by_then is not None:
        found = found.filter(at__lte=by_then)
    return found.order_by("-n").first()


def notes_of(row: MemoryNote | None) -> Notes:
    """What a version says; nothing where there is none."""
    return Notes() if row is None else Notes.from_json(row.notes)


def kept(session: Session, *, until: int, by_then: datetime | None = None) -> KeptMemory | None:
    """The memory as a strategy takes it: its text, and how far it reaches."""
    row = newest(session, until=until, by_then=by_then)
    if row is None:
        return None
    notes = notes_of(row)
    return None if notes.empty else KeptMemory(render(notes), row.until)


def versions_of(session: Session) -> list[MemoryNote]:
    """The versions, newest first, without what they say."""
    return list(MemoryNote.objects.filter(session=session).defer("notes").select_related("by").order_by("-n")[:LISTED])


def version_of(session: Session, n: int) -> MemoryNote:
    """One version. Refused (no_such_version) where there is none of that number."""
    found = MemoryNote.objects.filter(session=session, n=n).select_related("by").first()
    if found is None:
        raise Refused("no_such_version", f"This session's memory has no version {n}.")
    return found


def keeping_of(session: Session) -> MemoryKeeping:
    """How the session's memory is kept; not stored where nobody has looked at or set it yet."""
    return MemoryKeeping.objects.filter(session=session).first() or MemoryKeeping(session=session)


def version_json(row: MemoryNote) -> dict[str, Any]:
    return {
        "n": row.n,
        "origin": row.origin,
        "until": row.until,
        "tokens": row.tokens,
        "writer": row.writer,
        "reason": row.reason,
        "by": None if row.by is None else row.by.get_username(),
        "at": row.at.isoformat(),
    }
