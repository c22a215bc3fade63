"""The goal tree of a trace, and what each message says of it: whose it is, and which goals changed since the last one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sessions.adapters.generic.plans import STATUS
from sessions.adapters.generic.values import name_of, parsed
from sessions.entries import GoalChange, GoalItem, GoalStatus, Part, PartKind

_DEEPEST = 40
_PATH = re.compile(r"\d+'*(?:\.\d+'*)*")


def flat(tree: Any) -> list[list[Any]]:
    """The goals of a GoalTree, parents first: id, description, status, parent's id, summary. JSON types only."""
    return list(_walk(tree.get("goals") if isinstance(tree, Mapping) else None, None, 0))


def _walk(goals: Any, parent: str | None, depth: int) -> Iterator[list[Any]]:
    for goal in goals if isinstance(goals, list) and depth < _DEEPEST else []:
        if not isinstance(goal, dict) or not isinstance(goal.get("id"), str | int) or goal["id"] == "":
            continue
        name = str(goal["id"])
        status = STATUS.get(str(goal.get("status")), GoalStatus.PENDING)
        yield [
            name,
            name_of(goal.get("description")) or f"Goal {name}",
            status.value,
            parent,
            name_of(goal.get("summary")),
        ]
        yield from _walk(goal.get("children"), name, depth + 1)


@dataclass(slots=True)
class Told:
    """What was told of the goals so far: of each its status and note. `at`: the goal of the last message."""

    goals: dict[str, list[Any]] = field(default_factory=dict)
    at: str | None = None

    def message(self, goal: str | None, tree: list[list[Any]], parts: tuple[Part, ...]) -> GoalChange | None:
        """The change that a message of `goal` brings. A goal is told of when the first message of it or of a later one comes."""
        if not tree:
            return self._without_tree(goal, parts)
        self.at = goal
        known = [row[0] for row in tree]
        upto = known.index(goal) if goal in known else -1
        items = [
            self._told(row)
            for n, row in enumerate(tree)
            if (n <= upto or row[2] == GoalStatus.PENDING or row[0] in self.goals)
            and self.goals.get(row[0]) != [row[2], row[4]]
        ]
        if not items and not self.goals:
            return None
        return GoalChange(tuple(items), whole=False, focus=goal if goal in known else "")

    def _told(self, row: list[Any]) -> GoalItem:
        name, text, status, parent, note = row
        self.goals[name] = [status, note]
        return GoalItem(text, GoalStatus(status), key=name, parent_key=parent, note=note, path=_path(name))

    def _without_tree(self, goal: str | None, parts: tuple[Part, ...]) -> GoalChange | None:
        """Goals by what the messages say alone: their ids, and what the calls of the `goal` tool state of the current one."""
        items: list[GoalItem] = []
        if goal is not None:
            for name in _line(goal):
                if name not in self.goals:
                    parent = name.rpartition(".")[0] or None
                    self.goals[name] = [GoalStatus.IN_PROGRESS.value, None]
                    path = _path(name)
                    items.append(GoalItem(f"Goal {name}", GoalStatus.IN_PROGRESS, name, parent, path=path))
        self.at = goal
        for part in parts:
            closed = _closed(part) if goal is not None else None
            if closed is not None and goal is not None:
                self.goals[goal] = [closed[0].value, closed[1]]
                items.append(GoalItem("", closed[0], key=goal, note=closed[1]))
        return GoalChange(tuple(items), whole=False, focus=goal or "") if items or self.goals else None

    def to_json(self) -> list[Any]:
        return [self.goals, self.at]

    @classmethod
    def from_json(cls, raw: list[Any]) -> Told:
        return cls({name: list(said) for name, said in raw[0].items()}, raw[1])


def _closed(part: Part) -> tuple[GoalStatus, str] | None:
    """How a call of the `goal` tool closes the current goal: `done` with its summary, `abandon` with the reason."""
    if part.kind is not PartKind.TOOL_CALL or part.tool != "goal":
        return None
    given = parsed(part.text)
    if not isinstance(given, dict):
        return None
    if name_of(given.get("abandon")):
        return GoalStatus.ABANDONED, given["abandon"]
    return (GoalStatus.COMPLETED, given["done"]) if name_of(given.get("done")) else None


def _line(goal: str) -> list[str]:
    """A goal and those it stands under, from the top."""
    pieces = goal.split(".")
    return [".".join(pieces[: n + 1]) for n in range(len(pieces))] if _PATH.fullmatch(goal) else [goal]


def _path(name: str) -> str | None:
    return name if _PATH.fullmatch(name) else None
