"""Questions that were explored: the branches side by side, each with the session that went down it and what it came to.

Three kinds come to one shape: a call that starts several branches of one question; calls of one answer that start sub-agents beside each
other; a question that was added here with branches of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from sessions.goalmarks import note_of, standing
from sessions.models import Goal, Session

CHILDREN = 400  # sub-agents and branches of one session that are looked at
CONCLUSION = 4_000  # characters


@dataclass(slots=True)
class Branch:
    """`session`: where it was gone down (None: in this one). `goal`: its goal's path, of a branch that is a goal here."""

    text: str
    status: str
    conclusion: str | None = None
    session: Session | None = None
    goal: str | None = None
    entries: int = 0
    steps: int = 0
    tokens: int | None = None


@dataclass(slots=True)
class Exploration:
    """`goal`: to whose work it belongs. `seq`: the entry that began it; None of a question that was added here."""

    question: str
    goal: str | None
    seq: int | None
    branches: list[Branch] = field(default_factory=list)


def explorations_of(session: Session) -> list[Exploration]:
    """All of a session, in order."""
    out = [*_of_calls(session), *_of_goals(session)]
    return sorted(out, key=lambda one: (one.seq is None, one.seq or 0, one.goal or ""))


def _of_calls(session: Session) -> list[Exploration]:
    children = list(
        session.children.filter(superseded_by=None, parent_kind__in=("subagent", "branch")).order_by(
            "started_at", "created_at"
        )[:CHILDREN]
    )
    if not children:
        return []
    calls = [child.parent_call_id for child in children if child.parent_call_id]
    asked, answered = _calls(session, calls)
    out: dict[Any, Exploration] = {}
    for child in children:
        call = asked.get(child.parent_call_id or "")
        question = child.facts.get("mission") if child.parent_kind == "branch" else None
        given = {} if call is None else call["given"]
        goal = call["goal"] if call is not None else child.facts.get("parent_goal")
        key = ("step", call["step"]) if call is not None and call["step"] is not None else ("goal", goal, question)
        if key not in out:
            words = given.get("question") or question or ""
            out[key] = Exploration(str(words), goal, call["seq"] if call is not None else None)
        said = answered.get(child.parent_call_id or "")
        text = child.facts.get("branch") or given.get("description") or given.get("task_name") or child.title
        own = child.facts.get("conclusion") or (said["text"] if said is not None else None)
        totals = [child.totals.get(name) for name in ("fresh", "cache_read", "cache_write", "output")]
        known = [one for one in totals if isinstance(one, int)]
        out[key].branches.append(
            Branch(
                str(text),
                _status(child, said),
                None if own is None else str(own)[:CONCLUSION],
                child,
                None,
                child.entries_count,
                child.steps_count,
                sum(known) if known else None,
            )
        )
    return list(out.values())


def _status(child: Session, said: dict[str, Any] | None) -> str:
    stated = child.facts.get("status")
    if stated in ("completed", "abandoned"):
        return str(stated)
    if stated == "failed" or (said is not None and said["is_error"]):
        return "abandoned"
    return "completed" if said is not None or child.facts.get("conclusion") else "in_progress"


def _calls(session: Session, calls: Iterable[str]) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """The entries that call and that answer, by the ids of the calls."""
    wanted = set(calls)
    asked: dict[str, dict[str, Any]] = {}
    answered: dict[str, dict[str, Any]] = {}
    if not wanted:
        return asked, answered
    names = ("seq", "kind", "goal", "step", "text", "call_ids", "is_error")
    rows = session.entries.filter(call_ids__has_any_keys=sorted(wanted)).order_by("seq").values(*names)
    for row in rows:
        for call in wanted.intersection(row["call_ids"] or ()):
            if row["kind"] == "tool_result":
                answered[call] = row
            else:
                asked.setdefault(call, {**row, "given": _object(row["text"])})
    return asked, answered


def _object(text: str) -> dict[str, Any]:
    """The arguments of a call among an entry's words; {} where they are cut off or stand beside others."""
    start = text.find("{")
    try:
        value = orjson.loads(text[start:]) if start >= 0 else None
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _of_goals(session: Session) -> list[Exploration]:
    """Questions that were added here. What each branch came to is the words it was closed with."""
    goals = list(session.goals.filter(kind__in=("exploration", "branch"), added=True).order_by("position"))
    out: dict[str, Exploration] = {
        goal.path: Exploration(goal.text, goal.path, None) for goal in goals if goal.kind == "exploration"
    }
    for goal in goals:
        if goal.kind == "branch" and goal.parent in out:
            out[goal.parent].branches.append(_branch(goal))
    return list(out.values())


def _branch(goal: Goal) -> Branch:
    return Branch(
        goal.text,
        standing(goal),
        note_of(goal),
        None,
        goal.path,
        goal.entries_count,
        goal.figures.get("steps") or 0,
        goal.tokens,
    )
