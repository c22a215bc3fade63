"""What the plan tools of known agents did to the goals, told from their calls: chats and traces carry them under these names."""

from __future__ import annotations

from typing import Any

from sessions.adapters.generic.values import name_of, parsed
from sessions.entries import GoalChange, GoalItem, GoalStatus, Part, PartKind

STATUS = {
    "pending": GoalStatus.PENDING,
    "todo": GoalStatus.PENDING,
    "open": GoalStatus.PENDING,
    "blocked": GoalStatus.PENDING,
    "in_progress": GoalStatus.IN_PROGRESS,
    "active": GoalStatus.IN_PROGRESS,
    "completed": GoalStatus.COMPLETED,
    "done": GoalStatus.COMPLETED,
    "closed": GoalStatus.COMPLETED,
    "cancelled": GoalStatus.ABANDONED,
    "abandoned": GoalStatus.ABANDONED,
}
_LISTS = {"todowrite": "todos", "write_todos": "todos", "todo_write": "todos", "update_plan": "plan"}
_TEXT = ("content", "description", "step", "text", "title")


def planned(parts: tuple[Part, ...]) -> GoalChange | None:
    """The change that the calls among `parts` make; of several the last. None where none is a plan tool's."""
    found = None
    for part in parts:
        if part.kind is PartKind.TOOL_CALL and part.tool:
            key = _LISTS.get(part.tool.casefold())
            arguments = parsed(part.text) if key else None
            if key and isinstance(arguments, dict):
                found = listed(parsed(arguments.get(key)), whole=arguments.get("merge") is not True) or found
    return found


def listed(items: Any, *, whole: bool = True) -> GoalChange | None:
    """A list of tasks as goals. None for what is no list."""
    if not isinstance(items, list):
        return None
    out: list[GoalItem] = []
    for item in items:
        text = (
            next((item[key].strip() for key in _TEXT if name_of(item.get(key))), "") if isinstance(item, dict) else ""
        )
        if text or (isinstance(item, dict) and item.get("id") is not None):
            key = item.get("id")
            status = STATUS.get(str(item.get("status")), GoalStatus.PENDING)
            out.append(GoalItem(text, status, key=str(key) if isinstance(key, str | int) and key != "" else None))
    return GoalChange(tuple(out), whole=whole)
