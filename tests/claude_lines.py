"""Small Claude Code sessions for tests, line by line; our own invention."""

import json
from typing import Any
from uuid import UUID

START = "2026-03-02T09:00:00.000Z"


class ClaudeLines:
    """Builds a chain of records; every method adds one and returns its uuid."""

    def __init__(self, session_id: str = "11111111-2222-4333-8444-555555555555", cwd: str = "/home/ada/ledger") -> None:
        self.session_id = session_id
        self.cwd = cwd
        self.lines: list[bytes] = []
        self.leaf: str | None = None
        self._n = 0

    def __bytes__(self) -> bytes:
        return b"".join(line + b"\n" for line in self.lines)

    def raw(self, line: bytes) -> None:
        self.lines.append(line)

    def record(self, record: dict[str, Any], *, parent: str | bool | None = True) -> str:
        self._n += 1
        uuid = str(UUID(int=(hash_of(self.session_id) << 32) + self._n))
        envelope = {
            "parentUuid": self.leaf if parent is True else parent or None,
            "isSidechain": False,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": "2.1.150",
            "gitBranch": "main",
            "uuid": uuid,
            "timestamp": f"2026-03-02T09:{self._n // 60 % 60:02d}:{self._n % 60:02d}.000Z",
        }
        self.lines.append(json.dumps({**envelope, **record}, ensure_ascii=False).encode())
        self.leaf = uuid
        return uuid

    def prompt(self, text: str, **more: Any) -> str:
        return self.record({"type": "user", "message": {"role": "user", "content": text}}, **more)

    def says(self, text: str, *, message: str | None = None, usage: dict[str, int] | None = None) -> str:
        return self._assistant({"type": "text", "text": text}, message, usage)

    def calls(
        self,
        call: str,
        tool: str,
        args: dict[str, Any],
        *,
        message: str | None = None,
        usage: dict[str, int] | None = None,
    ) -> str:
        return self._assistant({"type": "tool_use", "id": call, "name": tool, "input": args}, message, usage)

    def result(self, call: str, output: str, *, is_error: bool = False, **more: Any) -> str:
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call, "content": output}
        if is_error:
            block["is_error"] = True
        return self.record({"type": "user", "message": {"role": "user", "content": [block]}, **more})

    def compact(self, summary: str) -> str:
        self.record(
            {
                "type": "system",
                "subtype": "compact_boundary",
                "content": "Conversation compacted",
                "logicalParentUuid": self.leaf,
                "compactMetadata": {"trigger": "manual", "preTokens": 1000},
            },
            parent=None,
        )
        return self.record(
            {
                "type": "user",
                "isCompactSummary": True,
                "isVisibleInTranscriptOnly": True,
                "message": {
                    "role": "user",
                    "content": f"This session is being continued from a previous conversation. {summary}",
                },
            }
        )

    def _assistant(self, block: dict[str, Any], message: str | None, usage: dict[str, int] | None) -> str:
        name = message or f"msg_{hash_of(self.session_id) % 10_000:04d}{self._n:06d}"
        figures = usage or {
            "input_tokens": 10,
            "cache_creation_input_tokens": 5,
            "cache_read_input_tokens": 100,
            "output_tokens": 20,
        }
        return self.record(
            {
                "type": "assistant",
                "requestId": f"req_{name}",
                "message": {
                    "id": name,
                    "type": "message",
                    "role": "assistant",
                    "model": "claude-sonnet-4-5",
                    "content": [block],
                    "stop_reason": "end_turn",
                    "usage": figures,
                },
            }
        )


def hash_of(text: str) -> int:
    """A number that is the same in every process."""
    return int.from_bytes(text.encode()[:8].rjust(8, b"0"), "big")


def turns(count: int, lines: ClaudeLines | None = None) -> ClaudeLines:
    """A session of `count` plain turns: a prompt, a read, its result, an answer."""
    made = lines or ClaudeLines()
    for n in range(1, count + 1):
        made.prompt(f"Please look at part {n} of the ledger")
        made.calls(f"toolu_{n:04d}", "Read", {"file_path": f"{made.cwd}/part{n}.py"})
        made.result(f"toolu_{n:04d}", f"     1→part = {n}\n     2→print(part)\n")
        made.says(f"Part {n} prints its own number.")
    return made
