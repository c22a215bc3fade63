"""What agents' tools do to goals: one call that closes, adds and turns to a goal, one that opens a question; and the tree as text for a model.

Everything is one of the verbs of `goalmarks`; a call is carried out whole or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from sessions import goalmarks
from sessions.goal_answers import current_of
from sessions.goalmarks import note_of, standing
from sessions.models import Goal, Session
from sessions.models_goals import GoalMark
from sessions.naming import find_session
from sessions.versions import Refused

SIGNS = {"pending": "[ ]", "in_progress": "[→]", "completed": "[✓]", "abandoned": "[✗]", "dropped": "[✗]"}
SHOWN = 200  # goals of a tree that are told; of a longer one the open ones and the last
NOTE = 200  # characters of a summary or reason

_TOOL = GoalMark.Through.TOOL


@transaction.atomic
def work(
    session: Session,
    *,
    add: str | None = None,
    under: str | None = None,
    focus: str | None = None,
    done: str | None = None,
    abandon: str | None = None,
    reopen: str | None = None,
    path: str | None = None,
) -> str:
    """Close the goal at `path` (the one in progress unless said), then reopen, then add, then turn to another; the tree as it stands then.

    `done`: what came of it; `abandon`: why it is given up. A goal that is added while none is in progress is what is worked on next.
    """
    if done is not None and abandon is not None:
        raise Refused("usage", "A goal is either done or abandoned: say one of the two.")
    if done is not None or abandon is not None:
        closed = path or current_of(session, inferred=False)
        if closed is None:
            raise Refused("no_current_goal", "No goal is in progress: say which with `path`.")
        if done is not None:
            goalmarks.complete(session.pk, path=closed, summary=done, through=_TOOL)
        else:
            goalmarks.abandon(session.pk, path=closed, reason=abandon or "", through=_TOOL)
    if reopen is not None:
        goalmarks.reopen(session.pk, path=reopen, through=_TOOL)
    if add is not None:
        begins = focus is None and current_of(session, inferred=False) is None
        goalmarks.add(session.pk, text=add, under=under, focus=begins, through=_TOOL)
    if focus is not None:
        goalmarks.focus(session.pk, path=focus, through=_TOOL)
    return tree_text(session)


@transaction.atomic
def explore(session: Session, *, question: str, branches: Sequence[str], under: str | None = None) -> str:
    """Open a question with its branches; the tree as it stands then."""
    done = goalmarks.explore(session.pk, question=question, branches=branches, under=under, through=_TOOL)
    named = "\n".join(f"- {goal.path} {goal.text}" for goal in done.goals[1:])
    return f"Question {done.goal.path}, with these branches:\n{named}\nClose each with what it came to.\n\n{tree_text(session)}"


def tree_text(session: Session) -> str:
    """The tree for a model: a line for each goal, the one in progress named at the end."""
    goals = list(session.goals.order_by("position"))
    if not goals:
        return "No goals yet."
    now = current_of(session, goals, inferred=False)
    told = [
        goal
        for n, goal in enumerate(goals)
        if len(goals) <= SHOWN or n >= len(goals) - SHOWN or standing(goal) in ("pending", "in_progress")
    ]
    lines = [_line(goal) for goal in told]
    if len(told) < len(goals):
        lines.insert(0, f"({len(goals) - len(told)} earlier goals are closed and not listed.)")
    lines.append("" if now is None else f"\nIn progress: {now}")
    return "\n".join(lines).rstrip()


def _line(goal: Goal) -> str:
    status = standing(goal)
    note = note_of(goal)
    said = f" ({status}: {' '.join(note.split())[:NOTE]})" if note and status in ("completed", "abandoned") else ""
    return (
        f"{'  ' * goal.path.count('.')}{SIGNS.get(status, '[ ]')} {goal.path} {' '.join(goal.text.split())[:400]}{said}"
    )


def chosen(workspace: Any, *, name: str | None, default: str | None, folder: str) -> Session:
    """The session that is meant: the one named, else the one the server was started for, else the newest of the folder it runs in."""
    wanted = name or default
    if wanted:
        return find_session(wanted, workspace=workspace)
    here = Session.objects.filter(workspace=workspace, superseded_by=None, parent=None, cwd=folder)
    found = here.order_by("-last_at", "-created_at").select_related("source", "head", "native_head").first()
    if found is None:
        raise Refused(
            "no_such_session",
            "No session of this folder has been taken in yet. Name one with `session`, or take it in first.",
        )
    return found
