"""How fast search answers over many entries, how large its index is, and how fast that is made.

The entries are invented and written by COPY: what is measured is search, not taking in. Words come as they do in languages, few of them
often and most of them seldom, with identifiers, paths and Chinese among them.
"""

from __future__ import annotations

import random
import time
from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from statistics import median
from typing import Any
from uuid import UUID, uuid4

import orjson
from django.db import connection, transaction

from sessions.bench.places import Place, a_place, analyse
from sessions.models import Session, Source
from sessions.packing import compress
from sessions.search.asked import asked
from sessions.search.find import find
from sessions.search.index import index_waiting
from sessions.search.shown import shown
from sessions.search.waiting import waiting
from sessions.store import copying
from sessions.versions import make

SESSION = 1_000  # entries of a session
WORDS = 60_000  # of the vocabulary
START = datetime(2026, 3, 1, tzinfo=UTC)
TABLES = ("searchword", "searchstretch", "searchposting")
_STEMS = [
    "cursor",
    "ledger",
    "stream",
    "chunk",
    "parse",
    "config",
    "mount",
    "buffer",
    "retry",
    "queue",
    "token",
    "index",
    "merge",
    "batch",
    "limit",
    "error",
    "import",
    "writer",
]
_CHINESE = "内存映射流式读取导入器错误处理缓冲区测试通过文件路径会话压缩摘要目标"

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
    "all errors in ghosts": "is:error in:ghosts",
}
_COLUMNS = (
    "session_id", "seq", "turn", "kind", "role", "tool", "is_error", "sent", "opens_turn", "copied", "lane", "at", "text", "parts", "digest",
    "utf8", "utf16", "ascii", "images", "documents", "tokens", "cl100k", "chars", "json", "wide_tool", "source_id", "byte_offset", "byte_length",
)  # fmt: skip


def bench(*, entries: int, runs: int) -> dict[str, Any]:
    """Medians in seconds of each query, the hits shown and all facets counted among it; index bytes, and entries indexed a second."""
    with a_place() as place:
        text = Text(random.Random(7))  # noqa: S311 -- invented words, no secret
        before = _sizes()
        started = time.perf_counter()
        _write(place, text, entries)
        copied = time.perf_counter() - started
        analyse()
        started = time.perf_counter()
        _, here = index_waiting(workspace_id=place.workspace.pk)
        indexed = time.perf_counter() - started
        # A worker that runs helps along: its part counts for nothing here, and the queries wait for it.
        while waiting(place.workspace.pk):
            index_waiting(workspace_id=place.workspace.pk)
        with connection.cursor() as cursor:
            for table in TABLES:
                cursor.execute(f"ANALYZE agent_sessions_{table}")
        after = _sizes()
        rows = [_asked(place, words, text.filled(query), runs) for words, query in QUERIES.items()]
    size = {table: after[table] - before[table] for table in TABLES}
    return {
        "entries": entries,
        "characters": text.written,
        "copy_seconds": round(copied, 1),
        "index_seconds": round(indexed, 1),
        "entries_indexed_per_second": round(here / indexed),
        "index_bytes": sum(size.values()),
        "index_parts": size,
        "entry_bytes": after["entry"] - before["entry"],
        "queries": rows,
        "slowest_seconds": max(row["seconds"] for row in rows),
    }


