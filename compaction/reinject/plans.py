"""The plan that a session works by: what was proposed on leaving the plan mode, or the plan file as it was last written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from compaction.plan import Count, Given, GivenAnswer, PlanAsk
from compaction.reconstruct import histories, replay
from compaction.reinject.cutting import LEAST, head_of
from compaction.tools import ToolKind, kind_of, understand
from sessions.contexts import InsertKind, Item
from sessions.entries import PartKind

PLAN_FILE = re.compile(r"(?:\A|/)(?:plans?/[^/]+\.md|(?:PLAN|plan)\.md)\Z")
"""Plan files of the agents lie in a folder of that name, or are called so."""


@dataclass(frozen=True, slots=True)
class Planned:
    text: str
    seqs: tuple[int, ...]
    path: str = ""


def newest_plan(log: Sequence[Item], cwd: str | None) -> Planned | None:
    """The plan stated last, by a call or in a file; None where there is none, or where a file's content is not known."""
    proposed = _proposed(log)
    written = _written(log, cwd)
    known = [one for one in (proposed, written) if one is not None]
    return max(known, key=lambda one: one.seqs[-1] if one.seqs else -1, default=None)


def _proposed(log: Sequence[Item]) -> Planned | None:
    for item in reversed(log):
        for part in item.parts:
            if part.kind is PartKind.TOOL_CALL and kind_of(part.tool or "") is ToolKind.PLAN and '"plan"' in part.text:
                plan = (understand(part).args or {}).get("plan")
                if isinstance(plan, str) and plan.strip():
                    return Planned(plan.strip(), () if item.seq is None else (item.seq,))
    return None


def _written(log: Sequence[Item], cwd: str | None) -> Planned | None:
    touching = [
        item for item in log if any(part.kind is PartKind.TOOL_CALL and _names_a_plan(part.text) for part in item.parts)
    ]
    if not touching:
        return None
    calls = {call for item in touching for call in item.calls}
    with_results = [item for item in log if not calls.isdisjoint(item.calls) or not calls.isdisjoint(item.results)]
    for history in histories(with_results, cwd):
        if not history.deleted and PLAN_FILE.search(history.path):
            known = replay(history)
            if known is not None and known.whole and known.text.strip():
                return Planned(known.text.strip(), tuple(sorted(set(known.seqs))), history.path)
    return None


def _names_a_plan(text: str) -> bool:
    return ("plan" in text and ".md" in text) or "PLAN.md" in text


def answer_plan(ask: PlanAsk, log: Sequence[Item], cwd: str | None, count: Count) -> GivenAnswer:
    """The newest plan within the ask's budget, cut to its head where it is longer; nothing where there is none."""
    plan = newest_plan(log, cwd)
    if plan is None or (plan.seqs and all(seq in ask.kept for seq in plan.seqs)):
        return GivenAnswer(ask.key, ())
    label = plan.path or "plan"
    at = f", as of entry {plan.seqs[-1]}" if plan.seqs else ""
    header = f"The plan of this session{at}{f', in {plan.path}' if plan.path else ''}:\n\n"
    budget = ask.most - count([header])[0]
    text, cut = head_of(plan.text, budget, count) if budget >= LEAST else ("", 0)
    if not text:
        return GivenAnswer(ask.key, (), ((label, f"no room: {ask.most:,} tokens left"),))
    whole = header + text
    return GivenAnswer(ask.key, (Given(InsertKind.PLAN, label, whole, count([whole])[0], plan.seqs, cut),))
