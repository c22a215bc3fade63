"""What commands, the API and agents' tools say of goals: the tree with its figures, one goal, what was given up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sessions.abandoned import Choice, Sums, Wanted, Week, overview, page, sums, wordless
from sessions.explorations import Exploration, explorations_of
from sessions.families import also_in, why_of
from sessions.goalcosts import took
from sessions.goalmarks import Marked, note_of, standing
from sessions.goalshown import status_of
from sessions.models import Goal, Session
from sessions.models_goals import Abandonment, Review
from sessions.ranges import Ranges

Row = dict[str, Any]
COSTED = 200  # goals of a tree up to which each is told its cost


def tree_of(session: Session) -> Row:
    """The goal tree, in order of its paths. Figures are of a goal's own entries; `total` ones with those under it."""
    goals = list(session.goals.order_by("position"))
    given_up = {row.path: row for row in session.abandonments.filter(stands=True)}
    explored: dict[str | None, list[Exploration]] = {}
    for one in explorations_of(session):
        explored.setdefault(one.goal, []).append(one)
    spent = {goal.path: took(session, goal.spans) for goal in goals} if len(goals) <= COSTED else {}
    now = current_of(session, goals)
    now = None if now in given_up else now
    rows = []
    for goal in goals:
        row = goal_row(goal, given_up.get(goal.path))
        taken = spent.get(goal.path)
        row["spent"] = taken.tokens if taken is not None else None
        row["cost"] = float(taken.cost) if taken is not None and taken.cost is not None else None
        row["model"] = taken.model if taken is not None else None
        row["current"] = goal.path == now
        row["explorations"] = [exploration_row(one) for one in explored.get(goal.path, [])]
        rows.append(row)
    belonging = sum(len(goal.spans) for goal in goals)
    return {
        "session": str(session.pk),
        "inferred": bool(goals)
        and all(goal.inferred or goal.added for goal in goals)
        and any(g.inferred for g in goals),
        "current": now,
        "entries": session.entries_count,
        "entries_of_none": max(0, session.entries_count - belonging),
        "goals": rows,
        "explorations": [exploration_row(one) for path, many in explored.items() for one in many if path is None],
    }


def current_of(session: Session, goals: Iterable[Goal] | None = None, *, inferred: bool = True) -> str | None:
    """The goal in progress: the one put in focus here last, if it still is; else the agent's. `inferred`: a request counts too."""
    active = [
        goal
        for goal in (goals if goals is not None else session.goals.order_by("position"))
        if standing(goal) == "in_progress"
    ]
    active = [goal for goal in active if inferred or not goal.inferred]
    marked = [goal for goal in active if goal.marked]
    above = {goal.parent for goal in active}
    leaves = [goal for goal in active if goal.path not in above]
    chosen = marked or leaves
    return max(chosen, key=lambda goal: goal.last_seq).path if chosen else None


def goal_row(goal: Goal, given_up: Abandonment | None = None) -> Row:
    """`status` is the one in force; `stated` the agent's own, null for a goal that was added here."""
    figures = goal.figures
    status = status_of(goal, given_up)
    return {
        "path": goal.path,
        "parent": goal.parent,
        "text": goal.text,
        "was": goal.was,
        "status": status,
        "stated": None if goal.added else goal.status,
        "note": note_of(goal),
        "kind": goal.kind,
        "first_seq": goal.first_seq,
        "last_seq": goal.last_seq,
        "closed_seq": goal.closed_seq,
        "inferred": goal.inferred,
        "added": goal.added,
        "entries": goal.entries_count,
        "tokens": goal.tokens,
        "steps": figures.get("steps", 0),
        "seconds": figures.get("seconds"),
        "first_at": figures.get("first_at"),
        "last_at": figures.get("last_at"),
        "attempts": figures.get("attempts", 0),
        "errors": figures.get("errors", 0),
        "tests": figures.get("tests", 0),
        "tests_failed": figures.get("tests_failed", 0),
        "files": figures.get("files", []),
        "more_files": figures.get("more_files", 0),
        "spans": [[first, stop - 1] for first, stop in goal.spans.spans],
        "abandonment": None if given_up is None else abandonment_row(given_up),
    }


def exploration_row(one: Exploration) -> Row:
    return {
        "question": one.question,
        "goal": one.goal,
        "seq": one.seq,
        "branches": [
            {
                "text": branch.text,
                "status": branch.status,
                "conclusion": branch.conclusion,
                "session": None if branch.session is None else str(branch.session.pk),
                "goal": branch.goal,
                "entries": branch.entries,
                "steps": branch.steps,
                "tokens": branch.tokens,
            }
            for branch in one.branches
        ],
    }


