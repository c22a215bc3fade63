"""The agent's list of messages while its log is replayed: which entries each message is, and what was put in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sessions.adapters.base import Link
from sessions.adapters.gemini_cli.lists import Listed

WHOLE = 1 << 30  # more parts than any entry has


@dataclass(frozen=True, slots=True)
class Body:
    """A message as a record of another kind holds it: `count` parts of entry `seq`, from `start` on."""

    seq: int
    start: int
    count: int
    letter: str


@dataclass(frozen=True, slots=True)
class Unit:
    """A message of the list. `seqs`: the entries that say it. `body`: what stands in their place, or all there is of it; `further`: what
    records said more of it since.

    `results`: of each result, its hash and the entry it stands in. `masks`: where a result's later, shorter form is. `echo`: of a message
    that only repeats results, `echoed`, that stand with their calls, where it has them itself.
    """

    id: str
    letter: str
    seqs: tuple[int, ...] = ()
    atoms: tuple[str, ...] = ()
    results: dict[str, tuple[str, int]] = field(default_factory=dict)
    body: Body | None = None
    further: tuple[Body, ...] = ()
    masks: dict[str, Body] = field(default_factory=dict)
    form: str = ""
    echo: Body | None = None
    echoed: tuple[str, ...] = ()


@dataclass(slots=True)
class Live:
    """`units`: the list now. `known`: of each id, the message as it was last known, live or not."""

    units: list[Unit] = field(default_factory=list)
    known: dict[str, Unit] = field(default_factory=dict)

    def message(self, link: Link) -> bool:
        """A record of a message: a new one, or more of one that is there. Says whether it took another's place."""
        facts = link.facts
        keyed = link.native_id is not None
        name = link.native_id if link.native_id is not None else f"#{link.seq}"
        seqs = (link.seq,) if link.sent else ()
        answered = {call: (was, link.seq) for call, was in facts.get("r", {}).items()} if link.sent else {}
        said = tuple(facts.get("a", ()))
        old = self.known.get(name)
        if old is not None and facts.get("more"):
            back = not any(unit.id == name for unit in self.units)
            if link.sent and not (old.seqs or old.body or back or self.units[-1].id == name):
                # Nothing of it was sent before others spoke: it is told at its place.
                self._put(_other(old, Body(link.seq, 0, WHOLE, old.letter), said, answered), keyed=keyed)
                return True
            unit = replace(old, atoms=(*old.atoms, *said), results={**old.results, **answered})
            if old.body is None:
                self._put(replace(unit, seqs=(*old.seqs, *seqs)), keyed=keyed)
                return back
            if link.sent:  # its entries are stood in for already: so is what this one adds
                unit = replace(unit, further=(*old.further, Body(link.seq, 0, WHOLE, old.letter)))
            self._put(unit, keyed=keyed)
            return True
        if keyed and old is not None and any(unit.id == name for unit in self.units):
            self._rewrite(link)
            return True
        if not link.sent and self._unanswered(facts.get("r", {})):
            # Results that were said before, beside calls that are no longer live.
            self._put(Unit(name, facts["m"], (), said, {}, Body(link.seq, 0, WHOLE, facts["m"])), keyed=keyed)
            return True
        unit = Unit(name, facts["m"], seqs, said, answered, form=facts.get("form", ""))
        if not link.sent and facts.get("r"):
            unit = replace(unit, echo=Body(link.seq, 0, WHOLE, facts["m"]), echoed=tuple(facts["r"]))
        self._put(unit, keyed=keyed)
        return False

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

    def _unanswered(self, results: Mapping[str, str], but: str = "") -> bool:
        answered = {call for unit in self.units if unit.id != but for call in unit.results}
        return any(call not in answered for call in results)

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
        silent = link.facts.get("silent")
        if link.facts.get("op") != "again" and not link.sent:
            silent = not self._unanswered(link.facts.get("r", {}), but=name)
        body = Body(link.seq, 0, 0 if silent else WHOLE, link.facts.get("m", "g"))
        old = self.known.get(name)
        said, answered = tuple(link.facts.get("a", ())), link.facts.get("r", {})
        if old is None:
            unit = Unit(name, body.letter, (), said, {call: (was, link.seq) for call, was in answered.items()}, body)
        elif old.letter == body.letter and old.atoms == said and answered.keys() == old.results.keys():
            masks = {call: body for call, was in answered.items() if old.results[call][0] != was}
            unit = replace(old, masks=masks)
        else:
            results = {call: (was, link.seq) for call, was in answered.items()}
            unit = _other(old, body, said, results)
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
                out.append(Unit(message.id, message.letter, echo=body, echoed=tuple(message.results)))
                continue
            out.append(self._one(message, body, copies.get(n)))
        return out

    def _one(self, message: Listed, body: Body, copy: Unit | None) -> Unit:
        """A listed message as the entries that say it, with what it says otherwise; or on its own."""
        old = self.known.get(message.id)
        if old is None and copy is not None:
            old = replace(copy, id=message.id)
        answered = {call: (was, body.seq) for call, was in message.results.items()}
        if old is None or not (old.seqs or old.body):
            whole = body if message.count else None
            return Unit(message.id, message.letter, (), message.atoms, answered, whole, form=message.form)
        if not _says(old, message):
            return _other(old, body, message.atoms, answered)
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
                if unit.seqs and _says(unit, message):
                    out[n] = unit
                    at = place
                    break
        return out


def _other(old: Unit, body: Body, said: tuple[str, ...], results: dict[str, tuple[str, int]]) -> Unit:
    """A message that says something else now: in the place of its entries, unless another role says it."""
    seqs = old.seqs if old.letter == body.letter else ()
    return replace(
        old, letter=body.letter, seqs=seqs, body=body, further=(), atoms=said, results=results, masks={}, echo=None
    )


def _says(unit: Unit, message: Listed) -> bool:
    """Whether a message of a list is the one that the unit is. A model's message may be listed without its results."""
    if unit.letter != message.letter or unit.atoms != message.atoms:
        return False
    if unit.letter == "g":
        return message.results.keys() <= unit.results.keys()
    return unit.results.keys() == message.results.keys()
