"""Makes exports for tests, message by message, and reads them."""

from __future__ import annotations

import hashlib
import json
from pathlib import PurePath
from typing import Any

from sessions.adapters.opencode import ADAPTER
from sessions.assembly import Assembly, Reading

type Record = dict[str, Any]

SESSION = "ses_dd53353d8ffeWZkOg3AwX9XLUC"
NAME = PurePath("session.json")
START = 1796014386402  # ms: when the first message of a built session was made
PNG = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Session:
    """An export as it grows: each call adds a message, a second later than the one before, and gives its id."""

    def __init__(self, session: str = SESSION, **info: Any) -> None:
        self.info: Record = {
            "id": session,
            "slug": "quick-fox",
            "projectID": "global",
            "directory": "/srv/project",
            "title": "A built session",
            "version": "1.18.33",
            "time": {"created": START, "updated": START},
            **info,
        }
        self.messages: list[Record] = []
        self.parts = 0

    def user(self, *parts: Record, **info: Any) -> str:
        return self._add("user", parts, {"agent": "build", "model": {"providerID": "acme", "modelID": "large"}, **info})

    def assistant(self, *parts: Record, parent: str | None = None, **info: Any) -> str:
        asked = parent or next(
            (m["info"]["id"] for m in reversed(self.messages) if m["info"]["role"] == "user"), "msg_none"
        )
        known = {
            "parentID": asked,
            "mode": "build",
            "agent": "build",
            "path": {"cwd": "/srv/project", "root": "/srv/project"},
            "cost": 0,
            "tokens": next((part["tokens"] for part in reversed(parts) if part["type"] == "step-finish"), tokens()),
            "modelID": "large",
            "providerID": "acme",
            "finish": "stop",
        }
        return self._add("assistant", parts, {**known, **info})

    def compacted(self, summary: str, *, tail: str | None = None, auto: bool = False, **info: Any) -> str:
        """A compaction and its summary; the id of the request."""
        mark: Record = {"type": "compaction", "auto": auto}
        if tail:
            mark["tail_start_id"] = tail
        asked = self.user(mark)
        self.assistant(text(summary), mode="compaction", agent="compaction", summary=True, parent=asked, **info)
        return asked

    def data(self) -> bytes:
        return json.dumps({"info": self.info, "messages": self.messages}).encode()

    def part_id(self, message: int, part: int) -> str:
        found: str = self.messages[message]["parts"][part]["id"]
        return found

    def _add(self, role: str, parts: tuple[Record, ...], info: Record) -> str:
        n = len(self.messages)
        own = hashlib.sha256(self.info["id"].encode()).hexdigest()[:14]
        name = f"msg_22accace1{n:03d}{own}"
        owned = []
        for part in parts:
            self.parts += 1
            owned.append(
                {
                    **part,
                    "id": f"prt_22accacf{self.parts:04d}{own}",
                    "sessionID": self.info["id"],
                    "messageID": name,
                }
            )
        time = {"created": START + 1000 * n}
        if role == "assistant":
            time["completed"] = START + 1000 * n + 500
        self.messages.append(
            {"info": {"id": name, "sessionID": self.info["id"], "role": role, "time": time, **info}, "parts": owned}
        )
        return name


def tokens(fresh: int = 0, output: int = 0, reasoning: int = 0, read: int = 0, write: int = 0) -> Record:
    return {"input": fresh, "output": output, "reasoning": reasoning, "cache": {"read": read, "write": write}}


def text(words: str, **more: Any) -> Record:
    return {"type": "text", "text": words, **more}


def thought(words: str, **more: Any) -> Record:
    return {"type": "reasoning", "text": words, "time": {"start": START, "end": START}, **more}


def start() -> Record:
    return {"type": "step-start"}


def finish(fresh: int = 10, output: int = 5, **more: int) -> Record:
    return {"type": "step-finish", "reason": "stop", "cost": 0, "tokens": tokens(fresh, output, **more)}


def tool(call: str, output: str = "done", name: str = "bash", given: Any = None, **state: Any) -> Record:
    time = {"start": START, "end": START, **state.pop("time", {})}
    known = {"status": "completed", "input": given or {"command": "ls"}, "output": output, "title": "", "metadata": {}}
    return {"type": "tool", "tool": name, "callID": call, "state": {**known, "time": time, **state}}


def read(data: bytes, path: PurePath = NAME) -> Reading:
    """A document read as a whole."""
    assembly = Assembly()
    reader = ADAPTER.reader(path)
    placed = [assembly.place(reader.read(line), line, copied=False) for line in ADAPTER.documents(path, data)]
    parts = {one.seq: one.entry.parts for one in placed}
    versions = list(ADAPTER.history([one.link() for one in placed], lambda seq: parts[seq], reader.facts))
    return Reading(ADAPTER, placed, assembly.take_changed(), assembly.goals.tree(), reader.facts, versions)
