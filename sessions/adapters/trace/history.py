"""What summaries, retractions and restorations made of the log: the live view is all messages less those replaced or retracted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sessions.adapters.base import Link, NativeVersion, PartsOf
from sessions.contexts import Edit, Hide, Insert, InsertKind, Replace
from sessions.entries import Role
from sessions.ranges import Ranges


@dataclass(slots=True)
class _Log:
    """What counts so far. `summaries`: of each its own entry and those it stands for. `again`: entry and the later one of its id."""

    sent: list[int] = field(default_factory=list)
    links: dict[int, Link] = field(default_factory=dict)
    by_id: dict[str, int] = field(default_factory=dict)
    retracted: set[int] = field(default_factory=set)
    summaries: dict[int, set[int]] = field(default_factory=dict)
    spans: dict[int, Ranges] = field(default_factory=dict)
    again: dict[int, int] = field(default_factory=dict)


def versions(links: Sequence[Link], parts_of: PartsOf) -> list[NativeVersion]:
    """One version for each summary, retraction, restoration and message written a second time, as far as they change anything."""
    out: list[NativeVersion] = []
    log = _Log()
    for link in links:
        what = link.facts.get("is")
        found: tuple[str, str] | None = None
        if what in ("retract", "restore"):
            found = _control(log, str(what), link.facts.get("ids"))
        elif link.sent and not link.lane:
            found = _message(log, link)
        if found is None:
            continue
        edits = _edits(log, parts_of)
        if not out or tuple(edits) != out[-1].edits:
            out.append(NativeVersion(found[0], link.seq, tuple(edits), found[1]))
    return out


def steady(link: Link) -> bool:
    """Whether the versions stay as they are after one more message, whose id is new."""
    return link.facts.get("is") not in ("retract", "restore", "summary")


def _control(log: _Log, op: str, ids: Any) -> tuple[str, str] | None:
    seqs = (
        {log.by_id[one] for one in ids if isinstance(one, str) and one in log.by_id}
        if isinstance(ids, list | tuple)
        else set()
    )
    if not seqs:
        return None
    if op == "retract":
        log.retracted |= seqs
        return "rollback", f"{len(seqs)} messages retracted" if len(seqs) > 1 else "A message retracted"
    for seq in seqs:
        if seq in log.retracted:
            log.retracted.discard(seq)
        elif log.summaries.pop(seq, None) is not None:
            log.retracted.add(seq)  # the summary goes with its effect
    return "revert", "Restored"


def _message(log: _Log, link: Link) -> tuple[str, str] | None:
    log.sent.append(link.seq)
    log.links[link.seq] = link
    first = log.by_id.get(link.native_id) if link.native_id else None
    if first is not None:
        log.again[first] = link.seq
        return "replacement", "A message was written anew"
    if link.native_id:
        log.by_id[link.native_id] = link.seq
    said = link.facts.get("replaces")
    if link.facts.get("is") != "summary" or not isinstance(said, Mapping):
        return None
    covered = _covered(log, link.seq, said)
    if not covered:
        return None
    log.summaries[link.seq] = covered
    log.spans[link.seq] = _closed(covered, log.sent)
    goal = said.get("goal_id")
    return "compaction", f"Goal {goal} summed up" if goal is not None else "Summed up"


def _covered(log: _Log, own: int, said: Mapping[str, Any]) -> set[int]:
    """The entries a summary stands for, and with another summary those that one stood for. None that come after it."""
    before = [seq for seq in log.sent if seq < own]
    out: set[int] = set()
    goal = said.get("goal_id")
    if isinstance(goal, str | int):
        out = {seq for seq in before if _is_of(log.links[seq].facts.get("goal"), str(goal))}
    elif isinstance(said.get("ids"), list | tuple):
        out = {log.by_id[one] for one in said["ids"] if isinstance(one, str) and one in log.by_id}
    elif isinstance(said.get("from"), str) and isinstance(said.get("to"), str):
        start, stop = log.by_id.get(said["from"]), log.by_id.get(said["to"])
        out = {seq for seq in before if start is not None and stop is not None and start <= seq <= stop}
    for summary in out & log.summaries.keys():
        out |= log.summaries[summary]
    return {seq for seq in out if seq < own}


def _is_of(goal: Any, wanted: str) -> bool:
    return isinstance(goal, str) and (goal == wanted or goal.startswith(f"{wanted}."))


def _edits(log: _Log, parts_of: PartsOf) -> list[Edit]:
    gone = set(log.retracted) | set(log.again.values())
    for seq in log.retracted:
        gone |= {log.again[seq]} if seq in log.again else set()
    live = {seq: covered for seq, covered in log.summaries.items() if seq not in log.retracted}
    folded = set().union(*live.values())
    inserts = [
        Insert(
            min(covered) - 1,
            log.links[seq].role or Role.USER,
            InsertKind.SUMMARY,
            parts_of(log.again.get(seq, seq)),
            stands_for=log.spans[seq],
        )
        for seq, covered in live.items()
        if seq not in folded
    ]
    gone |= folded | live.keys()
    edits: list[Edit] = []
    hidden = _closed(gone, log.sent)
    if hidden:
        edits.append(Hide(hidden))
    edits += [Replace(first, parts_of(later)) for first, later in log.again.items() if first not in gone]
    return [*edits, *sorted(inserts, key=lambda insert: insert.after)]


def _closed(members: set[int], sent: Sequence[int]) -> Ranges:
    """The members as few spans: what lies between two of them that is not sent is taken in. One look at each; `sent` is in order."""
    spans: list[tuple[int, int]] = []
    opened: int | None = None
    last = 0
    for seq in sent:
        if seq in members:
            opened = seq if opened is None else opened
            last = seq
        elif opened is not None:
            spans.append((opened, last + 1))
            opened = None
    return Ranges.of(spans if opened is None else [*spans, (opened, last + 1)])
