"""How long a session's page takes to come, of a short session and of a long one, side by side; and the windows of a very long chart."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

from django.db import connection
from django.test import Client
from django.urls import reverse

from sessions.bench import auditing, corpus
from sessions.bench.places import Place, a_place, analyse
from sessions.ingest import take_file
from sessions.models import Session

WARM = 3  # requests of each before it is measured
# What a person waits for: the page itself, and the first fragments that it asks for.
FRAGMENTS = ("session", "entries")
RULE = "codex-0.148"  # as if which the chart is asked for as well


def bench(*, small: int, large: int, steps: int, sessions: int, goals: int, runs: int) -> dict[str, Any]:
    """Medians in seconds of interleaved requests through Django, with warm caches; `ratio` is large over small.

    `chart`: windows of a chart of so many `steps`; the first answer of "as if" walks through all of them (`first_seconds`). `audit`: of so
    many `goals` given up in so many `sessions`.
    """
    with a_place() as place:
        audit = auditing.bench(place, sessions=sessions, goals=goals, runs=runs)
    with a_place() as place:
        sizes = (small, large)
        names = [_taken(place, entries, seed) for seed, entries in enumerate(sizes, 1)]
        analyse()
        client = Client(SERVER_NAME="localhost")
        client.force_login(place.user)
        rows = [_compared(client, fragment, names, runs) for fragment in FRAGMENTS]
        _lengthen(names[0], steps)
        analyse()
        address = reverse("sessions:steps-json", args=[names[0]])
        middle = {"from": steps // 2, "to": min(steps, steps // 2 + 999)}
        half = {"from": 1, "to": max(1, steps // 2)}
        windows = [
            _window(client, "all", address, {}, runs),
            _window(client, "half", address, half, runs),
            _window(client, "1,000", address, middle, runs),
            _window(client, "as if", address, {"rule": RULE, "model": "200k"}, runs),
        ]
    return {
        "small": small,
        "large": large,
        "runs": runs,
        "pages": rows,
        "ratio": rows[0]["ratio"],
        "steps": steps,
        "chart": windows,
        "sessions": sessions,
        "goals": goals,
        "audit": audit,
    }


def _lengthen(name: str, count: int) -> None:
    """Give a session so many steps: the chart reads nothing but steps, so that no file need be taken in for them."""
    session = Session.objects.get(pk=name)
    session.steps.all().delete()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO agent_sessions_step (session_id, n, turn, first_seq, last_seq, model, fresh, cache_read, cache_write, output, "
            "reasoning, estimated, copied) SELECT %s, n, n / 20 + 1, n * 4, n * 4 + 3, 'claude-sonnet-4-5-20250929', 10, "
            "20000 + (n %% 400) * 300, 300, 200, 80, false, false FROM generate_series(1, %s) AS n",
            [session.pk, count],
        )
    session.steps_count = count
    session.save(update_fields=["steps_count"])


def _window(client: Client, words: str, address: str, query: dict[str, Any], runs: int) -> dict[str, Any]:
    first, size = _asked(client, address, query)
    taken = [_asked(client, address, query)[0] for _ in range(runs)]
    return {"window": words, "seconds": round(median(taken), 4), "first_seconds": round(first, 4), "bytes": size}


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


def _asked(client: Client, address: str, query: dict[str, Any] | None = None) -> tuple[float, int]:
    started = time.perf_counter()
    response = client.get(address, query)
    size = len(response.content)
    seconds = time.perf_counter() - started
    assert response.status_code == 200, f"{address} answered {response.status_code}"
    return seconds, size
