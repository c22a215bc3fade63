"""How long the audit takes to come over a workspace with very many goals given up: the first page, chosen facets, words, an auditor's.

The rows are invented and laid by COPY: the audit reads nothing but them and the names of their sessions.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any
from uuid import UUID

from django.db import connection
from django.test import Client
from django.urls import reverse

from sessions.abandoning import again, week_of
from sessions.bench.places import Place, analyse
from sessions.models import Goal, Session, Source
from sessions.models_goals import Abandonment
from sessions.store import place_in_tree

WARM = 3
_AGENTS = ("claude-code", "codex", "gemini-cli", "opencode", "jcli")
_MODELS = ("claude-sonnet-4-5", "gpt-5.1-codex", "gemini-2.5-pro", "glm-4.6", None)
_VERBS = (
    "cache",
    "map",
    "rewrite",
    "stream",
    "index",
    "retry",
    "split",
    "merge",
    "rename",
    "measure",
    "port",
    "document",
)
_THINGS = (
    "ledger importer",
    "query planner",
    "upload queue",
    "rates service",
    "session table",
    "OCR fallback",
    "row hashes",
    "cold start",
)
_SYLLABLES = ("ka", "lo", "mi", "ter", "ven", "so", "ru", "bel", "dan", "qui", "fa", "nor", "pli", "stu", "gre", "wa")
_REASONS = (
    "the library is not installed on this machine",
    "three tests still fail after the second try",
    "the person asked for something else instead",
    "replaced by a simpler way",
    "no time left before the release",
    "",
)
# What is asked for, in the words of the measure.
ASKED = (
    ("first page", ""),
    ("all states", "?review="),
    ("of a class", "?cause=failing_tests"),
    ("of a project", "?project=project-7&review="),
    ("two facets", "?agent=codex&how=vanished&review="),
    ("words", "?q=query+planner&review="),
    ("rare words", "?q=planner+kalomi&review="),
    ("of a week", "?week=2026-03-02&review="),
    ("by cost", "?sort=cost&review="),
    ("by time", "?sort=time&review="),
    ("tried again", "?by=goal"),
)


def bench(place: Place, *, sessions: int, goals: int, runs: int) -> list[dict[str, Any]]:
    """Medians in seconds of requests through Django, with warm caches; `most_seconds` the slowest of them."""
    lay(place, sessions=sessions, goals=goals)
    analyse()
    if not connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute("VACUUM agent_sessions_abandonment")  # as the server does by itself a minute after
    client = Client(SERVER_NAME="localhost")
    client.force_login(place.user)
    address = reverse("sessions:abandoned")
    out = []
    for words, query in ASKED:
        for _ in range(WARM):
            size = len(_get(client, address + query))
        taken = []
        for _ in range(runs):
            started = time.perf_counter()
            _get(client, address + query)
            taken.append(time.perf_counter() - started)
        out.append(
            {"page": words, "seconds": round(median(taken), 4), "most_seconds": round(max(taken), 4), "bytes": size}
        )
    return out


def _get(client: Client, address: str) -> bytes:
    response = client.get(address)
    assert response.status_code == 200, f"{address} answered {response.status_code}"
    return bytes(response.content)


def lay(place: Place, *, sessions: int, goals: int) -> None:
    """Lay so many sessions, and so many goals given up over them."""
    drawn = random.Random(7)  # noqa: S311 -- invented rows, the same every time
    now = datetime(2026, 6, 1, tzinfo=UTC)
    workspace = place.workspace.pk
    first = drawn.getrandbits(96) << 24
    ids = [UUID(int=(first + n) % 2**128) for n in range(sessions)]
    whose = [(drawn.choice(_AGENTS), f"project-{drawn.randrange(40)}", drawn.choice(_MODELS)) for _ in ids]
    times = [now - timedelta(minutes=drawn.randrange(60 * 24 * 7 * 40)) for _ in ids]

    def sources() -> Iterator[dict[str, Any]]:
        for n, (agent, _, _) in enumerate(whose):
            yield {
                "workspace_id": workspace,
                "agent": agent,
                "path": f"invented/{n}.jsonl",
                "adapter_version": 1,
                "role": Source.Role.SESSION,
            }

    keys = _sources(sources())
    _copy(
        Session,
        (
            {
                "id": ids[n], "workspace_id": workspace, "agent": agent, "agent_version": "1.0", "native_id": str(ids[n]), "source_id": keys[n],
                "title": f"Make the {drawn.choice(_THINGS)} hold {n}", "project": project, "owner_id": place.user.pk, "started_at": times[n],
                "last_at": times[n], "entries_count": 400,
            }
            for n, (agent, project, _) in enumerate(whose)
        ),
    )  # fmt: skip
    paths = [(n % sessions, str(n // sessions + 1)) for n in range(goals)]
    # Each third goal or so is one that another session tried too.
    names = ["".join(drawn.choice(_SYLLABLES) for _ in range(3)) for _ in range(max(1, goals // 8))]
    texts = [f"{drawn.choice(_VERBS)} the {drawn.choice(_THINGS)} of {drawn.choice(names)}".capitalize() for _ in paths]
    _copy(
        Goal,
        (
            {
                "session_id": ids[at], "path": path, "position": place_in_tree(path), "text": texts[n], "status": "dropped", "first_seq": 10, "last_seq": 90,
                "closed_seq": 90, "entries_count": 40, "tokens": 5_000,
            }
            for n, (at, path) in enumerate(paths)
        ),
    )  # fmt: skip
    states = ("unreviewed", "unreviewed", "unreviewed", "accepted", "accepted", "follow_up", "not_abandoned")
    _copy(
        Abandonment,
        (
            {
                "workspace_id": workspace, "session_id": ids[at], "path": path, "text": texts[n], "folded": again(texts[n]),
                "family": again(texts[n]), "status": "dropped", "how": drawn.choice(Abandonment.How.values), "confidence": 0.9,
                "why_found": "It was open and is gone from the list that this entry rewrote.", "reason": drawn.choice(_REASONS),
                "cause": (cause := drawn.choice(Abandonment.Cause.values)), "cause_found": cause, "review": drawn.choice(states),
                "agent": whose[at][0], "project": whose[at][1], "owner_id": place.user.pk, "model": whose[at][2], "at": times[at],
                "week": week_of(times[at]), "entries": 40, "steps": 9, "tokens": drawn.randrange(200_000),
                "cost": round(drawn.random() * 3, 6), "seconds": drawn.randrange(9_000), "attempts": drawn.randrange(1, 5), "first_seq": 10,
                "last_seq": 90,
            }
            for n, (at, path) in enumerate(paths)
        ),
    )  # fmt: skip


def _sources(rows: Iterator[dict[str, Any]]) -> list[int]:
    made = Source.objects.bulk_create([Source(**row) for row in rows], batch_size=1_000)
    return [one.pk for one in made]


def _copy(model: Any, rows: Iterator[dict[str, Any]]) -> None:
    """Write rows by COPY; what a row does not say has the model's default."""
    fields = [one for one in model._meta.concrete_fields if one.column and (one.attname != "id" or model is Session)]
    names = ", ".join(f'"{field.column}"' for field in fields)
    with connection.cursor() as cursor, cursor.copy(f'COPY "{model._meta.db_table}" ({names}) FROM STDIN') as copy:
        for row in rows:
            copy.write_row(
                [_written(field, row[field.attname] if field.attname in row else _default(field)) for field in fields]
            )


def _default(field: Any) -> Any:
    if field.has_default():
        return field.get_default()
    return datetime.now(UTC) if field.db_default is not None and field.get_internal_type() == "DateTimeField" else None


def _written(field: Any, value: Any) -> Any:
    return field.get_db_prep_save(value, connection)
