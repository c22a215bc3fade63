"""Goals as pages show them: the status in force, the words that go with it, and when a tree shown is no longer the one there is."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Max

from sessions.goalmarks import note_of, standing
from sessions.models import Goal, Session

CLOSED = ("completed", "abandoned", "dropped")


def shown_as_they_stand(session: Session, rows: Sequence[Goal]) -> None:
    """Give these rows the status and the note in force; they are for showing alone and must not be saved.

    `number` is what a person calls it (a request is counted, not named), `given_up` what was found where it was given up.
    """
    found = {
        row.path: row
        for row in session.abandonments.filter(path__in=[goal.path for goal in rows], stands=True).only(
            "path", "status", "reason", "reason_stated", "how", "cause", "session"
        )
    }
    for goal in rows:
        given_up = found.get(goal.path)
        goal.note, goal.status = note_of(goal), standing(goal)
        if given_up is not None and goal.status not in ("abandoned", "completed"):
            goal.status = given_up.status
        if given_up is not None and not goal.note:
            goal.note = given_up.reason or None
        goal.number = goal.path.removeprefix("r")  # type: ignore[attr-defined]  # for the template
        goal.given_up = given_up  # type: ignore[attr-defined]  # as above
        goal.closed = goal.status in CLOSED  # type: ignore[attr-defined]  # as above


def revision_of(session: Session) -> str:
    """Changes whenever the tree, or the work on it, may have."""
    last = session.goal_marks.aggregate(n=Max("id"))["n"] or 0
    return f"{session.entries_count}.{last}"
