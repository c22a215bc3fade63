"""What taking sessions in costs, beside the floor: of invented sessions, or of given files."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sessions.bench import corpus, likeness
from sessions.bench.floor import WHAT, load_of, run
from sessions.bench.places import PeakMemory, Place, a_place
from sessions.discover import files_under
from sessions.ingest import take_file
from sessions.meters.tokens import ENCODING, OLDER, count
from sessions.models import Session
from sessions.prices import long_prompts

PER_FILE = 20_000  # records of one generated file


@dataclass(slots=True)
class Sums:
    """What taking some files in came to. `under`: seconds of their floor, None where it was not measured."""

    files: int = 0
    bytes: int = 0
    entries: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    under: float | None = None
    under_cpu: float | None = None

    def add(self, other: Sums) -> None:
        for field in fields(self):
            mine, more = getattr(self, field.name), getattr(other, field.name)
            setattr(self, field.name, mine if more is None else (mine or 0) + more)

    def to_json(self) -> dict[str, Any]:
        """Sizes in bytes, times in seconds, speeds a second."""
        out: dict[str, Any] = {
            "files": self.files,
            "bytes": self.bytes,
            "entries": self.entries,
            "seconds": round(self.seconds, 3),
            "cpu_seconds": round(self.cpu, 3),
            "megabytes_per_second": round(self.bytes / 1e6 / self.seconds, 2),
            "entries_per_second": round(self.entries / self.seconds),
        }
        if self.under is not None and self.under_cpu is not None:
            out |= {
                "floor": {
                    "what": WHAT,
                    "seconds": round(self.under, 3),
                    "cpu_seconds": round(self.under_cpu, 3),
                    "megabytes_per_second": round(self.bytes / 1e6 / self.under, 2),
                },
                "times_the_floor": round(self.seconds / self.under, 2),
                "times_the_floor_cpu": round(self.cpu / self.under_cpu, 2),
            }
        return out


def bench(*, megabytes: int, floor: bool = True, one: bool = False, paths: Sequence[Path] = ()) -> dict[str, Any]:
    """Take in what lies under `paths`, or without any about so many invented megabytes (`one`: all in one file).

    CPU time is this process's own, without the database's: it says more than the clock on a machine that is busy with other things. Each
    file's floor is measured right after it. Of given files those count that are sessions of their own; the others are named with why not.
    """
    with a_place() as place:
        if paths:
            files: Iterable[Path] = files_under(paths)
        else:
            files = list(_generated(place, megabytes * 1_000_000, 1 << 62 if one else PER_FILE))
        _warm(place)
        gc.collect()
        memory = PeakMemory()
        before = memory.now()
        whole, agents = Sums(), dict[str, Sums]()
        left: list[dict[str, str]] = []
        for path in files:
            taken, sums = _measured(place, path, floor=floor)
            if sums is None:
                left.append({"path": str(path), "reason": f"{taken.outcome}: {taken.reason}"})
                continue
            agents.setdefault(taken.agent or "", Sums()).add(sums)
            whole.add(sums)
        if not whole.files:
            raise ValueError("none of these files is a session that can be taken in by itself")
        return {
            **whole.to_json(),
            "agents": {agent: sums.to_json() for agent, sums in sorted(agents.items())},
            "left_out": left,
            "peak_memory": memory.read(),
            "memory_before": before,
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


def _warm(place: Place) -> None:
    """Take a small file in, so that what is done once in a process (vocabularies, statements) is done before it is measured."""
    for encoding in (ENCODING, OLDER):
        count(["The vocabulary is loaded once in a process, and before it is measured."], encoding=encoding)
    long_prompts()  # and the list of prices
    path = place.folder / f"{corpus.session_id(999)}.jsonl"
    path.write_bytes(b"".join(likeness.lines(300, seed=999)))
    _measured(place, path, floor=True)


def _measured(place: Place, path: Path, *, floor: bool) -> tuple[Any, Sums | None]:
    """What became of a file, and what that took; None where it came to no session of its own."""
    started, cpu = time.perf_counter(), time.process_time()
    taken = take_file(place.workspace, path, patient=False)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    if taken.outcome != "added" or taken.session is None:
        return taken, None
    under = run(load_of(path, Session.objects.get(pk=taken.session))) if floor else (None, None)
    return taken, Sums(1, taken.size, taken.entries, seconds, cpu, *under)
