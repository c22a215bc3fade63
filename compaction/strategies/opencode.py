"""OpenCode's way: clear old tool outputs first, then summarise all but the newest turns and carry that summary on from run to run.

Engine 1 (1.x) keeps the newest turns within a share of what is usable; engine 2 (2.0) the newest messages within a fixed size. Engine 2
stores that tail as text; here its entries stay entries. Where a context has overflowed, OpenCode posts the newest message again behind the
summary: here it stays, and that is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from compaction.blocks import is_boundary
from compaction.finishing import finished
from compaction.folding import blocks_of, hopeless, is_summary
from compaction.outputs import CLEARED, Output, left, outputs_of
from compaction.plan import Answer, Budget, Outcome, Plan, Snapshot
from compaction.strategies.base import Param
from compaction.strategies.emulation import (
    Way,
    compact_param,
    folded,
    light,
    summary_param,
    tail_from,
    tail_to,
    threshold,
    threshold_param,
    used,
)
from compaction.summary.shapes import DISCOVERIES, PLAIN, REQUIREMENTS, WORK_STATE
from sessions.contexts import Item
from sessions.entries import PartKind
from sessions.meters import by_id
from sessions.meters.tokens import sent_texts
from sessions.windows.opencode import ONE, TWO

TURNS, MESSAGES = "newest turns", "newest messages"

_SHARE = 4  # of what is usable, a fourth may be kept
_LEAST_TAIL = 2_000


class OpenCode:
    id = "opencode"
    version = 1
    label = "OpenCode"
    about = "Clears old tool outputs, then summarises all but the newest turns; the earlier summary is carried on."
    params: Sequence[Param] = (
        Param("prune", "Clear old outputs", "flag", False, source="OpenCode 1.18: off; in its first releases on"),
        Param("protect", "Newest output, whole", "tokens", 40_000, 0, source="OpenCode 1.x: 40,000"),
        Param("minimum", "Clear only more than", "tokens", 20_000, 0, source="OpenCode 1.x: 20,000"),
        Param("turns", "Newest turns, uncleared", "count", 2, 0, source="OpenCode 1.x: 2"),
        Param("exempt", "Tools never cleared", "text", "skill", source="OpenCode 1.x: skill"),
        compact_param(),
        threshold_param("OpenCode: what is usable of the window"),
        Param("tail", "Kept whole", "choice", TURNS, choices=(TURNS, MESSAGES), source="OpenCode 1.18; 2.0"),
        Param("tail_turns", "Newest turns kept", "count", 2, 0, source="OpenCode 1.18: 2"),
        Param(
            "tail_tokens",
            "Kept, at most",
            "tokens",
            None,
            0,
            source="OpenCode 1.18: 8,000; later 1.x and 2.0: 15,000",
            auto="a fourth of what is usable, at least 2,000 and at most 8,000 (newest messages: 15,000)",
        ),
        Param(
            "shape",
            "Shape of the summary",
            "choice",
            WORK_STATE,
            choices=(PLAIN, DISCOVERIES, WORK_STATE, REQUIREMENTS),
            source="OpenCode: first releases; 1.2; 1.18; 2.0",
        ),
        Param("anchored", "Carry the earlier summary on", "flag", True, source="OpenCode 1.18"),
        Param("shown", "Of each output, the summariser reads", "count", 2_000, 0, source="OpenCode 1.x: characters"),
        summary_param("OpenCode sets no cap of its own"),
    )
    presets: Mapping[str, Mapping[str, Any]] = {
        "opencode-1.18": {},
        "opencode-1.x, newest": {"tail_tokens": 15_000},
        "opencode-2.0": {"tail": MESSAGES, "shape": REQUIREMENTS},
        "opencode-1.2": {"prune": True, "tail_turns": 0, "shape": DISCOVERIES, "anchored": False},
        "opencode-seed": {"prune": True, "tail_turns": 0, "shape": PLAIN, "anchored": False},
        "prune only": {"prune": True, "compact": "never"},
    }

    def plan(self, snapshot: Snapshot, budget: Budget, params: Mapping[str, Any]) -> Plan:
        """Cleared outputs, the tail, and one ask. Linear in the items."""
        name = f"{self.id}:{self.version}"
        refused = hopeless(name, snapshot, budget)
        if refused is not None:
            return refused
        messages = params["tail"] == MESSAGES
        at = threshold(params["threshold"], TWO if messages else ONE, budget)
        room = _tail_tokens(params["tail_tokens"], at, messages=messages)
        facts: dict[str, Any] = {
            "used": used(params, threshold=at, tail_tokens=room),
            "before": snapshot.total,
        }
        cleared = pruned(snapshot, params) if params["prune"] else []
        less = left(snapshot, budget, [(output, CLEARED) for output in cleared])
        facts["cleared_outputs"] = len(cleared)
        done = light(name, params["compact"], less.total, at, less, facts)
        if done is not None:
            return done
        start = (
            newest_messages(less.items, snapshot, room)
            if messages
            else newest_turns(snapshot, less.items, params["tail_turns"], room)
        )
        facts["tail_from"] = next((item.seq for item in snapshot.items[start:] if item.seq is not None), None)
        way = Way(
            params["shape"],
            params["summary"],
            anchored=params["anchored"],
            reads=lambda items: [shown(item, params["shown"]) for item in items],
        )
        return folded(name, snapshot, less, way, range(start, len(snapshot.items)), facts)

    def finish(self, plan: Plan, snapshot: Snapshot, answers: Sequence[Answer]) -> Outcome:
        return finished(plan, snapshot, answers)


STRATEGY = OpenCode()


def pruned(snapshot: Snapshot, params: Mapping[str, Any]) -> list[Output]:
    """The outputs that would be cleared, the newest first: all beyond `protect` in older turns, where they are more than `minimum` together.

    The walk goes from the newest item to the last summary, or to the first output that was cleared before. Failed outputs stay, those of exempt
    tools are not even counted.
    """
    exempt = {word.strip().lower() for word in params["exempt"].split(",")}
    oldest = _within(snapshot.items, params["turns"])
    last = max((n for n, item in enumerate(snapshot.items) if is_summary(item)), default=-1)
    found: list[Output] = []
    total = freed = 0
    for output in outputs_of(snapshot):
        if output.n >= oldest:
            continue
        if output.n < last or output.less:
            break
        if output.part.is_error or output.tool.lower() in exempt or not output.free:
            continue
        size = chars4(output.part.text)
        total += size
        if total > params["protect"]:
            found.append(output)
            freed += size
    return found if freed > params["minimum"] else []


def _within(items: Sequence[Item], turns: int) -> int:
    """The position at which the newest `turns` turns begin; 0 where there are not as many."""
    if turns <= 0:
        return len(items)
    starts = [n for n, item in enumerate(items) if is_boundary(item)]
    return starts[-turns] if len(starts) >= turns else 0


def chars4(text: str) -> int:
    """OpenCode's estimate of a text: a fourth of its UTF-16 units, rounded half up."""
    units = len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
    return (units + 2) // 4


