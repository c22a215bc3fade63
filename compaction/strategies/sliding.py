"""Sliding window: the newest turns or tokens stay word for word, what is older is folded behind a summary, or behind one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compaction.blocks import is_boundary
from compaction.finishing import finished
from compaction.folding import LEAST_FOLD, blocks_of, fold_of, folded_behind, hopeless, worth
from compaction.merge import made_at
from compaction.plan import Answer, Budget, Outcome, Plan, Snapshot, Status
from compaction.strategies.base import Param
from compaction.summary.shapes import NINE

LEAST_SUMMARY = 250
_LEAST_LINE = 60  # tokens: less is not worth a line that says it is gone
_GROWS = 0.1
_WHOLE = 0.999


class Sliding:
    id = "sliding"
    version = 1
    label = "Sliding window"
    about = "Keeps the newest turns or tokens word for word and folds what is older behind a summary."
    params: Sequence[Param] = (
        Param("turns", "Newest turns to keep", "count", None, 1, source="this product's own", auto="as many as fit"),
        Param("tokens", "Newest tokens to keep", "tokens", None, 1, source="this product's own", auto="as many as fit"),
        Param(
            "share",
            "Where neither is given, fold the oldest",
            "share",
            0.3,
            0,
            1,
            source="Letta, 2025: 30 %, then 10 % more",
        ),
        Param(
            "aim",
            "Until there are at most",
            "tokens",
            None,
            1,
            source="this product's own",
            auto="the agent's own threshold, or the window; where neither is known the share is folded once",
        ),
        Param("summary", "Summary, at most (0: one line)", "tokens", 6_000, 0, source="this product's own"),
    )
    presets: Mapping[str, Mapping[str, Any]] = {
        "oldest 30 %": {},
        "last 10 turns": {"turns": 10},
        "last 40K": {"tokens": 40_000},
        "last 40K, no summary": {"tokens": 40_000, "summary": 0},
    }

    def plan(self, snapshot: Snapshot, budget: Budget, params: Mapping[str, Any]) -> Plan:
        """One fold of everything before the cut. Linear in the number of items."""
        name = f"{self.id}:{self.version}"
        refused = hopeless(name, snapshot, budget)
        if refused is not None:
            return refused
        facts: dict[str, Any] = {"used": dict(params), "before": snapshot.total}
        by_share = params["turns"] is None and params["tokens"] is None
        if by_share and made_at(snapshot) == snapshot.last_seq:
            reason = (
                f"nothing came since the compaction at entry {snapshot.last_seq}; say how much to keep to go further"
            )
            return Plan(name, Status.NOOP_NOTHING_TO_DO, reason, facts=facts)
        cut = _by_share(snapshot, budget, params) if by_share else _newest(snapshot, params)
        fold = fold_of(snapshot, range(cut))
        fresh = worth(snapshot, fold)
        if fresh < (LEAST_FOLD if params["summary"] else _LEAST_LINE):
            reason = f"only {fresh:,} tokens are older than what is kept and may be folded"
            return Plan(name, Status.NOOP_NOTHING_TO_DO, reason, facts=facts)
        most = max(LEAST_SUMMARY, min(params["summary"], sum(snapshot.tokens[n] for n in fold) // 2))
        facts |= {"summary_max": most if params["summary"] else 0, "ends_before_a_message": _spoken_at(snapshot, cut)}
        return folded_behind(name, snapshot, fold, summary=most if params["summary"] else 0, template=NINE, facts=facts)

    def finish(self, plan: Plan, snapshot: Snapshot, answers: Sequence[Answer]) -> Outcome:
        """The fold as edits."""
        return finished(plan, snapshot, answers)


STRATEGY = Sliding()


def _newest(snapshot: Snapshot, params: Mapping[str, Any]) -> int:
    """The position before which is folded, where a person says how much to keep: of turns and tokens whichever keeps less."""
    items = snapshot.items
    spoken = [n for n, item in enumerate(items) if is_boundary(item)]
    by_turns = 0
    if params["turns"] is not None and len(spoken) >= params["turns"]:
        by_turns = spoken[-params["turns"]]
    by_tokens = 0
    if params["tokens"] is not None:
        by_tokens = _allowed(snapshot, _tail(snapshot, params["tokens"]), params["tokens"] // 2)
    return max(by_turns, by_tokens)


def _tail(snapshot: Snapshot, most: int) -> int:
    """The position from which on there are at most so many tokens."""
    left = most
    for n in range(len(snapshot.items) - 1, -1, -1):
        left -= snapshot.tokens[n]
        if left < 0:
            return n + 1
    return 0


def _by_share(snapshot: Snapshot, budget: Budget, params: Mapping[str, Any]) -> int:
    """The position that parts off the oldest share, grown by a tenth at a time until what is left is at most the aim."""
    aim = params["aim"] or budget.threshold or budget.window
    share = params["share"]
    total = snapshot.total
    while aim is not None and share < _WHOLE and total * (1 - share) + params["summary"] > aim:
        share += _GROWS
    far = _tail(snapshot, int(total * (1 - min(share, 1.0))))
    return _allowed(snapshot, far, 0)


def _allowed(snapshot: Snapshot, far: int, least: int) -> int:
    """The first place at or behind `far` where a context may be cut: before a person's message, as long as `least` tokens stay behind it."""
    items, tokens = snapshot.items, snapshot.tokens
    allowed = blocks_of(snapshot).cuts()
    behind = sum(tokens[far:])
    for n in range(far, len(items)):
        if behind < least:
            break
        if allowed[n] and is_boundary(items[n]):
            return n
        behind -= tokens[n]
    return next((n for n in range(far, len(items)) if allowed[n]), len(items))


def _spoken_at(snapshot: Snapshot, cut: int) -> bool:
    return cut < len(snapshot.items) and is_boundary(snapshot.items[cut])
