"""UniversalAIClient's way: at a fixed size, all but the last two messages become a plain summary in the language of the conversation.

It is told only by a description, which leaves open where a message ends that holds calls: here the kept part reaches back to the beginning of
its answer, so that no result stands without its call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compaction.finishing import finished
from compaction.folding import blocks_of, hopeless
from compaction.outputs import Left
from compaction.plan import Answer, Budget, Outcome, Plan, Snapshot, Status
from compaction.strategies.base import Param
from compaction.strategies.emulation import LEAST_SUMMARY, Way, folded, tail_to, used
from compaction.summary.shapes import NINE, PLAIN
from sessions.meters import by_id


class Universal:
    id = "universal"
    version = 1
    label = "UniversalAIClient"
    about = "From 1,000 tokens on, everything but the last two messages becomes a plain summary."
    params: Sequence[Param] = (
        Param("threshold", "Only from", "tokens", 1_000, 0, source="UniversalAIClient, 2025: 1,000, characters / 4"),
        Param("keep", "Last messages, kept", "count", 2, 0, source="UniversalAIClient, 2025: 2"),
        Param("share", "Summary, of what it stands for", "share", 0.3, 0, 1, source="UniversalAIClient, 2025: 0.3"),
        Param(
            "shape",
            "Shape of the summary",
            "choice",
            PLAIN,
            choices=(PLAIN, NINE),
            source="UniversalAIClient, 2025: plain; sections are its description's own proposal",
        ),
        Param(
            "summary",
            "Summary, at most",
            "tokens",
            None,
            LEAST_SUMMARY,
            source="UniversalAIClient, 2025",
            auto="the share of what it stands for",
        ),
    )
    presets: Mapping[str, Mapping[str, Any]] = {"universal": {}, "universal, in sections": {"shape": NINE}}

    def plan(self, snapshot: Snapshot, budget: Budget, params: Mapping[str, Any]) -> Plan:
        """The kept messages and one ask. Linear in the items."""
        name = f"{self.id}:{self.version}"
        refused = hopeless(name, snapshot, budget)
        if refused is not None:
            return refused
        items = snapshot.items
        facts: dict[str, Any] = {"used": used(params), "before": snapshot.total}
        if len(items) <= params["keep"]:
            reason = f"the context holds {len(items)} messages, no more than the {params['keep']} that are kept"
            return Plan(name, Status.NOOP_NOTHING_TO_DO, reason, facts=facts)
        size = by_id("universal-chars4").total(item.sizes for item in items)
        if size < params["threshold"]:
            reason = f"the context is {size:,} tokens by its rule, under its threshold of {params['threshold']:,}"
            return Plan(name, Status.NOOP_BELOW_THRESHOLD, reason, facts=facts)
        start = tail_to(blocks_of(snapshot).cuts(), len(items) - params["keep"])
        most = max(LEAST_SUMMARY, int(params["share"] * sum(snapshot.tokens[:start])))
        given = params["summary"]
        way = Way(params["shape"], most if given is None else min(given, most), anchored=False)
        whole = Left({}, items, snapshot.tokens)
        return folded(name, snapshot, whole, way, range(start, len(items)), facts)

    def finish(self, plan: Plan, snapshot: Snapshot, answers: Sequence[Answer]) -> Outcome:
        return finished(plan, snapshot, answers)


STRATEGY = Universal()
