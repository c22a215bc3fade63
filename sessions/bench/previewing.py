"""How long the preview of a compaction takes, by the length of the context it is asked for."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

from django.core.management import call_command

from sessions.answers import context_of
from sessions.bench import corpus
from sessions.bench.places import PeakMemory, a_place, analyse
from sessions.ingest import take_file
from sessions.measuring import measured
from sessions.meters import meters
from sessions.models import Session
from sessions.projection import context_items


def bench(*, entries: Sequence[int], strategy: str, runs: int) -> dict[str, Any]:
    """Medians in seconds of `compact --preview`, and of the context and every meter over it, which it rests on. `loading_seconds`: reading
    the context's entries from the database; what the preview takes beyond it is the strategy, the retention report and the checks.
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
            seconds: list[float] = []
            works: list[float] = []
            plan: dict[str, Any] = {}
            for _ in range(runs):
                worked = time.process_time()
                took, plan = _preview(str(session.pk), strategy)
                seconds.append(took)
                works.append(time.process_time() - worked)
            loads = [_both(lambda one=session: context_items(one)) for _ in range(runs)]
            loading, loaded = (median(found) for found in zip(*loads, strict=True))
            rows.append(
                {
                    "entries": count,
                    "preview_seconds": round(median(seconds), 3),
                    "loading_seconds": round(loading, 3),
                    "beyond_loading_seconds": round(max(0.0, median(seconds) - loading), 3),
                    "beyond_loading_cpu_seconds": round(max(0.0, median(works) - loaded), 3),
                    "context_seconds": round(_timed(lambda one=session: context_of(one)), 3),
                    "meters_seconds": round(
                        _timed(lambda one=session: measured(one.pk, one.current, list(meters().values()))), 4
                    ),
                    "status": plan["status"],
                    "tokens_before": plan["tokens"]["before"],
                    "tokens_after": plan["tokens"]["after"],
                    "peak_memory": memory.read(),
                }
            )
            session.delete()
    return {"strategy": strategy, "runs": runs, "sizes": rows}


def _preview(name: str, strategy: str) -> tuple[float, dict[str, Any]]:
    # By its name alone: this room knows nothing of the one above it.
    out = io.StringIO()
    started = time.perf_counter()
    call_command("compact", name, "--strategy", strategy, "--preview", "--json", stdout=out)
    return time.perf_counter() - started, json.loads(out.getvalue())


def _both(ask: Any) -> tuple[float, float]:
    """Seconds by the clock and of this process's own time: on a machine that is busy with other things only these say what the work is."""
    worked = time.process_time()
    return _timed(ask), time.process_time() - worked


def _timed(ask: Any) -> float:
    started = time.perf_counter()
    ask()
    return time.perf_counter() - started
