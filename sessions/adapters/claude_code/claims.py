"""Whether a file is Claude Code's, and what it is: by its content first, by its place only for what belongs to a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

import orjson

from sessions.adapters.base import Claim
from sessions.adapters.claude_code.content import name_of
from sessions.adapters.claude_code.marks import LETTER
from sessions.adapters.claude_code.reader import AGENT_FILE, UUID

_LOOKED_AT = 60  # records of the head that are looked at
_LOOSE = frozenset(
    [
        "summary",
        "ai-title",
        "custom-title",
        "agent-name",
        "agent-color",
        "agent-setting",
        "last-prompt",
        "mode",
        "permission-mode",
        "queue-operation",
        "file-history-snapshot",
        "file-history-delta",
        "pr-link",
        "worktree-state",
        "bridge-session",
        "atis-latch",
        "cost-state",
        "content-replacement",
    ]
)


def claim(path: PurePath, head: bytes) -> Claim | None:
    """See `Adapter.claim`. A file of Claude Code that is no session gets the role "none" and the reason."""
    beside = _sidecar(path)
    if beside is not None:
        return beside
    agent = session = None
    seen: set[str] = set()
    first: dict[str, Any] | None = None
    for record in _records(head):
        first = first or record
        sign = _sign(record)
        if sign is None:
            continue
        seen.add(sign)
        session = session or name_of(record.get("sessionId"))
        if sign == "tree":
            agent = name_of(record.get("agentId")) if record.get("isSidechain") is True else None
            break
    if not seen:
        return _no_session(first) if first is not None else _by_bytes(path, head)
    found = AGENT_FILE.match(path.stem)
    if found or agent:
        native = found.group(1) if found else agent
        return Claim("session", native_id=native, source_id=native, owner_id=session)
    native = path.stem if UUID.match(path.stem) else session or path.stem
    return Claim("session", native_id=native, source_id=native)


def _sign(record: dict[str, Any]) -> str | None:
    """Say "tree" or "loose" of a record that only Claude Code writes, by whether it has its place in the tree."""
    kind = record.get("type")
    if not isinstance(kind, str):
        return None
    if kind in LETTER:
        message = record.get("message")
        if kind in ("user", "assistant"):
            ours = isinstance(message, dict) and "content" in message and "parts" not in message
            return "tree" if ours and ("provider" not in record) else None
        if kind == "attachment":
            return "tree" if isinstance(record.get("attachment"), dict) else None
        return "tree" if "parentUuid" in record or ("uuid" in record and "sessionId" in record) else None
    if kind not in _LOOSE:
        return None
    return "loose" if "sessionId" in record or "leafUuid" in record or "messageId" in record else None


def _records(head: bytes) -> Iterator[dict[str, Any]]:
    for n, raw in enumerate(head.split(b"\n")):
        if n >= _LOOKED_AT:
            return
        try:
            record = orjson.loads(raw)
        except orjson.JSONDecodeError:
            continue
        if isinstance(record, dict):
            yield record


def _by_bytes(path: PurePath, head: bytes) -> Claim | None:
    """A first line longer than the head, or a broken one: the marks of the envelope must do."""
    marked = b'"parentUuid":' in head and b'"sessionId":' in head and b'"isSidechain":' in head
    if not marked:
        return None
    found = AGENT_FILE.match(path.stem)
    native = found.group(1) if found else path.stem
    return Claim("session", native_id=native, source_id=native)


def _sidecar(path: PurePath) -> Claim | None:
    """Files in a session's own folder; `journal.jsonl` of a workflow is named for what it is."""
    folders = path.parts[:-1]
    if path.name.endswith(".meta.json") and "subagents" in folders:
        return Claim("sidecar", owner_id=_before(folders, "subagents"))
    if folders and folders[-1] == "tool-results" and len(folders) > 1 and UUID.match(folders[-2]):
        return Claim("sidecar", owner_id=folders[-2])
    if path.name == "custom-title.json" and folders and UUID.match(folders[-1]):
        return Claim("sidecar", owner_id=folders[-1])
    if path.name == "journal.jsonl" and "workflows" in folders:
        return Claim("none", reason="the journal of a workflow, not a transcript")
    if folders and folders[-1] == "todos" and path.suffix == ".json" and "-agent-" in path.name:
        return Claim("none", reason="the last state of a todo list, which the transcript holds too")
    return None


def _before(folders: tuple[str, ...], name: str) -> str | None:
    at = len(folders) - 1 - folders[::-1].index(name)
    return folders[at - 1] if at > 0 else None


def _no_session(first: dict[str, Any]) -> Claim | None:
    if {"display", "project", "timestamp"} <= first.keys():
        return Claim("none", reason="the history of prompts over all projects, not a session")
    return None
