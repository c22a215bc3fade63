"""Bringing ghosts back: a new version in which what one version took away is sent again."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction

from sessions.contexts import Edit, Hide, Insert, Replace, hidden_by
from sessions.ghosts import bands
from sessions.models import Version
from sessions.projection import ancestry
from sessions.queries import maker_of
from sessions.ranges import Ranges
from sessions.store import edits_of
from sessions.versions import Moved, Refused, locked, make, set_head


@transaction.atomic
def restore(session_id: UUID, *, taken_by: int, by: Any = None) -> Moved:
    """Make a version that shows again all that version `taken_by` hid and still is hidden, without what was written for it.

    All of it, so that no call comes back without its result. Refused where that version hides nothing of the context in force.
    """
    session = locked(session_id)
    was = session.current
    chain = ancestry(was)
    maker = next((version for version in chain if version.n == taken_by), None)
    back = Ranges.of(
        (band.start, band.stop) for band in bands([maker_of(v) for v in chain]) if band.maker.n == taken_by
    )
    if was is None or maker is None or not back:
        raise Refused(
            "nothing_to_restore", f"v{taken_by} hides nothing of the context in force; the head stays where it is."
        )
    before = maker.parent
    older = {_name(edit) for edit in edits_of(before) if isinstance(edit, Insert)} if before is not None else set()
    written = {_name(edit) for edit in edits_of(maker) if isinstance(edit, Insert)} - older
    edits = edits_of(was)
    kept: list[Edit] = [Hide(hidden_by(edits) - back)]
    kept += [
        edit for edit in edits if isinstance(edit, Replace) or (isinstance(edit, Insert) and _name(edit) not in written)
    ]
    version = make(
        session,
        parent=was,
        edits=kept,
        origin=Version.Origin.PERSON,
        kind="restore",
        label=f"Restore what v{taken_by} took away",
        at_seq=session.entries_count - 1,
        facts={"taken_by": taken_by, "entries": len(back)},
        by=by,
    )
    set_head(session, version, by=by, what="restored", redo=[], facts={"taken_by": taken_by})
    return Moved(session, was, version)


def _name(edit: Insert) -> tuple[int, str, str]:
    return edit.after, edit.kind.value, edit.text
