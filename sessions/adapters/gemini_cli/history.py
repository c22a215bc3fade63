"""The versions the agent itself made: what its log says is live after each compaction, mask, rewind and re-listed history.

The log is replayed as the agent reads it: messages by id, a later one in the place of an earlier one, `$rewindTo` drops from an id on,
`$set.messages` puts a whole list in place. A listed message is an entry of the log where it says the same, under its id or under
another; else it is inserted. Only the result is written down: what of the log is not live, is masked, or stands for something else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sessions.adapters.base import Link, NativeVersion, PartsOf
from sessions.adapters.gemini_cli.people import ENVIRONMENT
from sessions.adapters.gemini_cli.units import Body, Live, Unit
from sessions.contexts import Edit, Hide, Insert, InsertKind, Replace
from sessions.entries import Facts, Part, PartKind, Role
from sessions.ranges import Ranges

_ROLES = {"u": Role.USER, "g": Role.ASSISTANT}


def versions(links: Sequence[Link], parts_of: PartsOf, facts: Facts) -> list[NativeVersion]:
    """The agent's versions, oldest first. Never raises on any sequence of links.

    Operations that follow one another without a message between are one: a resume puts its surroundings in place and then the history.
    """
    live = Live()
    out: list[NativeVersion] = []
    shown: tuple[Edit, ...] = ()
    masked: set[tuple[str, str]] = set()
    group: list[Link] = []

    def close() -> None:
        nonlocal shown, masked
        if group:
            edits = _edits(live, links, group[-1].seq, parts_of)
            masks = {(unit.id, call) for unit in live.units for call in unit.masks}
            if edits != shown or any("snapshot" in link.facts for link in group):
                out.append(_version(group, edits, shown, len(masks - masked)))
                shown, masked = edits, masks
            group.clear()

    for link in links:
        op = link.facts.get("op")
        if op in ("set", "add", "rewind", "again"):
            if group and (op == "again" or group[-1].facts.get("op") == "again"):
                close()
            live.operate(link)
            group.append(link)
        elif "m" in link.facts:
            close()
            if live.message(link):
                group.append(link)
    close()
    return out


def tip_of(links: Sequence[Link]) -> dict[str, Any]:
    """The id of the last message, where no operation came behind it."""
    for link in reversed(links):
        if "op" in link.facts:
            break
        if "m" in link.facts:
            return {"last": link.native_id}
    return {"last": None}


def steady(tip: Mapping[str, Any], link: Link, *, repeated: bool) -> dict[str, Any] | None:
    """The tip after a record that leaves the versions as they are: a new message, or more of the last one."""
    facts = link.facts
    if "op" in facts:
        return None
    if "m" not in facts:
        return dict(tip)
    if repeated:
        return dict(tip) if facts.get("more") and link.native_id == tip["last"] else None
    return {"last": link.native_id} if link.sent or not facts.get("r") else None


def _version(group: Sequence[Link], edits: tuple[Edit, ...], before: tuple[Edit, ...], masks: int) -> NativeVersion:
    """`masks`: how many results say less than in the version before."""
    kind, label = _named(group, edits, before, masks)
    told: dict[str, Any] = {}
    snapshot = next((link.facts["snapshot"] for link in group if "snapshot" in link.facts), None)
    if kind == "compaction":
        told["summary_id"] = snapshot
    if kind == "rewind":
        told["to"] = next(link.facts["to"] for link in group if link.facts.get("op") == "rewind")
    if kind == "microcompaction":
        told["masked"] = masks
    return NativeVersion(kind, group[-1].seq, edits, label, told)


def _named(group: Sequence[Link], edits: tuple[Edit, ...], before: tuple[Edit, ...], masks: int) -> tuple[str, str]:
    if any("snapshot" in link.facts for link in group):
        return "compaction", "Compacted"
    if any(link.facts.get("op") == "rewind" for link in group):
        return "rewind", "Rewound"
    hidden, was = _hidden(edits), _hidden(before)
    inserted = [edit for edit in edits if isinstance(edit, Insert)]
    if hidden == was and inserted == [edit for edit in before if isinstance(edit, Insert)]:
        if masks:
            return "microcompaction", "Tool outputs masked"
        changed = [edit for edit in edits if isinstance(edit, Replace) and edit not in before]
        if changed and all(_is_environment(edit.parts) for edit in changed):
            return "replacement", "Resumed: its surroundings described anew"
        return "replacement", "Messages written anew"
    if hidden == was and all(_is_environment(edit.parts) for edit in inserted if edit not in before):
        return "replacement", "Resumed: its surroundings described anew"
    if was - hidden and not hidden - was:
        return "replacement", "History put back"
    if not inserted:
        return "cut", "Messages taken back"
    return "replacement", "History replaced"


def _is_environment(parts: Sequence[Part]) -> bool:
    return bool(parts) and parts[0].text.lstrip().startswith(ENVIRONMENT)


def _hidden(edits: Iterable[Edit]) -> Ranges:
    return next((edit.ranges for edit in edits if isinstance(edit, Hide)), Ranges())


def _edits(live: Live, links: Sequence[Link], at_seq: int, parts_of: PartsOf) -> tuple[Edit, ...]:
    """What makes the live list out of the log up to `at_seq`."""
    kept: set[int] = set()
    replaced: list[Replace] = []
    waiting: list[tuple[Unit, tuple[Part, ...]]] = []
    inserts: list[tuple[int, Unit, tuple[Part, ...]]] = []
    last = -1
    answered: set[str] = set()
    for unit in live.units:
        if unit.echo is not None and not answered.issuperset(unit.echoed):
            # What it repeats is said nowhere else any more.
            if parts := _without_answered(_body_of(unit.echo, parts_of)):
                waiting.append((unit, parts))
            continue
        answered.update(unit.results)
        seqs = [seq for seq in unit.seqs if seq > last]
        if unit.seqs and len(seqs) < len(unit.seqs):
            seqs = []  # the list has another order than the log: it is told again at its place
        body = unit.body
        if not seqs:
            whole = _instead(unit, parts_of) if body is not None else _again(unit, parts_of)
            if parts := _without_answered(tuple(_masked_parts(whole, unit.masks, parts_of))):
                waiting.append((unit, parts))
            continue
        inserts += [(seqs[0] - 1, one, parts) for one, parts in waiting]
        waiting = []
        last = seqs[-1]
        if body is not None:
            if parts := tuple(_masked_parts(_instead(unit, parts_of), unit.masks, parts_of)):
                kept.add(seqs[0])
                replaced.append(Replace(seqs[0], parts))
            continue
        kept.update(seqs)
        replaced += _masks(unit, parts_of)
    inserts += [(at_seq, one, parts) for one, parts in waiting]
    sent = [link.seq for link in links if link.sent and not link.lane and link.seq <= at_seq]
    hidden = Ranges.from_numbers(seq for seq in sent if seq not in kept).closed_over(sent)
    edits: list[Edit] = [Hide(hidden)] if hidden else []
    edits += replaced
    told = Ranges()
    for after, unit, parts in inserts:
        stands_for = Ranges()
        if unit.form == "snapshot" and not told:
            told = stands_for = hidden & Ranges.of([(0, after + 1)])
        edits.append(_insert(after, unit, parts, stands_for))
    return tuple(edits)


def _insert(after: int, unit: Unit, parts: tuple[Part, ...], stands_for: Ranges) -> Insert:
    role = _ROLES.get(unit.letter, Role.USER)
    if parts and all(part.kind is PartKind.TOOL_RESULT or part.call_id for part in parts) and role is Role.USER:
        role = Role.TOOL
    kind = InsertKind.SUMMARY if unit.form == "snapshot" else InsertKind.MESSAGE
    label = {"snapshot": "compaction", "env": "surroundings"}.get(unit.form, "")
    plain = tuple(dataclasses.replace(part, role=None) if part.role is role else part for part in parts)
    return Insert(after, role, kind, plain, stands_for, label)


def _instead(unit: Unit, parts_of: PartsOf) -> tuple[Part, ...]:
    """What stands in the place of a message's entries, with what was said more of it since."""
    bodies = (unit.body, *unit.further) if unit.body is not None else ()
    return tuple(part for body in bodies for part in _body_of(body, parts_of))


