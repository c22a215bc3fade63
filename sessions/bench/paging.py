"""How long a session's page takes to come, of a short session and of a long one, side by side."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

from django.test import Client
from django.urls import reverse

from sessions.bench import corpus
from sessions.bench.places import Place, a_place, analyse
from sessions.ingest import take_file

WARM = 3  # requests of each before it is measured
# What a person waits for: the page itself, and the first fragments that it asks for.
FRAGMENTS = ("session", "entries")


def bench(*, small: int, large: int, runs: int) -> dict[str, Any]:
    """Medians in seconds of interleaved requests through Django, with warm caches; `ratio` is large over small."""
    with a_place() as place:
        sizes = (small, large)
        names = [_taken(place, entries, seed) for seed, entries in enumerate(sizes, 1)]
        analyse()
        client = Client(SERVER_NAME="localhost")
        client.force_login(place.user)
        rows = [_compared(client, fragment, names, runs) for fragment in FRAGMENTS]
    return {"small": small, "large": large, "runs": runs, "pages": rows, "ratio": rows[0]["ratio"]}


def _taken(place: Place, entries: int, seed: int) -> str:
    taken = take_file(place.workspace, corpus.write(place.folder, entries, seed=seed))
    assert taken.outcome == "added", taken
    assert taken.session is not None
    return taken.session


def _compared(client: Client, fragment: str, names: list[str], runs: int) -> dict[str, Any]:
    addresses = [reverse(f"sessions:{fragment}", args=[name]) for name in names]
    for _ in range(WARM):
        sizes = [_asked(client, address)[1] for address in addresses]
    times: list[list[float]] = [[], []]
    for _ in range(runs):
        for at, address in zip(times, addresses, strict=True):
            at.append(_asked(client, address)[0])
    short, long = (median(at) for at in times)
    return {
        "page": fragment,
        "small_seconds": round(short, 4),
        "large_seconds": round(long, 4),
        "small_bytes": sizes[0],
        "large_bytes": sizes[1],
        "ratio": round(long / short, 2),
    }


def _asked(client: Client, address: str) -> tuple[float, int]:
    started = time.perf_counter()
    response = client.get(address)
    size = len(response.content)
    seconds = time.perf_counter() - started
    assert response.status_code == 200, f"{address} answered {response.status_code}"
    return seconds, size
