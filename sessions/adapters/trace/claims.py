"""Tells a trace's files by their content: the log by its numbered messages, the two files beside it by their keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from sessions.adapters.base import Claim
from sessions.adapters.generic.messages import ROLES
from sessions.adapters.generic.partial import first_value
from sessions.adapters.records import NotARecord, load

HEAD = "$trace"  # the key of the record that holds what `goal.json` and `meta.json` say
LOG = "messages.jsonl"
_LOOKED_AT = 20


def claim(path: PurePath, head: bytes) -> Claim | None:
    """See `Adapter.claim`."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b'{"%s":' % HEAD.encode()):
        return Claim("session", native_id=name(path), source_id=name(path), whole=True)
    if is_log(path, head):
        return Claim("session", native_id=name(path), source_id=name(path))
    if path.name not in ("goal.json", "meta.json"):
        return None
    value, _ = first_value(text)
    if isinstance(value, dict) and (_is_tree(value) if path.name == "goal.json" else _is_meta(value)):
        return Claim("sidecar", owner_id=path.parent.name)
    return None


def is_log(path: PurePath, head: bytes) -> bool:
    """Whether `head` begins a log of messages, none of its lines being another agent's."""
    records = list(_records(head.removeprefix(b"\xef\xbb\xbf")))
    return bool(records) and all(_is_message(record) or _is_control(record) for record in records)


def name(path: PurePath) -> str:
    """The trace's id: the name of its folder."""
    return path.parent.name if path.name == LOG and path.parent.name else path.stem


def _is_message(record: Mapping[str, Any]) -> bool:
    numbered = isinstance(record.get("seq"), int) and isinstance(record.get("id"), str)
    return numbered and record.get("role") in ROLES and ("goal_id" in record or "ts" in record) and "type" not in record


def _is_control(record: Mapping[str, Any]) -> bool:
    return record.get("op") in ("retract", "restore") and isinstance(record.get("ids"), list)


def _is_tree(value: Mapping[str, Any]) -> bool:
    return "mission" in value and isinstance(value.get("goals"), list)


def _is_meta(value: Mapping[str, Any]) -> bool:
    return value.get("format") == "trace" or isinstance(value.get("trace_id"), str)


def _records(head: bytes) -> Iterator[dict[str, Any]]:
    lines = head.split(b"\n", _LOOKED_AT)
    for n, line in enumerate(lines[:_LOOKED_AT]):
        try:
            yield load(line)
        except NotARecord:
            value, _ = first_value(line) if n == 0 and len(lines) == 1 else (None, None)
            if isinstance(value, dict):
                yield value
