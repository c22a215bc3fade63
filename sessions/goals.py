"""A session's goal tree, followed through the changes its agent's plan tools made, with a tally of what belongs to each goal.

Lists that are rewritten whole are followed by identity (`matching`): the agent's key, else the exact text, else a text with small
edits, so that a reworded item stays itself. An open item that vanishes from a rewritten list is dropped; one that comes back is itself
again. Where an agent keeps no list, each request of the person is a goal of its own (path "r1", "r2", …), marked inferred.

A plan that was agreed on in plan mode is a goal, and what a list states as new before the next request stands under it: it is open while
one of those is. Without a list it is worked on until the next request, and stands among the requests with the number it would have as one.
An inline sub-agent keeps its own list: its items stand under the goal that was in progress when it first stated one.

Bad input has named fallbacks: a parent that is not there (or is the item itself) leaves the item at the top; a path that is taken is
counted on; of several goals in progress the one that began last holds, and of a goal and one under it the one under it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sessions.entries import Entry, GoalChange, GoalItem, GoalStatus
from sessions.matching import folded, matched
from sessions.tallies import Clerk, Tally

OPEN = (GoalStatus.PENDING, GoalStatus.IN_PROGRESS)
ADDED = (
    90_000  # position from which goals stand that a person or a program added here ("+1"): behind those of the agent
)
_PLAN = 4_000  # characters of a plan's text that are kept as its goal's note
_PLANS = 50  # plans agreed on before the first list, the newest, that come into the tree with it
_LANES = 64  # inline sub-agents whose goal in progress is remembered


@dataclass(slots=True)
class Goal:
    """One node. `first_seq` and `last_seq` span the entries at which it was stated or in progress.

    `added`: it was added here, over the source. `closed_seq`: the entry that completed, abandoned or dropped it. `listed`: it stands in the
    list as last rewritten. `was`: its first wording, where it was reworded. `lane`: of an inline sub-agent's list. `stated_seq`: the last
    entry that stated it, changed or not. `plan`: it was agreed on in plan mode.
    """

    path: str
    text: str
    status: GoalStatus
    key: str | None = None
    parent: str | None = None
    note: str | None = None
    first_seq: int = 0
    last_seq: int = 0
    inferred: bool = False
    closed_seq: int | None = None
    listed: bool = False
    was: str | None = None
    lane: str = ""
    stated_seq: int = 0
    added: bool = False
    tally: Tally = field(default_factory=Tally)
    plan: bool = False

    def to_json(self) -> list[Any]:
        return [
            self.path, self.text, self.status.value, self.key, self.parent, self.note, self.first_seq, self.last_seq, self.inferred,
            self.closed_seq, self.listed, self.was, self.lane, self.stated_seq, self.added, self.tally.to_json(),
            self.plan,
        ]  # fmt: skip

    @classmethod
    def from_json(cls, raw: Sequence[Any]) -> Goal:
        path, text, status, *rest = raw
        if len(rest) > 12:
            rest[12] = Tally.from_json(rest[12])
        return cls(path, text, GoalStatus(status), *rest)

    def figures(self) -> dict[str, Any]:
        """What is stored of its work for pages and programs."""
        return {**self.tally.figures(), "stated_seq": self.stated_seq}


@dataclass(slots=True)
class GoalTracker:
    """Folds goal changes, in order of entries. `current` is the path of the goal in progress, or None; `lanes` those of inline sub-agents.

    Of the inferred goals only the last can still change, so the state holds `requests`, their number, and that one. `changed` are the
    paths whose goals are new or differ since the last `take_changed`. `timeline`: from which entry on a goal was in focus here, over what
    the agent says, in order (None: its own again); `marked` are the tallies of the goals that were added here. `plans`: those agreed on
    while no list was kept, which come into the tree with the first; `agreed`: path of the one under which new items stand.
    """

    goals: list[Goal] = field(default_factory=list)
    inferred: list[Goal] = field(default_factory=list)
    requests: int = 0
    current: str | None = None
    lanes: dict[str, str | None] = field(default_factory=dict)
    clerk: Clerk = field(default_factory=Clerk)
    changed: set[str] = field(default_factory=set)
    timeline: Sequence[tuple[int, str | None]] = ()
    marked: dict[str, Goal] = field(default_factory=dict)
    plans: list[Goal] = field(default_factory=list)
    agreed: str | None = None
    _paths: dict[str, Goal] = field(init=False, repr=False, compare=False)
    _keys: dict[tuple[str, str], Goal] = field(init=False, repr=False, compare=False)
    _texts: dict[tuple[str, str], list[Goal]] = field(init=False, repr=False, compare=False)
    _listed: dict[str, dict[str, Goal]] = field(init=False, repr=False, compare=False)
    _active: dict[str, dict[str, Goal]] = field(init=False, repr=False, compare=False)
    _taken: dict[str | None, int] = field(init=False, repr=False, compare=False)
    _order: dict[str, int] = field(init=False, repr=False, compare=False)
    _under: dict[str, list[Goal]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._paths, self._keys, self._texts, self._listed, self._active = {}, {}, {}, {}, {}
        self._taken, self._order, self._under = {}, {}, {}
        for goal in self.goals:
            self._enter(goal)

    def apply(self, change: GoalChange, seq: int, lane: str = "") -> None:
        """Take in one change made by entry `seq`."""
        begun: list[Goal] = []
        if change.plan:
            self._agree(change.plan, seq)
            if not change.items and not change.whole and not self.goals:
                return
        if change.whole:
            self._rewrite(change.items, seq, lane, begun)
        else:
            for item in change.items:
                known = self._keys.get((lane, item.key)) if item.key is not None else self._by_text(item, lane)
                if known is not None:
                    self._update(known, item, seq, begun)
                elif item.text:
                    self._add(item, seq, lane, begun)
        self._settle(seq)
        if change.focus is None:
            self._refocus(seq, lane, begun)
        else:
            self._focus(change.focus, seq, lane)

    def request(self, text: str, seq: int) -> None:
        """A person's message opened a turn at entry `seq`: an inferred goal, shown only where the agent keeps no plan."""
        plan = self._paths.get(self.agreed or "")
        if plan is not None and plan.status in OPEN and not self._under.get(plan.path):
            self._mark(plan, GoalStatus.COMPLETED, seq)  # no list came of it: taken for done, as a request is
            self._refocus(seq, "", ())
        self.agreed = None
        self._infer(re.sub(r"\s+", " ", text[:2000]).strip()[:200] or "(no text)", seq)

    def _agree(self, text: str, seq: int) -> None:
        """A plan was agreed on at entry `seq`: by an answer of its own, or by the request that hands it over, in whose place it stands."""
        title, note = f"Plan: {title_of(text)}", text.strip()[:_PLAN]
        if self.goals:
            path = self._free(None)
            goal = Goal(
                path, title, GoalStatus.IN_PROGRESS, note=note, first_seq=seq, last_seq=seq, stated_seq=seq, plan=True
            )
            self.goals.append(goal)
            self._enter(goal)
            self.changed.add(path)
            self.agreed = path
            return
        if self.inferred and self.inferred[-1].first_seq == seq:
            self.changed.discard(self.inferred.pop().path)
            self.requests -= 1
        self._infer(title, seq, note)
        plan = self.inferred[-1]
        self.changed.discard(plan.path)
        plan.path, plan.plan, plan.stated_seq = str(self.requests), True, seq
        self.changed.add(plan.path)
        self.plans = [*self.plans, plan][-_PLANS:]

    def _adopt(self) -> None:
        """The first list begins: of what was inferred the plans alone stay, with the work on them so far."""
        self.changed = set()
        last = self.inferred[-1].path if self.inferred else None
        for plan in self.plans:
            plan.inferred = False
            self.goals.append(plan)
            self._enter(plan)
            self.changed.add(plan.path)
            self._taken[None] = int(plan.path)
        self.agreed = self.plans[-1].path if self.plans and self.plans[-1].path == last else None
        self.plans, self.inferred = [], []

    def _settle(self, seq: int) -> None:
        """A plan with items is open while one of them is; it is completed with them, or given up where all of them were."""
        for path, items in self._under.items():
            plan = self._paths[path]
            if any(item.status in OPEN for item in items):
                status = GoalStatus.IN_PROGRESS
            elif any(item.status is GoalStatus.COMPLETED for item in items):
                status = GoalStatus.COMPLETED
            else:
                status = items[-1].status
            if status is not plan.status:
                self._mark(plan, status, seq)
                self.changed.add(path)

    def _infer(self, title: str, seq: int, note: str | None = None) -> None:
        """What is worked on from entry `seq` on, as far as it can be told without a list; what was so before is taken for done."""
        if self.inferred and self.inferred[-1].status is GoalStatus.IN_PROGRESS:
            self.inferred[-1].status = GoalStatus.COMPLETED
            self.inferred[-1].closed_seq = seq
            self.changed.add(self.inferred[-1].path)
        self.requests += 1
        self.inferred.append(
            Goal(
                f"r{self.requests}",
                title,
                GoalStatus.IN_PROGRESS,
                note=note,
                first_seq=seq,
                last_seq=seq,
                inferred=True,
            )
        )
        self.changed.add(f"r{self.requests}")

    def at(self, seq: int, lane: str = "") -> str | None:
        """The goal to which an entry that arrives now belongs; called for every entry in order."""
        if self.timeline and (focus := self._marked_at(seq)) is not None:
            return focus
        if self.goals:
            return (self.lanes.get(lane) if lane else None) or self.current
        if self.inferred:
            self.inferred[-1].last_seq = seq
            self.changed.add(self.inferred[-1].path)
            return self.inferred[-1].path
        return None

    def count(self, path: str | None, seq: int, entry: Entry, step: int | None) -> None:
        """Count an entry in the tally of the goal it belongs to."""
        goal = self._of(path)
        if goal is not None:
            goal.tally.add(seq, entry, step)
            goal.last_seq = max(goal.last_seq, seq)
            self.changed.add(goal.path)
        self.clerk.calls(entry, path, goal.tally if goal is not None else None)
        for failed in self.clerk.failures(entry):
            tested = self._of(failed)
            if tested is not None:
                tested.tally.failed += 1
                self.changed.add(tested.path)

    def take_changed(self) -> list[Goal]:
        """The goals to write; none is given again unless it changes again. Inferred ones are given only while no plan is kept."""
        out = [goal for goal in self.goals or self.inferred if goal.path in self.changed]
        out += [goal for goal in self.marked.values() if goal.path in self.changed]
        self.changed = set()
        return out

    def pass_on(self) -> None:
        """Let go of inferred goals that were written: only the last can still change."""
        del self.inferred[:-1]

    def tree(self) -> list[Goal]:
        """All goals in order of their paths; the inferred ones only where no plan was kept."""
        return sorted(self.goals or self.inferred, key=lambda goal: path_key(goal.path))

    def to_json(self) -> dict[str, Any]:
        return {
            "goals": [goal.to_json() for goal in self.goals],
            "inferred": [goal.to_json() for goal in self.inferred[-1:]] if not self.goals else [],
            "requests": self.requests,
            "current": self.current,
            "lanes": self.lanes,
            "tests": self.clerk.waiting,
            "marked": [goal.to_json() for goal in self.marked.values()],
            "plans": [goal.to_json() for goal in self.plans],
            "agreed": self.agreed,
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> GoalTracker:
        inferred = [Goal.from_json(goal) for goal in raw.get("inferred", [])]
        plans = [Goal.from_json(goal) for goal in raw.get("plans", [])]
        if plans and inferred and plans[-1].path == inferred[-1].path:
            plans[-1] = inferred[-1]  # one and the same: work on it is counted once
        return cls(
            [Goal.from_json(goal) for goal in raw.get("goals", [])],
            inferred,
            raw.get("requests", 0),
            raw.get("current"),
            dict(raw.get("lanes", {})),
            Clerk(dict(raw.get("tests", {}))),
            marked={goal.path: goal for goal in map(Goal.from_json, raw.get("marked", []))},
            plans=plans,
            agreed=raw.get("agreed"),
        )

    def _of(self, path: str | None) -> Goal | None:
        if path is None:
            return None
        found = self._paths.get(path) if self.goals else None
        if found is None and self.inferred and self.inferred[-1].path == path:
            return self.inferred[-1]
        return found or self.marked.get(path)

    def _marked_at(self, seq: int) -> str | None:
        at = bisect_right(self.timeline, seq, key=lambda one: one[0]) - 1
        path = self.timeline[at][1] if at >= 0 else None
        if path is not None and self._of(path) is None:
            self.marked[path] = Goal(path, "", GoalStatus.PENDING, first_seq=seq, last_seq=seq, added=True)
        return path

    def _rewrite(self, items: Sequence[GoalItem], seq: int, lane: str, begun: list[Goal]) -> None:
        left = dict(self._listed.get(lane, {}))
        pairs: list[Goal | None] = []
        claimed: set[str] = set()
        waiting: dict[str, list[Goal]] = {}
        for item in items:
            known = self._keys.get((lane, item.key)) if item.key is not None else None
            if known is None or known.path in claimed:
                known = self._same(item.text, lane, left, waiting, claimed)
            if known is not None and item.key is None and self._done_before(known):
                known = None
            if known is not None:
                left.pop(known.path, None)
                claimed.add(known.path)
            pairs.append(known)
        missing = [n for n, known in enumerate(pairs) if known is None]
        for n, goal in matched(
            [(n, items[n].text) for n in missing],
            [(goal, goal.text) for goal in self._by_age(left.values()) if not self._done_before(goal)],
        ):
            pairs[n] = goal
            del left[goal.path]
        self._listed[lane] = {}
        for item, known in zip(items, pairs, strict=True):
            if known is not None:
                self._update(known, item, seq, begun)
            goal = known or self._add(item, seq, lane, begun)
            goal.listed = True
            self._listed[lane][goal.path] = goal
        for goal in left.values():
            goal.listed = False
            self.changed.add(goal.path)
            if goal.status in OPEN:
                self._mark(goal, GoalStatus.DROPPED, seq)
                goal.last_seq = seq

    def _same(
        self, text: str, lane: str, left: dict[str, Goal], waiting: dict[str, list[Goal]], claimed: set[str]
    ) -> Goal | None:
        """Of the goals with this text one that the list still has, an open one first; else one that was dropped and comes back.

        `waiting`: those of a text that are not taken yet, the next last; made once for a rewriting.
        """
        name = folded(text)
        if name not in waiting:
            same = self._by_age(self._texts.get((lane, name), ()))
            listed = [goal for goal in same if goal.path in left]
            gone = [goal for goal in same if goal.path not in left and goal.status is GoalStatus.DROPPED]
            waiting[name] = [*gone[::-1], *sorted(listed, key=lambda goal: goal.status not in OPEN)[::-1]]
        while waiting[name]:
            goal = waiting[name].pop()
            if goal.path not in claimed:
                return goal
        return None

    def _done_before(self, goal: Goal) -> bool:
        """Whether a goal was closed under another plan than the one agreed on now, which may well name such a step again."""
        above = self._paths.get(goal.parent or "")
        other = above is not None and above.plan and above.path != self.agreed
        return self.agreed is not None and other and goal.status not in OPEN

    def _by_text(self, item: GoalItem, lane: str) -> Goal | None:
        same = self._texts.get((lane, folded(item.text)), ())
        return min(same, key=lambda goal: self._order[goal.path], default=None)

    def _by_age(self, goals: Iterable[Goal]) -> list[Goal]:
        """Goals in the order in which they were first stated: what is chosen must not hang on how the state was kept."""
        return sorted(goals, key=lambda goal: self._order[goal.path])

    def _add(self, item: GoalItem, seq: int, lane: str, begun: list[Goal]) -> Goal:
        if not self.goals:
            self._adopt()
        parent = self._keys.get((lane, item.parent_key)) if item.parent_key is not None else None
        if parent is None and lane:
            parent = self._paths.get(self.lanes.setdefault(lane, self.current) or "")
            if parent is not None and parent.lane == lane:
                parent = self._paths.get(parent.parent or "")
        if parent is None and not lane and item.path is None and item.parent_key is None:
            parent = self._paths.get(self.agreed or "")
        above = parent.path if parent else None
        path = item.path
        if path is None or path in self._paths:
            path = self._free(above)
        closed = None if item.status in OPEN else seq
        key = item.key if item.key is not None and (lane, item.key) not in self._keys else None  # each names one goal
        goal = Goal(
            path, item.text, item.status, key, above, item.note, seq, seq, closed_seq=closed, lane=lane, stated_seq=seq
        )  # fmt: skip
        self.goals.append(goal)
        self._enter(goal)
        self.changed.add(path)
        if item.status is GoalStatus.IN_PROGRESS:
            begun.append(goal)
        return goal

    def _free(self, above: str | None) -> str:
        number = self._taken.get(above, 0)
        while True:
            number += 1
            path = f"{above}.{number}" if above else str(number)
            if path not in self._paths:
                self._taken[above] = number
                return path

    def _enter(self, goal: Goal) -> None:
        self._paths[goal.path] = goal
        self._order[goal.path] = len(self._order)
        if goal.key is not None:
            self._keys[goal.lane, goal.key] = goal
        self._texts.setdefault((goal.lane, folded(goal.text)), []).append(goal)
        if goal.parent is not None and (above := self._paths.get(goal.parent)) is not None and above.plan:
            self._under.setdefault(goal.parent, []).append(goal)
        if goal.listed:
            self._listed.setdefault(goal.lane, {})[goal.path] = goal
        if goal.status is GoalStatus.IN_PROGRESS:
            self._active.setdefault(goal.lane, {})[goal.path] = goal

    def _update(self, goal: Goal, item: GoalItem, seq: int, begun: list[Goal]) -> None:
        self.changed.add(goal.path)
        if item.status is GoalStatus.IN_PROGRESS and goal.status is not GoalStatus.IN_PROGRESS:
            begun.append(goal)
        if item.status is not goal.status or (item.text and item.text != goal.text):
            goal.last_seq = seq
        if item.text and item.text != goal.text:
            worded = (goal.lane, folded(goal.text))
            self._texts[worded] = [other for other in self._texts[worded] if other is not goal]
            goal.was = goal.was or goal.text
            goal.text = item.text
            self._texts.setdefault((goal.lane, folded(goal.text)), []).append(goal)
        if item.key is not None and (goal.lane, item.key) not in self._keys:
            self._keys.pop((goal.lane, goal.key or ""), None)
            goal.key = item.key
            self._keys[goal.lane, item.key] = goal
        self._mark(goal, item.status, seq)
        goal.stated_seq = seq
        goal.note = item.note or goal.note

    def _mark(self, goal: Goal, status: GoalStatus, seq: int) -> None:
        if status is not goal.status:
            goal.closed_seq = None if status in OPEN else seq
        goal.status = status
        active = self._active.setdefault(goal.lane, {})
        if status is GoalStatus.IN_PROGRESS:
            active[goal.path] = goal
        else:
            active.pop(goal.path, None)

    def _focus(self, key: str, seq: int, lane: str) -> None:
        goal = self._keys.get((lane, key)) if key else None
        self._turn_to(goal, lane)
        if goal is not None:
            goal.last_seq = seq
            self.changed.add(goal.path)

    def _refocus(self, seq: int, lane: str, begun: Sequence[Goal]) -> None:
        """Of the goals in progress the one that began with this change, else the one that was it, else the last; the deepest of a line."""
        active = self._active.get(lane, {})
        for goal in active.values():
            goal.last_seq = seq
            self.changed.add(goal.path)
        above = {goal.parent for goal in active.values()}
        leaves = [goal for goal in active.values() if goal.path not in above]
        new = [goal for goal in begun if goal.path in active and goal.path not in above]
        now = self._paths.get((self.lanes.get(lane) if lane else self.current) or "")
        if new:
            self._turn_to(new[-1], lane)
        elif now is None or now not in leaves:
            self._turn_to(self._by_age(leaves)[-1] if leaves else None, lane)

    def _turn_to(self, goal: Goal | None, lane: str) -> None:
        if not lane:
            self.current = goal.path if goal is not None else None
            return
        self.lanes.pop(lane, None)
        self.lanes[lane] = goal.path if goal is not None else self.current
        while len(self.lanes) > _LANES:
            del self.lanes[next(iter(self.lanes))]


def title_of(plan: str) -> str:
    """What a plan is called: its first heading, else its first line, without the word plan before it."""
    lines = [line.strip() for line in plan[:4_000].splitlines() if line.strip()]
    first = next((line for line in lines if line.startswith("#")), lines[0] if lines else "")
    title = re.sub(r"\s+", " ", first.lstrip("#*- ").rstrip("*")).strip()
    return re.sub(r"^(implementation )?plan\s*:\s*", "", title, flags=re.IGNORECASE)[:180] or "(no title)"


def path_key(path: str) -> tuple[tuple[int, str], ...]:
    """Sorts "1.10" after "1.2", "2'" after "2", "r10" after "r2", and goals that were added here ("+1") behind the agent's."""
    out: list[tuple[int, str]] = []
    for piece in path.split("."):
        found = re.match(r"([+r]?)(\d{1,9})", piece)
        if found is None:
            out.append((0, piece))
        else:
            number = int(found[2]) + (ADDED if found[1] == "+" else 0)
            out.append((number, piece[found.end() :]))
    return tuple(out)
