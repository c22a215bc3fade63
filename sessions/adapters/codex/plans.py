"""What the agent's plan and goal tools did to the session's goals.

A call says what was asked, its output whether it happened: changes are given with the output. A plan is rewritten whole and has no
ids; the thread's goal, where there is one, stands above the plan's steps.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import orjson

from sessions.entries import GoalChange, GoalItem, GoalStatus, Part, PartKind

_TOOLS = frozenset({"update_plan", "create_goal", "update_goal", "get_goal"})
_PENDING = 32  # calls without an output that are remembered
_STEP = {"pending": GoalStatus.PENDING, "in_progress": GoalStatus.IN_PROGRESS, "completed": GoalStatus.COMPLETED}
GOAL_STATUS = {
    "active": (GoalStatus.IN_PROGRESS, None),
    "complete": (GoalStatus.COMPLETED, None),
    "paused": (GoalStatus.PENDING, "paused"),
    "blocked": (GoalStatus.PENDING, "blocked"),
    "usage_limited": (GoalStatus.PENDING, "stopped by the usage limit"),
    "budget_limited": (GoalStatus.PENDING, "stopped by its budget"),
}


_PROPOSED = re.compile(r"<proposed_plan>\s*(.*?)\s*</proposed_plan>", re.DOTALL)
AGREED = "Implement the plan."  # what is sent where the person accepts the proposal (Codex CLI 0.148)
_LONGEST = 4_000  # characters of a proposed plan that are kept


def proposed(parts: tuple[Part, ...]) -> str | None:
    """The plan that an answer in plan mode proposes, in a block of its own (Codex CLI 0.148)."""
    for part in parts:
        if part.kind is PartKind.TEXT and "<proposed_plan>" in part.text:
            found = _PROPOSED.search(part.text)
            if found is not None and found[1]:
                return found[1][:_LONGEST]
    return None


@dataclass(slots=True)
class Plans:
    """Calls that wait for their output, the thread's goal (its number, words, status and note), and the plan proposed last."""

    waiting: dict[str, list[str]] = field(default_factory=dict)
    number: int = 0
    goal: list[Any] | None = None
    proposal: str | None = None

    def propose(self, parts: tuple[Part, ...]) -> None:
        """The model answered; in plan mode with a plan."""
        self.proposal = proposed(parts) or self.proposal

    def asked(self, parts: tuple[Part, ...]) -> GoalChange | None:
        """The person wrote: the words by which the agent itself says that its plan was agreed on make it a goal."""
        if self.proposal is None or "".join(part.text for part in parts).strip() != AGREED:
            return None
        plan, self.proposal = self.proposal, None
        return GoalChange((), whole=False, plan=plan)

    def called(self, part: Part) -> None:
        """A tool was called."""
        if part.tool in _TOOLS and part.call_id:
            self.waiting[part.call_id] = [part.tool, part.text]
            while len(self.waiting) > _PENDING:
                del self.waiting[next(iter(self.waiting))]

    def answered(self, part: Part) -> GoalChange | None:
        """What the call that `part` answers did. None where it did nothing, or failed."""
        call = self.waiting.pop(part.call_id, None) if part.call_id else None
        if call is None:
            return None
        tool, arguments = call
        if tool == "update_plan":
            return self._plan(arguments) if part.text[:40].casefold().startswith("plan updated") else None
        told = _object(part.text)
        goal = told.get("goal") if told else None
        return self.stated(goal) if isinstance(goal, dict) else None

    def stated(self, raw: dict[str, Any]) -> GoalChange | None:
        """The thread's goal as a tool's output or an event states it."""
        words = raw.get("objective")
        if not isinstance(words, str) or not words.strip():
            return None
        status, note = GOAL_STATUS.get(_snake(raw.get("status")), (GoalStatus.IN_PROGRESS, None))
        items: list[GoalItem] = []
        if self.goal is None or self.goal[1] != words:
            if self.goal is not None and self.goal[2] != GoalStatus.COMPLETED.value:
                items.append(
                    GoalItem(self.goal[1], GoalStatus.ABANDONED, key=self._key(), note="another goal took its place")
                )
            self.number += 1
        elif self.goal[2:] == [status.value, note]:
            return None
        self.goal = [self.number, words, status.value, note]
        items.append(self._item())
        return GoalChange(tuple(items), whole=False)

    def state(self) -> list[Any]:
        return [self.waiting, self.number, self.goal, self.proposal]

    @classmethod
    def from_state(cls, raw: list[Any]) -> Plans:
        return cls(*raw)

    def _plan(self, arguments: str) -> GoalChange | None:
        asked = _object(arguments)
        steps = asked.get("plan") if asked else None
        if not isinstance(steps, list):
            return None
        above = self._key() if self.goal is not None else None
        items = [self._item()] if self.goal is not None else []
        for step in steps:
            if isinstance(step, dict) and isinstance(words := step.get("step"), str) and words.strip():
                status = _STEP.get(_snake(step.get("status")), GoalStatus.PENDING)
                items.append(GoalItem(words, status, parent_key=above))
        return GoalChange(tuple(items), whole=True)

    def _key(self) -> str:
        return f"goal-{self.number}"

    def _item(self) -> GoalItem:
        assert self.goal is not None
        _, words, status, note = self.goal
        return GoalItem(words, GoalStatus(status), key=self._key(), note=note)


def _snake(value: Any) -> str:
    """A status, whichever way it is spelled: `budgetLimited` and `budget_limited` are one."""
    if not isinstance(value, str):
        return ""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in value).lstrip("_")


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
