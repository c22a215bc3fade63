"""Pi: about 20,000 newest tokens stay, never cut at a tool result; a turn that is cut through gets a summary of its own.

Built by pi's rules (badlogic/pi-mono, 2026): it compacts where the window less a reserve is passed, and names beside the summary all files read
and changed so far, those of earlier compactions included. Its summaries of branches one has left have no counterpart here: a branch
that is left is a version of its own and stays readable whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compaction.blocks import is_boundary
from compaction.finishing import finished
from compaction.folding import LEAST_FOLD, Places, blocks_of, fold_of, hopeless, numbers_of, spans, worth
from compaction.plan import Answer, Budget, Fold, Outcome, Plan, Snapshot, Status, SummaryAsk
from compaction.strategies.base import Param
from compaction.summary.facts import edits_of
from compaction.summary.shapes import NINE
from compaction.tools import ToolKind, understand
from sessions.entries import PartKind

LEAST_SUMMARY = 250
_PATHS = 60  # of each list, the newest


class Pi:
    id = "pi"
    version = 1
    label = "pi"
    about = "Keeps about 20,000 newest tokens; summarises the rest, a turn that is cut through on its own, and lists all files so far."
    params: Sequence[Param] = (
        Param("keep", "Newest, word for word", "tokens", 20_000, 1, source="pi, 2026: keepRecentTokens 20,000"),
        Param("reserve", "Reserve of the window", "tokens", 16_384, 0, source="pi, 2026: reserveTokens 16,384"),
        Param(
            "full", "Only where window less reserve is passed", "flag", False, source="pi, 2026: automatic compaction"
        ),
        Param("summary", "Summary, at most", "tokens", 6_000, LEAST_SUMMARY, source="this product's own"),
        Param("files", "List files read and changed", "flag", True, source="pi, 2026"),
    )
    presets: Mapping[str, Mapping[str, Any]] = {"by hand": {}, "automatic": {"full": True}}

    def plan(self, snapshot: Snapshot, budget: Budget, params: Mapping[str, Any]) -> Plan:
        """One fold, or two where a turn is cut through. Linear in the number of items."""
        name = f"{self.id}:{self.version}"
        refused = hopeless(name, snapshot, budget)
        if refused is not None:
            return refused
        facts: dict[str, Any] = {"used": dict(params), "before": snapshot.total}
        if params["full"] and budget.window is not None and snapshot.total <= budget.window - params["reserve"]:
            reason = f"{snapshot.total:,} tokens fit into the window of {budget.window:,} less {params['reserve']:,}"
            return Plan(name, Status.NOOP_BELOW_THRESHOLD, reason, facts=facts)
        cut = _cut(snapshot, params["keep"])
        turn = next((n for n in range(cut, -1, -1) if n < len(snapshot.items) and is_boundary(snapshot.items[n])), cut)
        history, start = fold_of(snapshot, range(turn)), fold_of(snapshot, range(turn, cut))
        if worth(snapshot, start) < LEAST_FOLD or worth(snapshot, history) < LEAST_FOLD:
            history, start = history | start, set()
        fresh = worth(snapshot, history)
        if fresh < LEAST_FOLD:
            reason = f"only {fresh:,} tokens are older than the newest {params['keep']:,} and may be folded"
            return Plan(name, Status.NOOP_NOTHING_TO_DO, reason, facts=facts)
        return _folded(name, snapshot, budget, params, [history, start] if start else [history], facts)

    def finish(self, plan: Plan, snapshot: Snapshot, answers: Sequence[Answer]) -> Outcome:
        """The folds as edits."""
        return finished(plan, snapshot, answers)


STRATEGY = Pi()


def _cut(snapshot: Snapshot, keep: int) -> int:
    """The latest place at which `keep` tokens or more stay behind the cut and no answer is parted from its results."""
    allowed = blocks_of(snapshot).cuts()
    tail = 0
    for n in range(len(snapshot.items) - 1, -1, -1):
        tail += snapshot.tokens[n]
        if tail >= keep and allowed[n]:
            return n
    return 0


def _folded(
    name: str,
    snapshot: Snapshot,
    budget: Budget,
    params: Mapping[str, Any],
    parts: Sequence[set[int]],
    facts: dict[str, Any],
) -> Plan:
    items = snapshot.items
    gone = set().union(*parts)
    kept = tuple(item for n, item in enumerate(items) if n not in gone)
    places = Places(snapshot, gone)
    listed = _files(snapshot) if params["files"] else ""
    extra = budget.count([listed])[0]
    folds: list[Fold] = []
    asks: list[SummaryAsk] = []
    for part, key, label in zip(parts, ("summary", "turn"), ("Summary", "Start of the turn"), strict=False):
        last = part is parts[-1]
        size = sum(snapshot.tokens[n] for n in part)
        if last and size < 2 * (extra + LEAST_SUMMARY):
            listed, extra = "", 0  # the lists would be longer than what is folded
        most = max(LEAST_SUMMARY, min(params["summary"], size // 2 - extra * last))
        asks.append(SummaryAsk(key, tuple(items[n] for n in sorted(part)), kept, most, template=NINE))
        head = "The turn that goes on below began like this." if key == "turn" else ""
        tail = listed if last else ""
        folds.append(
            Fold(key, spans(part, items), places.before(min(part)), label, head, tail, numbers_of(items, part))
        )
    facts |= {
        "folded_entries": sum(1 for n in gone if items[n].seq is not None),
        "folded_tokens": sum(snapshot.tokens[n] for n in gone),
        "split_turn": len(parts) > 1,
        "summary_max": sum(ask.max_tokens for ask in asks),
    }
    return Plan(
        name,
        fold=spans(gone, items),
        absorb=numbers_of(items, gone),
        folds=tuple(folds),
        after=folds[0].after,
        files_after=folds[-1].after,
        asks=tuple(asks),
        facts=facts,
    )


def _files(snapshot: Snapshot) -> str:
    """Two lists over the whole transcript, the latest use last: files only read, and files changed."""
    read: dict[str, None] = {}
    changed: dict[str, None] = {}
    for item in snapshot.log() or snapshot.items:
        for part in item.parts:
            if part.kind is not PartKind.TOOL_CALL:
                continue
            call = understand(part, item.seq)
            if call.kind is ToolKind.READ and call.path:
                read.pop(call.path, None)
                read[call.path] = None
            elif call.kind in (ToolKind.EDIT, ToolKind.WRITE, ToolKind.PATCH):
                for path, *_ in edits_of(call):
                    changed.pop(path, None)
                    changed[path] = None
    lists = (
        ("Files read so far", [path for path in read if path not in changed]),
        ("Files changed so far", [*changed]),
    )
    return "\n\n".join(f"{title}:\n" + "\n".join(found[-_PATHS:]) for title, found in lists if found)
