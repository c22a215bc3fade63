"""Handoff: what a new session needs to go on with one goal. Everything else is folded; the goal stands behind the extract.

The version it makes is meant to be written out as a new session; the old one stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from compaction.blocks import newest_boundary
from compaction.finishing import finished
from compaction.folding import LEAST_FOLD, blocks_of, fold_of, folded_behind, hopeless, worth
from compaction.merge import made
from compaction.plan import Answer, Ask, Budget, FilesAsk, Outcome, Plan, Snapshot, Status
from compaction.strategies.base import Param
from compaction.summary.shapes import HANDOFF
from compaction.tools import one_line
from sessions.contexts import Insert, InsertKind
from sessions.entries import GoalStatus, Part, PartKind, Role
from sessions.ranges import Ranges

LEAST_SUMMARY = 250
_GOAL = "Goal of the new session"


class Handoff:
    id = "handoff"
    version = 1
    label = "Hand over to a new session"
    about = (
        "Draws from this session what a new one needs for one goal: decisions, state, constraints and the files in use."
    )
    params: Sequence[Param] = (
        Param(
            "goal",
            "What the new session is to do",
            "text",
            None,
            source="Amp, 2025",
            auto="the open goals, or the newest message",
        ),
        Param("summary", "Extract, at most", "tokens", 4_000, LEAST_SUMMARY, source="this product's own"),
        Param("keep", "Newest, word for word", "tokens", 0, 0, source="Amp, 2025: nothing"),
        Param("files", "Files to bring along", "count", 5, 0, 50, source="Claude Code 2.1: 5"),
        Param("file_each", "Of each file, at most", "tokens", 5_000, 0, source="Claude Code 2.1: 5,000"),
        Param("file_total", "Of all files, at most", "tokens", 20_000, 0, source="this product's own"),
    )
    presets: Mapping[str, Mapping[str, Any]] = {
        "extract and files": {},
        "extract only": {"files": 0},
        "with the last words": {"keep": 4_000},
    }

    def plan(self, snapshot: Snapshot, budget: Budget, params: Mapping[str, Any]) -> Plan:
        """One fold of all that may be folded, the goal behind it. Linear in the number of items."""
        name = f"{self.id}:{self.version}"
        refused = hopeless(name, snapshot, budget)
        if refused is not None:
            return refused
        facts: dict[str, Any] = {"used": dict(params), "before": snapshot.total}
        goal = params["goal"] or _goal_of(snapshot)
        if not goal:
            reason = "nobody said what the new session is to do, and there is neither an open goal nor a message to take it from"
            return Plan(name, Status.NOOP_NOTHING_TO_DO, reason, facts=facts)
        fold = fold_of(snapshot, range(_cut(snapshot, params["keep"])))
        fresh = worth(snapshot, fold)
        if fresh < LEAST_FOLD:
            reason = f"only {fresh:,} tokens may be folded: an extract would not be smaller"
            return Plan(name, Status.NOOP_NOTHING_TO_DO, reason, facts=facts)
        size = sum(snapshot.tokens[n] for n in fold)
        said = f"{_GOAL}: {goal}"
        room = size - budget.count([said])[0]
        most = max(LEAST_SUMMARY, min(params["summary"], room // 2))
        total = min(params["file_total"], max(0, room - most) // 2)
        facts |= {"goal": goal, "summary_max": most, "files_max": total}
        asks: tuple[Ask, ...] = ()
        if params["files"] and total >= 100:
            kept = Ranges.from_numbers(
                item.seq
                for n, item in enumerate(snapshot.items)
                if n not in fold and item.seq is not None and not item.masked
            )
            asks = (FilesAsk("files", params["files"], min(params["file_each"], total), total, kept=kept),)
        plan = folded_behind(name, snapshot, fold, summary=most, template=HANDOFF, facts=facts, extra=asks, focus=goal)
        part = Part(PartKind.TEXT, said)
        last = Insert(plan.after, Role.USER, InsertKind.NOTICE, (part,), Ranges(), made(_GOAL, snapshot))
        return replace(plan, inserts=(last,))

    def finish(self, plan: Plan, snapshot: Snapshot, answers: Sequence[Answer]) -> Outcome:
        """Extract, files and goal as edits."""
        return finished(plan, snapshot, answers)


STRATEGY = Handoff()


def _cut(snapshot: Snapshot, keep: int) -> int:
    """The position before which is folded, so that at most `keep` tokens stay behind it."""
    allowed = blocks_of(snapshot).cuts()
    cut = at = len(snapshot.items)
    left = keep
    while at > 0 and left >= snapshot.tokens[at - 1]:
        at -= 1
        left -= snapshot.tokens[at]
        if allowed[at]:
            cut = at
    return cut


def _goal_of(snapshot: Snapshot) -> str:
    """The open goals that the agent itself stated, else what the person said last, on one line."""
    opened = [goal for goal in snapshot.goals() if goal.status is GoalStatus.IN_PROGRESS and not goal.inferred]
    opened = opened or [g for g in snapshot.goals() if g.status is GoalStatus.PENDING and not g.inferred]
    if opened:
        return one_line("; ".join(goal.text for goal in opened), 600)
    newest = newest_boundary(snapshot.items)
    return "" if newest is None else one_line(snapshot.items[newest].text, 600)