class Text:
    """Words with the frequencies of a language."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        made = dict.fromkeys(_STEMS)
        while len(made) < WORDS:
            parts = [chance.choice(_STEMS) for _ in range(chance.randint(1, 2))] + [f"{chance.randrange(4000):x}"]
            made["_".join(parts) if chance.random() < 0.5 else "".join(part.capitalize() for part in parts)] = None
        self.words = list(made)
        self.sums = list(accumulate(1 / (rank + 3) ** 1.1 for rank in range(WORDS)))
        self.written = 0

    def some(self, count: int) -> str:
        sums, words, chance = self.sums, self.words, self.chance.random
        text = " ".join(words[bisect_left(sums, chance() * sums[-1])] for _ in range(count))
        self.written += len(text)
        return text

    def chinese(self) -> str:
        at = self.chance.randrange(len(_CHINESE) - 8)
        return _CHINESE[at : at + 8]

    def filled(self, query: str) -> str:
        values = {
            "rare": self.words[40_000],
            "common": self.words[0],
            "middle": self.words[60],
            "pair": f"{self.words[3]} {self.words[5]}",
        }
        for name, value in values.items():
            query = query.replace(f"{{{name}}}", value)
        return query.replace("{stem}", "c").replace("{inner}", "ufferr")


def _write(place: Place, text: Text, entries: int) -> None:
    chance = text.chance
    for n in range(0, entries, SESSION):
        count = min(SESSION, entries - n)
        agent = ("claude-code", "codex", "gemini-cli", "opencode")[n // SESSION % 4]
        with transaction.atomic():
            source = Source.objects.create(
                workspace=place.workspace, agent=agent, adapter_version=1, role="session", path=f"bench/{n}"
            )
            at = START + timedelta(hours=n / SESSION)
            session = Session.objects.create(
                id=uuid4(), workspace=place.workspace, agent=agent, source=source, title=text.some(6), project=f"project{n // SESSION % 9}",
                entries_count=count, started_at=at, last_at=at + timedelta(seconds=20 * count), owner=place.user if n % 3 else None,
            )  # fmt: skip
            with copying("agent_sessions_entry", _COLUMNS, many=True) as write:
                for row in _rows(session.pk, source.pk, count, at, text, chance):
                    write(row)
            version = make(session, parent=None, edits=[], origin="recorded", kind="recorded", label="", at_seq=-1)
            with connection.cursor() as cursor:
                cursor.execute(
                    "UPDATE agent_sessions_version SET hidden = int4multirange(int4range(0, %s)) WHERE id = %s",
                    [count // 2, version.pk],
                )
            session.native_head = version
            session.save(update_fields=["native_head"])


def _rows(
    session: UUID, source: int, count: int, at: datetime, text: Text, chance: random.Random
) -> Iterator[tuple[Any, ...]]:
    kinds = ("prompt", "reasoning", "tool_call", "tool_result", "tool_call", "tool_result", "message")
    roles = {"prompt": "user", "tool_result": "tool"}
    parts_of = {"reasoning": "reasoning", "tool_call": "tool_call", "tool_result": "tool_result"}
    for seq in range(count):
        kind = kinds[seq % len(kinds)]
        tool = ("Edit", "Bash")[seq % 2] if kind == "tool_call" else None
        words = text.some({"tool_result": 90, "message": 40, "reasoning": 50}.get(kind, 18))
        if chance.random() < 0.05:
            words += " " + text.chinese()
        if tool is not None:
            path = f"src/{chance.choice(_STEMS)}/{chance.choice(_STEMS)}_{chance.randrange(300)}.rs"
            words = orjson.dumps({"file_path": path, "new_string": words}).decode()
        raw = orjson.dumps([{"kind": parts_of.get(kind, "text"), "text": words, **({"tool": tool} if tool else {})}])
        yield (
            str(session), seq, seq // len(kinds) + 1, kind, roles.get(kind, "assistant"), tool, chance.random() < 0.02, True, kind == "prompt", False,
            "", str(at + timedelta(seconds=20 * seq)), words[:4000], raw if len(raw) < 2000 else compress(raw), seq.to_bytes(8), len(words),
            len(words), len(words), 0, 0, len(words) // 4, len(words) // 4, len(words), 0, 0, source, 0, len(raw),
        )  # fmt: skip


def _asked(place: Place, words: str, query: str, runs: int) -> dict[str, Any]:
    taken: list[float] = []
    ours = time.process_time()
    for _ in range(runs + 1):
        started = time.perf_counter()
        wanted = asked(query)
        found = find(place.workspace.pk, wanted)
        shown(found.page, wanted)
        taken.append(time.perf_counter() - started)
    return {
        "what": words,
        "query": query,
        "seconds": round(median(taken[1:]), 4),
        "first_seconds": round(taken[0], 4),
        "cpu_seconds": round((time.process_time() - ours) / (runs + 1), 4),
        "hits": found.total,
        "at_most": found.about,
        "sessions": found.sessions,
    }


def _sizes() -> dict[str, int]:
    with connection.cursor() as cursor:
        sizes = {}
        for table in (*TABLES, "entry"):
            cursor.execute("SELECT pg_total_relation_size(%s)", [f"agent_sessions_{table}"])
            sizes[table] = cursor.fetchone()[0]
    return sizes