def _tail_tokens(given: int | None, usable: int | None, *, messages: bool) -> int:
    if given is not None:
        return int(given)
    if messages:
        return 15_000
    return 8_000 if usable is None else min(8_000, max(_LEAST_TAIL, usable // _SHARE))


def newest_turns(snapshot: Snapshot, items: Sequence[Item], turns: int, room: int) -> int:
    """Where the kept tail begins: the newest turns that fit in `room`, and of the first that does not its newest part; the end where nothing
    does, or where all would be kept.

    A part ends where no answer is parted from its results. OpenCode summarises everything where the tail would be the whole history; where
    an earlier summary stands before it or in it, the tail is what that compaction kept, and stays: else each further one would take it.
    """
    end = len(items)
    starts = _turns(items)[-turns:] if turns > 0 else []
    cuts = blocks_of(snapshot).cuts()
    start, total, stop = end, 0, end
    for first in reversed(starts):
        n = stop
        while n > first and (more := total + estimate(items[n - 1], "opencode-chars4-1")) <= room:
            n -= 1
            total = more
        if n > first:  # it does not fit whole
            n = tail_from(cuts, max(n, first + 1))
            start = min(start, n)
            break
        start = stop = first
    return end if start == 0 and not any(map(is_summary, items)) else start


def _turns(items: Sequence[Item]) -> list[int]:
    """Where turns begin: at a person's message, and behind the newest summary, with what is left of a turn that was cut through."""
    starts = {n for n, item in enumerate(items) if is_boundary(item)}
    last = max((n for n, item in enumerate(items) if is_summary(item)), default=None)
    if last is not None and last + 1 < len(items):
        starts.add(last + 1)
    return sorted(starts)


def newest_messages(items: Sequence[Item], snapshot: Snapshot, room: int) -> int:
    """Where the kept tail of engine 2 begins: at least one message and what fits in `room`, moved back to a person's message.

    Where everything fits only the newest exchange is kept, and nothing where that is all there is.
    """
    n, total = len(items), 0
    while n > 0 and ((more := total + estimate(items[n - 1], "opencode-chars4")) <= room or n == len(items)):
        n -= 1
        total = more
    starts = [at for at, item in enumerate(items) if is_boundary(item)]
    back = max((at for at in starts if at <= n), default=0)
    if n == 0 or back == 0:
        back = starts[-1] if starts else 0
    return tail_to(blocks_of(snapshot).cuts(), back) or len(items)


def estimate(item: Item, meter: str) -> int:
    """An item by one of OpenCode's estimates; of one left with less, its texts."""
    if item.masked:
        return sum(chars4(text) for part in item.parts for text in sent_texts(part))
    return by_id(meter).of(item.sizes)


def shown(item: Item, most: int) -> Item:
    """The item as the summariser reads it: each output cut at `most` characters."""
    if not any(part.kind is PartKind.TOOL_RESULT and len(part.text) > most for part in item.parts):
        return item
    parts = tuple(
        replace(part, text=part.text[:most] + "\n[truncated]")
        if part.kind is PartKind.TOOL_RESULT and len(part.text) > most
        else part
        for part in item.parts
    )
    return replace(item, parts=parts)
