"""Records of a Claude Code transcript, one after the other: each knows its parent, its time and what its request cost."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

_SYSTEM = 14_200  # tokens of system prompt and tool schemas, which every request carries
_CHARACTERS = 4  # of a token, near enough for figures that only have to hang together


class Transcript:
    """Builds a transcript. `leaf` is the record the next one follows; `mark` and `rewind` go back to an earlier place."""

    def __init__(self, session_id: str, *, cwd: str, model: str, branch: str, version: str, start: datetime) -> None:
        self.session_id = session_id
        self.cwd = cwd
        self.model = model
        self.branch = branch
        self.version = version
        self.now = start.astimezone(UTC)
        self.lines: list[str] = []
        self.leaf: str | None = None
        self.held = 0  # characters of the context so far
        self.cached = 0  # tokens of it that the last request left in the cache
        self.answer = 0

    def __bytes__(self) -> bytes:
        return "".join(f"{line}\n" for line in self.lines).encode()

    def prompt(self, text: str, *, after: float = 90) -> str:
        """A person's message."""
        self.pause(after)
        self.held += len(text)
        return self._record({"type": "user", "message": {"role": "user", "content": text}})

    def mark(self) -> tuple[str | None, int]:
        """Where the transcript stands, to come back to."""
        return self.leaf, self.held

    def rewind(self, mark: tuple[str | None, int]) -> None:
        """Go on from an earlier place; what came after it stays in the file, as a branch not taken."""
        self.leaf, self.held = mark
        self.cached = min(self.cached, _SYSTEM + self.held // _CHARACTERS)

    def begin(self) -> None:
        """A new answer: what follows until the next one is one request."""
        self.answer += 1
        prompt = _SYSTEM + self.held // _CHARACTERS
        self.usage = {
            "input_tokens": 4,
            "cache_creation_input_tokens": max(0, prompt - self.cached - 4),
            "cache_read_input_tokens": min(self.cached, prompt),
            "output_tokens": 0,
        }
        self.cached = prompt

    def thinks(self, text: str) -> str:
        return self._block({"type": "thinking", "thinking": text, "signature": f"c2lnbmVk{self.answer:04d}"}, text)

    def says(self, text: str) -> str:
        return self._block({"type": "text", "text": text}, text)

    def calls(self, tool: str, args: dict[str, Any]) -> str:
        """A tool call; its id."""
        call = f"toolu_sample{len(self.lines):04d}"
        self._block({"type": "tool_use", "id": call, "name": tool, "input": args}, json.dumps(args))
        return call

    def result(self, call: str, text: str, *, details: Any = None, is_error: bool = False) -> str:
        self.pause(1.5)
        self.held += len(text)
        block: dict[str, Any] = {"tool_use_id": call, "type": "tool_result", "content": text}
        if is_error:
            block["is_error"] = True
        record: dict[str, Any] = {"type": "user", "message": {"role": "user", "content": [block]}}
        record["toolUseResult"] = f"Error: {text}" if is_error and details is None else details
        return self._record(record)

    def compaction(self, summary: str) -> None:
        """What the agent leaves of the conversation when a person asks for `/compact`."""
        self.pause(40)
        before = _SYSTEM + self.held // _CHARACTERS
        last = self.leaf
        self.leaf = None
        self._record(
            {
                "type": "system",
                "subtype": "compact_boundary",
                "content": "Conversation compacted",
                "isMeta": False,
                "level": "info",
                "logicalParentUuid": last,
                "compactMetadata": {"trigger": "manual", "preTokens": before},
            }
        )
        self.held = len(summary)
        self.cached = _SYSTEM
        self._record(
            {
                "type": "user",
                "isCompactSummary": True,
                "isVisibleInTranscriptOnly": True,
                "message": {"role": "user", "content": summary},
            }
        )

    def title(self, text: str) -> None:
        """The title a person gave; a record outside the chain."""
        self.lines.append(self._json({"type": "custom-title", "customTitle": text, "sessionId": self.session_id}))

    def pause(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def _block(self, block: dict[str, Any], text: str) -> str:
        self.pause(3 + len(text) / 220)
        self.held += len(text)
        self.usage["output_tokens"] += len(text) // _CHARACTERS + 12
        return self._record(
            {
                "type": "assistant",
                "requestId": f"req_sample{self.answer:04d}",
                "message": {
                    "id": f"msg_sample{self.answer:04d}",
                    "type": "message",
                    "role": "assistant",
                    "model": self.model,
                    "content": [block],
                    "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
                    "stop_sequence": None,
                    "usage": dict(self.usage),
                },
            }
        )

    def _record(self, record: dict[str, Any]) -> str:
        uuid = str(uuid5(UUID(self.session_id), str(len(self.lines))))
        envelope = {
            "parentUuid": self.leaf,
            "isSidechain": False,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": self.version,
            "gitBranch": self.branch,
        }
        stamp = self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.lines.append(self._json({**envelope, **record, "uuid": uuid, "timestamp": stamp}))
        self.leaf = uuid
        return uuid

    @staticmethod
    def _json(record: dict[str, Any]) -> str:
        return json.dumps(record, ensure_ascii=False, separators=(",", ":"))
