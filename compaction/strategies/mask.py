"""Mask: every older tool output gives way to one line that says what it was. No model, nothing folded, taken back at any time.

Observations are most of a session and can mostly be had again by making the call again; the calls themselves, with their paths and
commands, stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compaction.blocks import is_boundary
from compaction.finishing import finished
from compaction.folding import hopeless
from compaction.masks import LEAST_RESULT, calls_of, maskable, masks_at
from compaction.plan import Answer, Budget, Outcome, Plan, Snapshot, Status
from compaction.strategies.base import Param
from compaction.tools import output_of
from sessions.contexts import Item
from sessions.entries import PartKind


class Mask:
    id = "mask"
    version = 1
    label = "Mask old tool output"
    about = "Puts one line in the place of each older tool output. No model, and every output can be brought back."
    params: Sequence[Param] = (
        Param("results", "Newest results, whole", "count", 10, 0, source="Complexity Trap, August 2025: 10"),
        Param(
            "protect", "Newest tool output, whole", "tokens", 0, 0, source="Gemini CLI 0.56: 50,000; OpenCode: 40,000"
        ),
        Param("turns", "Newest turns, whole", "count", 0, 0, source="OpenCode: 2"),
        Param("free", "Only if it frees at least", "tokens", 0, 0, source="Gemini CLI 0.56: 30,000; OpenCode: 20,000"),
        Param("least", "Results of at least", "tokens", LEAST_RESULT, LEAST_RESULT, source="this product's own"),
        Param("errors", "Leave failed results whole", "flag", False, source="Manus, 2025: errors are kept"),
    )
    presets: Mapping[str, Mapping[str, Any]] = {
        "last 10": {},
        "50K / 30K": {"results": 0, "protect": 50_000, "free": 30_000},
        "40K / 20K, two turns": {"results": 0, "protect": 40_000, "free": 20_000, "turns": 2},
        "last 3": {"results": 3},
        "errors whole": {"errors": True},
    }

    def plan(self, snapshot: Snapshot, budget: Budget, params: Mapping[str, Any]) -> Plan:
        """Masks alone. Linear in the number of items."""
        name = f"{self.id}:{self.version}"
        refused = hopeless(name, snapshot, budget)
        if refused is not None:
            return refused
        masks, left = masks_at(snapshot, budget, _candidates(snapshot, params))
        freed = sum(snapshot.tokens[n] - cost for n, cost in left.items())
        facts = {"used": dict(params), "before": snapshot.total, "freed_by_masks": freed}
        if not masks:
            reason = "no tool output is older than what stays whole and large enough for a line to be shorter"
            return Plan(name, Status.NOOP_NOTHING_TO_DO, reason, facts=facts)
        if freed < params["free"]:
            reason = f"masks would free {freed:,} tokens, less than the {params['free']:,} asked for"
            return Plan(name, Status.NOOP_BELOW_THRESHOLD, reason, facts=facts)
        return Plan(name, Status.PRUNED_ONLY, masks=masks, facts=facts)

    def finish(self, plan: Plan, snapshot: Snapshot, answers: Sequence[Answer]) -> Outcome:
        """The masks as edits."""
        return finished(plan, snapshot, answers)


STRATEGY = Mask()


def _candidates(snapshot: Snapshot, params: Mapping[str, Any]) -> list[int]:
    """Positions of results that are neither among the newest nor protected, oldest first."""
    items, tokens, pinned = snapshot.items, snapshot.tokens, snapshot.pinned
    calls = calls_of(snapshot)
    newest, protect, newest_turns = params["results"], params["protect"], params["turns"]
    least, errors = params["least"], params["errors"]
    results = output = turns = 0
    found: list[int] = []
    for n in range(len(items) - 1, -1, -1):
        item = items[n]
        if turns < newest_turns:
            turns += is_boundary(item)
        if not item.results:
            continue
        young = results < newest or output < protect or turns < newest_turns
        results += 1
        if not item.masked:
            output += tokens[n]
        if young or tokens[n] < least or item.seq in pinned or not maskable(item, calls):
            continue
        if errors and _failed(item):
            continue
        found.append(n)
    return found[::-1]


def _failed(item: Item) -> bool:
    return any(output_of(part).failed for part in item.parts if part.kind is PartKind.TOOL_RESULT)
