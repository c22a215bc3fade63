"""Goals that were changed here, on their way to an agent: as a call of its own plan tool, and in words where it has none or no room.

A trace has a file for them (`trace`). What was given up goes with its reason, so that it is not tried again. Shapes of the tools: those
that the adapters read goals from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from sessions.contexts import InsertKind, Item
from sessions.entries import GoalStatus, Kind, Part, PartKind, Role
from sessions.writers.base import Draft, PlannedGoal

_OPEN = (GoalStatus.PENDING, GoalStatus.IN_PROGRESS, GoalStatus.COMPLETED)


def planned(draft: Draft, agent: str) -> Draft:
    """The draft with the goals behind its context, where any was changed here."""
    if agent == "trace" or not any(goal.changed for goal in draft.goals):
        return draft
    tool = _tool(draft, agent)
    after = draft.links[-1].seq if draft.links else -1
    items: list[Item] = []
    if tool is None or any(goal.changed and goal.note for goal in draft.goals):
        said = (Part(PartKind.TEXT, words(draft.goals)),)
        items.append(Item("goals", None, Role.USER, InsertKind.PLAN, said, after=after, label="goals"))
    notes = "goals that were changed here follow the context in words"
    if tool is not None:
        name, arguments, answer = tool
        call_id = f"call_{draft.names.word('0123456789abcdefghijklmnopqrstuvwxyz', 20)}"
        step = max((item.step or 0 for item in draft.items), default=0) + 1_000_000
        call = Part(PartKind.TOOL_CALL, orjson.dumps(arguments(draft.goals)).decode(), tool=name, call_id=call_id)
        result = Part(PartKind.TOOL_RESULT, answer, tool=name, call_id=call_id)
        items.append(Item("goals-call", None, Role.ASSISTANT, Kind.TOOL_CALL, (call,), step=step, after=after))
        items.append(Item("goals-result", None, Role.TOOL, Kind.TOOL_RESULT, (result,), step=step, after=after))
        notes = f"goals that were changed here follow the context as a call of {name}"
    return replace(draft, items=[*draft.items, *items], notes=(*draft.notes, notes))


def split(items: Sequence[Item]) -> tuple[list[Item], list[Item]]:
    """A context, and behind it the call of the plan tool with its result: records of their own, by which goals are read again."""
    at = next((n for n, item in enumerate(items) if item.key.startswith("goals-")), len(items))
    return list(items[:at]), list(items[at:])


def words(goals: Sequence[PlannedGoal]) -> str:
    """The goals as a list, each with its state and what was said of it."""
    lines = ["The goals of this work, as they stand now:"]
    for goal in goals:
        depth = "  " * goal.path.count(".")
        note = f" ({goal.note})" if goal.note else ""
        lines.append(f"{depth}- [{goal.status.value.replace('_', ' ')}] {goal.text}{note}")
    if any(goal.status is GoalStatus.ABANDONED for goal in goals):
        lines.append("What is abandoned is not to be tried again.")
    return "\n".join(lines)


type _Arguments = Callable[[Sequence[PlannedGoal]], dict[str, Any]]


def _codex(goals: Sequence[PlannedGoal]) -> dict[str, Any]:
    return {"plan": [{"step": goal.text, "status": goal.status.value} for goal in goals if goal.status in _OPEN]}


def _gemini(goals: Sequence[PlannedGoal]) -> dict[str, Any]:
    return {"todos": [{"description": goal.text, "status": _cancelled(goal)} for goal in goals]}


def _opencode(goals: Sequence[PlannedGoal]) -> dict[str, Any]:
    return {"todos": [{"content": goal.text, "status": _cancelled(goal), "priority": "medium"} for goal in goals]}


def _jcli(goals: Sequence[PlannedGoal]) -> dict[str, Any]:
    listed = [{"id": goal.path, "content": goal.text, "status": _cancelled(goal)} for goal in goals]
    return {"todos": listed, "merge": False}


def _claude(goals: Sequence[PlannedGoal]) -> dict[str, Any]:
    return {
        "todos": [
            {"content": goal.text, "status": goal.status.value, "activeForm": goal.text}
            for goal in goals
            if goal.status in _OPEN
        ]
    }


def _cancelled(goal: PlannedGoal) -> str:
    return goal.status.value if goal.status in _OPEN else "cancelled"


_TOOLS: Mapping[str, tuple[str, _Arguments, str]] = {
    "codex": ("update_plan", _codex, "Plan updated"),
    "gemini-cli": ("write_todos", _gemini, "Successfully updated the todo list."),
    "opencode": ("todowrite", _opencode, "[]"),
    "j-cli": ("TodoWrite", _jcli, "Todos updated"),
    "claude-code": ("TodoWrite", _claude, "Todos have been modified successfully."),
}


def _tool(draft: Draft, agent: str) -> tuple[str, _Arguments, str] | None:
    """The agent's plan tool. Claude Code offers it in some versions only: there it must have been called in this session."""
    found = _TOOLS.get(agent)
    if agent != "claude-code" or found is None:
        return found
    called = any(part.tool == found[0] for link in draft.links if link.call_ids for part in draft.parts_of(link.seq))
    return found if called and draft.agent == agent else None
