"""The versions that Codex itself made: one for each compaction, rollback and revert of the log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sessions.adapters.base import Link, NativeVersion, PartsOf
from sessions.adapters.codex.meta import version_of
from sessions.adapters.codex.replay import MARKS, Replay, mark_of
from sessions.contexts import Edit, Hide, Insert, Replace
from sessions.entries import Facts
from sessions.ranges import Ranges

_LOSES = (0, 148)  # up to this version a rollback across a compaction loses all that stood before it
_WARNING = (
    "This rollback reaches past a compaction. The version of Codex that wrote it loses the history before that compaction; "
    "0.171 and later bring it back, as shown here."
)


def versions(links: Sequence[Link], parts_of: PartsOf, facts: Facts) -> list[NativeVersion]:
    """The agent's versions, oldest first. Linear in the links, but for what each compaction keeps."""
    replay = Replay(links, parts_of)
    hidden = _Hidden(links)
    out: list[NativeVersion] = []
    sources: list[int] = []
    loses = facts.agent_version is not None and version_of(facts.agent_version) <= _LOSES
    for at, link in enumerate(links):
        if link.facts.get("src"):
            sources.append(at)
        mark = link.facts.get("mark")
        if mark == "meta":
            dead = _beyond(links, at, sources) - replay.dead
            if any(links[place].sent for place in dead):
                replay.cut(dead, at)
                hidden.rebuild(replay, at)
                out.append(_version("revert", link, replay, hidden, _reverted(dead, links)))
            continue
        base = replay.base
        replay.line(at)
        if mark not in ("compaction", "rollback"):
            continue
        if replay.rebuilt:
            hidden.rebuild(replay, at)
        else:
            hidden.change(replay.gone, replay.back)
        if mark == "compaction":
            out.append(_version("compaction", link, replay, hidden, _compacted(link, replay, at)))
        else:
            told: dict[str, Any] = {"turns": link.facts.get("n")}
            if replay.base != base:
                told["undid_compaction"] = True
                if loses:
                    told["warning"] = _WARNING
            out.append(_version("rollback", link, replay, hidden, told))
    if out and replay.end(len(links) - 1):
        hidden.rebuild(replay, len(links) - 1)
        out.append(_version("rollback", links[-1], replay, hidden, {"undid_compaction": True, "turns": 0}))
    return out


def tip_of(links: Sequence[Link]) -> dict[str, Any]:
    """Whether anything was rolled back or reverted: from then on marks of turns can change what the log stands on."""
    return {"undone": any(link.facts.get("mark") == "rollback" for link in links) or len(_metas(links)) > 1}


def steady(tip: Mapping[str, Any], link: Link) -> bool:
    """Whether the versions stay as they are after one more line. Without rollbacks the newest compaction stays the base."""
    mark = mark_of(link)
    return not mark or (mark in MARKS and not tip["undone"])


def _metas(links: Sequence[Link]) -> list[Link]:
    return [link for link in links if link.facts.get("mark") == "meta"]


def _version(kind: str, link: Link, replay: Replay, hidden: _Hidden, told: Mapping[str, Any]) -> NativeVersion:
    edits: list[Edit] = []
    if hidden.ranges:
        edits.append(Hide(hidden.ranges))
    shown = {place for place in replay.view if place >= 0} if replay.bodies else set()
    edits.extend(
        Replace(replay.links[place].seq, body) for place, body in sorted(replay.bodies.items()) if place in shown
    )
    edits.extend(
        Insert(one.after, one.role, one.kind, one.parts, one.stands_for, "compaction" if one.stands_for else "")
        for one in replay.inserted()
    )
    return NativeVersion(kind, link.seq, tuple(edits), _label(kind, told), told)


def _label(kind: str, told: Mapping[str, Any]) -> str:
    if kind == "rollback" and not told.get("turns") and told.get("undid_compaction"):
        return "Compaction taken back"
    if kind == "rollback":
        turns = told.get("turns") or 0
        return f"Rolled back {turns} turn{'' if turns == 1 else 's'}"
    if kind == "revert":
        return "Reverted to an earlier point"
    return "Compacted by the provider" if told.get("sealed") else "Compacted"


def _compacted(link: Link, replay: Replay, at: int) -> dict[str, Any]:
    whole = bool(link.facts.get("whole"))
    told: dict[str, Any] = {"recorded_history": whole}
    if whole and replay.base != at:
        told["discarded"] = True  # a rollback before it in the same segment takes it along when the log is read again
    for name, key in (("tokens_before", "before"), ("window_number", "window")):
        if key in link.facts:
            told[name] = link.facts[key]
    if any(part.signed for one in replay.inserted() for part in one.parts):
        told["sealed"] = True
    return told


def _reverted(dead: set[int], links: Sequence[Link]) -> dict[str, Any]:
    return {"entries": sum(1 for place in dead if links[place].sent)}


def _beyond(links: Sequence[Link], at: int, sources: Sequence[int]) -> set[int]:
    """Places of earlier sources that lie beyond where the source at `at` begins to differ from them."""
    cut = links[at].facts.get("cut")
    if not isinstance(cut, Mapping) or len(sources) < 2:
        return set()
    offset, ordinal = cut.get("offset"), cut.get("ordinal")
    out: set[int] = set()
    bounds = list(zip(sources, [*sources[1:], at], strict=True))[:-1]
    for n, (start, stop) in enumerate(bounds):
        if n == len(bounds) - 1 and isinstance(offset, int):
            out.update(_past_offset(links, start, stop, offset))
        elif isinstance(ordinal, int) and isinstance(first := links[start].facts.get("ord"), int):
            out.update(range(max(start, start + ordinal - first), stop))
    return out


def _past_offset(links: Sequence[Link], start: int, stop: int, offset: int) -> Iterator[int]:
    here = 0
    for place in range(start, stop):
        if here >= offset:
            yield place
        here += links[place].length


class _Hidden:
    """The entries of the log that the view leaves out, as few spans as neighbours allow."""

    def __init__(self, links: Sequence[Link]) -> None:
        self.links = links
        self.ranges = Ranges()
        self.rank: dict[int, int] = {}
        for place, link in enumerate(links):
            if link.sent:
                self.rank[place] = len(self.rank)

    def change(self, gone: Iterable[int], back: Iterable[int]) -> None:
        spans = self._spans(place for place in gone if place >= 0)
        self.ranges = Ranges.of((*self.ranges.spans, *spans))
        returned = [self.links[place].seq for place in back]
        if returned:
            self.ranges -= Ranges.from_numbers(returned)

    def rebuild(self, replay: Replay, upto: int) -> None:
        shown = set(replay.view)
        self.ranges = Ranges.of(self._spans(place for place in self.rank if place <= upto and place not in shown))

    def _spans(self, places: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Spans of seq: entries that follow one another among those sent become one."""
        start = last = -1
        for place in sorted(places):
            if last >= 0 and self.rank[place] == self.rank[last] + 1:
                last = place
                continue
            if last >= 0:
                yield self.links[start].seq, self.links[last].seq + 1
            start = last = place
        if last >= 0:
            yield self.links[start].seq, self.links[last].seq + 1
