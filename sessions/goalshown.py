"""Goals as pages show them: the status in force, the words that go with it, and when a tree shown is no longer the one there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Case, Exists, Max, OuterRef, Q, TextField, Value, When
from django.db.models.functions import Coalesce

from sessions.entries import GoalStatus
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


@dataclass(frozen=True, slots=True)
class Shown:
    """A goal for a page. `number` is what a person calls it (a request is counted, not named); `note` the summary or reason in force, else
    what was found where it was given up. `marked`: its status was given here.
    """

    path: str
    number: str
    parent: str | None
    text: str
    was: str | None
    status: str
    note: str | None
    marked: bool
    added: bool
    inferred: bool
    entries_count: int
    tokens: int
    first_seq: int
    last_seq: int

    @property
    def closed(self) -> bool:
        return self.status in CLOSED


def as_they_stand(session: Session, rows: Sequence[Goal]) -> list[Shown]:
    """These goals with the status and the note in force."""
    found = {
        row.path: row
        for row in session.abandonments.filter(path__in=[goal.path for goal in rows], stands=True)
        .exclude(review=Abandonment.Review.NOT_ABANDONED)
        .only("path", "status", "reason", "session")
    }
    return [_shown(goal, found.get(goal.path)) for goal in rows]


def _shown(goal: Goal, given_up: Abandonment | None) -> Shown:
    return Shown(
        goal.path,
        goal.path.removeprefix("r"),
        goal.parent,
        goal.text,
        goal.was,
        status_of(goal, given_up),
        note_of(goal) or (given_up.reason if given_up is not None else None) or None,
        goal.marked is not None,
        goal.added,
        goal.inferred,
        goal.entries_count,
        goal.tokens,
        goal.first_seq,
        goal.last_seq,
    )


def now_of(goals: Sequence[Shown]) -> str | None:
    """Of these the one that is worked on: put in focus here, else the deepest in progress that was worked on last."""
    active = [goal for goal in goals if goal.status == GoalStatus.IN_PROGRESS]
    above = {goal.parent for goal in active}
    chosen = [goal for goal in active if goal.marked] or [goal for goal in active if goal.path not in above]
    return max(chosen, key=lambda goal: goal.last_seq).path if chosen else None


def status_of(goal: Goal, given_up: Abandonment | None) -> str:
    """As `in_force`, of a row with what was found of it."""
    if given_up is not None and goal.marked is None and (goal.status != "completed" or goal.inferred):
        return given_up.status
    return standing(goal)


def revision_of(session: Session) -> str:
    """Changes whenever the tree, or the work on it, may have."""
    last = session.goal_marks.aggregate(n=Max("id"))["n"] or 0
    return f"{session.entries_count}.{last}"