def marked_row(marked: Marked) -> Row:
    """What a verb did: the goals as they stand now."""
    return {
        "session": str(marked.session.pk),
        "verb": marked.verb,
        "path": marked.goal.path,
        "goals": [goal_row(goal) for goal in marked.goals],
    }


def abandonment_row(row: Abandonment) -> Row:
    """A goal that was given up, without its session's own facts."""
    return {
        "id": row.pk,
        "session": str(row.session_id),
        "path": row.path,
        "text": row.text,
        "status": row.status,
        "how": row.how,
        "confidence": row.confidence,
        "why_found": row.why_found,
        "evidence": row.evidence,
        "reason": row.reason,
        "reason_stated": row.reason_stated,
        "cause": row.cause,
        "cause_found": row.cause_found,
        "cause_corrected": row.cause_set_at is not None,
        "review": row.review,
        "assignee": row.assignee.get_username() if row.assignee is not None else None,
        "stands": row.stands,
        "agent": row.agent,
        "project": row.project,
        "model": row.model,
        "at": None if row.at is None else row.at.isoformat(),
        "week": None if row.week is None else row.week.isoformat(),
        "entries": row.entries,
        "steps": row.steps,
        "tokens": row.tokens,
        "spent": row.spent,
        "cost": None if row.cost is None else float(row.cost),
        "seconds": row.seconds,
        "attempts": row.attempts,
        "errors": row.errors,
        "tests": row.tests,
        "tests_failed": row.tests_failed,
        "files": row.files,
        "first_seq": row.first_seq,
        "last_seq": row.last_seq,
    }


def review_row(one: Review) -> Row:
    """What was said of a goal that was given up."""
    return {
        "before": one.before,
        "after": one.after,
        "comment": one.comment,
        "assignee": None if one.assignee is None else one.assignee.get_username(),
        "by": None if one.by is None else one.by.get_username(),
        "at": one.at.isoformat(),
    }


def abandoned_of(
    workspace: Any, wanted: Wanted, *, after: str | None = None, count: int, whole: bool = True, words: bool = True
) -> Row:
    """A page of what was given up; with `whole` the sums, the facets and the weeks of all that match. Raises BadCursor.

    Without `words` (for an auditor) no goal stands in it, and nothing that would let one be guessed narrows it: sums, facets, weeks alone.
    """
    out: Row = {"items": [], "next": None}
    if words:
        found = page(workspace, wanted, after=after, count=count)
        out = {"items": listed_rows(workspace, found.rows), "next": found.next}
    else:
        wanted = wordless(wanted)
    if whole or not words:
        seen = overview(workspace, wanted)
        out["sums"] = sums_row(sums(workspace, wanted, seen))
        out["facets"] = {name: [choice_row(one) for one in many] for name, many in seen.facets.items()}
        out["weeks"] = [week_row(one) for one in seen.weeks]
    return out


def listed_rows(workspace: Any, rows: Iterable[Abandonment]) -> list[Row]:
    """Rows with their sessions' own facts, who sees to them, and how often the same was tried elsewhere."""
    rows = list(rows)
    again = also_in(workspace, rows)
    items = []
    for row in rows:
        item = abandonment_row(row)
        item["title"] = row.session.title
        item["agent_version"] = row.session.agent_version
        item["owner"] = row.owner.get_username() if row.owner is not None else None
        item["also_in"] = again.get(row.family, 1) - 1
        item["together_by"] = why_of(row) if item["also_in"] else None
        items.append(item)
    return items


def sums_row(said: Sums) -> Row:
    return {
        "goals": said.goals,
        "sessions": said.sessions,
        "unreviewed": said.unreviewed,
        "tokens": said.tokens,
        "cost": None if said.cost is None else float(said.cost),
        "seconds": said.seconds,
    }


def choice_row(one: Choice) -> Row:
    return {"value": one.value, "label": one.label, "goals": one.goals, "tokens": one.tokens, "chosen": one.chosen}


def week_row(one: Week) -> Row:
    return {
        "week": one.week.isoformat(),
        "goals": one.goals,
        "tokens": one.tokens,
        "to_review": one.to_review,
        "tokens_to_review": one.tokens_to_review,
        "cost": None if one.cost is None else float(one.cost),
    }


def family_spans(session: Session, path: str) -> Ranges:
    """The entries of a goal and of those under it."""
    spans = Ranges()
    for own in session.goals.filter(path=path).values_list("spans", flat=True):
        spans |= own
    for own in session.goals.filter(path__startswith=f"{path}.").values_list("spans", flat=True):
        spans |= own
    return spans
