"""What an appended line costs, by the size of the session it is appended to."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from sessions.bench import corpus, likeness
from sessions.bench.places import PeakMemory, Place, a_place, analyse
from sessions.ingest import take_file
from sessions.models import Session


def bench(*, megabytes: Sequence[int], lines: int) -> dict[str, Any]:
    """Of each size: medians in seconds over so many lines, each appended and taken in by itself. `cpu_seconds`: this process's own."""
    return {"lines": lines, "sizes": [_size(number, many, lines) for number, many in enumerate(megabytes, 1)]}


def _size(seed: int, megabytes: int, count: int) -> dict[str, Any]:
    with a_place() as place:
        coming = likeness.lines(1 << 62, seed=seed)
        path = _written(place, coming, megabytes * 1_000_000, seed)
        _take(place, path, "added")
        analyse()
        seconds: list[float] = []
        work: list[float] = []
        memory = PeakMemory()
        for _ in range(count):
            with path.open("ab") as file:
                file.write(next(coming))
            started, cpu = time.perf_counter(), time.process_time()
            _take(place, path, "grown")
            seconds.append(time.perf_counter() - started)
            work.append(time.process_time() - cpu)
        return {
            "bytes": path.stat().st_size,
            "entries": Session.objects.get(workspace=place.workspace).entries_count,
            "seconds": round(median(seconds), 4),
            "most_seconds": round(max(seconds), 4),
            "cpu_seconds": round(median(work), 4),
            "peak_memory": memory.read(),
        }


def _written(place: Place, coming: Iterator[bytes], size: int, seed: int) -> Path:
    path = place.folder / f"{corpus.session_id(seed)}.jsonl"
    with path.open("wb") as file:
        while size > 0:
            line = next(coming)
            file.write(line)
            size -= len(line)
    return path


def _take(place: Place, path: Path, outcome: str) -> None:
    taken = take_file(place.workspace, path)
    assert taken.outcome == outcome, taken
