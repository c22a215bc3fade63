"""The records before wrapping: the flat files of the first versions, and bare transcripts that other tools export.

A flat file begins with a header without a type; its other lines are response items as they are, and `record_type` lines between
requests. It holds no times, no usage and no model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sessions.adapters.codex.items import Item, read_item
from sessions.adapters.records import text_of
from sessions.entries import Facts, Kind, Part, PartKind, Role

_CWD = re.compile(r"<cwd>([^<]+)</cwd>|^Current working directory: (.+)$", re.MULTILINE)
_CALLS = frozenset({"tool_call", "function_call", "tool_use"})
_RESULTS = frozenset({"tool_result", "function_result", "tool_output"})


def is_header(record: Mapping[str, Any]) -> bool:
    """Whether this is the first line of a flat file."""
    return "type" not in record and "role" not in record and isinstance(record.get("id"), str) and "timestamp" in record


def is_state(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("record_type"), str)


def is_bare(record: Mapping[str, Any]) -> bool:
    """Whether this is a line of a bare transcript: a role and words, with a time and without an envelope."""
    words = record.get("content", record.get("message"))
    return (
        record.get("role") in ("user", "assistant", "system", "developer")
        and isinstance(words, str)
        and ("timestamp" in record or "created_at" in record)
        and not ({"type", "uuid", "sessionId", "session_id", "parentUuid"} & record.keys())
    )


def header(record: Mapping[str, Any], facts: Facts) -> None:
    """What a header says of the session."""
    facts.native_id = record["id"]
    git = record.get("git")
    if isinstance(git, dict) and isinstance(git.get("branch"), str):
        facts.branch = git["branch"]
    facts.extra["era"] = "flat"


def cwd_in(item: Item) -> str | None:
    """The folder that a flat file names only in its first context message."""
    if item.kind is not Kind.CONTEXT or not item.parts:
        return None
    found = _CWD.search(item.parts[0].text[:2000])
    return (found[1] or found[2]).strip() if found else None


def read_bare(record: Mapping[str, Any]) -> Item:
    """A line of a bare transcript, or of an item that says its tool in another way."""
    name = record.get("type")
    if not isinstance(name, str | None):
        return read_item(record)
    if name in _CALLS and "call_id" not in record:
        function = record.get("function")
        tool = function.get("name") if isinstance(function, dict) else record.get("name")
        text = text_of(record.get("arguments", record.get("input", "")))
        part = Part(PartKind.TOOL_CALL, text, tool=tool if isinstance(tool, str) else "function")
        return Item(Kind.TOOL_CALL, Role.ASSISTANT, (part,), output=True)
    if name in _RESULTS:
        tool = record.get("name")
        text = text_of(record.get("result", record.get("output", "")))
        part = Part(PartKind.TOOL_RESULT, text, tool=tool if isinstance(tool, str) else None)
        return Item(Kind.TOOL_RESULT, Role.TOOL, (part,), answer=True)
    if name == "error":
        return Item(Kind.EVENT, None, (Part(PartKind.MARKER, text_of(record.get("text", ""))),), sent=False)
    words = record.get("content", record.get("message"))
    if name is None and isinstance(words, str):
        return read_item(
            {"type": "message", "role": record.get("role"), "content": [{"type": "input_text", "text": words}]}
        )
    return read_item(record)
