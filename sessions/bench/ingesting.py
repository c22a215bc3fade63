"""What taking sessions in costs, beside the floor."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sessions.bench import corpus
from sessions.bench.floor import WHAT, load_of, run
from sessions.bench.places import PeakMemory, Place, a_place
from sessions.ingest import take_file
from sessions.meters.tokens import ENCODING, OLDER, count
from sessions.models import Session

PER_FILE = 20_000  # records of one generated file, about 20 MB


def bench(*, megabytes: int, floor: bool = True, one: bool = False) -> dict[str, Any]:
    """Take in about so many megabytes. Sizes in bytes, times in seconds, speeds a second. CPU time is this process's own, without the
    database's: it says more than the clock on a machine that is busy with other things. Each file's floor is measured right after it. `one`: all of it in one file.
    """
    with a_place() as place:
        paths = list(_generated(place, megabytes * 1_000_000, 1 << 62 if one else PER_FILE))
        size = sum(path.stat().st_size for path in paths)
        for encoding in (ENCODING, OLDER):
            count(["The vocabulary is loaded once in a process, and before it is measured."], encoding=encoding)
        _warm(place)
        gc.collect()
        memory = PeakMemory()
        before = memory.now()
        ours, under = [], []
        for path in paths:
            ours.append(_taken(place, path))
            if floor:
                under.append(_under(place, path))
    seconds, cpu, entries = (sum(column) for column in zip(*ours, strict=True))
    found: dict[str, Any] = {
        "bytes": size,
        "files": len(paths),
        "entries": entries,
        "seconds": round(seconds, 3),
        "cpu_seconds": round(cpu, 3),
        "megabytes_per_second": round(size / 1e6 / seconds, 2),
        "entries_per_second": round(entries / seconds),
        "peak_memory": memory.read(),
        "memory_before": before,
    }
    if floor:
        least, least_cpu = (sum(column) for column in zip(*under, strict=True))
        found |= {
            "floor": {
                "what": WHAT,
                "seconds": round(least, 3),
                "cpu_seconds": round(least_cpu, 3),
                "megabytes_per_second": round(size / 1e6 / least, 2),
            },
            "times_the_floor": round(seconds / least, 2),
            "times_the_floor_cpu": round(cpu / least_cpu, 2),
        }
    return found


def _generated(place: Place, size: int, records: int = PER_FILE) -> Iterator[Path]:
    seed = 0
    while size > 0:
        seed += 1
        path = place.folder / f"{corpus.session_id(seed)}.jsonl"
        with path.open("wb") as file:
            for line in corpus.lines(records, seed=seed):
                file.write(line)
                size -= len(line)
                if size <= 0:
                    break
        yield path


def _warm(place: Place) -> None:
    """Take a small file in, so that what is done once in a process is done before it is measured."""
    path = place.folder / f"{corpus.session_id(999)}.jsonl"
    path.write_bytes(b"".join(corpus.lines(300, seed=999)))
    take_file(place.workspace, path)


def _taken(place: Place, path: Path) -> tuple[float, float, int]:
    """Seconds, seconds of this process, entries."""
    started, cpu = time.perf_counter(), time.process_time()
    taken = take_file(place.workspace, path)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    assert taken.outcome == "added", taken
    assert not taken.malformed, taken
    return seconds, cpu, taken.entries


def _under(place: Place, path: Path) -> tuple[float, float]:
    session = Session.objects.get(workspace=place.workspace, source__path=str(path.resolve()))
    return run(load_of(path, session))
