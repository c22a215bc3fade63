"""How long the preview of a compaction takes, by the length of the context it is asked for, and how that grows."""

from __future__ import annotations

import gc
import io
import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

from django.core.management import call_command

from sessions.answers import context_of
from sessions.bench import corpus
from sessions.bench.places import PeakMemory, a_place, analyse
from sessions.ingest import take_file
from sessions.measuring import measured
from sessions.meters import meters
from sessions.models import Session
from sessions.projection import context_items


class Took(NamedTuple):
    """Seconds by the clock, and of this process's own time."""

    seconds: float
    cpu: float


def bench(*, entries: Sequence[int], strategies: Sequence[str], runs: int) -> dict[str, Any]:
    """Medians in seconds of `compact --preview`, and of the context and every meter over it, which it rests on; `growth`: how many times as long
    it takes where there are so many times the entries.

    `loading_seconds`: reading the context's entries from the database, with the cyclic collector held back as a preview holds it; what the
    preview takes beyond it is hash, strategy, summary, retention report, checks and the printed answer. Both are taken by turns, and the
    medians of their differences are told: what a process has held before makes either slower.
    """
    rows: list[dict[str, Any]] = []
    with a_place() as place:
        for seed, count in enumerate(entries, 1):
            path = corpus.write(place.folder, count, seed=seed, compacting=False)
            taken = take_file(place.workspace, path)
            assert taken.session is not None, taken
            session = Session.objects.get(pk=taken.session)
            analyse()
            memory = PeakMemory()
            context = _timed(partial(context_of, session)).seconds
            every = _timed(partial(measured, session.pk, session.current, list(meters().values()))).seconds
            for strategy in strategies:
                pairs = [(_loading(session), _preview(str(session.pk), strategy)) for _ in range(runs)]
                loading = median(load.seconds for load, _ in pairs)
                seconds = median(took.seconds for _, (took, _) in pairs)
                beyond = [(took.seconds - load.seconds, took.cpu - load.cpu) for load, (took, _) in pairs]
                plan = pairs[0][1][1]
                rows.append(
                    {
                        "entries": count,
                        "strategy": strategy,
                        "preview_seconds": round(seconds, 3),
                        "loading_seconds": round(loading, 3),
                        "beyond_loading_seconds": round(max(0.0, median(clock for clock, _ in beyond)), 3),
                        "beyond_loading_cpu_seconds": round(max(0.0, median(work for _, work in beyond)), 3),
                        "context_seconds": round(context, 3),
                        "meters_seconds": round(every, 4),
                        "status": plan["status"],
                        "tokens_before": plan["tokens"]["before"],
                        "tokens_after": plan["tokens"]["after"],
                        "peak_memory": memory.read(),
                    }
                )
            session.delete()
    return {"strategies": list(strategies), "runs": runs, "sizes": rows, "growth": _growth(rows)}


def _growth(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of each strategy from one length to the next; by this process's own time, which other work on the machine changes least."""
    out = []
    for strategy in dict.fromkeys(row["strategy"] for row in rows):
        for short, long in pairwise(row for row in rows if row["strategy"] == strategy):
            work = short["beyond_loading_cpu_seconds"]
            times = round(long["beyond_loading_cpu_seconds"] / work, 2) if work else None
            entries = {"from_entries": short["entries"], "to_entries": long["entries"]}
            out.append(
                {
                    "strategy": strategy,
                    **entries,
                    "times_entries": long["entries"] / short["entries"],
                    "times_cpu": times,
                }
            )
    return out


def _loading(session: Session) -> Took:
    on = gc.isenabled()
    gc.disable()
    try:
        return _timed(lambda: context_items(session))
    finally:
        if on:
            gc.enable()


def _preview(name: str, strategy: str) -> tuple[Took, dict[str, Any]]:
    # By its name alone: this room knows nothing of the one above it.
    out = io.StringIO()
    took = _timed(lambda: call_command("compact", name, "--strategy", strategy, "--preview", "--json", stdout=out))
    return took, json.loads(out.getvalue())


def _timed(ask: Callable[[], Any]) -> Took:
    """Seconds by the clock and of this process's own time: on a machine that is busy with other things only these say what the work is."""
    started, worked = time.perf_counter(), time.process_time()
    ask()
    return Took(time.perf_counter() - started, time.process_time() - worked)
