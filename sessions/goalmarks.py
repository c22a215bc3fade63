"""The verbs on goals: add, focus, complete, abandon, reopen, explore. One set for pages, commands, the API and agents' tools.

They are an overlay: a mark is written beside the session and laid over its goals; the source is never rewritten and never contradicted in
what it holds. From a focus on, entries that come belong to the goal in focus, until another is, or it is closed. What the agent itself
says of a goal after it was put in focus here holds again; what was completed or abandoned here stays so until it is reopened here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from sessions.abandoning import look
from sessions.announcing import announce
from sessions.entries import GoalStatus
from sessions.models import Event, Goal, Session, Version
from sessions.models_goals import GoalMark
from sessions.store import clean, place_in_tree
from sessions.versions import Refused, locked

LONGEST = 2_000  # characters of a goal's text, a summary or a reason
MOST = 1_000  # goals that may be added to one session
BRANCHES = (2, 8)  # branches of one exploration
CLOSED = (GoalStatus.COMPLETED, GoalStatus.ABANDONED)


@dataclass(frozen=True, slots=True)
class Marked:
    """What was done: the goal as it stands now. `goals`: all that were touched, of an exploration the question first."""

    session: Session
    verb: str
    goals: tuple[Goal, ...]

    @property
    def goal(self) -> Goal:
        return self.goals[0]


@transaction.atomic
def add(
    session_id: UUID,
    *,
    text: str,
    under: str | None = None,
    focus: bool = False,
    by: Any = None,
    through: str = GoalMark.Through.PAGE,
) -> Marked:
    """Add a goal, at the top or under another; with `focus` it is what is worked on from here."""
    session = locked(session_id)
    path = _added(session, text, under, "goal", by, through)
    if focus:
        _mark(session, path, GoalMark.Verb.FOCUSED, by, through)
    return _done(session, "added", [path], by)


@transaction.atomic
def focus(session_id: UUID, *, path: str, by: Any = None, through: str = GoalMark.Through.PAGE) -> Marked:
    """Say that a goal is what is worked on from here. Refused for one that is closed, and for a request that was only taken for a goal."""
    session = locked(session_id)
    goal = _goal(session, path)
    if goal.inferred:
        raise Refused(
            "a_request", _("Goal %(path)s is a request, taken for a goal: add a goal to work on.") % {"path": path}
        )
    if standing(goal) in CLOSED:
        raise Refused("closed", _("Goal %(path)s is closed: reopen it first.") % {"path": path})
    _mark(session, path, GoalMark.Verb.FOCUSED, by, through)
    return _done(session, "focused", [path], by)


@transaction.atomic
def complete(
    session_id: UUID, *, path: str, summary: str, by: Any = None, through: str = GoalMark.Through.PAGE
) -> Marked:
    """Close a goal with what came of it."""
    return _close(session_id, path, GoalMark.Verb.COMPLETED, summary, _("Say what came of it."), by, through)


@transaction.atomic
def abandon(
    session_id: UUID, *, path: str, reason: str, by: Any = None, through: str = GoalMark.Through.PAGE
) -> Marked:
    """Give a goal up, with the reason."""
    return _close(session_id, path, GoalMark.Verb.ABANDONED, reason, _("Say why it is given up."), by, through)


@transaction.atomic
def reopen(session_id: UUID, *, path: str, by: Any = None, through: str = GoalMark.Through.PAGE) -> Marked:
    """Take back that a goal was closed, here or by the agent."""
    session = locked(session_id)
    if standing(_goal(session, path)) not in (*CLOSED, GoalStatus.DROPPED):
        raise Refused("open", _("Goal %(path)s is open.") % {"path": path})
    _mark(session, path, GoalMark.Verb.REOPENED, by, through)
    return _done(session, "reopened", [path], by)


@transaction.atomic
def explore(
    session_id: UUID,
    *,
    question: str,
    branches: Sequence[str],
    under: str | None = None,
    by: Any = None,
    through: str = GoalMark.Through.PAGE,
) -> Marked:
    """Add a question with the branches that are to answer it, each a goal of its own that is closed with what it came to."""
    session = locked(session_id)
    wanted = [text for text in branches if text.strip()]
    if not BRANCHES[0] <= len(wanted) <= BRANCHES[1]:
        raise Refused(
            "branches", _("A question needs %(low)s to %(high)s branches.") % {"low": BRANCHES[0], "high": BRANCHES[1]}
        )
    top = _added(session, question, under, "exploration", by, through)
    paths = [top, *(_added(session, text, top, "branch", by, through) for text in wanted)]
    return _done(session, "explored", paths, by)


def standing(goal: Goal) -> str:
    """The status in force: the one given here, else the agent's."""
    return goal.marked or goal.status


def note_of(goal: Goal) -> str | None:
    """The summary or reason in force."""
    return goal.mark_note if goal.marked in CLOSED else goal.note


def timeline_of(session: Session) -> list[tuple[int, str | None]]:
    """From which entry on which goal was in focus here; None: the agent's own again. For `GoalTracker.timeline`."""
    out: list[tuple[int, str | None]] = []
    now: str | None = None
    rows = session.goal_marks.order_by("id").values_list("path", "verb", "at_seq")
    for path, verb, at_seq in rows:
        if verb == GoalMark.Verb.FOCUSED:
            now = path
        elif verb in (GoalMark.Verb.COMPLETED, GoalMark.Verb.ABANDONED) and now == path:
            now = None
        else:
            continue
        out.append((at_seq, now))
    return out


