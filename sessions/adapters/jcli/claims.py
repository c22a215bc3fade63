"""Tells a transcript by its events; by their place the files that lie beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from sessions.adapters.base import Claim
from sessions.adapters.generic.forms import GENERATIONS
from sessions.adapters.generic.messages import ROLES
from sessions.adapters.generic.partial import first_value
from sessions.adapters.records import NotARecord, load

_ID = re.compile(r"[0-9a-f]{8,20}-[0-9a-f]{1,8}")  # microseconds and process, both hexadecimal
_LOOKED_AT = 20
_BESIDE = frozenset(
    [
        "session.json", "display.jsonl", "todos.json", "tasks.json", "plan.json", "skills.json", "hooks.json", "sandbox.json",
        "ops.jsonl", "teammates.json", "subagents.json", "metrics.json", "loaded_deferred.json",
    ]
)  # fmt: skip
_TRANSCRIPT = "transcript.jsonl"


def claim(path: PurePath, head: bytes) -> Claim | None:
    """See `Adapter.claim`."""
    beside = _by_place(path)
    if beside is not None:
        return beside
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if path.name in GENERATIONS:
        value, _ = first_value(text)
        messages = value.get("messages") if isinstance(value, dict) else None
        if isinstance(messages, list) and all(
            isinstance(item, dict) and item.get("role") in ROLES for item in messages
        ):
            return Claim("session", native_id=path.stem, source_id=path.stem, whole=True)
        return None
    records = list(_records(text))
    if not records or not any(_is_event(record) for record in records):
        return None
    name, _ = names(path)
    return Claim("session", native_id=name, source_id=name)


def names(path: PurePath) -> tuple[str, str | None]:
    """The id of the session whose transcript lies at `path`, and that of the session whose sub-agent or teammate it is."""
    if path.name != _TRANSCRIPT:
        return path.stem, None
    folders = path.parts[:-1]
    if len(folders) > 2 and folders[-2] in ("subagents", "teammates"):
        return f"{folders[-3]}/{folders[-1]}", folders[-3]
    return (folders[-1], None) if folders else (path.stem, None)


def _is_event(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    if kind == "msg":
        return record.get("role") in ROLES and "parts" not in record
    return (kind == "restore" and isinstance(record.get("messages"), list)) or (kind == "clear" and len(record) == 1)


def _by_place(path: PurePath) -> Claim | None:
    folders = path.parts[:-1]
    if path.name == "agent_config.json":
        return Claim("none", reason="j-cli's settings, which hold keys: not read")
    owner = next((part for part in reversed(folders) if _ID.fullmatch(part)), None)
    if owner is None:
        return None
    if folders[-1] == ".transcripts" and path.name.startswith("transcript_"):
        return Claim("sidecar", owner_id=owner)
    return Claim("sidecar", owner_id=owner) if path.name in _BESIDE else None


def _records(text: bytes) -> Iterator[dict[str, Any]]:
    lines = text.split(b"\n", _LOOKED_AT)
    for n, line in enumerate(lines[:_LOOKED_AT]):
        try:
            yield load(line)
        except NotARecord:
            if n == len(lines) - 1:  # longer than what there is of it
                value, _ = first_value(line)
                if isinstance(value, dict):
                    yield value
