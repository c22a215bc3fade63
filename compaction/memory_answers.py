"""A session's memory as JSON: the same from the API and the command line."""

from __future__ import annotations

from typing import Any

from compaction import remembered
from compaction.models_memory import MemoryNote
from compaction.notes.editing import compare
from compaction.notes.sections import TITLES, render
from sessions.models import Session


def memory_json(session: Session, row: MemoryNote | None) -> dict[str, Any]:
    """`row`: the version; null where none is kept. With all its versions, newest first, and how it is kept."""
    notes = remembered.notes_of(row)
    keeping = remembered.keeping_of(session)
    return {
        "session": str(session.pk),
        "memory": None
        if row is None
        else {
            **remembered.version_json(row),
            "text": render(notes),
            "sections": [
                {"title": title, "lines": [{"text": one.text, "seqs": list(one.seqs), "own": one.own} for one in lines]}
                for title, lines in zip(TITLES, notes.sections, strict=True)
            ],
        },
        "versions": [remembered.version_json(one) for one in remembered.versions_of(session)],
        "keeping": {
            "on": keeping.on,
            "summariser": keeping.summariser,
            "model": keeping.model,
            "last_look": keeping.words,
        },
    }


def difference_json(session: Session, a: int, b: int) -> dict[str, Any]:
    """What differs between versions `a` and `b`, by section. Refused (no_such_version) where one of them is not there."""
    was, now = remembered.version_of(session, a), remembered.version_of(session, b)
    changed = compare(remembered.notes_of(was), remembered.notes_of(now))
    sections = [{"title": one.title, "gone": list(one.gone), "new": list(one.new), "same": one.same} for one in changed]
    return {"session": str(session.pk), "a": a, "b": b, "sections": sections}
