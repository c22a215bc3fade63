"""What the agent's plan tools did to the goals: `write_todos`, the task tracker, and `update_topic` where there is nothing better.

A call says what was asked, its result whether it happened. A list of todos is rewritten whole and has no ids; tasks of the tracker have
six hexadecimal digits; a topic is open until the next one, and stands above the todos that were written under it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from sessions.entries import GoalChange, GoalItem, GoalStatus, Part

TOOLS = frozenset({"write_todos", "update_topic", "tracker_create_task", "tracker_update_task"})
_CREATED = re.compile(r"Created task ([0-9a-f]{6}): ")
_STATUS: dict[str, tuple[GoalStatus, str | None]] = {
    "pending": (GoalStatus.PENDING, None),
    "in_progress": (GoalStatus.IN_PROGRESS, None),
    "completed": (GoalStatus.COMPLETED, None),
    "cancelled": (GoalStatus.ABANDONED, "cancelled"),
    "open": (GoalStatus.PENDING, None),
    "closed": (GoalStatus.COMPLETED, None),
    "blocked": (GoalStatus.PENDING, "blocked"),
}
_TASKS = 512  # tasks of the tracker whose state is remembered


@dataclass(slots=True)
class Plans:
    """`topic`: number, title and note of the open topic. `tasks`: of each task its title, status and parent."""

    number: int = 0
    topic: list[Any] | None = None
    tasks: dict[str, list[Any]] = field(default_factory=dict)

    def answered(self, tool: str, arguments: str, result: Part) -> GoalChange | None:
        """What the call did whose result this is. None where it did nothing, or failed."""
        if tool not in TOOLS or result.is_error:
            return None
        asked = _object(arguments)
        if asked is None:
            return None
        match tool:
            case "write_todos":
                return self._todos(asked)
            case "update_topic":
                return self._topic(asked)
            case "tracker_create_task":
                return self._created(asked, result.text)
            case _:
                return self._updated(asked)

    def state(self) -> list[Any]:
        return [self.number, self.topic, self.tasks]

    @classmethod
    def from_state(cls, raw: list[Any]) -> Plans:
        number, topic, tasks = raw
        return cls(number, topic, dict(tasks))

    def _todos(self, asked: Mapping[str, Any]) -> GoalChange | None:
        todos = asked.get("todos")
        if not isinstance(todos, list):
            return None
        items = [] if self.topic is None else [self._topic_item(GoalStatus.IN_PROGRESS)]
        above = None if self.topic is None else self._key()
        for todo in todos:
            text = todo.get("description") if isinstance(todo, dict) else None
            if isinstance(text, str) and text.strip():
                status, note = _status(todo.get("status"))
                items.append(GoalItem(text, status, parent_key=above, note=note))
        return GoalChange(tuple(items), whole=True)

    def _topic(self, asked: Mapping[str, Any]) -> GoalChange | None:
        title = asked.get("title")
        summary = asked.get("summary")
        note = summary if isinstance(summary, str) and summary.strip() else None
        if not isinstance(title, str) or not title.strip():
            return None
        items: list[GoalItem] = []
        if self.topic is not None and self.topic[0] != title:
            items.append(self._topic_item(GoalStatus.COMPLETED))
        if self.topic is None or self.topic[0] != title:
            self.number += 1
        self.topic = [title, note]
        items.append(self._topic_item(GoalStatus.IN_PROGRESS))
        return GoalChange(tuple(items), whole=False)

    def _created(self, asked: Mapping[str, Any], said: str) -> GoalChange | None:
        found = _CREATED.search(said)
        title = asked.get("title")
        if found is None or not isinstance(title, str) or not title.strip():
            return None
        parent = asked.get("parentId")
        self.tasks[found[1]] = [title, "open", parent if isinstance(parent, str) else None]
        while len(self.tasks) > _TASKS:
            del self.tasks[next(iter(self.tasks))]
        return self._task(found[1])

    def _updated(self, asked: Mapping[str, Any]) -> GoalChange | None:
        key = asked.get("id")
        if not isinstance(key, str):
            return None
        task = self.tasks.setdefault(key, ["", "open", None])
        for at, name in enumerate(("title", "status", "parentId")):
            if isinstance(value := asked.get(name), str):
                task[at] = value
        return self._task(key)

    def _task(self, key: str) -> GoalChange:
        title, status, parent = self.tasks[key]
        ours, note = _status(status)
        return GoalChange((GoalItem(title, ours, key=key, parent_key=parent, note=note),), whole=False)

    def _key(self) -> str:
        return f"topic-{self.number}"

    def _topic_item(self, status: GoalStatus) -> GoalItem:
        assert self.topic is not None
        return GoalItem(self.topic[0], status, key=self._key(), note=self.topic[1])


def _status(raw: Any) -> tuple[GoalStatus, str | None]:
    return _STATUS.get(raw if isinstance(raw, str) else "", (GoalStatus.PENDING, None))


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
