"""Goal tree: the work on each goal that is done or given up becomes one note at its place; what is open, and all above it, stays.

The note says what the goal was, how it ended and, where it was given up, why: so the same dead end is not walked twice. A branch is
folded at its topmost closed goal, and notes of goals below it go into that one. Where the context is over its threshold even so, a full
strategy goes over what is left, notes on goals and messages in them untouched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from compaction.blocks import is_boundary
from compaction.finishing import LANDS, finished
from compaction.folding import Places, blocks_of, hopeless, kept_blocks, numbers_of, spans, stays
from compaction.plan import Answer, Budget, Fold, Outcome, Plan, Snapshot, Status, SummaryAsk
from compaction.strategies.base import Param
from compaction.strategies.safety import over
from compaction.summary.shapes import CONCLUSION
from compaction.tools import one_line
from sessions.contexts import Item
from sessions.entries import GoalStatus
from sessions.goals import Goal

LEAST_SUMMARY = 40
_LEAST_SAVED = 16  # tokens
_OURS = re.compile(r"Goal (\S+), made at entry ")
_OPEN = (GoalStatus.PENDING, GoalStatus.IN_PROGRESS)
_BOTH, _DONE, _GIVEN_UP = "done and given up", "done", "given up"
_NOTHING = "nothing"


class GoalTree:
    id = "goal-tree"
    version = 2
    label = "Fold closed goals"
    about = "Folds the work on each goal that is done or given up into one note; the reason for giving up is kept."
    params: Sequence[Param] = (
        Param(
            "which", "Goals that are", "choice", _BOTH, choices=(_BOTH, _DONE, _GIVEN_UP), source="goal-tree plan, 2026"
        ),
        Param(
            "goals",
            "Only these goals, by path",
            "text",
            None,
            source="this product's own",
            auto="all that are closed",
        ),
        Param("messages", "Keep your own messages word for word", "flag", True, source="this product's own"),
        Param("requests", "Where no plan was kept, each request is a goal", "flag", True, source="this product's own"),
        Param("summary", "Note on each goal, at most", "tokens", 800, 0, source="this product's own"),
        Param(
            "full",
            "Where it is still over the threshold, then",
            "choice",
            "hybrid",
            choices=("hybrid", "sliding", "pi", _NOTHING),
            source="goal-tree plan, 2026: the full strategy one has chosen",
        ),
        Param(
            "threshold",
            "Threshold",
            "tokens",
            None,
            0,
            source="goal-tree plan, 2026",
            auto="where the session's own agent compacts; where that is not known, folding goals is all",
        ),
    )
    presets: Mapping[str, Mapping[str, Any]] = {
        "done and given up": {},
        "given up only": {"which": _GIVEN_UP},
        "messages too": {"messages": False},
        "goals alone": {"full": _NOTHING},
    }

    def plan(self, snapshot: Snapshot, budget: Budget, params: Mapping[str, Any]) -> Plan:
        """A fold for each closed branch, and what the full strategy does where that leaves too much. Linear in items and goals."""
        name = f"{self.id}:{self.version}"
        refused = hopeless(name, snapshot, budget)
        if refused is not None:
            return refused
        goals = {goal.path: goal for goal in snapshot.goals() if params["requests"] or not goal.inferred}
        facts: dict[str, Any] = {"used": {**params, "aim": budget.threshold}, "before": snapshot.total}
        named = _named(params["goals"])
        unknown = sorted(named - goals.keys())
        if unknown:
            return Plan(name, Status.NOOP_NOTHING_TO_DO, f"this session has no goal {', '.join(unknown)}", facts=facts)
        roots = _roots(goals, params["which"], named)
        branches = _branches(snapshot, roots, keep_messages=params["messages"]) if roots else {}
        folded = _worth_a_note(snapshot, budget, goals, branches)
        facts |= {"goals": len(goals), "closed": len(set(roots.values())), "folds": len(folded)}
        plan = _folded(name, snapshot, params["summary"], folded, facts) if folded else None
        at = budget.threshold if params["threshold"] is None else params["threshold"]
        left = snapshot.total - _freed(snapshot, params["summary"], folded)
        if at is not None and left > at and params["full"] != _NOTHING:
            facts["left"] = left
            out = set(chain.from_iterable(part for _, part, _, _ in folded)) | _notes(snapshot)
            then = over(name, params["full"], plan, snapshot, budget, out, at)
            if then.status in LANDS:
                return replace(then, facts={**facts, **then.facts})
            facts["then"] = then.reason
        if plan is not None:
            return plan
        reason = (
            "this session has no goals"
            if not goals
            else "no goal is closed"
            if not roots
            else "the work on closed goals is folded already, or shorter than a note on it"
        )
        return Plan(name, Status.NOOP_NOTHING_TO_DO, reason, facts=facts)

    def finish(self, plan: Plan, snapshot: Snapshot, answers: Sequence[Answer]) -> Outcome:
        """The folds as edits."""
        return finished(plan, snapshot, answers)


STRATEGY = GoalTree()


def _named(paths: str | None) -> frozenset[str]:
    """The paths in "2, 3.1"; none where all closed goals are meant."""
    return frozenset(re.split(r"[,\s]+", paths.strip(", "))) - {""} if paths else frozenset()


def _roots(goals: Mapping[str, Goal], which: str, named: frozenset[str]) -> dict[str, str]:
    """For each goal of a closed branch the path of the branch's topmost closed goal. An open goal keeps all above it open.

    With `named`, a branch begins at one of those and nowhere else.
    """
    live: set[str] = set()
    for goal in goals.values():
        at: Goal | None = goal if goal.status in _OPEN else None
        while at is not None and at.path not in live:
            live.add(at.path)
            at = goals.get(at.parent or "")
    wanted = {
        goal.path
        for goal in goals.values()
        if goal.path not in live
        and which in (_BOTH, _DONE if goal.status is GoalStatus.COMPLETED else _GIVEN_UP)
        and (not named or goal.path in named)
    }
    tops: dict[str, str | None] = {}

    def top(path: str) -> str | None:
        """The topmost wanted goal among a goal and all above it; by a loop, since trees may be deep."""
        chain: dict[str, None] = {}
        at: str | None = path
        while at is not None and at in goals and at not in tops and at not in chain:
            chain[at] = None
            at = goals[at].parent
        above = tops.get(at) if at is not None else None
        for one in reversed(chain):
            above = tops[one] = above if above is not None else (one if one in wanted else None)
        return tops.get(path)

    return {path: found for path in goals if (found := top(path)) is not None and path not in live}


def _branches(snapshot: Snapshot, roots: Mapping[str, str], *, keep_messages: bool) -> dict[str, list[int]]:
    """The positions of each closed branch that go, in their order: whole answers that lie in it, and our earlier notes on goals of it."""
    items = snapshot.items
    blocks = blocks_of(snapshot)
    of = blocks.of
    # Of each block the branch that all of it lies in: only such blocks go, and those in which nothing stays whole.
    branch: list[str | None] = [""] * len(blocks.first)
    for block, item in zip(of, items, strict=True):
        goal = item.goal if item.seq is not None else _goal_of(item)
        root = roots.get(goal) if goal else None
        if branch[block] == "":
            branch[block] = root
        elif branch[block] != root:
            branch[block] = None
    for block in kept_blocks(snapshot):
        branch[block] = None
    found: dict[str, list[int]] = {}
    for n, block in enumerate(of):
        root = branch[block]
        if root is None:
            continue
        item = items[n]
        if not (keep_messages and is_boundary(item)) and (item.seq is not None or not stays(item)):
            found.setdefault(root, []).append(n)
    return found


def _goal_of(item: Item) -> str | None:
    """The goal an entry belongs to, or on which a note of ours is."""
    if item.seq is not None:
        return item.goal
    ours = _OURS.match(item.label)
    return None if ours is None else ours[1]


def _worth_a_note(
    snapshot: Snapshot, budget: Budget, goals: Mapping[str, Goal], branches: Mapping[str, Sequence[int]]
) -> list[tuple[str, Sequence[int], str, int]]:
    """Path, positions, heading and room of each branch that a note makes smaller, in order of place."""
    wanted = [(path, part) for path, part in sorted(branches.items(), key=lambda one: one[1][0]) if len(part) > 1]
    heads = [_head(goals[path]) for path, _ in wanted]
    out = []
    for (path, part), head, cost in zip(wanted, heads, budget.count(heads), strict=True):
        room = sum([snapshot.tokens[n] for n in part]) - cost
        if room >= _LEAST_SAVED:
            out.append((path, part, head, room))
    return out


def _freed(snapshot: Snapshot, summary: int, branches: Sequence[tuple[str, Sequence[int], str, int]]) -> int:
    """About how many tokens the folds free: each note as long as it may be."""
    return sum(room - _note(summary, room) for _, _, _, room in branches)


def _note(summary: int, room: int) -> int:
    """The most tokens of a note where a fold leaves `room`; 0: its heading alone."""
    most = min(summary, room // 2)
    return most if most >= LEAST_SUMMARY else 0


def _notes(snapshot: Snapshot) -> set[int]:
    """The positions of earlier notes of ours that stay."""
    return {n for n, item in enumerate(snapshot.items) if item.seq is None and _OURS.match(item.label)}


def _head(goal: Goal) -> str:
    """What the goal was and how it ended, in one line."""
    text = one_line(goal.text, 300)
    if goal.status is GoalStatus.COMPLETED:
        return f"[Goal {goal.path}, done: {text}]" + (f"\nResult: {goal.note.strip()}" if goal.note else "")
    word = "given up" if goal.status is GoalStatus.ABANDONED else goal.status.value
    return f"[Goal {goal.path}, {word}: {text}]\nReason: {(goal.note or 'none was recorded').strip()}"


def _folded(
    name: str,
    snapshot: Snapshot,
    summary: int,
    branches: Sequence[tuple[str, Sequence[int], str, int]],
    facts: dict[str, Any],
) -> Plan:
    items = snapshot.items
    gone = set(chain.from_iterable(part for _, part, _, _ in branches))
    places = Places(snapshot, gone)
    folds: list[Fold] = []
    asks: list[SummaryAsk] = []
    for path, part, head, room in branches:
        most = _note(summary, room)
        key = f"goal-{path}"
        if most:
            asks.append(SummaryAsk(key, tuple([items[n] for n in part]), (), most, template=CONCLUSION))
        numbers = numbers_of(items, part)
        folds.append(Fold(key, spans(part, items), places.before(part[0]), f"Goal {path}", head, "", numbers))
    facts |= {
        "folded_entries": sum(1 for n in gone if items[n].seq is not None),
        "folded_tokens": sum(snapshot.tokens[n] for n in gone),
    }
    return Plan(
        name,
        fold=spans(gone, items),
        absorb=numbers_of(items, gone),
        folds=tuple(folds),
        after=folds[0].after,
        asks=tuple(asks),
        facts=facts,
    )
