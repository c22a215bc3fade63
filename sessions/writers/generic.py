"""Writes messages in the formats of no one agent: OpenAI, Anthropic, and the AI SDK's model messages, in one JSON document.

A message that stands in the context as it was recorded keeps its record. A summary is a user's message: these formats have no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from sessions.adapters.lineage import NAME
from sessions.adapters.records import NotARecord, load
from sessions.contexts import Item
from sessions.entries import Part, PartKind, Role
from sessions.writers.base import CannotWrite, Draft, File, Notes, Written
from sessions.writers.chat import Message, chat_calls, messages, words
from sessions.writers.claude_code import arguments
from sessions.writers.splice import dumps

type Spoken = Callable[[Message, Notes], Iterator[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Messages:
    """See `sessions.writers.base.Writer`. `shape`: the context in the roles that the format has."""

    agent: str
    label: str
    speak: Spoken
    shape: Callable[[Sequence[Item]], list[Item]] = list

    def write(self, draft: Draft) -> Written:
        notes = Notes()
        name = draft.names.uuid4()
        listed: list[dict[str, Any]] = []
        expected: list[Item] = []
        items = self.shape(draft.items)
        system = _instructions(items) if self.agent == "anthropic" else []
        expected += system
        for message in messages(items[len(system) :]):
            known = _recorded(draft, message) if draft.agent == self.agent else None
            said = [known] if known is not None else list(self.speak(message, notes))
            listed += said
            if said:
                expected += message.items if known is not None else [_without_thoughts(item) for item in message.items]
        if not listed:
            raise CannotWrite("No message of a person or a model is left in this context.")
        document: dict[str, Any] = {NAME: draft.lineage.to_json(), "id": name, "format": self.agent}
        if draft.title:
            document["title"] = draft.title
        if system:
            document["system"] = [{"type": "text", "text": part.text} for item in system for part in item.parts]
        data = dumps(document | {"messages": listed})
        file = File(f"{self.agent}-{name}.json", data)
        return Written(name, (file,), tuple(item for item in expected if item.parts), (*draft.notes, *notes.lines()))

    def command(self, native_id: str, file: str, *, placed: bool) -> str:
        return ""


def _instructions(items: Sequence[Item]) -> list[Item]:
    """The messages of the system with which a context begins: Anthropic's format has them beside the others."""
    return list(takewhile(lambda item: item.role is Role.SYSTEM, items))


def _users(items: Sequence[Item]) -> list[Item]:
    """Anthropic's roles: what the system says later than at the beginning is said by the user."""
    out: list[Item] = []
    for item in items:
        harness = item.role in (Role.SYSTEM, Role.DEVELOPER)
        role = Role.SYSTEM if harness and all(one.role is Role.SYSTEM for one in out) else Role.USER
        out.append(replace(item, role=role) if harness else item)
    return out


def _systems(items: Sequence[Item]) -> list[Item]:
    """The AI SDK's roles: a developer's words are the system's, and those are one text."""
    return [
        replace(item, role=Role.SYSTEM, parts=(Part(PartKind.TEXT, words(item.parts)),))
        if item.role in (Role.SYSTEM, Role.DEVELOPER)
        else item
        for item in items
    ]


def _recorded(draft: Draft, message: Message) -> dict[str, Any] | None:
    if len(message.items) != 1 or message.items[0].seq is None:
        return None
    item = message.items[0]
    if item.seq is None or item.parts != draft.parts_of(item.seq):
        return None
    try:
        record = load(draft.record(item.seq))
    except NotARecord:
        return None
    return record if isinstance(record.get("role"), str) and "content" in record else None


def _without_thoughts(item: Item) -> Item:
    return replace(item, parts=tuple(part for part in item.parts if part.kind is not PartKind.REASONING))


