"""Invented sessions for the measure of search, written by COPY: what is measured is search, not taking in.

Words come as they do in languages, few of them often and most of them seldom, with identifiers, paths and Chinese among them. Sessions are
as long as sessions are: half of them have fewer than eighty entries, a few have tens of thousands.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any
from uuid import UUID, uuid4

import orjson
from django.db import connection, transaction

from sessions.bench.places import Place
from sessions.models import Goal, Session, Source
from sessions.packing import compress
from sessions.ranges import Ranges
from sessions.store import copying
from sessions.versions import make

WORDS = 60_000  # of the vocabulary
START = datetime(2026, 3, 1, tzinfo=UTC)
_STEMS = [
    "cursor", "ledger", "stream", "chunk", "parse", "config", "mount", "buffer", "retry", "queue", "token", "index", "merge", "batch", "limit",
    "error", "import", "writer",
]  # fmt: skip
_CHINESE = "内存映射流式读取导入器错误处理缓冲区测试通过文件路径会话压缩摘要目标"
_COLUMNS = (
    "session_id", "seq", "turn", "kind", "role", "tool", "is_error", "sent", "opens_turn", "copied", "lane", "at", "text", "parts", "digest",
    "utf8", "utf16", "ascii", "images", "documents", "tokens", "cl100k", "chars", "json", "wide_tool", "source_id", "byte_offset", "byte_length",
)  # fmt: skip


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
            "goal": self.words[9],
        }
        for name, value in values.items():
            query = query.replace(f"{{{name}}}", value)
        return query.replace("{stem}", "c").replace("{inner}", "ufferr")


def write(place: Place, text: Text, entries: int) -> None:
    """So many entries, in as many sessions as that makes."""
    chance = text.chance
    done = n = 0
    while done < entries:
        n += 1
        count = min(max(4, min(40_000, int(chance.lognormvariate(4.3, 1.4)))), entries - done)
        done += count
        agent = ("claude-code", "codex", "gemini-cli", "opencode")[n % 4]
        with transaction.atomic():
            source = Source.objects.create(
                workspace=place.workspace, agent=agent, adapter_version=1, role="session", path=f"bench/{n}"
            )
            at = START + timedelta(hours=n / 2)
            session = Session.objects.create(
                id=uuid4(), workspace=place.workspace, agent=agent, source=source, title=text.some(6), project=f"project{n % 29}",
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
            Goal.objects.bulk_create(_goals(session, count, text))
            session.native_head = version
            session.save(update_fields=["native_head"])


def _goals(session: Session, count: int, text: Text) -> Iterator[Goal]:
    """A goal for every sixty entries or so."""
    for n, first in enumerate(range(0, count, 60), 1):
        stop = min(count, first + 60)
        yield Goal(
            session=session,
            path=str(n),
            position=f"{n:06}",
            text=text.some(7),
            status="completed",
            first_seq=first,
            last_seq=stop - 1,
            spans=Ranges.of([(first, stop)]),
        )


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
        part: dict[str, Any] = {"kind": parts_of.get(kind, "text"), "text": words, **({"tool": tool} if tool else {})}
        if kind == "tool_result":
            part["meta"] = {"exit_code": 0 if chance.random() < 0.9 else 1}
        raw = orjson.dumps([part])
        yield (
            str(session), seq, seq // len(kinds) + 1, kind, roles.get(kind, "assistant"), tool, chance.random() < 0.02, True, kind == "prompt", False,
            "", str(at + timedelta(seconds=20 * seq)), words[:4000], raw if len(raw) < 2000 else compress(raw), seq.to_bytes(8), len(words),
            len(words), len(words), 0, 0, len(words) // 4, len(words) // 4, len(words), 0, 0, source, 0, len(raw),
        )  # fmt: skip
