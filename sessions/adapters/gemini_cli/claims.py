"""Tells the agent's files by what they hold; by their place only what has no form of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

import orjson

from sessions.adapters.base import Claim
from sessions.adapters.records import NotARecord, load

_LOOKED_AT = 20
_KEY = {
    name: re.compile(rb'"%s"\s*:\s*' % name.encode())
    for name in ("sessionId", "projectHash", "messages", "history", "authType", "clientHistory", "toolCall")
}
_STRING = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_TURN = re.compile(rb'\{\s*"(?:role|parts)"\s*:')
_TYPED = re.compile(
    rb'\[\s*\{(?=[^{}]{0,20000}"sessionId")(?=[^{}]{0,20000}"messageId")(?=[^{}]{0,20000}"message")(?=[^{}]{0,20000}"timestamp")'
)
_TYPES = frozenset({"user", "gemini", "info", "error", "warning"})


def claim(path: PurePath, head: bytes) -> Claim | None:
    """See `Adapter.claim`."""
    beside = _by_place(path)
    if beside is not None:
        return beside
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"["):
        return _of_array(path, text)
    if not text.startswith(b"{"):
        return _of_lines(path, text)
    first, _, rest = text.partition(b"\n")
    record = _record(first)
    if record is None:
        # Either a document over many lines, or one whose first line is longer than what is looked at, or a log whose first line broke.
        return _of_document(path, text) or _of_lines(path, text)
    if isinstance(record.get("messages"), list) and not rest.strip() and _is_session(record):
        return Claim("session", native_id=record["sessionId"], source_id=record["sessionId"], whole=True)
    if not rest.strip() and isinstance(record.get("history"), list):
        return _of_document(path, text)
    return _of_lines(path, text)


def _of_lines(path: PurePath, text: bytes) -> Claim | None:
    sure = False
    for record in _records(text):
        if _is_session(record):
            return Claim("session", native_id=record["sessionId"], source_id=record["sessionId"])
        if isinstance(record.get("$rewindTo"), str) or (isinstance(record.get("$set"), dict) and len(record) == 1):
            sure = True
        if str(record.get("type")) in _TYPES and "content" in record and "timestamp" in record and "id" in record:
            sure = sure or record["type"] == "gemini" or _in_chats(path)
    return Claim("session", native_id=path.stem, source_id=path.stem) if sure else None


def _of_document(path: PurePath, text: bytes) -> Claim | None:
    name, there = _text_at(text, "sessionId"), _KEY["messages"].search(text)
    hashed = _KEY["projectHash"].search(text)
    if there and name and (hashed or _in_chats(path)):
        return Claim("session", native_id=name, source_id=name, whole=True)
    if _KEY["clientHistory"].search(text) or (_KEY["toolCall"].search(text) and path.parent.name == "checkpoints"):
        return Claim("none", reason="a point to restore files to, written before a tool changed them; no session")
    history = _KEY["history"].search(text)
    if history and text[history.end() : history.end() + 1] == b"[" and _TURN.match(text[history.end() + 1 :].lstrip()):
        return Claim("session", native_id=path.stem, source_id=path.stem, whole=True)
    if hashed and there and not name:
        return Claim("none", reason="a session file without a session id, which the agent itself does not read")
    return None


def _of_array(path: PurePath, text: bytes) -> Claim | None:
    if _TYPED.match(text):
        return Claim("sidecar", owner_id=_text_at(text, "sessionId"))
    if path.name.startswith("checkpoint-") and _TURN.match(text[1:].lstrip()):
        return Claim("session", native_id=path.stem, source_id=path.stem, whole=True)
    return None


def _by_place(path: PurePath) -> Claim | None:
    folders = path.parts[:-1]
    if ".jsonl.unreadable-" in path.name or ".jsonl.tmp-" in path.name:
        return Claim("none", reason="a file that Gemini CLI set aside while it wrote a session anew")
    if path.name == ".project_root":
        return Claim("none", reason="the name of the project's folder, no session")
    if len(folders) > 1 and folders[-2] == "tool-outputs" and folders[-1].startswith("session-"):
        return Claim("sidecar", owner_id=folders[-1].removeprefix("session-"))
    if "tmp" in folders and folders and folders[-1] == "tool-outputs":
        return Claim("none", reason="a tool's output that a compaction moved out of its context; it does not say whose")
    if "tmp" in folders and len(folders) > 1 and folders[-1] == "tracker":
        return Claim("sidecar", owner_id=folders[-2])
    if "tmp" in folders and len(folders) > 1 and folders[-1] == "plans" and path.suffix == ".md":
        return Claim("sidecar", owner_id=folders[-2])
    if folders and folders[-1] == "logs" and path.name.startswith("session-") and ".gemini" in folders:
        return Claim("none", reason="the log of what Gemini CLI did, not a session")
    return None


def _is_session(record: dict[str, Any]) -> bool:
    return isinstance(record.get("sessionId"), str) and isinstance(record.get("projectHash"), str)


def _in_chats(path: PurePath) -> bool:
    return "chats" in path.parts[:-1] or path.name.startswith("session-")


def _text_at(text: bytes, key: str) -> str | None:
    found = _KEY[key].search(text)
    value = _STRING.match(text, found.end()) if found else None
    if value is None:
        return None
    try:
        said = orjson.loads(value[0])
    except orjson.JSONDecodeError:
        return None
    return said if isinstance(said, str) and said else None


def _records(text: bytes) -> Iterator[dict[str, Any]]:
    for line in text.split(b"\n", _LOOKED_AT)[:_LOOKED_AT]:
        record = _record(line)
        if record is not None:
            yield record


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        return load(line)
    except NotARecord:
        return None
