"""Tells a rollout by its first records, whatever the file is called."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

import orjson

from sessions.adapters.base import Base, Claim
from sessions.adapters.codex import flat
from sessions.adapters.records import NotARecord, load

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_NAME = re.compile(rf"rollout-\d{{4}}-\d\d-\d\dT[\d-]+-({_UUID})(?:_({_UUID}))?\.jsonl", re.IGNORECASE)
_ID = re.compile(rb'[{,]\s*"id"\s*:\s*"([^"\\]+)"')
_BASE = re.compile(rb'"history_base"\s*:\s*(\{[^{}]*\})')
_WRAPPED = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"})
_LOOKED_AT = 20  # lines: a file whose first line is broken is still known by the next
_STORES = re.compile(r"(state|thread_history|goals|logs|queue|memories)_\d+\.sqlite")


def claim(path: PurePath, head: bytes) -> Claim | None:
    """Whether `head` begins a source of Codex. `role` "none": a file of Codex that is no session, `reason` says what it is."""
    if head.startswith(b"SQLite format 3"):
        if not _STORES.fullmatch(path.name):
            return None
        return Claim("none", reason="what Codex keeps beside its rollouts: they hold the sessions")
    named = _NAME.search(path.name)
    records = list(_records(head))
    for record in records:
        found = _of_record(record, path, named)
        if found is not None:
            return found
    if not records and head[:400].lstrip().startswith(b"{") and b'"session_meta"' in head[:400]:
        return _of_long_line(head, named)
    return None


def _of_record(record: Mapping[str, Any], path: PurePath, named: re.Match[str] | None) -> Claim | None:
    payload = record.get("payload")
    if (
        isinstance(payload, dict)
        and str(record.get("type")) in _WRAPPED
        and ("timestamp" in record or "ordinal" in record)
    ):
        if record["type"] != "session_meta":
            return _session(None, None, named) if named or "codex" in _folders(path) else None
        base = payload.get("history_base")
        return _session(payload.get("id"), base if isinstance(base, dict) else None, named)
    if flat.is_header(record) and ("instructions" in record or "git" in record or named):
        return _session(record["id"], None, named)
    if named and flat.is_state(record):
        return _session(None, None, named)
    if {"id", "thread_name", "updated_at"} <= record.keys():
        return Claim("none", reason="names that Codex keeps for its threads, no session")
    if {"session_id", "ts", "text"} <= record.keys():
        return Claim("none", reason="the history of what was typed into Codex, no session")
    if flat.is_bare(record) and (named or "codex" in _folders(path)):
        return Claim("session", native_id=path.stem, source_id=path.stem)
    return None


def _session(native_id: Any, base: Mapping[str, Any] | None, named: re.Match[str] | None) -> Claim:
    name = native_id if isinstance(native_id, str) and native_id else (named[1] if named else None)
    return Claim("session", native_id=name, source_id=(named[2] or named[1]) if named else name, base=_base(base))


def _base(raw: Mapping[str, Any] | None) -> Base | None:
    name = raw.get("thread_id") if raw is not None else None
    if raw is None or not isinstance(name, str):
        return None
    offset, ordinal = raw.get("end_byte_offset"), raw.get("end_ordinal_exclusive")
    return Base(name, offset if isinstance(offset, int) else None, ordinal if isinstance(ordinal, int) else None)


def _of_long_line(head: bytes, named: re.Match[str] | None) -> Claim:
    """From a first line that is longer than what there is of it."""
    name = _ID.search(head)
    found = _BASE.search(head)
    base: Any = None
    if found is not None:
        try:
            base = orjson.loads(found[1])
        except orjson.JSONDecodeError:
            base = None
    return _session(
        name[1].decode("utf-8", "replace") if name else None, base if isinstance(base, dict) else None, named
    )


def _records(head: bytes) -> Iterator[dict[str, Any]]:
    """The whole records at the beginning of `head`."""
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", _LOOKED_AT)
    for line in lines[:_LOOKED_AT]:
        try:
            yield load(line)
        except NotARecord:
            continue


def _folders(path: PurePath) -> set[str]:
    return {part.lstrip(".").casefold() for part in path.parts[:-1]}
