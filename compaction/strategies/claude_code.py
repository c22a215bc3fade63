"""Claude Code's way: old results are cleared by count or once the provider's cache is cold; then the session's memory takes the place of what it
covers, or, without a memory, nine sections that of everything; files, skills and the plan come back behind them.

Its figures come from write-ups and from a seed, not from its maker. Clearing by count happens on the provider's side there; here it is a
mask like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from compaction.finishing import finished
from compaction.folding import hopeless
from compaction.outputs import CLEARED, Output, left, outputs_of
from compaction.plan import Answer, Budget, Outcome, Plan, Snapshot
from compaction.strategies.base import Param
from compaction.strategies.emulation import (
    Again,
    Way,
    compact_param,
    costs_of,
    folded,
    light,
    summary_param,
    threshold,
    threshold_param,
    used,
)
from compaction.strategies.remembering import Kept, remembered
from compaction.summary.shapes import NINE
from compaction.tools import ToolKind
from sessions.contexts import Item
from sessions.entries import PartKind, Role
from sessions.windows import Name, Rule, window
from sessions.windows.base import Limits
from sessions.windows.claude_code import CURRENT, PREDICTIVE, SEED, TIERED

NOTHING, COUNT, COLD, EITHER = "nothing", "by count", "with a cold cache", "by count or with a cold cache"
RULES: Mapping[str, Rule] = {
    "2.1": CURRENT,
    "187K of 200K": SEED,
    "2.1, predictive": PREDICTIVE,
    "2.1, tiered buffer": TIERED,
}

CLEARABLE = frozenset(
    {ToolKind.READ, ToolKind.EDIT, ToolKind.WRITE, ToolKind.PATCH, ToolKind.RUN, ToolKind.SEARCH, ToolKind.FETCH}
)

_CAP = 20_000
_UPS = "write-ups of Claude Code 2.1"


class ClaudeCode:
    id = "claude-code"
    version = 2
    label = "Claude Code"
    about = "Clears old results, then puts the session memory or nine sections in the place of the rest; files, skills and plan return."
    params: Sequence[Param] = (
        Param("micro", "Clear old results", "choice", EITHER, choices=(NOTHING, COUNT, COLD, EITHER), source=_UPS),
        Param("results", "By count: newest, whole", "count", 12, 0, source=f"{_UPS}: 12; a seed: 10 to 15"),
        Param("minutes", "Cold after minutes", "count", 60, 0, source=f"{_UPS}: 60; a seed: 60 to 120"),
        Param("cold_results", "Cold: newest, whole", "count", 5, 0, source=f"{_UPS}: 5"),
        compact_param(),
        Param("rule", "Threshold of", "choice", "2.1", choices=tuple(RULES), source=f"{_UPS}; 187K: a seed"),
        threshold_param(_UPS),
        Param("memory", "Session memory first", "flag", True, source=_UPS),
        Param("memory_least", "Behind a memory, at least", "tokens", 10_000, 0, source=f"{_UPS}: 10,000"),
        Param("memory_messages", "Messages behind a memory", "count", 5, 0, source=f"{_UPS}: 5"),
        Param("memory_most", "Behind a memory, at most", "tokens", 40_000, 0, source=f"{_UPS}: 40,000"),
        Param("memory_tokens", "Of the memory, at most", "tokens", 12_000, 0, source=f"{_UPS}: 12,000"),
        summary_param(f"{_UPS}: {_CAP:,}"),
        Param("files", "Files to bring back", "count", 5, 0, 50, source=f"{_UPS}: 5"),
        Param("file_each", "Of each file, at most", "tokens", 5_000, 0, source=f"{_UPS}: 5,000"),
        Param("file_total", "Of all files, at most", "tokens", 50_000, 0, source=f"{_UPS}: 50,000"),
        Param("skill_each", "Of each skill, at most", "tokens", 5_000, 0, source="Claude Code's documentation: 5,000"),
        Param(
            "skill_total", "Of all skills, at most", "tokens", 25_000, 0, source="Claude Code's documentation: 25,000"
        ),
        Param("plan", "Of the plan, at most", "tokens", 5_000, 0, source="this product's own; Claude Code sets no cap"),
        Param("goals", "Of open goals, at most", "tokens", 1_000, 0, source="this product's own"),
        Param(
            "layer_each",
            "Of each memory file, at most",
            "tokens",
            4_000,
            0,
            source="this product's own; Claude Code sets no cap",
        ),
        Param(
            "layer_total", "Of all memory files, at most", "tokens", 12_000, 0, source="this product's own; as above"
        ),
        Param("learned", "Of the project memory, at most", "tokens", 2_000, 0, source="this product's own"),
    )
    presets: Mapping[str, Mapping[str, Any]] = {
        "claude-2.1": {},
        "claude-2.1-predictive": {"rule": "2.1, predictive"},
        "claude-2.1-tiered": {"rule": "2.1, tiered buffer"},
        "claude-seed-200k": {"rule": "187K of 200K", "results": 15},
        "clear only": {"compact": "never"},
    }

    def plan(self, snapshot: Snapshot, budget: Budget, params: Mapping[str, Any]) -> Plan:
        """Cleared results; the memory and no model, or one ask; what comes back. Linear in the items."""
        name = f"{self.id}:{self.version}"
        refused = hopeless(name, snapshot, budget)
        if refused is not None:
            return refused
        at = _threshold(params, budget)
        facts: dict[str, Any] = {"used": used(params, threshold=at), "before": snapshot.total}
        old = cleared(snapshot, params)
        less = left(snapshot, budget, [(output, CLEARED) for output in old])
        facts["cleared_results"] = len(old)
        done = light(name, params["compact"], less.total, at, less, facts)
        if done is not None:
            return done
        again = Again(
            files=params["files"],
            file_each=params["file_each"],
            file_total=params["file_total"],
            skill_each=params["skill_each"],
            skill_total=params["skill_total"],
            plan=params["plan"],
            goals=params["goals"],
            layer_each=params["layer_each"],
            layer_total=params["layer_total"],
            learned=params["learned"],
        )
        if params["memory"]:
            kept = Kept(
                params["memory_least"], params["memory_messages"], params["memory_most"], params["memory_tokens"]
            )
            found = remembered(name, snapshot, budget, less, kept, again, facts)
            if found is not None and (at is None or found[1] < at):
                return found[0]
        facts["session_memory"] = False
        whole = budget.window
        way = Way(
            NINE,
            None if params["summary"] is None else min(_CAP, params["summary"]),
            anchored=False,
            reads=lambda items: fitting(pictureless(items), snapshot, whole),
            again=again,
            again_last=True,
            window=budget.window,
        )
        return folded(name, snapshot, less, way, (), facts)

    def finish(self, plan: Plan, snapshot: Snapshot, answers: Sequence[Answer]) -> Outcome:
        return finished(plan, snapshot, answers)


STRATEGY = ClaudeCode()


def _threshold(params: Mapping[str, Any], budget: Budget) -> int | None:
    rule = RULES[params["rule"]]
    if rule is PREDICTIVE and params["threshold"] is None and budget.window is not None:
        return window(rule, Limits(None, budget.window)).tokens_at(Name.PREDICTIVE)
    return threshold(params["threshold"], rule, budget)


def cleared(snapshot: Snapshot, params: Mapping[str, Any]) -> list[Output]:
    """The results that are cleared: all but the newest `results`, or all but the newest `cold_results` once the cache is cold.

    Those that were cleared before are not counted again.
    """
    micro = params["micro"]
    whole: int | None = params["results"] if micro in (COUNT, EITHER) else None
    if micro in (COLD, EITHER) and cold(snapshot, params["minutes"]):
        whole = params["cold_results"] if whole is None else min(whole, params["cold_results"])
    if whole is None:
        return []
    standing = [
        output
        for output in outputs_of(snapshot)
        if not output.less and output.call is not None and output.call.kind in CLEARABLE
    ]
    return [output for output in standing[whole:] if output.free]


def cold(snapshot: Snapshot, minutes: int) -> bool:
    """Whether so many minutes have passed since the model last spoke: until now, or, where no time is given, until the newest entry."""
    spoke = next((item.at for item in reversed(snapshot.items) if item.role is Role.ASSISTANT and item.at), None)
    now = snapshot.now or next((item.at for item in reversed(snapshot.items) if item.at is not None), None)
    return spoke is not None and now is not None and now - spoke >= timedelta(minutes=minutes)


def pictureless(items: Sequence[Item]) -> list[Item]:
    """The items as the summariser reads them: without pictures and documents, and without what held nothing else."""
    out = []
    for item in items:
        parts = tuple(part for part in item.parts if part.kind is not PartKind.MEDIA)
        if parts:
            out.append(item if len(parts) == len(item.parts) else replace(item, parts=parts))
    return out


def fitting(items: Sequence[Item], snapshot: Snapshot, room: int | None) -> Sequence[Item]:
    """What is left for the summariser where all together is more than the window: the oldest rounds go until it fits, one stays.

    A round is one answer of the model with its results, and what was said before it.
    """
    if room is None:
        return items
    cost = costs_of(snapshot)
    over = sum(cost[item.key] for item in items) - room
    starts = [n for n, item in enumerate(items) if n > 0 and _opens(items, n)]
    start = 0
    for following in starts:
        if over <= 0:
            break
        over -= sum(cost[item.key] for item in items[start:following])
        start = following
    return items[start:]


def _opens(items: Sequence[Item], n: int) -> bool:
    """Whether a round begins here: where a person speaks, or the model after results."""
    before, item = items[n - 1], items[n]
    if item.results:
        return False
    return item.role is Role.USER or (item.role is Role.ASSISTANT and bool(before.results))
