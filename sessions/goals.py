"""A session's goal tree, followed through the changes its agent's plan tools made.

Lists that are rewritten whole are followed by identity: the agent's key, else the exact text, else the most similar text left over,
so that a reworded item stays itself. An open item that vanishes from a rewritten list is abandoned with that as its reason. Where
an agent keeps no plan, each request of the person is a goal of its own, marked inferred.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from sessions.entries import GoalChange, GoalItem, GoalStatus

_SIMILAR = 0.6  # ratio above which two texts name one goal; below it a rewritten list dropped one and added another
_COMPARED = 200  # items beyond which similarity is not tried: the list is then matched by key and exact text alone


@dataclass(slots=True)
class Goal:
    """One node. `first_seq` and `last_seq` span the entries at which it was stated or in progress."""

    path: str
    text: str
    status: GoalStatus
    key: str | None = None
    parent: str | None = None
    note: str | None = None
    first_seq: int = 0
    last_seq: int = 0
    inferred: bool = False

    def to_json(self) -> list[Any]:
        return [
            self.path,
            self.text,
            self.status.value,
            self.key,
            self.parent,
            self.note,
            self.first_seq,
            self.last_seq,
            self.inferred,
        ]

    @classmethod
    def from_json(cls, raw: Sequence[Any]) -> Goal:
        path, text, status, key, parent, note, first, last, inferred = raw
        return cls(path, text, GoalStatus(status), key, parent, note, first, last, inferred)


@dataclass(slots=True)
class GoalTracker:
    """Folds goal changes, in order of entries. `current` is the path of the goal in progress, or None.

    Of the inferred goals only the last can still change, so the state holds `requests`, their number, and that one. `changed` are the
    paths whose goals are new or differ since the last `take_changed`.
    """

    goals: list[Goal] = field(default_factory=list)
    inferred: list[Goal] = field(default_factory=list)
    requests: int = 0
    current: str | None = None
    changed: set[str] = field(default_factory=set)

    def apply(self, change: GoalChange, seq: int) -> None:
        """Take in one change made by entry `seq`."""
        if change.whole:
            self._rewrite(change.items, seq)
        else:
            for item in change.items:
                known = next((goal for goal in self.goals if item.key is not None and goal.key == item.key), None)
                if known is None and item.key is None:
                    known = self._same_text(item, self.goals)
                if known is None:
                    if item.text:
                        self._add(item, seq)
                else:
                    self._update(known, item, seq)
        if change.focus is None:
            self._refocus(seq)
        else:
            self._focus(change.focus, seq)

    def request(self, text: str, seq: int) -> None:
        """A person's message opened a turn at entry `seq`: an inferred goal, shown only where the agent keeps no plan."""
        if self.inferred and self.inferred[-1].status is GoalStatus.IN_PROGRESS:
            self.inferred[-1].status = GoalStatus.COMPLETED
            self.changed.add(self.inferred[-1].path)
        title = re.sub(r"\s+", " ", text[:2000]).strip()[:200] or "(no text)"
        self.requests += 1
        self.inferred.append(
            Goal(str(self.requests), title, GoalStatus.IN_PROGRESS, first_seq=seq, last_seq=seq, inferred=True)
        )
        self.changed.add(str(self.requests))

    def at(self, seq: int) -> str | None:
        """The goal to which an entry that arrives now belongs; called for every entry in order."""
        if self.goals:
            return self.current
        if self.inferred:
            self.inferred[-1].last_seq = seq
            self.changed.add(self.inferred[-1].path)
            return self.inferred[-1].path
        return None

    def take_changed(self) -> list[Goal]:
        """The goals to write; none is given again unless it changes again. Inferred ones are given only while no plan is kept."""
        out = [goal for goal in self.goals or self.inferred if goal.path in self.changed]
        self.changed = set()
        return out

    def tree(self) -> list[Goal]:
        """All goals in order of their paths; the inferred ones only where no plan was kept."""
        return sorted(self.goals or self.inferred, key=lambda goal: path_key(goal.path))

    def to_json(self) -> dict[str, Any]:
        return {
            "goals": [goal.to_json() for goal in self.goals],
            "inferred": [goal.to_json() for goal in self.inferred[-1:]],
            "requests": self.requests,
            "current": self.current,
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> GoalTracker:
        return cls(
            [Goal.from_json(goal) for goal in raw.get("goals", [])],
            [Goal.from_json(goal) for goal in raw.get("inferred", [])],
            raw.get("requests", 0),
            raw.get("current"),
        )

    def _rewrite(self, items: Sequence[GoalItem], seq: int) -> None:
        if not self.goals and items:
            self.changed = set()  # of the inferred goals: a plan takes their place
        left = [goal for goal in self.goals if goal.status is not GoalStatus.ABANDONED]
        pairs: list[tuple[GoalItem, Goal | None]] = []
        unmatched: list[int] = []
        for item in items:
            known = self._same_key(item, left) or self._same_text(item, left)
            if known is not None:
                left.remove(known)
            else:
                unmatched.append(len(pairs))
            pairs.append((item, known))
        if len(items) <= _COMPARED and len(left) <= _COMPARED:
            for n in unmatched:
                near = self._similar(pairs[n][0], left)
                if near is not None:
                    left.remove(near)
                    pairs[n] = (pairs[n][0], near)
        for item, known in pairs:
            if known is None:
                self._add(item, seq)
            else:
                self._update(known, item, seq)
        for goal in left:
            if goal.status in (GoalStatus.PENDING, GoalStatus.IN_PROGRESS):
                goal.status = GoalStatus.ABANDONED
                goal.note = goal.note or "dropped from the list"
                goal.last_seq = seq
                self.changed.add(goal.path)

    def _add(self, item: GoalItem, seq: int) -> None:
        parent = next(
            (goal for goal in self.goals if item.parent_key is not None and goal.key == item.parent_key), None
        )
        prefix = f"{parent.path}." if parent else ""
        taken = sum(1 for goal in self.goals if goal.parent == (parent.path if parent else None))
        path = f"{prefix}{taken + 1}"
        if item.path is not None and all(goal.path != item.path for goal in self.goals):
            path = item.path
        self.changed.add(path)
        self.goals.append(
            Goal(
                path=path,
                text=item.text,
                status=item.status,
                key=item.key,
                parent=parent.path if parent else None,
                note=item.note,
                first_seq=seq,
                last_seq=seq,
            )
        )

    def _update(self, goal: Goal, item: GoalItem, seq: int) -> None:
        self.changed.add(goal.path)
        if item.status is not goal.status or (item.text and item.text != goal.text):
            goal.last_seq = seq
        goal.text = item.text or goal.text
        goal.status = item.status
        goal.key = item.key or goal.key
        goal.note = item.note or goal.note

    def _focus(self, key: str, seq: int) -> None:
        goal = next((goal for goal in self.goals if key and goal.key == key), None)
        self.current = goal.path if goal is not None else None
        if goal is not None:
            goal.last_seq = seq
            self.changed.add(goal.path)

    def _refocus(self, seq: int) -> None:
        active = [goal for goal in self.goals if goal.status is GoalStatus.IN_PROGRESS]
        for goal in active:
            goal.last_seq = seq
            self.changed.add(goal.path)
        if active:
            self.current = active[-1].path
        elif self.current is not None:
            self.current = None

    @staticmethod
    def _same_key(item: GoalItem, goals: Iterable[Goal]) -> Goal | None:
        if item.key is None:
            return None
        return next((goal for goal in goals if goal.key == item.key), None)

    @staticmethod
    def _same_text(item: GoalItem, goals: Iterable[Goal]) -> Goal | None:
        wanted = _folded(item.text)
        return next((goal for goal in goals if _folded(goal.text) == wanted), None)

    @staticmethod
    def _similar(item: GoalItem, goals: Iterable[Goal]) -> Goal | None:
        wanted = _folded(item.text)
        best, score = None, _SIMILAR
        for goal in goals:
            matcher = SequenceMatcher(None, _folded(goal.text), wanted, autojunk=False)
            if matcher.real_quick_ratio() > score and matcher.quick_ratio() > score:
                ratio = matcher.ratio()
                if ratio > score:
                    best, score = goal, ratio
        return best


def path_key(path: str) -> tuple[tuple[int, str], ...]:
    """Sorts "1.10" after "1.2", and "2'" after "2"."""
    out: list[tuple[int, str]] = []
    for piece in path.split("."):
        digits = re.match(r"\d+", piece)
        out.append((int(digits.group()) if digits else 0, piece[digits.end() :] if digits else piece))
    return tuple(out)


def _folded(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().casefold()
