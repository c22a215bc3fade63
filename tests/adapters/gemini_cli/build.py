"""Sessions of Gemini CLI as its versions write them, made for tests: messages, logs of lines, whole files."""

from __future__ import annotations

import json
from typing import Any

SESSION = "5f0c7c1e-0000-4000-8000-000000000001"
PROJECT = "a" * 64
ENVIRONMENT = "d04923d38bb0f6017037e74183378ef4"
THANKS = "Got it. Thanks for the additional context!"
NAME = "session-2026-11-30T02-00-5f0c7c1e.jsonl"

type Record = dict[str, Any]


def head(session: str = SESSION, **more: Any) -> Record:
    return {
        "sessionId": session,
        "projectHash": PROJECT,
        "startTime": "2026-11-30T02:00:00.000Z",
        "lastUpdated": "2026-11-30T02:00:00.000Z",
        "kind": "main",
        **more,
    }


def _at(n: int) -> str:
    return f"2026-11-30T02:{n // 60 % 60:02d}:{n % 60:02d}.000Z"


def user(name: str, text: Any, n: int = 0, **more: Any) -> Record:
    content = [{"text": text}] if isinstance(text, str) else text
    return {"id": name, "timestamp": _at(n), "type": "user", "content": content, **more}


def model(name: str, text: Any = "", n: int = 0, **more: Any) -> Record:
    return {"id": name, "timestamp": _at(n), "type": "gemini", "content": text, "model": "gemini-2.5-pro", **more}


def note(name: str, text: str, kind: str = "info") -> Record:
    return {"id": name, "timestamp": _at(0), "type": kind, "content": text}


def thought(subject: str, description: str) -> Record:
    return {"subject": subject, "description": description, "timestamp": _at(0)}


def tokens(whole: int, output: int, cached: int = 0, thoughts: int = 0, tool: int = 0) -> Record:
    total = whole + output + thoughts + tool
    return {"input": whole, "output": output, "cached": cached, "thoughts": thoughts, "tool": tool, "total": total}


def call(name: str, tool: str, args: Any, output: Any = None, **more: Any) -> Record:
    """A recorded call; with its result where there is one. `output`: text, or a whole list of parts."""
    made: Record = {"id": name, "name": tool, "args": args, "status": "success", "timestamp": _at(0)}
    if output is not None:
        made["result"] = output if isinstance(output, list) else [response(name, tool, output)]
    return {**made, **more}


def response(name: str, tool: str, output: str, *, key: str = "output") -> Record:
    return {"functionResponse": {"id": name, "name": tool, "response": {key: output}}}


def asked(name: str, tool: str, args: Any, **more: Any) -> Record:
    """A call as a part of content."""
    return {"functionCall": {"id": name, "name": tool, "args": args}, **more}


def relisted(*messages: Record, **more: Any) -> Record:
    return {"$set": {"messages": list(messages), "lastUpdated": _at(0), **more}}


def rewind(name: str) -> Record:
    return {"$rewindTo": name}


def environment(folder: str = "/work/quill", **more: Any) -> Record:
    text = f"<session_context>\nThis is the Gemini CLI.\n- **Workspace Directories:**\n  - {folder}\n</session_context>"
    return user(ENVIRONMENT, text, **more)


def snapshot(name: str, text: str) -> Record:
    return user(name, f"<state_snapshot>{text}</state_snapshot>")


def compacted(name: str, text: str, *tail: Record) -> Record:
    """The list that a compaction leaves."""
    return relisted(environment(), snapshot(name, text), model(f"{name}-ack", [{"text": THANKS}]), *tail)


def data(*records: Record) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def document(*messages: Record, indent: int | None = 2, **more: Any) -> bytes:
    """A whole file."""
    return json.dumps({**head(), "messages": list(messages), **more}, indent=indent, ensure_ascii=False).encode()
