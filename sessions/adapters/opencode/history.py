"""The versions the agent made: compactions, pruned results, a revert. The last is what it reads back and would send."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sessions.adapters.base import Link, NativeVersion, PartsOf
from sessions.adapters.opencode import tools
from sessions.adapters.opencode.view import Message, View, view
from sessions.contexts import Edit, Hide, Insert, InsertKind, Replace
from sessions.entries import Kind, Part, PartKind, Role
from sessions.ranges import Ranges


@dataclass(slots=True)
class _Log:
    """What links say of a session."""

    messages: list[Message] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    links: dict[int, Link] = field(default_factory=dict)
    cleared: dict[int, float] = field(default_factory=dict)  # results, each with the time at which it was pruned
    parts: dict[tuple[str, str], int] = field(default_factory=dict)  # the entry of each part, by message and id
    checkpoints: dict[int, str] = field(default_factory=dict)  # compactions of the second store, each with its reason
    revert: tuple[str, str | None] | None = None
    last: int = -1


def versions(links: Sequence[Link], parts_of: PartsOf) -> list[NativeVersion]:
    """All versions, oldest first. A version's edits are those of what was there when it was made."""
    log = _log(links)
    out: list[NativeVersion] = []
    for at, kind, label, facts in _events(log):
        edits = _edits(log, parts_of, at, reverted=kind == "revert")
        if edits != (out[-1].edits if out else ()):
            out.append(NativeVersion(kind, at, edits, label, facts))
    if log.messages and log.revert is None:
        # A failed compaction can leave its mark on the order; whatever the agent would read now is the last word.
        edits = _edits(log, parts_of, log.last, reverted=False)
        if edits != (out[-1].edits if out else ()):
            out.append(NativeVersion("replacement", log.last, edits, "Read back in another order", {}))
    return out


def _events(log: _Log) -> Iterator[tuple[int, str, str, dict[str, Any]]]:
    """What changed the context, in order: after which entry, what, its name, and what the record says of it."""
    events: list[tuple[int, int, str, str, dict[str, Any]]] = []
    asked = {message.id: message for message in log.messages if message.compacts}
    for message in log.messages:
        request = asked.get(message.parent or "")
        if message.counts and request is not None and request.first < message.first:
            label = "Compacted by OpenCode, by itself" if request.auto else "Compacted in OpenCode"
            facts: dict[str, Any] = {"trigger": "auto" if request.auto else "manual"}
            if request.tail:
                facts["tail_start_id"] = request.tail
            events.append((message.last, 0, "compaction", label, facts))
    for at, reason in log.checkpoints.items():
        label = "Compacted by OpenCode, by itself" if reason == "auto" else "Compacted in OpenCode"
        events.append((at, 0, "compaction", label, {"trigger": reason}))
    for at, count in _pruned(log).items():
        events.append((at, 1, "microcompaction", f"{count} old tool results cleared", {"cleared": count}))
    if log.revert is not None:
        message_id, part_id = log.revert
        facts = {"message": message_id, **({"part": part_id} if part_id else {})}
        events.append((log.last, 2, "revert", "Reverted in OpenCode", facts))
    for at, _, kind, label, facts in sorted(events, key=lambda event: event[:2]):
        yield at, kind, label, facts


def _pruned(log: _Log) -> dict[int, int]:
    """How many results were cleared, by the last entry that was there when it was done."""
    times: list[float] = []
    for message in log.messages:
        times.append(max(message.created or 0, times[-1] if times else 0))
    out: dict[int, int] = {}
    for seq, when in log.cleared.items():
        place = bisect_right(times, when) - 1
        at = max(log.messages[place].last if place >= 0 else seq, seq)
        out[at] = out.get(at, 0) + 1
    return out


def _edits(log: _Log, parts_of: PartsOf, at: int, *, reverted: bool) -> tuple[Edit, ...]:
    """The edits in force once entry `at` is there; with the revert, if asked."""
    there = log.messages[: bisect_right(log.messages, at, key=lambda message: message.first)]
    coming = log.messages[len(there)].created if len(there) < len(log.messages) else None
    gone = Ranges()
    if reverted and log.revert is not None:
        there, gone = _without(log, there)
    seen = view(there)
    hidden = _hidden(log, at, there, seen, gone)
    out: list[Edit] = [Hide(hidden)] if hidden else []
    for seq, when in log.cleared.items():
        if seq <= at and (coming is None or when < coming) and seq not in hidden:
            out.append(Replace(seq, tools.cleared(parts_of(seq))))
    if seen.moved:
        out += _moved(log, there, seen, hidden, parts_of)
    return tuple(out)


