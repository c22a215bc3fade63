"""How long a session takes to be exported, in each form and as its context, and how much memory that needs: by the length of the session."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from typing import Any

from sessions.bench import corpus
from sessions.bench.places import PeakMemory, a_place, analyse
from sessions.export.choosing import FORMS, Wanted
from sessions.export.making import export
from sessions.ingest import take_file
from sessions.models import Session


def bench(*, entries: Sequence[int]) -> dict[str, Any]:
    """Of each form, and of the context as Markdown, with redaction and without: seconds to the first block and to the last, bytes, and how
    far memory rose above what was held when it began.
    """
    rows: list[dict[str, Any]] = []
    with a_place() as place:
        names = []
        for seed, count in enumerate(entries, 1):
            taken = take_file(place.workspace, corpus.write(place.folder, count, seed=seed))
            assert taken.session is not None, taken
            names.append((count, taken.session))
        analyse()
        # The first scan of a process compiles the detector's rules, which no later one does.
        _measured(names[0][1], Wanted("md", entries="0-9"))
        for count, name in names:
            for context, form in [*((False, form) for form in FORMS), (True, "md")]:
                for redact in (True, False):
                    wanted = Wanted(form, context=context, redact=redact)
                    rows.append(
                        {
                            "entries": count,
                            "form": form,
                            "context": context,
                            "redacted": redact,
                            **_measured(name, wanted),
                        }
                    )
    return {"exports": rows}


def _measured(name: str, wanted: Wanted) -> dict[str, Any]:
    session = Session.objects.get(pk=name)
    gc.collect()
    memory = PeakMemory()
    held = memory.now()
    started, ours = time.perf_counter(), time.process_time()
    first: float | None = None
    size = 0
    for block in export(session, wanted):
        first = time.perf_counter() - started if first is None else first
        size += len(block)
    return {
        "first_seconds": round(first or 0.0, 3),
        "seconds": round(time.perf_counter() - started, 2),
        "cpu_seconds": round(time.process_time() - ours, 2),
        "bytes": size,
        "memory": max(0, memory.read() - held),
    }
