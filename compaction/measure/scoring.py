"""One case, every method, every budget: what is kept of what was needed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compaction.masks import calls_of
from compaction.measure.baselines import BASELINES
from compaction.measure.cuts import Case
from compaction.measure.fitting import Fitted, fitted
from compaction.measure.future import demand, recall, said, texts_of
from compaction.measure.static import facts, static
from compaction.strategies.base import Strategy
from compaction.summary.items import terms
from compaction.summary.need import predicted_recall
from compaction.summary.survey import survey
from sessions.meters.tokens import count

BUDGETS = (2_000, 4_000, 8_000, 16_000)


@dataclass(frozen=True, slots=True)
class Score:
    """One method at one budget on one case. Shares 0…1, None where the continuation asked for none of it.

    `predicted`: the share of future use that was predicted to be kept. `novel`: the share of the context's names that the prefix never
    held. `static`: by kind, "all" over all. `milliseconds`: to make the context, reading it (the survey) apart.
    """

    session: str
    at: int
    method: str
    budget: int
    tokens: int
    trimmed: bool
    milliseconds: float
    recall: float | None
    supported: float | None
    calls: float | None
    edits: float | None
    messages: float | None
    predicted: float | None
    novel: float
    static: Mapping[str, float] = field(default_factory=dict)


def scores(case: Case, methods: Mapping[str, Strategy | None], budgets: Sequence[int] = BUDGETS) -> list[Score]:
    """All scores of a case. `methods`: by name, None for those of BASELINES."""
    snapshot = case.snapshot
    surveyed = survey(snapshot.items, calls_of(snapshot))
    before = said(snapshot.items)
    wanted = demand(before, said(case.future))
    known = facts(surveyed.findings, before)
    held = set().union(*(terms(event.text) for event in before)) if before else set()
    out: list[Score] = []
    for name, strategy in methods.items():
        for budget in budgets:
            started = time.perf_counter()
            if strategy is None:
                made: Fitted = BASELINES[name](snapshot.items, snapshot.tokens, budget, count)
            else:
                made = fitted(strategy, snapshot, budget, surveyed)
            took = time.perf_counter() - started
            texts = texts_of(made.items)
            there = set().union(*map(terms, texts)) if texts else set()
            kept = recall(wanted, texts)
            out.append(
                Score(
                    case.session,
                    case.at,
                    name,
                    budget,
                    made.tokens,
                    made.trimmed,
                    took * 1e3,
                    kept.plain,
                    kept.supported,
                    kept.calls,
                    kept.edits,
                    kept.messages,
                    predicted_recall(surveyed.needs, there),
                    len(there - held) / len(there) if there else 0.0,
                    static(known, texts),
                )
            )
    return out