def _without(log: _Log, there: list[Message]) -> tuple[list[Message], Ranges]:
    """The messages that a revert leaves, and the entries it takes: all from its message on, or that one's parts from one of them on."""
    assert log.revert is not None
    message_id, part_id = log.revert
    n = next((n for n, message in enumerate(there) if message.id == message_id), None)
    if n is None:
        return there, Ranges()
    end = log.last + 1
    if part_id is None:
        return there[:n], Ranges.of([(there[n].first, end)])
    start = log.parts.get((message_id, part_id))
    spans = [(there[n].last + 1, end)]
    if start is not None:
        spans.append((start, there[n].last + 1))
    return there[: n + 1], Ranges.of(spans)


def _hidden(log: _Log, at: int, there: Sequence[Message], seen: View, gone: Ranges) -> Ranges:
    """What is not sent in its place: all before the first message that stays where it is, what moved, what was reverted."""
    rest = seen.order[len(seen.moved)] if len(seen.order) > len(seen.moved) else len(there)
    end = log.last + 1
    spans = [(0, there[rest].first if rest < len(there) else end), *gone.spans] if there else [*gone.spans]
    spans += [(there[n].first, there[n].last + 1) for n in seen.moved]
    checkpoint = max((seq for seq in log.checkpoints if seq <= at and seq not in gone), default=0)
    spans.append((0, checkpoint))
    return Ranges.of(_trimmed(log.sent, start, min(stop, at + 1)) for start, stop in Ranges.of(spans).spans)


def _trimmed(sent: Sequence[int], start: int, stop: int) -> tuple[int, int]:
    """A span from the first to the last sent entry in it; empty where there is none."""
    first, last = bisect_left(sent, start), bisect_left(sent, stop) - 1
    return (sent[first], sent[last] + 1) if first <= last else (0, 0)


def _moved(log: _Log, there: Sequence[Message], seen: View, hidden: Ranges, parts_of: PartsOf) -> Iterator[Insert]:
    """The request and its summary, where they are sent: before the tail that is older than they are."""
    tail = there[seen.order[len(seen.moved)]]
    folded = hidden & Ranges.of([(0, tail.first)])
    for n in seen.moved:
        for at in range(bisect_left(log.sent, there[n].first), bisect_right(log.sent, there[n].last)):
            link = log.links[log.sent[at]]
            summary = link.kind is Kind.SUMMARY
            yield Insert(
                tail.first - 1,
                link.role or Role.USER,
                InsertKind.SUMMARY if summary else InsertKind.MESSAGE,
                _bodies(parts_of(link.seq)),
                stands_for=folded if summary else Ranges(),
                label="sent before the part that was kept",
            )


def _bodies(parts: Sequence[Part]) -> tuple[Part, ...]:
    return tuple(part for part in parts if part.kind is not PartKind.MARKER)


def _log(links: Sequence[Link]) -> _Log:
    log = _Log()
    known: dict[str, Message] = {}
    for link in links:
        log.last = link.seq
        facts: Mapping[str, Any] = link.facts or {}
        if link.sent and not link.lane:
            log.sent.append(link.seq)
            log.links[link.seq] = link
        what = facts.get("is")
        if what == "session":
            log.revert = _revert(facts.get("revert"))
            continue
        if what == "message" and link.native_id:
            message = Message(
                link.native_id,
                link.seq,
                link.seq,
                user="counts" not in facts,
                parent=link.native_parent,
                created=_number(facts.get("created")),
                summary=bool(facts.get("summary")),
                counts=bool(facts.get("counts")),
            )
            log.messages.append(message)
            if isinstance(facts.get("checkpoint"), str):
                log.checkpoints[link.seq] = facts["checkpoint"]
            known[message.id] = message
            continue
        owner = known.get(link.native_parent or "")
        if owner is None:
            continue
        owner.last = max(owner.last, link.seq)
        if link.native_id:
            log.parts.setdefault((owner.id, link.native_id), link.seq)
        if what == "compaction" and not owner.compacts:
            owner.compacts, owner.auto = True, bool(facts.get("auto"))
            tail = facts.get("tail")
            owner.tail = tail if isinstance(tail, str) else None
        when = _number(facts.get("cleared"))
        if when is not None and link.kind is Kind.TOOL_RESULT:
            log.cleared[link.seq] = when
    return log


def _revert(raw: Any) -> tuple[str, str | None] | None:
    if not isinstance(raw, list | tuple) or not raw or not isinstance(raw[0], str):
        return None
    part = raw[1] if len(raw) > 1 else None
    return raw[0], part if isinstance(part, str) else None


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
