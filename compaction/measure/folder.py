"""A folder of recorded sessions, measured: which are read, in how many processes, and what is said of it all."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from compaction.excerpts import FITTED, Weights
from compaction.measure.baselines import BASELINES
from compaction.measure.cuts import Case, cases
from compaction.measure.pieces import fit, rows_of
from compaction.measure.scoring import BUDGETS, Score, scores
from compaction.measure.tables import DECIDING, differences, prediction, table
from compaction.strategies import strategies
from sessions.adapters import adapters
from sessions.assembly import read_whole

LEFT_OUT = frozenset({"range"})
"""Strategies that cannot be asked for a budget: a person chooses what goes."""

OURS = "hybrid"
HELD_OUT = "hybrid, held out"

__all__ = ["BUDGETS", "NoSessions", "bench"]


class NoSessions(Exception):
    """The folder holds nothing to measure on; the message says why."""


def bench(
    path: Path,
    *,
    budgets: Sequence[int] = BUDGETS,
    names: Sequence[str] | None = None,
    processes: int = 2,
    limit: int | None = None,
    folds: int | None = None,
) -> dict[str, Any]:
    """Every measure of every method at every budget. `names`: strategies, None: all that can be asked for a budget. `limit`: of so many
    sessions, spread evenly over the folder. `folds`: also Hybrid with its weights fitted on the other sessions, as HELD_OUT.
    """
    started = time.perf_counter()
    files = sorted(file for file in path.rglob("*.jsonl") if file.is_file()) if path.is_dir() else []
    if not files:
        raise NoSessions(f"no recorded sessions (*.jsonl) in {path}")
    if limit is not None and limit < len(files):
        files = [files[n * len(files) // limit] for n in range(limit)]
    methods = [*BASELINES, *_named(names)]
    weights = _held_out(files, folds) if folds else {}
    jobs = [(file, tuple(methods), tuple(budgets), weights.get(file)) for file in files]
    found: list[Score] = []
    for some in _mapped(jobs, processes):
        found.extend(some)
    if not found:
        raise NoSessions(f"no session in {path} is long enough to be cut")
    return {
        "folder": path.name,
        "files": len(files),
        "sessions": len({score.session for score in found}),
        "cases": len({(score.session, score.at) for score in found}),
        "seconds": round(time.perf_counter() - started, 1),
        "folds": folds,
        "rows": table(found),
        "prediction": prediction(found),
        "differences": {measure: differences(found, OURS, measure) for measure in DECIDING},
    }


def cases_of(file: Path) -> Iterator[Case]:
    """The cases of one recorded session, whichever agent wrote it; none where nobody claims it."""
    data = file.read_bytes()
    for adapter in adapters().values():
        claim = adapter.claim(file, data[:65_536])
        if claim is not None and claim.role == "session" and claim.base is None:
            yield from cases(file.stem, read_whole(adapter, file, [(data, False)]))
            return


def _named(names: Sequence[str] | None) -> list[str]:
    known = strategies()
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise NoSessions(f"no strategy {', '.join(unknown)}; there are: {', '.join(known)}")
    return [name for name in (names or known) if name not in LEFT_OUT]


def _measured(job: tuple[Path, tuple[str, ...], tuple[int, ...], Weights | None]) -> list[Score]:
    file, methods, budgets, weights = job
    known = strategies()
    chosen = {name: None if name in BASELINES else known[name] for name in methods}
    out: list[Score] = []
    for case in cases_of(file):
        out.extend(scores(case, chosen, budgets))
        if weights is not None:
            case.snapshot.memo.clear()
            case.snapshot.memo["piece weights"] = weights
            again = scores(case, {OURS: known[OURS]}, budgets)
            out.extend(replace(score, method=HELD_OUT) for score in again)
    return out


def _mapped(jobs: Sequence[Any], processes: int) -> Iterator[list[Score]]:
    if processes <= 1 or len(jobs) == 1:
        yield from map(_measured, jobs)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_measured, jobs)


def _held_out(files: Sequence[Path], folds: int) -> Mapping[Path, Weights]:
    """For each file the weights fitted on the sessions of the other folds."""
    rows = {file: [row for case in cases_of(file) for row in rows_of(case)] for file in files}
    out: dict[Path, Weights] = {}
    for fold in range(folds):
        fitted = fit([row for n, file in enumerate(files) if n % folds != fold for row in rows[file]]) or FITTED
        out |= {file: fitted for n, file in enumerate(files) if n % folds == fold}
    return out
