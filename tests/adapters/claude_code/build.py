"""Writes Claude Code transcripts for tests: records as the agent writes them, with short ids, in a chain unless told otherwise."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import PurePath
from typing import Any

from sessions.adapters.claude_code import ADAPTER
from sessions.assembly import Reading, read_whole

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
SESSION = "5e551000-0000-4000-8000-000000000001"
PATH = PurePath(f"/home/someone/.claude/projects/-srv-shop/{SESSION}.jsonl")
_CHAIN: Any = object()


def uid(name: str) -> str:
    """A uuid that a reader of the test can recognise by its end."""
    return f"00000000-0000-4000-8000-{name.encode().hex()[:12]:0>12}"


@dataclass
class Transcript:
    """A file being written. Every `add` gives the id of the record, and the next record hangs on it."""

    version: str = "2.1.332"
    session: str = SESSION
    seconds: float = 20.0
    lines: list[bytes] = field(default_factory=list)
    last: str | None = None
    at: datetime = START
    count: int = 0
    answers: int = 0

    def add(self, kind: str, parent: Any = _CHAIN, name: str | None = None, **fields: Any) -> str:
        """A tree record."""
        self.count += 1
        self.at += timedelta(seconds=self.seconds)
        one = uid(name or f"r{self.count}")
        record: dict[str, Any] = {
            "parentUuid": self.last if parent is _CHAIN else parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/srv/shop",
            "sessionId": self.session,
            "version": self.version,
            "gitBranch": "main",
            "type": kind,
            "uuid": one,
            "timestamp": stamp(self.at),
        }
        self.raw({**record, **fields})
        if fields.get("isSidechain") is not True:
            self.last = one
        return one

    def raw(self, record: Any) -> None:
        """Any record, or bytes that are none."""
        self.lines.append(record if isinstance(record, bytes) else json.dumps(record, ensure_ascii=False).encode())

    def loose(self, kind: str, **fields: Any) -> None:
        """A record outside the tree."""
        self.raw({"type": kind, "sessionId": self.session, **fields})

    def prompt(self, text: Any, **fields: Any) -> str:
        return self.add("user", message={"role": "user", "content": text}, **fields)

    def answer(
        self, *blocks: dict[str, Any], response: str | None = None, usage: dict[str, Any] | None = None, **fields: Any
    ) -> list[str]:
        """One response: a line for each block, chained."""
        if response is None:
            self.answers += 1
            response = f"msg_{self.answers}"
        used = usage if usage is not None else {"input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 7}
        message = {
            "id": response,
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "usage": used,
            "stop_reason": "end_turn",
        }
        message |= fields.pop("message", {})
        return [
            self.add(
                "assistant",
                message={**message, "content": [block]},
                requestId=f"req_{response}",
                **(fields if n == 0 else {}),
            )
            for n, block in enumerate(blocks)
        ]

    def result(self, call: str, content: Any, *, is_error: bool = False, **fields: Any) -> str:
        block = {"type": "tool_result", "tool_use_id": call, "content": content}
        if is_error:
            block["is_error"] = True
        return self.add("user", message={"role": "user", "content": [block]}, **fields)

    def compaction(self, summary: str = "what was done", *, trigger: str = "auto", **metadata: Any) -> tuple[str, str]:
        """Boundary and summary, as the agent appends them."""
        before = self.last
        boundary = self.add(
            "system",
            parent=None,
            subtype="compact_boundary",
            content="Conversation compacted",
            logicalParentUuid=before,
            compactMetadata={"trigger": trigger, "preTokens": 5000, **metadata},
        )
        text = f"This session is being continued from a previous conversation that ran out of context. {summary}"
        return boundary, self.prompt(text, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    @property
    def bytes(self) -> bytes:
        return b"".join(line + b"\n" for line in self.lines)

    def read(self, path: PurePath = PATH) -> Reading:
        return read_whole(ADAPTER, path, [(self.bytes, False)])


def stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def thinking(words: str, signature: str | None = "sig") -> dict[str, Any]:
    return {"type": "thinking", "thinking": words} | ({"signature": signature} if signature else {})


def call(name: str, one: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": one, "name": name, "input": arguments}


def seen(reading: Reading) -> list[str]:
    """The context in words: one string for each part, for comparing at a glance."""
    return [part.text for item in reading.context() for part in item.parts]
