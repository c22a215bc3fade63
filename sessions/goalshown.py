"""Goals as pages show them: the status in force, the words that go with it, and when a tree shown is no longer the one there is."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Case, Exists, Max, OuterRef, Q, TextField, Value, When
from django.db.models.functions import Coalesce

from sessions.goalmarks import note_of, standing
from sessions.models import Goal, Session
from sessions.models_goals import Abandonment

CLOSED = ("completed", "abandoned", "dropped")


def in_force() -> Case:
    """The status in force, in a query of goals: given here, else found where it was given up, else the agent's own."""
    found = Abandonment.objects.filter(
        session_id=OuterRef("session_id"), path=OuterRef("path"), stands=True, status="dropped"
    ).exclude(review=Abandonment.Review.NOT_ABANDONED)
    open_or_asked = ~Q(status="completed") | Q(inferred=True)
    given_up = When(Exists(found) & Q(marked=None) & open_or_asked, then=Value("dropped"))
    return Case(given_up, default=Coalesce("marked", "status"), output_field=TextField())


def shown_as_they_stand(session: Session, rows: Sequence[Goal]) -> None:
    """Give these rows the status and the note in force; they are for showing alone and must not be saved.

    `number` is what a person calls it (a request is counted, not named), `given_up` what was found where it was given up.
    """
    found = {
        row.path: row
        for row in session.abandonments.filter(path__in=[goal.path for goal in rows], stands=True)
        .exclude(review=Abandonment.Review.NOT_ABANDONED)
        .only("path", "status", "reason", "reason_stated", "how", "cause", "session")
    }
    for goal in rows:
        given_up = found.get(goal.path)
        goal.note = note_of(goal)
        goal.status = status_of(goal, given_up)
        if given_up is not None and not goal.note:
            goal.note = given_up.reason or None
        goal.number = goal.path.removeprefix("r")  # type: ignore[attr-defined]  # for the template
        goal.given_up = given_up  # type: ignore[attr-defined]  # as above
        goal.closed = goal.status in CLOSED  # type: ignore[attr-defined]  # as above


def status_of(goal: Goal, given_up: Abandonment | None) -> str:
    """As `in_force`, of a row with what was found of it."""
    if given_up is not None and goal.marked is None and (goal.status != "completed" or goal.inferred):
        return given_up.status
    return standing(goal)


def revision_of(session: Session) -> str:
    """Changes whenever the tree, or the work on it, may have."""
    last = session.goal_marks.aggregate(n=Max("id"))["n"] or 0
    return f"{session.entries_count}.{last}"