def _openai(message: Message, notes: Notes) -> Iterator[dict[str, Any]]:
    parts = message.parts
    _tell(parts, notes)
    if message.role is Role.TOOL:
        yield from ({"role": "tool", "tool_call_id": one.call_id, "content": one.text} for one in _results(parts))
        rest = [part for part in parts if part.kind is not PartKind.TOOL_RESULT]
        if rest:
            yield {"role": "user", "content": words(rest)}
        return
    calls = chat_calls(parts)
    said = [{"type": "text", "text": part.text} for part in parts if _is_said(part)]
    content: Any = said if len(said) > 1 else said[0]["text"] if said else None
    if content is not None or calls:
        yield {"role": message.role.value, "content": content} | ({"tool_calls": calls} if calls else {})
    for one in _results(parts):
        yield {"role": "tool", "tool_call_id": one.call_id, "content": one.text}


def _anthropic(message: Message, notes: Notes) -> Iterator[dict[str, Any]]:
    parts = message.parts
    _tell(parts, notes)
    blocks: list[dict[str, Any]] = []
    for part in parts:
        if part.kind is PartKind.TOOL_CALL:
            blocks.append(
                {"type": "tool_use", "id": part.call_id, "name": part.tool or "tool", "input": arguments(part.text)}
            )
        elif part.kind is PartKind.TOOL_RESULT:
            failed = {"is_error": True} if part.is_error else {}
            blocks.append({"type": "tool_result", "tool_use_id": part.call_id, "content": part.text, **failed})
        elif _is_said(part):
            blocks.append({"type": "text", "text": part.text})
    role = "assistant" if message.role is Role.ASSISTANT else "user"
    said = [block for block in blocks if block["type"] != "tool_result"]
    came = [block for block in blocks if block["type"] == "tool_result"]
    if message.role is Role.ASSISTANT and came:
        if said:
            yield {"role": role, "content": said}
        yield {"role": "user", "content": came}
    elif blocks:
        yield {"role": role, "content": blocks}


def _ai_sdk(message: Message, notes: Notes) -> Iterator[dict[str, Any]]:
    parts = message.parts
    _tell(parts, notes)
    said: list[dict[str, Any]] = []
    came: list[dict[str, Any]] = []
    for part in parts:
        if part.kind is PartKind.TOOL_CALL:
            call = {"toolCallId": part.call_id, "toolName": part.tool or "tool", "input": arguments(part.text)}
            said.append({"type": "tool-call", **call})
        elif part.kind is PartKind.TOOL_RESULT:
            output = {"type": "error-text" if part.is_error else "text", "value": part.text}
            came.append(
                {"type": "tool-result", "toolCallId": part.call_id, "toolName": part.tool or "tool", "output": output}
            )
        elif _is_said(part):
            said.append({"type": "text", "text": part.text})
    if message.role is Role.TOOL:
        if came:
            yield {"role": "tool", "content": came}
        if said:
            yield {"role": "user", "content": said}
        return
    if said:
        yield {"role": message.role.value, "content": words(parts) if message.role is Role.SYSTEM else said}
    if came:
        yield {"role": "tool", "content": came}


def _results(parts: Sequence[Part]) -> list[Part]:
    return [part for part in parts if part.kind is PartKind.TOOL_RESULT]


def _is_said(part: Part) -> bool:
    return part.kind in (PartKind.TEXT, PartKind.MEDIA, PartKind.OTHER) and bool(part.text)


def _tell(parts: Sequence[Part], notes: Notes) -> None:
    for part in parts:
        if part.kind is PartKind.REASONING:
            notes.add("reasoning left out: its record changed, and a signature holds only for what it was made of")
        elif part.kind is PartKind.MEDIA:
            notes.add("an image or document left out: named in words")


OPENAI = Messages("openai", "OpenAI messages", _openai)
ANTHROPIC = Messages("anthropic", "Anthropic messages", _anthropic, _users)
AI_SDK = Messages("ai-sdk", "AI SDK messages", _ai_sdk, _systems)
