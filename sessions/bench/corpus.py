"""Invented sessions of any size, line by line: the same arguments give the same bytes, and memory does not grow with them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

_WORDS = [
    "ledger",
    "row",
    "import",
    "buffer",
    "cursor",
    "chunk",
    "queue",
    "writer",
    "reader",
    "offset",
    "quote",
    "header",
    "column",
    "total",
    "balance",
    "posting",
    "account",
    "batch",
    "stream",
    "retry",
    "window",
    "index",
    "table",
    "parse",
    "check",
    "error",
    "limit",
    "value",
    "field",
    "before",
    "after",
    "while",
    "until",
    "return",
    "yield",
    "class",
    "module",
]
_TOOLS = ("Read", "Bash", "Grep", "Edit")
_ROUNDS = 6  # calls between two messages of a person
_CONTEXT = 150_000  # tokens at which the invented agent compacts, where it does


def lines(entries: int, *, seed: int = 1, compacting: bool = True) -> Iterator[bytes]:
    """The lines of a Claude Code session of `entries` records. `compacting`: with a compaction wherever its window is full."""
    return Writer(seed, compacting=compacting).lines(entries)


def session_id(seed: int) -> str:
    """The native id of the session that `seed` makes."""
    return str(UUID(int=(0xBE9C << 112) | (4 << 76) | (8 << 60) | seed))


def write(folder: Path, entries: int, *, seed: int = 1, compacting: bool = True) -> Path:
    """Write such a session into `folder`; its path."""
    path = folder / f"{session_id(seed)}.jsonl"
    with path.open("wb") as file:
        file.writelines(lines(entries, seed=seed, compacting=compacting))
    return path


class Writer:
    """Writes one session's records, each hanging on the one before."""

    def __init__(self, seed: int, *, compacting: bool) -> None:
        self.random = random.Random(seed)  # noqa: S311 -- texts, not secrets
        self.id = session_id(seed)
        self.compacting = compacting
        self.n = 0
        self.leaf: str | None = None
        self.held = 0
        self.at = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)

    def lines(self, entries: int) -> Iterator[bytes]:
        made = self.records()
        for _ in range(entries):
            yield next(made)

    def records(self) -> Iterator[bytes]:
        while True:
            yield self.user(self._text(30))
            for n in range(_ROUNDS):
                if n % 3 == 0:
                    yield self.assistant({"type": "thinking", "thinking": self._text(60), "signature": "c2ln"})
                call = f"toolu_{self.n:08d}"
                tool = self.random.choice(_TOOLS)
                yield self.assistant({"type": "tool_use", "id": call, "name": tool, "input": self._input(tool)})
                output = self._text(self.random.choice((20, 120, 120, 600)))
                yield self.user([{"type": "tool_result", "tool_use_id": call, "content": output}])
            yield self.assistant({"type": "text", "text": self._text(80)})
            if self.full:
                yield from self.compaction(self._text(900))

    @property
    def full(self) -> bool:
        """Whether it is time for a compaction."""
        return self.compacting and self.held // 4 > _CONTEXT

    def _input(self, tool: str) -> dict[str, Any]:
        path = f"/home/ada/ledger/src/{self.random.choice(_WORDS)}.py"
        match tool:
            case "Read":
                return {"file_path": path}
            case "Edit":
                return {"file_path": path, "old_string": self._text(15), "new_string": self._text(18)}
            case "Grep":
                return {"pattern": self.random.choice(_WORDS), "path": "/home/ada/ledger/src"}
            case _:
                return {"command": f"python -m pytest -q -k {self.random.choice(_WORDS)}", "description": "Run tests"}

    def _text(self, words: int) -> str:
        return " ".join(self.random.choices(_WORDS, k=words)) + ".\n"

    def compaction(self, summary: str) -> Iterator[bytes]:
        before, last, self.leaf = self.held // 4, self.leaf, None
        yield self.line(
            {
                "type": "system",
                "subtype": "compact_boundary",
                "content": "Conversation compacted",
                "logicalParentUuid": last,
                "compactMetadata": {"trigger": "auto", "preTokens": before},
            }
        )
        self.held = 0
        yield self.line(
            {
                "type": "user",
                "isCompactSummary": True,
                "isVisibleInTranscriptOnly": True,
                "message": {"role": "user", "content": summary},
            }
        )

    def user(self, content: Any, **more: Any) -> bytes:
        return self.line({"type": "user", "message": {"role": "user", "content": content}, **more})

    def assistant(self, block: dict[str, Any]) -> bytes:
        prompt = 14_000 + self.held // 4
        message = {
            "id": f"msg_{self.id[-6:]}_{self.n:08d}",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5-20250929",
            "content": [block],
            "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
            "usage": {
                "input_tokens": 4,
                "cache_creation_input_tokens": 900,
                "cache_read_input_tokens": prompt - 904,
                "output_tokens": 120,
            },
        }
        return self.line({"type": "assistant", "requestId": f"req_{self.n:08d}", "message": message})

    def line(self, record: dict[str, Any]) -> bytes:
        uuid = str(UUID(int=(int(self.id[-4:], 16) << 64) | (4 << 76) | self.n))
        self.at += timedelta(seconds=2)
        envelope = {
            "parentUuid": self.leaf,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/ada/ledger",
            "sessionId": self.id,
            "version": "2.1.150",
            "gitBranch": "main",
            "uuid": uuid,
            "timestamp": self.at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        self.n += 1
        self.leaf = uuid
        line = json.dumps({**envelope, **record}).encode() + b"\n"
        if record["type"] in ("user", "assistant"):
            # neither the envelope is sent, nor what the agent keeps of a result for itself
            self.held += len(json.dumps(record["message"]["content"]))
        return line
