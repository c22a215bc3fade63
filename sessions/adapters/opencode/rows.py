"""Rows and files put together as the export that the agent itself would print: records keep the bytes they are stored as."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from sessions.adapters.records import NotARecord, load

type Row = Mapping[str, Any]

_NAMES = {
    "id": "id", "slug": "slug", "project_id": "projectID", "workspace_id": "workspaceID", "directory": "directory", "path": "path",
    "parent_id": "parentID", "title": "title", "agent": "agent", "model": "model", "version": "version", "cost": "cost",
    "metadata": "metadata", "revert": "revert", "permission": "permission",
}  # fmt: skip
_JSON = frozenset({"model", "metadata", "revert", "permission"})
_SUMMARY = {"summary_additions": "additions", "summary_deletions": "deletions", "summary_files": "files"}
_TOKENS = {"tokens_input": "input", "tokens_output": "output", "tokens_reasoning": "reasoning"}
_CACHE = {"tokens_cache_read": "read", "tokens_cache_write": "write"}
_TIMES = {
    "time_created": "created",
    "time_updated": "updated",
    "time_compacting": "compacting",
    "time_archived": "archived",
}


def info(row: Row) -> bytes:
    """A row of the session table as the info of an export. Columns that an older database lacks are left out; so is the shared address."""
    out: dict[str, Any] = {}
    for column, name in _NAMES.items():
        value = _plain(row.get(column))
        if value is None:
            continue
        out[name] = _fragment(row[column]) if column in _JSON else value
    summary = _group(row, _SUMMARY)
    if summary:
        out["summary"] = summary
    tokens: dict[str, Any] = _group(row, _TOKENS)
    if tokens:
        out["tokens"] = {**tokens, "cache": _group(row, _CACHE)}
    out["time"] = _group(row, _TIMES)
    return orjson.dumps(out)


def record(stored: bytes, **ids: str) -> bytes:
    """A stored record with the ids that its row or its path has. What is no JSON object stays, as the text it is."""
    body = stored.strip(b" \t\r\n\x00")
    try:
        load(body)
    except NotARecord:
        return orjson.dumps(body.decode("utf-8", "replace"))
    tail = orjson.dumps(ids)[1:]
    return body[:-1].rstrip(b" \t\r\n") + (b"" if body[1:-1].strip(b" \t\r\n") == b"" else b",") + tail


def document(head: bytes, messages: Iterable[tuple[bytes, Sequence[bytes]]], **more: bytes) -> bytes:
    """The export: info, then messages each with its parts, then what an export does not have."""
    told = b",".join(b'{"info":' + said + b',"parts":[' + b",".join(parts) + b"]}" for said, parts in messages)
    rest = b"".join(b',"' + name.encode() + b'":' + value for name, value in more.items())
    return b'{"info":' + head + b',"messages":[' + told + b"]" + rest + b"}"


def _group(row: Row, names: Mapping[str, str]) -> dict[str, Any]:
    return {name: row[column] for column, name in names.items() if _plain(row.get(column)) is not None}


def _plain(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _fragment(stored: Any) -> Any:
    """A JSON column as it is stored; as text where it is no JSON."""
    if not isinstance(stored, bytes):
        return stored
    try:
        load(stored)
    except NotARecord:
        pass
    else:
        return orjson.Fragment(stored)
    try:
        return orjson.loads(stored)
    except orjson.JSONDecodeError:
        return stored.decode("utf-8", "replace")