def refresh(session: Session, *, versions: Sequence[Version] | None = None) -> None:
    """Bring what stands over a session's goals up to date, once it was read on. The caller holds its lock and a transaction.

    `versions`: those of a session that is new, over whose goals nothing stands yet.
    """
    if versions is None:
        lay(session)
    look(session, versions=versions)


def lay(session: Session) -> None:
    """Lay the marks over the goals as they were read. The caller holds the session's lock."""
    marks = list(session.goal_marks.order_by("id"))
    if not marks:
        return
    goals = {goal.path: goal for goal in session.goals.filter(path__in={mark.path for mark in marks})}
    focused: str | None = None
    for known in goals.values():
        known.marked, known.mark_note = None, None
    fresh: list[Goal] = []
    for mark in marks:
        if mark.verb == GoalMark.Verb.ADDED:
            goals[mark.path] = _laid(session, goals.get(mark.path), mark, fresh)
        if mark.path not in goals:
            continue  # the source no longer has it: the mark waits
        goal = goals[mark.path]
        if mark.verb == GoalMark.Verb.FOCUSED:
            before = goals.get(focused or "")
            if before is not None and before.marked == GoalStatus.IN_PROGRESS and before.path != goal.path:
                before.marked = GoalStatus.PENDING if before.added else None
            focused = goal.path
            if goal.added or goal.closed_seq is None or goal.closed_seq < mark.at_seq:
                goal.marked = GoalStatus.IN_PROGRESS
        elif mark.verb == GoalMark.Verb.REOPENED:
            goal.marked, goal.mark_note = GoalStatus.PENDING, None
        elif mark.verb in (GoalMark.Verb.COMPLETED, GoalMark.Verb.ABANDONED):
            goal.marked, goal.mark_note = mark.verb, mark.note
            if focused == goal.path:
                focused = None
        if goal.added:
            goal.status = goal.marked or GoalStatus.PENDING
            goal.closed_seq = _last(mark) if goal.marked in CLOSED else None
    Goal.objects.bulk_create(
        [*fresh, *(goal for goal in goals.values() if goal not in fresh)],
        batch_size=500,
        update_conflicts=True,
        update_fields=["text", "parent", "kind", "added", "status", "closed_seq", "marked", "mark_note", "first_seq"],
        unique_fields=["session", "path"],
    )


def _laid(session: Session, goal: Goal | None, mark: GoalMark, fresh: list[Goal]) -> Goal:
    if goal is None:
        goal = Goal(session=session, path=mark.path, last_seq=_last(mark))
        fresh.append(goal)
    goal.position, goal.parent, goal.text, goal.kind = place_in_tree(mark.path), mark.parent, mark.text, mark.kind
    goal.added, goal.status, goal.marked, goal.first_seq = True, GoalStatus.PENDING, GoalStatus.PENDING, _last(mark)
    return goal


def _last(mark: GoalMark) -> int:
    return max(0, mark.at_seq - 1)


def _added(session: Session, text: str, under: str | None, kind: str, by: Any, through: str) -> str:
    words = worded(text)
    if not words:
        raise Refused("no_text", _("A goal needs words."))
    if under is not None:
        _goal(session, under)
    marks = session.goal_marks.filter(verb=GoalMark.Verb.ADDED)
    if marks.count() >= MOST:
        raise Refused("too_many", _("%(most)s goals were added to this session: no more are.") % {"most": f"{MOST:,}"})
    path = (
        f"{under}.+{marks.filter(parent=under).count() + 1}" if under else f"+{marks.filter(parent=None).count() + 1}"
    )
    _mark(session, path, GoalMark.Verb.ADDED, by, through, text=words, kind=kind, parent=under)
    return path


def _close(session_id: UUID, path: str, verb: str, note: str, missing: str, by: Any, through: str) -> Marked:
    session = locked(session_id)
    goal = _goal(session, path)
    words = worded(note)
    if not words:
        raise Refused("no_reason", missing)
    if goal.marked == verb and goal.mark_note == words:
        raise Refused("closed", _("Goal %(path)s is closed with these words already.") % {"path": path})
    _mark(session, path, verb, by, through, note=words)
    return _done(session, verb, [path], by)


def _goal(session: Session, path: str) -> Goal:
    goal = session.goals.filter(path=clean(path.strip())).first()
    if goal is None:
        raise Refused("no_such_goal", _("This session has no goal %(path)s.") % {"path": path})
    return goal


def worded(text: str) -> str:
    return (clean(text.strip()) or "")[:LONGEST]


def _mark(session: Session, path: str, verb: str, by: Any, through: str, **more: Any) -> None:
    GoalMark.objects.create(
        session=session, path=path, verb=verb, at_seq=session.entries_count, by_id=_person(by), through=through, **more
    )
    lay(session)
    announce(session.workspace_id, session.pk)


def _person(by: Any) -> Any:
    return getattr(by, "pk", None)


def _done(session: Session, verb: str, paths: Sequence[str], by: Any) -> Marked:
    look(session)
    Event.objects.create(
        workspace_id=session.workspace_id,
        session=session,
        who_id=_person(by),
        what=f"goal_{verb}",
        facts={"path": paths[0]},
    )
    known = {goal.path: goal for goal in session.goals.filter(path__in=list(paths))}
    return Marked(session, verb, tuple(known[path] for path in paths))
