"""What taking sessions in costs, beside the floor: of invented sessions, or of given files."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from django.apps import apps

from sessions.abreast import Crew, crew
from sessions.bench import corpus, likeness
from sessions.bench.floor import WHAT, load_of, run
from sessions.bench.places import Place, Together, a_place
from sessions.ingest import Taken, take_file
from sessions.ingesting import ingest_paths
from sessions.models import Session
from sessions.prices import long_prompts

PER_FILE = 2_000  # records of one generated file: a long session of the usual sort


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds by the clock, and of processor time without the database's."""

    seconds: float
    cpu: float


def bench(
    *, megabytes: int, floor: bool = True, one: bool = False, paths: Sequence[Path] = (), processes: int = 1
) -> dict[str, Any]:
    """Take in what lies under `paths`, or without any about so many invented megabytes (`one`: all in one file), as `ingest` does it.

    CPU time is that of all processes without the database's: it says more than the clock on a machine that is busy with other things.
    The floor of each file is measured afterwards, one after the other. Of given files those count that are sessions of their own; the
    others are named with why not, and the time of looking at them is in the measure.
    """
    with a_place() as place, crew(processes) as beside:
        if not paths:
            paths = list(_generated(place, megabytes * 1_000_000, 1 << 62 if one else PER_FILE))
        _warm(place, beside)
        gc.collect()
        those = Together(beside.processes if beside is not None else ())
        before = those.now()
        started = those.cpu(), time.perf_counter()
        every = ingest_paths(place.workspace, paths, crew=beside)
        ours = Cost(time.perf_counter() - started[1], those.cpu() - started[0])
        peak = those.peak()
        taken = [one for one in every if one.outcome == "added" and one.session is not None]
        if not taken:
            raise ValueError("none of these files is a session that can be taken in by itself")
        size, entries = sum(one.size for one in taken), sum(one.entries for one in taken)
        return {
            "processes": processes,
            "files": len(taken),
            "bytes": size,
            "entries": entries,
            "seconds": round(ours.seconds, 3),
            "cpu_seconds": round(ours.cpu, 3),
            "megabytes_per_second": round(size / 1e6 / ours.seconds, 2),
            "entries_per_second": round(entries / ours.seconds),
            **(_beside_floor(ours, size, taken) if floor else {}),
            "left_out": [
                {"path": one.path, "reason": f"{one.outcome}: {one.reason}"} for one in every if one not in taken
            ],
            "peak_memory": peak,
            "memory_before": before,
        }


def _beside_floor(ours: Cost, size: int, taken: Sequence[Taken]) -> dict[str, Any]:
    each = [run(load_of(Path(one.path), Session.objects.get(pk=str(one.session)))) for one in taken]
    under = Cost(sum(seconds for seconds, _ in each), sum(cpu for _, cpu in each))
    return {
        "floor": {
            "what": WHAT,
            "seconds": round(under.seconds, 3),
            "cpu_seconds": round(under.cpu, 3),
            "megabytes_per_second": round(size / 1e6 / under.seconds, 2),
        },
        "times_the_floor": round(ours.seconds / under.seconds, 2),
        "times_the_floor_cpu": round(ours.cpu / under.cpu, 2),
    }


def _generated(place: Place, size: int, records: int = PER_FILE) -> Iterator[Path]:
    seed = 0
    while size > 0:
        seed += 1
        path = place.folder / f"{corpus.session_id(seed)}.jsonl"
        with path.open("wb") as file:
            for line in likeness.lines(records, seed=seed):
                file.write(line)
                size -= len(line)
                if size <= 0:
                    break
        yield path


def _warm(place: Place, beside: Crew | None) -> None:
    """Take small files in, in each process, so that what is done once in a process (vocabularies, statements) is done before it is measured."""
    names = iter(range(1_000_000))
    jobs = [(place.workspace.pk, place.folder, seed) for seed in islice(names, 1)]
    for job in jobs:
        run(load_of(*_small(job)))
    warm: set[int] = set()
    while beside is not None and len(warm) < beside.size:
        some = [(place.workspace.pk, place.folder, seed) for seed in islice(names, 1, 1 + beside.size)]
        warm |= {process for _, process in beside.each(_small_there, some)}


def _small_there(job: tuple[Any, Path, int]) -> int:
    """Take a small file in, in a process of a crew; which that is."""
    _small(job)
    return os.getpid()


def _small(job: tuple[Any, Path, int]) -> tuple[Path, Session]:
    workspace, folder, seed = job
    path = folder / f"{corpus.session_id(999_000_000 + seed)}.jsonl"
    path.write_bytes(b"".join(likeness.lines(300, seed=999_000_000 + seed)))
    long_prompts()  # the list of prices
    taken = take_file(apps.get_model("webapp", "Workspace").objects.get(pk=workspace), path, patient=False)
    return path, Session.objects.get(pk=str(taken.session))
