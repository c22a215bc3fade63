"""A safety net: where a strategy that folds only what it is about leaves too much, a full one goes over the rest in the same run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from compaction.excerpts import known_files
from compaction.finishing import LANDS
from compaction.folding import numbers_of
from compaction.masks import calls_of
from compaction.plan import Budget, Fold, GoalsAsk, Plan, Snapshot, Status
from compaction.strategies import by_id
from compaction.strategies.base import settled
from sessions.contexts import InsertKind

_TREE = 800  # tokens of the goal tree that comes back beside it


def over(
    name: str, full: str, first: Plan | None, snapshot: Snapshot, budget: Budget, out: Collection[int], threshold: int
) -> Plan:
    """The plan of the strategy `full` over the items that `first` does not fold, and that of `first` with it, as one plan.

    `out`: positions that the second one may neither fold nor see: what `first` folds, and notes that stay. The goal tree comes back beside
    it. Where the full strategy finds nothing to do its plan is returned as it is.
    """
    seen = [n for n in range(len(snapshot.items)) if n not in out]
    rest = replace(
        snapshot, items=tuple(snapshot.items[n] for n in seen), tokens=tuple(snapshot.tokens[n] for n in seen)
    )
    rest.memo["calls"] = calls_of(snapshot)
    rest.memo["known files"] = known_files(snapshot)
    strategy = by_id(full)
    then = strategy.plan(rest, replace(budget, threshold=threshold), settled(strategy.params, {}))
    if then.status not in LANDS:
        return replace(then, strategy=name)
    taken = first.fold if first is not None else then.fold - then.fold
    fold = then.fold - taken  # a gap that only holds what is folded already was closed over it
    folds = tuple(replace(one, ranges=one.ranges - taken) for one in then.folds)
    if not folds and then.fold.spans:
        key = next((ask.key for ask in then.asks if not isinstance(ask, GoalsAsk) and ask.key == "summary"), "")
        folds = (Fold(key, fold, then.after, "Summary", absorb=then.absorb),)
    old = {n for n, item in enumerate(snapshot.items) if item.kind is InsertKind.GOALS}
    tree = (GoalsAsk("goals", _TREE),) if folds and snapshot.goals() else ()
    absorb = set(then.absorb) | (set(numbers_of(snapshot.items, old)) if tree else set())
    facts: dict[str, Any] = {f"then_{word}": value for word, value in then.facts.items() if word != "before"}
    return Plan(
        name,
        then.status if first is None else Status.COMPLETED,
        masks=_outside(then.masks, taken),
        bodies=_outside(then.bodies, taken),
        fold=taken | fold,
        absorb=tuple(sorted(absorb | set(() if first is None else first.absorb))),
        folds=(*(() if first is None else first.folds), *folds),
        after=then.after if first is None else first.after,
        files_after=then.files_after,
        inserts=then.inserts,
        asks=(*(() if first is None else first.asks), *then.asks, *tree),
        facts=facts,
    )


def _outside[T](edits: Mapping[int, T], taken: Collection[int]) -> dict[int, T]:
    return {seq: value for seq, value in edits.items() if seq not in taken}
