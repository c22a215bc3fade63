"""How fast search answers over many entries, how large its index is, and how fast that is made."""

from __future__ import annotations

import random
import time
from statistics import median
from typing import Any

from django.db import connection
from django.db.models import Sum
from django.test import Client
from django.urls import reverse

from sessions.bench import searchcorpus
from sessions.bench.places import Place, a_place, analyse
from sessions.models import Session
from sessions.search.asked import asked
from sessions.search.find import find
from sessions.search.index import index_waiting
from sessions.search.waiting import waiting

TABLES = ("searchword", "searchvolume", "searchstretch", "searchposting")
FORM = 1  # of the invented sessions: those that were kept in another form are not taken for these

# What people type. {common} stands in about every second entry, {rare} in a handful.
QUERIES = {
    "a rare word": "{rare}",
    "a common word": "{common}",
    "two words": "{common} {middle}",
    "either of two": "{middle} OR {rare}",
    "without a word": "{middle} -{common}",
    "a phrase": '"{pair}"',
    "the beginning of a word": "parse{stem}*",
    "the middle of a word": "*{inner}*",
    "Chinese": "内存映射",
    "a path": "src/ledger/chunk",
    "in ghosts only": "{middle} in:ghosts",
    "outputs of one agent": "{middle} role:outputs agent:codex",
    "a tool and a file": "tool:edit file:ledger/chunk",
    "between two days": "{middle} after:2026-03-05 before:2026-03-20",
    "commands that failed": "{middle} exit:failed",
    "work on some goals": "{common} goal:{goal}",
    "all errors in ghosts": "is:error in:ghosts",
}


def bench(*, entries: int, runs: int, keep: bool = False) -> dict[str, Any]:
    """Medians in seconds of the page of each query, all facets counted and the page rendered; index bytes, and entries indexed a second.

    `keep`: leave the sessions for the next measure of as many, which then says nothing of how they are made.
    """
    with a_place(f"bench-search-{FORM}-{entries}" if keep else "", keep=keep) as place:
        text = searchcorpus.Text(random.Random(7))  # noqa: S311 -- invented words, no secret
        found = _made(place, text, entries)
        client = Client(SERVER_NAME="localhost")
        client.force_login(place.user)
        _asked(client, place, "", "nothing", 0)  # the first page of a process compiles templates
        rows = [_asked(client, place, words, text.filled(query), runs) for words, query in QUERIES.items()]
    return {
        "entries": entries,
        **found,
        "queries": rows,
        "slowest_seconds": max(row["seconds"] for row in rows),
        "slowest_first_seconds": max(row["first_seconds"] for row in rows),
    }


def _made(place: Place, text: searchcorpus.Text, entries: int) -> dict[str, Any]:
    """Write and index the sessions, where they are not there already."""
    mine = Session.objects.filter(workspace=place.workspace)
    kept = mine.aggregate(n=Sum("entries_count"))["n"] == entries
    before = _sizes()
    started = time.perf_counter()
    if not kept:
        mine.delete()
        searchcorpus.write(place, text, entries)
    copied = time.perf_counter() - started
    analyse()
    started, ours = time.perf_counter(), time.process_time()
    _, here = index_waiting(workspace_id=place.workspace.pk)
    indexed, ours = time.perf_counter() - started, time.process_time() - ours
    # A worker that runs helps along: its part counts for nothing here, and the queries wait for it.
    while waiting(place.workspace.pk):
        index_waiting(workspace_id=place.workspace.pk)
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"ANALYZE agent_sessions_{table}")
    size = {table: n - before[table] for table, n in _sizes().items()}
    made = bool(here)
    return {
        "sessions": mine.count(),
        "characters": text.written if not kept else None,
        "copy_seconds": None if kept else round(copied, 1),
        "index_seconds": round(indexed, 1) if made else None,
        "index_cpu_seconds": round(ours, 1) if made else None,
        "entries_indexed_per_second": round(here / indexed) if made else None,
        "index_bytes": sum(size[table] for table in TABLES) if made else None,
        "index_parts": {table: size[table] for table in TABLES} if made else None,
        "entry_bytes": size["entry"] if not kept else None,
    }


def _asked(client: Client, place: Place, words: str, query: str, runs: int) -> dict[str, Any]:
    address = reverse("sessions:search")
    taken: list[float] = []
    finding: list[float] = []
    ours = time.process_time()
    for _ in range(runs + 1):
        started = time.perf_counter()
        response = client.get(address, {"q": query})
        taken.append(time.perf_counter() - started)
        assert response.status_code == 200, f"{query} answered {response.status_code}"
    ours = time.process_time() - ours
    for _ in range(runs + 1):
        found = find(place.workspace.pk, asked(query))
        finding.append(found.seconds)
    return {
        "what": words,
        "query": query,
        "seconds": round(median(taken[1:] or taken), 4),
        "most_seconds": round(max(taken[1:] or taken), 4),
        "first_seconds": round(taken[0], 4),
        "finding_seconds": round(median(finding[1:] or finding), 4),
        "cpu_seconds": round(ours / (runs + 1), 4),
        "bytes": len(response.content),
        "hits": found.total,
        "at_most": found.about,
        "read": found.read,
        "shown": len(found.page),
        "sessions": found.sessions,
    }


def _sizes() -> dict[str, int]:
    with connection.cursor() as cursor:
        sizes = {}
        for table in (*TABLES, "entry"):
            cursor.execute("SELECT pg_total_relation_size(%s)", [f"agent_sessions_{table}"])
            sizes[table] = cursor.fetchone()[0]
    return sizes
