"""Codex CLI's way of compacting by itself: the person's messages stay, the newest first and within a budget; everything else becomes a summary.

Its remote way hands the history to its provider and gets a sealed item back, which nobody else can read: the preset keeps what that way
keeps, and puts a readable summary in the place of the item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from compaction.blocks import is_boundary, newest_boundary
from compaction.finishing import finished
from compaction.folding import Places, hopeless, standing_of
from compaction.masks import in_pieces
from compaction.outputs import Left, replaced
from compaction.plan import Answer, Budget, Outcome, Plan, Snapshot, Status, SummaryAsk
from compaction.strategies.base import Param
from compaction.strategies.emulation import (
    Way,
    compact_param,
    costs_of,
    folded,
    light,
    opens,
    summary_param,
    threshold,
    threshold_param,
    used,
)
from compaction.summary.events import is_wrapper
from compaction.summary.shapes import PLAIN, SHAPES
from sessions.adapters.codex.shortening import shortened, tokens
from sessions.contexts import Insert, InsertKind, Item
from sessions.entries import Kind, Part, PartKind, Role
from sessions.ranges import Ranges
from sessions.windows.codex import CURRENT

ABORTED = "aborted"
IN_PLACE, BEFORE_LAST, AT_END = "where it is", "before the last message", "at the end"


class Codex:
    id = "codex"
    version = 1
    label = "Codex CLI"
    about = (
        "Keeps the person's newest messages, the first that does not fit cut in its middle; the rest becomes a summary."
    )
    params: Sequence[Param] = (
        Param(
            "messages", "Person's messages, at most", "tokens", 20_000, 0, source="Codex CLI 0.148: 20,000, bytes / 4"
        ),
        compact_param(),
        threshold_param("Codex CLI: nine tenths of the window"),
        Param(
            "initial",
            "Initial context",
            "choice",
            IN_PLACE,
            choices=(IN_PLACE, BEFORE_LAST, AT_END),
            source="Codex CLI 0.8x: first; 0.148: before the last message in the middle of a turn, else with the next message",
        ),
        Param("trim", "Drop the oldest over the window", "flag", True, source="Codex CLI 0.148"),
        Param(
            "shape", "Shape of the summary", "choice", PLAIN, choices=tuple(SHAPES), source="Codex CLI 0.148: free text"
        ),
        summary_param("Codex CLI sets no cap of its own"),
    )
    presets: Mapping[str, Mapping[str, Any]] = {
        "codex-0.148-local": {},
        "codex-0.148-local, mid-turn": {"initial": BEFORE_LAST},
        "codex-0.148-local, next turn": {"initial": AT_END},
        "codex-0.148-remote-v2-like": {"messages": 64_000},
        "codex-0.8x": {"trim": False},
    }

    def plan(self, snapshot: Snapshot, budget: Budget, params: Mapping[str, Any]) -> Plan:
        """Kept messages, some of them cut; one ask. Linear in the items."""
        name = f"{self.id}:{self.version}"
        refused = hopeless(name, snapshot, budget)
        if refused is not None:
            return refused
        at = threshold(params["threshold"], CURRENT, budget)
        facts: dict[str, Any] = {"used": used(params, threshold=at), "before": snapshot.total}
        whole = Left({}, snapshot.items, snapshot.tokens)
        done = light(name, params["compact"], snapshot.total, at, whole, facts)
        if done is not None:
            return done
        kept, cut = _kept(snapshot, params["messages"])
        facts |= {"kept_messages": len(kept), "cut_messages": len(cut)}
        less = replaced(snapshot, budget, cut)
        window = budget.window if params["trim"] else None
        way = Way(
            params["shape"],
            params["summary"],
            anchored=False,
            behind=True,
            reads=lambda items: trimmed(normalised(items), snapshot, window),
        )
        plan = folded(name, snapshot, less, way, kept, facts)
        over = _over(plan, snapshot, window)
        if over is not None:
            return Plan(name, Status.FAILED_CONTEXT_OVERFLOW, over, facts=facts)
        if plan.status is not Status.COMPLETED:
            # Cutting messages is part of its compaction, nothing it does for itself.
            return replace(plan, status=Status.NOOP_NOTHING_TO_DO, bodies={}, reason=plan.reason or _NOTHING)
        return _placed(plan, snapshot, params["initial"])

    def finish(self, plan: Plan, snapshot: Snapshot, answers: Sequence[Answer]) -> Outcome:
        return finished(plan, snapshot, answers)


STRATEGY = Codex()

_NOTHING = "nothing but the person's messages and earlier summaries would be folded"


def retained(texts: Sequence[str], budget: int) -> dict[int, str]:
    """Of messages in order, those that stay, by their place: the newest first while they fit in `budget` tokens; the first that does not is
    cut in its middle to what is left, and older ones go, however short.
    """
    kept: dict[int, str] = {}
    for n in range(len(texts) - 1, -1, -1):
        size = tokens([texts[n]])
        if size <= budget:
            kept[n] = texts[n]
            budget -= size
            continue
        if budget > 0:
            kept[n] = "".join(shortened([texts[n]], budget))
        break
    return dict(sorted(kept.items()))


def _kept(snapshot: Snapshot, budget: int) -> tuple[list[int], dict[int, tuple[Part, ...]]]:
    """Positions of the messages that stay, and the parts of those that stay without their pictures or their middle.

    The newest is charged to the budget and kept whole, whatever its size.
    """
    places = [n for n, item in enumerate(snapshot.items) if is_boundary(item)]
    if not places:
        return [], {}
    newest = places.pop()
    words = {n: _text(snapshot.items[n]) for n in places}
    room = max(0, budget - tokens([_text(snapshot.items[newest])]))
    texts = retained([words[n] for n in places], room)
    kept = [places[n] for n in texts if words[places[n]]]
    cut: dict[int, tuple[Part, ...]] = {}
    pieces = in_pieces(snapshot)
    for n, text in texts.items():
        item = snapshot.items[places[n]]
        bound = item.pinned or item.seq in snapshot.pinned or item.seq in pieces
        if item.seq is not None and not bound and words[places[n]] and (text != words[places[n]] or _has_media(item)):
            cut[places[n]] = (Part(PartKind.TEXT, text),)
    return [*kept, newest], cut


def _text(item: Item) -> str:
    return "\n".join(part.text for part in item.parts if part.kind is PartKind.TEXT and part.text)


def _has_media(item: Item) -> bool:
    return any(part.kind is PartKind.MEDIA for part in item.parts)


def normalised(items: Sequence[Item]) -> list[Item]:
    """The items with every call answered and every result asked for: a call without result gets one that says it was aborted, right behind
    it; a result without call goes.
    """
    answered = {call for item in items for call in item.results}
    asked: set[str] = set()
    out: list[Item] = []
    for item in items:
        orphans = {call for call in item.results if call not in asked} - set(item.calls)
        if orphans:
            parts = tuple(p for p in item.parts if p.kind is not PartKind.TOOL_RESULT or p.call_id not in orphans)
            if any(part.kind is not PartKind.MEDIA for part in parts):
                out.append(replace(item, parts=parts))
        else:
            out.append(item)
        asked.update(item.calls)
        out.extend(_aborted(call) for call in item.calls if call not in answered)
    return out


def _aborted(call: str) -> Item:
    part = Part(PartKind.TOOL_RESULT, ABORTED, call_id=call, is_error=True)
    return Item(f"aborted-{call}", None, Role.TOOL, Kind.TOOL_RESULT, (part,))


def trimmed(items: Sequence[Item], snapshot: Snapshot, window: int | None) -> list[Item]:
    """What is left for the summariser where all together is more than its window: the oldest go first, each with its call or its results;
    the newest stays with its own, whatever their size.
    """
    if window is None:
        return list(items)
    cost = costs_of(snapshot)
    over = sum(cost.get(item.key, 0) for item in items) - window
    partners: dict[str, list[int]] = {}
    for n, item in enumerate(items):
        for call in (*item.calls, *item.results):
            partners.setdefault(call, []).append(n)

    def together(n: int) -> set[int]:
        return {n, *(m for call in (*items[n].calls, *items[n].results) for m in partners[call])}

    last = together(len(items) - 1) if items else set()
    gone: set[int] = set()
    for n in range(len(items)):
        if over <= 0:
            break
        for other in together(n) - gone - last:
            gone.add(other)
            over -= cost.get(items[other].key, 0)
    return normalised([item for n, item in enumerate(items) if n not in gone]) if gone else list(items)


def _over(plan: Plan, snapshot: Snapshot, window: int | None) -> str | None:
    """Why not even what is left for the summariser fits its window, in words; None where it does."""
    ask = next((ask for ask in plan.asks if isinstance(ask, SummaryAsk)), None)
    if ask is None or window is None:
        return None
    cost = costs_of(snapshot)
    size = sum(cost.get(item.key, 0) for item in ask.items)
    if size <= window:
        return None
    return f"the newest entry to be summarised is {size:,} tokens with its call, more than the window of {window:,}: turn the trimming off to fold it anyway"


def _placed(plan: Plan, snapshot: Snapshot, initial: str) -> Plan:
    """The plan with the initial context (permissions, environment, instructions) moved to where this version of the agent puts it again."""
    if initial == IN_PLACE:
        return plan
    items = snapshot.items
    moved = [
        n
        for n in sorted(standing_of(snapshot))
        if items[n].kind is Kind.CONTEXT
        and items[n].seq is not None
        and not items[n].pinned
        and items[n].seq not in snapshot.pinned
        and (items[n].role in (Role.DEVELOPER, Role.SYSTEM) or is_wrapper(items[n].text))
    ]
    if not moved:
        return plan
    hidden = plan.fold | Ranges.from_numbers(seq for n in moved if (seq := items[n].seq) is not None)
    gone = {n for n, item in enumerate(items) if item.seq is not None and item.seq in hidden}
    if not opens([item for n, item in enumerate(items) if n not in gone]):
        return plan  # without it the model would speak first
    newest = newest_boundary(items)
    places = Places(snapshot, gone)
    before_last = initial == BEFORE_LAST and newest is not None
    after = places.before(newest) if before_last and newest is not None else max(plan.after, places.before(len(items)))
    copies = tuple(
        Insert(after, items[n].role or Role.USER, InsertKind.MESSAGE, items[n].parts, Ranges(), "Initial context")
        for n in moved
    )
    return replace(plan, fold=hidden, inserts=(*plan.inserts, *copies))
