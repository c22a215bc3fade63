"""The agent's list of messages while its log is replayed: which entries each message is, and what was put in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sessions.adapters.base import Link
from sessions.adapters.gemini_cli.lists import Listed


@dataclass(frozen=True, slots=True)
class Body:
    """A message as a record of another kind holds it: `count` parts of entry `seq`, from `start` on."""

    seq: int
    start: int
    count: int
    letter: str


@dataclass(frozen=True, slots=True)
class Unit:
    """A message of the list. `seqs`: the entries that say it. `body`: what stands in their place, or all there is of it.

    `results`: of each result, its hash and the entry it stands in. `masks`: where a result's later, shorter form is.
    """

    id: str
    letter: str
    seqs: tuple[int, ...] = ()
    atoms: tuple[str, ...] = ()
    results: dict[str, tuple[str, int]] = field(default_factory=dict)
    body: Body | None = None
    masks: dict[str, Body] = field(default_factory=dict)
    form: str = ""


@dataclass(slots=True)
class Live:
    """`units`: the list now. `known`: of each id, the message as it was last known, live or not."""

    units: list[Unit] = field(default_factory=list)
    known: dict[str, Unit] = field(default_factory=dict)

    def message(self, link: Link) -> None:
        """A record of a message: a new one, or more of one that is there."""
        facts = link.facts
        name = link.native_id if link.native_id is not None else f"#{link.seq}"
        seqs = (link.seq,) if link.sent else ()
        answered = {call: (was, link.seq) for call, was in facts.get("r", {}).items()} if link.sent else {}
        said = tuple(facts.get("a", ()))
        old = self.known.get(name) if facts.get("more") else None
        if old is not None:
            unit = replace(old, seqs=(*old.seqs, *seqs), atoms=(*old.atoms, *said), results={**old.results, **answered})
        else:
            unit = Unit(name, facts["m"], seqs, said, answered, form=facts.get("form", ""))
        self._put(unit, keyed=link.native_id is not None)

    def operate(self, link: Link) -> None:
        """A record that changes the list."""
        match link.facts.get("op"):
            case "rewind":
                self._rewind(link.facts.get("to"))
            case "again":
                self._rewrite(link)
            case "add":
                for unit in self._listed(link, []):
                    self._put(unit, keyed=True)
            case "set":
                old, self.units = self.units, []
                self.units = self._listed(link, old)
                for unit in self.units:
                    self.known[unit.id] = unit

    def _put(self, unit: Unit, *, keyed: bool) -> None:
        self.known[unit.id] = unit
        if keyed:
            for at, other in enumerate(reversed(self.units)):
                if other.id == unit.id:
                    self.units[len(self.units) - 1 - at] = unit
                    return
        self.units.append(unit)

    def _rewind(self, to: object) -> None:
        for at, unit in enumerate(self.units):
            if unit.id == to:
                del self.units[at:]
                return
        self.units.clear()

    def _rewrite(self, link: Link) -> None:
        name = link.native_id or ""
        body = Body(link.seq, 0, 1 << 30, link.facts.get("m", "g"))
        old = self.known.get(name)
        said, answered = tuple(link.facts.get("a", ())), link.facts.get("r", {})
        if old is None:
            unit = Unit(name, body.letter, (), said, {call: (was, link.seq) for call, was in answered.items()}, body)
        elif _same(old.atoms, said):
            masks = {
                call: body for call, was in answered.items() if call in old.results and old.results[call][0] != was
            }
            unit = replace(
                old, masks={**old.masks, **masks}, body=None if answered.keys() <= old.results.keys() else body
            )
        else:
            unit = replace(old, body=body, atoms=said)
        self._put(unit, keyed=True)

    # -- lists ---------------------------------------------------------------------------------------------------------

    def _listed(self, link: Link, before: Sequence[Unit]) -> list[Unit]:
        messages: list[tuple[Listed, Body]] = []
        start = 0
        for raw in link.facts.get("list", ()):
            message = Listed.from_json(raw)
            messages.append((message, Body(link.seq, start, message.count, message.letter)))
            start += message.count
        copies = self._copies([message for message, _ in messages], before)
        out: list[Unit] = []
        for n, (message, body) in enumerate(messages):
            if message.form == "env" and link.sent:
                out.append(Unit(message.id, "u", (link.seq,), message.atoms, form="env"))
                continue
            if self._answers(message, body, out):
                out.append(Unit(message.id, message.letter))
                continue
            out.append(self._one(message, body, copies.get(n)))
        return out

    def _one(self, message: Listed, body: Body, copy: Unit | None) -> Unit:
        """A listed message as the entries that say it, with what it says otherwise; or on its own."""
        old = self.known.get(message.id)
        if old is None and copy is not None:
            old = replace(copy, id=message.id)
        if old is None or not (old.seqs or old.body or not message.count):
            return Unit(
                message.id, message.letter, (), message.atoms, {}, body if message.count else None, form=message.form
            )
        if not _same(old.atoms, message.atoms):
            return replace(old, body=body, atoms=message.atoms, masks={})
        masks = {
            call: body for call, was in message.results.items() if call in old.results and old.results[call][0] != was
        }
        kept = {call: mask for call, mask in old.masks.items() if call not in message.results}
        return replace(old, masks={**kept, **masks}, form=message.form or old.form)

    def _answers(self, message: Listed, body: Body, out: list[Unit]) -> bool:
        """Whether the message only repeats results that stand with their calls; what it says otherwise is a mask of those."""
        if message.letter != "u" or not message.results:
            return False
        places: dict[str, int] = {}
        for at, unit in enumerate(out):
            for call in unit.results:
                if call in message.results:
                    places[call] = at
        if places.keys() != message.results.keys():
            return False
        for call, at in places.items():
            unit = out[at]
            if unit.results[call][0] != message.results[call]:
                out[at] = replace(unit, masks={**unit.masks, call: body})
        return True

    def _copies(self, messages: Sequence[Listed], before: Sequence[Unit]) -> dict[int, Unit]:
        """Messages whose id is new but that say what a message before said: found from the end, where a compaction keeps its tail."""
        out: dict[int, Unit] = {}
        at = len(before)
        for n in range(len(messages) - 1, -1, -1):
            message = messages[n]
            if message.id in self.known or not message.atoms or message.form in ("snapshot", "env"):
                continue
            for place in range(at - 1, -1, -1):
                unit = before[place]
                if unit.letter == message.letter and unit.seqs and _same(unit.atoms, message.atoms):
                    out[n] = unit
                    at = place
                    break
        return out


def _same(one: Sequence[str], other: Sequence[str]) -> bool:
    return tuple(one) == tuple(other)