def _body_of(body: Body, parts_of: PartsOf) -> tuple[Part, ...]:
    """A message's parts as a list or a rewritten record holds them."""
    parts = parts_of(body.seq)[body.start : body.start + body.count]
    role = _ROLES.get(body.letter, Role.USER)
    return tuple(
        dataclasses.replace(part, role=None) if part.role is role else part
        for part in parts
        if not part.meta.get("unsent")
    )


def _again(unit: Unit, parts_of: PartsOf) -> tuple[Part, ...]:
    return tuple(part for seq in unit.seqs for part in parts_of(seq) if not part.meta.get("unsent"))


def _without_answered(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """A result that a message holds twice, once."""
    seen: set[str] = set()
    out: list[Part] = []
    for part in parts:
        if part.kind is PartKind.TOOL_RESULT and part.call_id:
            if part.call_id in seen:
                continue
            seen.add(part.call_id)
        out.append(part)
    return tuple(out)


def _masks(unit: Unit, parts_of: PartsOf) -> Iterator[Replace]:
    """Entries of a message some of whose results now say less."""
    for seq in unit.seqs:
        masks = {call: body for call, body in unit.masks.items() if unit.results.get(call, ("", -1))[1] == seq}
        if masks:
            yield Replace(seq, tuple(_masked_parts(parts_of(seq), masks, parts_of)))


def _masked_parts(parts: Sequence[Part], masks: Mapping[str, Body], parts_of: PartsOf) -> Iterator[Part]:
    """Parts with their results as the masks have them; media beside such a result go."""
    for part in parts:
        body = masks.get(part.call_id or "")
        if part.meta.get("unsent") or (body is not None and part.kind is PartKind.MEDIA):
            continue
        if body is None or part.kind is not PartKind.TOOL_RESULT:
            yield part
            continue
        there = parts_of(body.seq)[body.start : body.start + body.count]
        other = next((p for p in there if p.kind is PartKind.TOOL_RESULT and p.call_id == part.call_id), part)
        yield dataclasses.replace(part, text=other.text, meta=other.meta)
