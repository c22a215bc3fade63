"""Which of the formats of no one agent a source is in, told by its content. One answer for all of them, so that two never claim one file.

Every other adapter's marks are looked for first: a file that has them is theirs, also where theirs are messages too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from sessions.adapters.generic.messages import ITEMS, ROLES
from sessions.adapters.generic.partial import first_value
from sessions.adapters.generic.uimessages import is_ui
from sessions.adapters.generic.values import inside, name_of
from sessions.adapters.records import NotARecord, load


class Form(StrEnum):
    """Each is one adapter's."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    AISDK = "ai-sdk"
    UNIVERSAL = "universal"
    OTEL = "otel"
    ATIF = "atif"


@dataclass(frozen=True, slots=True)
class Shape:
    """`whole`: one document, no log of lines. `reason`: why it is no session. `native_id`: what it calls itself."""

    form: Form
    whole: bool = True
    native_id: str | None = None
    reason: str | None = None


SUMMARY = "[对话历史摘要]"  # how the message begins that UniversalAIClient put in the place of what it compacted
GENERATIONS = frozenset({"chat_history.json"})  # j-cli's, which hold nothing but messages
_LOOKED_AT = 20
_MANY = (
    "many conversations in one file (one on each line, as for fine-tuning); each in a file of its own can be taken in"
)
_DOCUMENTS = frozenset(
    ["sessionId", "projectHash", "info", "parentUuid"]
)  # keys beside messages that are another agent's
_LINES = _DOCUMENTS | {"isSidechain", "session_id", "goal_id", "$set", "$rewindTo", "payload", "uuid"}
_EXPORTS = ("resourceSpans", "resourceLogs")
_CORE = frozenset(("tool-call", "tool-result", "redacted-reasoning", "tool-approval-request", "tool-approval-response"))
_BLOCKS = frozenset(("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "document"))


@lru_cache(maxsize=4)  # each of the adapters asks
def shape_of(path: PurePath, head: bytes) -> Shape | None:
    """The form of a source that begins with `head`; None where it is none of these."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] not in (b"{", b"["):
        return None
    value, end = first_value(text)
    if isinstance(value, list):
        return _of_list(path, value)
    if not isinstance(value, dict):
        return None
    if name_of(value.get("schema_version")) and value["schema_version"].startswith("ATIF-") and "agent" in value:
        return Shape(Form.ATIF, native_id=_id(value, "trajectory_id", "session_id"))
    if _is_telemetry(value):
        return Shape(Form.OTEL)
    if _DOCUMENTS & value.keys():
        return None
    messages = _messages(value)
    if messages is None:
        return _of_lines(path, text)
    whole = messages if end is not None else messages[:-1] or messages  # the last may be cut off where the head ends
    if path.name in GENERATIONS or not messages or not _all_messages(whole):
        return None
    form = _dialect(messages, value)
    if end is not None and text[end:].lstrip()[:1] == b"{":
        return Shape(form, reason=_MANY)
    return Shape(form, native_id=_id(value, "conversation_id", "session_id", "thread_id", "id"))


def _of_list(path: PurePath, items: list[Any]) -> Shape | None:
    first = items[0] if items else None
    if isinstance(first, dict) and _is_telemetry(first):
        return Shape(Form.OTEL)
    whole = items[:-1] or items  # the last may be cut off where the head ends
    if not whole or not _all_messages(whole) or path.name.startswith("checkpoint-"):
        return None
    return Shape(_dialect(items, {}))


def _of_lines(path: PurePath, text: bytes) -> Shape | None:
    """A log with one message a line. Every line that is looked at must be one: other agents' logs hold such lines among others."""
    found = list(_records(text))
    if not found or not _all_messages(found) or _is_codex(path):
        return None
    if any(_LINES & record.keys() for record in found) or any({"seq", "ts"} <= record.keys() for record in found):
        return None
    if any(record.get("type") in ("msg", "clear", "restore") or record.get("op") for record in found):
        return None
    return Shape(_dialect(found, {}), whole=any(is_ui(record) for record in found))


def _is_codex(path: PurePath) -> bool:
    """Whether Codex's adapter would take bare items from here: it knows them by their place."""
    return path.name.startswith("rollout-") or any(part.lstrip(".").casefold() == "codex" for part in path.parts[:-1])


def _messages(value: Mapping[str, Any]) -> list[Any] | None:
    for key in ("messages", "input", "items"):
        if isinstance(value.get(key), list):
            found: list[Any] = value[key]
            return found
    return None


def _all_messages(items: list[Any]) -> bool:
    return all(isinstance(item, dict) and _is_message(item) for item in items)


def _is_message(item: Mapping[str, Any]) -> bool:
    role = item.get("role")
    if isinstance(role, str) and role in ROLES:
        if "parts" in item and not is_ui(item):
            return False  # Gemini's contents
        return (
            bool({"content", "parts", "tool_calls", "function_call", "toolInvocations"} & item.keys()) or len(item) == 1
        )
    return (
        role is None and str(item.get("type")) in ITEMS and bool({"call_id", "summary", "id", "content"} & item.keys())
    )


def _dialect(messages: list[Any], beside: Mapping[str, Any]) -> Form:
    if beside.get("format") in (Form.OPENAI, Form.ANTHROPIC, Form.AISDK):
        return Form(beside["format"])  # the document says it
    said = [message for message in messages if isinstance(message, dict)]
    if any(_begins(message, SUMMARY) for message in said):
        return Form.UNIVERSAL
    if any(is_ui(message) for message in said):
        return Form.AISDK
    blocks = [block for message in said if isinstance(message.get("content"), list) for block in message["content"]]
    kinds = {block.get("type") for block in blocks if isinstance(block, dict) and isinstance(block.get("type"), str)}
    files = [
        block for block in blocks if isinstance(block, dict) and block.get("type") in ("image", "file", "reasoning")
    ]
    if kinds & _CORE or any({"mimeType", "mediaType"} & block.keys() or _is_thought(block) for block in files):
        return Form.AISDK
    if (
        kinds & _BLOCKS
        or "system" in beside
        or "anthropic_version" in beside
        or any(_is_source(block) for block in files)
    ):
        return Form.ANTHROPIC
    return Form.OPENAI


def _is_thought(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "reasoning" and "text" in block


def _is_source(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "image" and isinstance(block.get("source"), dict)


def _begins(message: Mapping[str, Any], words: str) -> bool:
    content = message.get("content")
    if isinstance(content, list) and content:
        content = inside(content[0], "text")
    return isinstance(content, str) and content.lstrip().startswith(words)


def _is_telemetry(value: Mapping[str, Any]) -> bool:
    if any(isinstance(value.get(key), list) for key in _EXPORTS):
        return True
    dumped = isinstance(value.get("_spanContext"), dict) or "hrTime" in value
    return (
        dumped and isinstance(value.get("resource"), dict | None) and ("attributes" in value or "_spanContext" in value)
    )


def _id(value: Mapping[str, Any], *keys: str) -> str | None:
    return next((value[key] for key in keys if name_of(value.get(key))), None)


def _records(text: bytes) -> Iterator[dict[str, Any]]:
    lines = text.split(b"\n", _LOOKED_AT)
    for n, line in enumerate(lines[:_LOOKED_AT]):
        try:
            yield load(line)
        except NotARecord:
            if n == 0 and len(lines) == 1:
                value, _ = first_value(line)
                if isinstance(value, dict):
                    yield value
