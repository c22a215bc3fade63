"""Rebuilds what the model sees, line after line, the way Codex 0.171 does when it reads a rollout again.

The view is a list of places: an entry (its index in the links), or an inserted item (`~n`). Kept apart from versions, which
`history` makes of it. Rules: the agent's own, established by giving it logs and reading what it sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from sessions.adapters.base import Link
from sessions.adapters.codex import matching, shortening
from sessions.adapters.codex.segments import NO_BASE, Mark, Segments
from sessions.contexts import InsertKind
from sessions.entries import Kind, Part, PartKind, Role, digest_of
from sessions.ranges import Ranges

MARKS = frozenset({"start", "context", "user"})


def mark_of(link: Link) -> str:
    """What the line is to a replay; "" for most."""
    mark = link.facts.get("mark")
    return mark if isinstance(mark, str) else ""


@dataclass(frozen=True, slots=True)
class Inserted:
    """An item of the view that no entry gives. `after`: the seq it stands behind, for good."""

    after: int
    role: Role
    kind: InsertKind
    parts: tuple[Part, ...]
    user: bool = False
    trim: bool = False
    stands_for: Ranges = field(default_factory=Ranges)


@dataclass(slots=True)
class Replay:
    """The state after the lines so far. `dead`: places cut off by a revert."""

    links: Sequence[Link]
    parts_of: Callable[[int], tuple[Part, ...]]
    view: list[int] = field(default_factory=list)
    users: list[int] = field(default_factory=list)  # where in the view a turn begins
    bodies: dict[int, tuple[Part, ...]] = field(default_factory=dict)
    inserts: list[Inserted] = field(default_factory=list)
    base: int = NO_BASE
    segments: Segments = field(default_factory=Segments)
    dead: set[int] = field(default_factory=set)
    gone: list[int] = field(default_factory=list)  # what the last event took out of the view
    back: list[int] = field(default_factory=list)  # what it brought back
    rebuilt: bool = False  # the last event changed the view in more than its end
    _equal: dict[bytes, list[int]] = field(default_factory=dict)
    _named: dict[str, int] = field(default_factory=dict)
    _kept: dict[int, tuple[list[int], dict[int, tuple[Part, ...]]]] = field(default_factory=dict)

    def line(self, at: int) -> None:
        """Take in the line at place `at`."""
        link = self.links[at]
        mark = mark_of(link)
        self.gone, self.back, self.rebuilt = [], [], False
        if mark == "compaction":
            self._compaction(at)
        elif mark == "rollback":
            self._rollback(at)
        elif mark in MARKS:
            turn = link.facts.get("turn")
            self.segments.add(Mark(mark, at, turn if isinstance(turn, str) else None))
        elif link.sent:
            if link.facts.get("user"):
                self.segments.add(Mark("user", at))
            self._equal.setdefault(link.digest, []).append(at)
            if link.native_id is not None:
                self._named[link.native_id] = at
            self._push(at)

    def cut(self, dead: set[int], before: int) -> None:
        """Take `dead` places out of the log: all is built anew from the lines before `before`."""
        self.dead |= dead
        self.view, self.users, self.bodies, self.base = [], [], {}, NO_BASE
        self.segments = Segments()
        self._equal, self._named, self._kept = {}, {}, {}
        for at in range(before):
            if at not in self.dead:
                self.line(at)
        self.rebuilt = True

    def end(self, last: int) -> bool:
        """Whether the lines after the last event took its base away: turn marks that fit no turn can do that."""
        base = self.segments.base()
        if base == self.base:
            return False
        self._restart(base, last)
        return True

    def inserted(self) -> Iterator[Inserted]:
        """The insertions of the view, in order."""
        return (self.inserts[~place] for place in self.view if place < 0)

    def _push(self, place: int) -> None:
        if self._user(place):
            self.users.append(len(self.view))
        self.view.append(place)

    def _show(self, view: list[int], bodies: dict[int, tuple[Part, ...]]) -> None:
        self.view = list(view)
        self.bodies = dict(bodies)
        self.users = [n for n, place in enumerate(self.view) if self._user(place)]

    def _user(self, place: int) -> bool:
        return self.inserts[~place].user if place < 0 else bool(self.links[place].facts.get("user"))

    def _trim(self, place: int) -> bool:
        return self.inserts[~place].trim if place < 0 else bool(self.links[place].facts.get("trim"))

    def _body(self, place: int) -> tuple[Part, ...]:
        if place < 0:
            return self.inserts[~place].parts
        body = self.bodies.get(place)
        return self.parts_of(self.links[place].seq) if body is None else body

    def _compaction(self, at: int) -> None:
        whole = bool(self.links[at].facts.get("whole"))
        if not whole:
            self._summarise(at)
            return
        self.segments.add(Mark("whole", at))
        base = self.segments.base()
        if base == at:
            self._replace(at)
            self.base = at
        elif base != self.base:
            self._restart(base, at)

    def _rollback(self, at: int) -> None:
        turns = self.links[at].facts.get("n")
        turns = turns if isinstance(turns, int) and turns > 0 else 0
        self.segments.add(Mark("rollback", at, turns=turns))
        base = self.segments.base()
        if base != self.base:
            self._restart(base, at)
        else:
            self.gone = self._drop(turns)

    def _drop(self, turns: int) -> list[int]:
        """Take the last turns out of the view, and the context that was put in right before the oldest of them."""
        if turns <= 0 or not self.users:
            return []
        first = self.users[0]
        cut = self.users[-turns] if turns <= len(self.users) else first
        while cut > first and self._trim(self.view[cut - 1]):
            cut -= 1
        gone = self.view[cut:]
        del self.view[cut:]
        while self.users and self.users[-1] >= cut:
            self.users.pop()
        return gone

    def _restart(self, base: int, upto: int) -> None:
        """Build the view anew on another base: the compactions in between no longer count."""
        view, bodies = self._kept.get(base, ([], {}))
        self._show(view, bodies)
        self.base = base
        for at in range(base + 1, upto + 1):
            link = self.links[at]
            mark = mark_of(link)
            if at in self.dead:
                continue
            if mark == "compaction":
                if not link.facts.get("whole"):
                    self._summarise(at)
            elif mark == "rollback":
                turns = link.facts.get("n")
                self._drop(turns if isinstance(turns, int) else 0)
            elif mark not in MARKS and link.sent:
                self._push(at)
        self.gone, self.back, self.rebuilt = [], [], True

    def _replace(self, at: int) -> None:
        """A compaction with a history of its own: keep the entries that it repeats, insert the rest."""
        items = matching.new_items(self.parts_of(self.links[at].seq))
        visible = {place for place in self.view if place >= 0}
        changed = {
            digest_of(self.links[place].role, body): place for place, body in self.bodies.items() if place in visible
        }
        candidates: list[list[int]] = []
        for item in items:
            equal = self._equal.get(item.digest, [])
            those = [place for place in matching.newest(equal) if place in visible and place not in self.bodies]
            if not those and item.digest in changed:
                those = [changed[item.digest]]
            candidates.append(those or [place for place in matching.newest(equal) if place not in self.bodies])
        kept = matching.in_order(candidates, [item.weight for item in items])
        bodies = {place: self.bodies[place] for n, place in kept.items() if self.bodies.get(place) is not None}
        self._altered(items, kept, bodies, visible)
        self._settle(at, items, kept, bodies)
        self._kept[at] = (list(self.view), dict(self.bodies))

    def _altered(
        self,
        items: list[matching.NewItem],
        kept: dict[int, int],
        bodies: dict[int, tuple[Part, ...]],
        visible: set[int],
    ) -> None:
        """Add to `kept` the entries of which an item is a shortened form, and to `bodies` what is left of them."""
        following = [place for n, place in sorted(kept.items())]
        shown = sorted(visible)
        taken = set(kept.values())
        low, seen, at = -1, 0, 0
        for n, item in enumerate(items):
            if n in kept:
                low = kept[n]
                seen += 1
                continue
            high = following[seen] if seen < len(following) else len(self.links)
            named = self._named.get(item.native_id) if item.native_id is not None else None
            found = named if named is not None and low < named < high and named not in taken else None
            if found is None and item.kind in (Kind.PROMPT, Kind.TOOL_RESULT):
                while at < len(shown) and shown[at] <= low:
                    at += 1
                for place in shown[at:]:
                    if place >= high:
                        break
                    link = self.links[place]
                    if (
                        place not in taken
                        and link.kind is item.kind
                        and matching.altered(self._body(place), item.parts)
                    ):
                        found = place
                        break
            if found is not None and self.links[found].role is item.role:
                kept[n] = low = found
                taken.add(found)
                bodies[found] = item.parts

    def _settle(
        self, at: int, items: list[matching.NewItem], kept: dict[int, int], bodies: dict[int, tuple[Part, ...]]
    ) -> None:
        """Make the view of a compaction's items. An insertion stands before the next entry kept, else at the compaction."""
        before = self.view
        stays = set(kept.values())
        self.gone = [place for place in before if place not in stays]
        was = set(before)
        self.back = [place for place in sorted(stays) if place not in was]
        folded = self._folded(self.gone)
        summary = next(
            (n for n in range(len(items) - 1, -1, -1) if items[n].kind is Kind.SUMMARY and n not in kept), None
        )
        view: list[int] = [0] * len(items)
        after = self.links[at].seq
        for n in range(len(items) - 1, -1, -1):
            if n in kept:
                view[n] = kept[n]
                after = self.links[kept[n]].seq - 1
                continue
            item = items[n]
            kind = InsertKind.SUMMARY if item.kind is Kind.SUMMARY else InsertKind.MESSAGE
            stands_for = folded if n == summary else Ranges()
            self.inserts.append(Inserted(after, item.role, kind, item.parts, item.user, item.trim, stands_for))
            view[n] = ~(len(self.inserts) - 1)
        self._show(view, bodies)

    def _summarise(self, at: int) -> None:
        """A compaction without a history: the person's newest messages up to a budget, then the summary."""
        budget = shortening.BUDGET
        kept: list[int] = []
        bodies: dict[int, tuple[Part, ...]] = {}
        for n in reversed(self.users):
            if budget <= 0:
                break
            place = self.view[n]
            body = self._body(place)
            if place >= 0 and (self.links[place].facts.get("mail") or self.links[place].role is not Role.USER):
                continue
            if place < 0 and self.inserts[~place].role is not Role.USER:
                continue
            texts = shortening.words_of(body)
            size = shortening.tokens(texts)
            if not texts:
                continue
            if size > budget:
                texts = shortening.shortened(texts, budget)
            new = tuple(Part(PartKind.TEXT, text) for text in texts)
            budget -= size
            kept.append(place)
            if digest_of(None, new) == digest_of(None, body):
                if place in self.bodies:
                    bodies[place] = self.bodies[place]
            elif place >= 0:
                bodies[place] = new
            else:
                old = self.inserts[~place]
                self.inserts.append(Inserted(old.after, old.role, old.kind, new, old.user, old.trim))
                kept[-1] = ~(len(self.inserts) - 1)
        stays = set(kept)
        self.gone = [place for place in self.view if place not in stays]
        told = self.parts_of(self.links[at].seq)
        parts = tuple(part for item in matching.new_items(told) for part in item.parts)
        self.inserts.append(
            Inserted(self.links[at].seq, Role.USER, InsertKind.SUMMARY, parts, stands_for=self._folded(self.gone))
        )
        self._show([*reversed(kept), ~(len(self.inserts) - 1)], bodies)

    def _folded(self, gone: Sequence[int]) -> Ranges:
        """The entries that a summary of what is `gone` stands for: those of earlier summaries as well."""
        spans = [(self.links[place].seq, self.links[place].seq + 1) for place in gone if place >= 0]
        for place in gone:
            if place < 0:
                spans.extend(self.inserts[~place].stands_for.spans)
        return Ranges.of(spans)
