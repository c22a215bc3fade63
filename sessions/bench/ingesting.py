"""What taking sessions in costs, beside the floor: the same lines parsed, counted and copied without anything of ours."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
from django.db import connection, transaction

from sessions.bench import corpus
from sessions.bench.places import PeakMemory, Place, a_place
from sessions.ingest import take_file
from sessions.meters.tokens import count
from sessions.packing import compress

PER_FILE = 20_000  # records of one generated file, about 20 MB


def bench(*, megabytes: int) -> dict[str, Any]:
    """Take in about so many megabytes. Sizes in bytes, times in seconds, speeds a second. CPU time is this process's own, without the
    database's: it says more than the clock on a machine that is busy with other things.
    """
    with a_place() as place:
        paths = list(_generated(place, megabytes * 1_000_000))
        size = sum(path.stat().st_size for path in paths)
        count(["The vocabulary is loaded once in a process, and before it is measured."])
        ours = _ours(place, paths)
        floor, floor_cpu = _floor(paths)
    return {
        "bytes": size,
        "files": len(paths),
        "entries": ours["entries"],
        "seconds": round(ours["seconds"], 3),
        "cpu_seconds": round(ours["cpu"], 3),
        "megabytes_per_second": round(size / 1e6 / ours["seconds"], 2),
        "entries_per_second": round(ours["entries"] / ours["seconds"]),
        "peak_memory": ours["peak"],
        "memory_before": ours["before"],
        "floor": {
            "what": "lines parsed, their texts counted (o200k), the lines compressed and copied: no sessions, no versions",
            "seconds": round(floor, 3),
            "cpu_seconds": round(floor_cpu, 3),
            "megabytes_per_second": round(size / 1e6 / floor, 2),
        },
        "times_the_floor": round(ours["seconds"] / floor, 2),
        "times_the_floor_cpu": round(ours["cpu"] / floor_cpu, 2),
    }


def _generated(place: Place, size: int) -> Iterator[Path]:
    seed = 0
    while size > 0:
        seed += 1
        path = place.folder / f"{corpus.session_id(seed)}.jsonl"
        with path.open("wb") as file:
            for line in corpus.lines(PER_FILE, seed=seed):
                file.write(line)
                size -= len(line)
                if size <= 0:
                    break
        yield path


def _ours(place: Place, paths: list[Path]) -> dict[str, Any]:
    gc.collect()
    memory = PeakMemory()
    before = memory.read()
    started, cpu = time.perf_counter(), time.process_time()
    taken = [take_file(place.workspace, path) for path in paths]
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    bad = [one for one in taken if one.outcome != "added" or one.malformed]
    assert not bad, bad
    return {
        "seconds": seconds,
        "cpu": cpu,
        "entries": sum(one.entries for one in taken),
        "peak": memory.read(),
        "before": before,
    }


def _floor(paths: list[Path]) -> tuple[float, float]:
    started, cpu = time.perf_counter(), time.process_time()
    for path in paths:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("CREATE TEMPORARY TABLE bench_floor (seq int, tokens int, line bytea)")
            batch: list[bytes] = []
            seq = 0
            with cursor.copy("COPY bench_floor FROM STDIN") as copy, path.open("rb") as file:
                for line in file:
                    batch.append(line)
                    if len(batch) == 2000:
                        seq = _copy(copy, batch, seq)
                        batch = []
                _copy(copy, batch, seq)
            cursor.execute("DROP TABLE bench_floor")
    return time.perf_counter() - started, time.process_time() - cpu


def _copy(copy: Any, batch: list[bytes], seq: int) -> int:
    tokens = count(["".join(_texts(orjson.loads(line).get("message"))) for line in batch])
    for line, number in zip(batch, tokens, strict=True):
        copy.write_row((seq, number, compress(line)))
        seq += 1
    return seq


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = value.get("content") or value.get("text") or value.get("thinking") or value.get("input") or ""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        yield orjson.dumps(value).decode()
