"""Writes a j-cli session: `transcript.jsonl` of message events and `session.json`, in a folder named by the new id.

Where the context is not the log as it was, a `restore` at its end lists it: so the agent replaces its own list. A summary begins as the
agent's own do, and is acknowledged as it does. Not checked with the program: the format is that of its releases from 12.9 on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sessions.adapters.jcli.reader import COMPRESSED
from sessions.adapters.lineage import NAME
from sessions.adapters.records import NotARecord, load
from sessions.contexts import InsertKind, Item
from sessions.entries import Part, PartKind, Role
from sessions.writers.base import Draft, File, Notes, Written, is_summary, last_summary
from sessions.writers.chat import Message, messages, words
from sessions.writers.goals import split
from sessions.writers.splice import dumps

AGENT = "j-cli"
_HEAD = f"{COMPRESSED} transcript.jsonl]"
_THANKS = "Understood. I have the context from the summary and go on from there."


class JCli:
    """See `sessions.writers.base.Writer`."""

    agent = AGENT
    label = "j-cli"

    def write(self, draft: Draft) -> Written:
        made = _Transcript(draft)
        name = f"{int(draft.names.now.timestamp() * 1_000_000):x}-{draft.names.word('0123456789abcdef', 5)}"
        data = made.lines()
        seconds = int(draft.names.now.timestamp())
        about = {
            "id": name,
            "title": draft.title or "Session",
            "message_count": made.count,
            "created_at": seconds,
            "updated_at": seconds,
        }
        files = (File(f"{name}/transcript.jsonl", data), File(f"{name}/session.json", dumps(about)))
        return Written(name, files, tuple(made.expected), (*draft.notes, *made.notes.lines()))

    def command(self, native_id: str, file: str, *, placed: bool) -> str:
        return ""


@dataclass(slots=True)
class _Transcript:
    draft: Draft
    count: int = 0
    expected: list[Item] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)

    def lines(self) -> bytes:
        draft = self.draft
        self.expected = [_normal(message) for message in messages(list(self._framed(draft.items)))]
        out = [dumps({"type": NAME, NAME: draft.lineage.to_json()})]
        shown = {item.seq for item in draft.items if item.seq is not None}
        told = list(self._recorded(shown)) if draft.agent == AGENT else []
        out += told
        before, behind = split(self.expected)
        listed, goals = (
            [said for message in messages(items) for said in self._said(message)] for items in (before, behind)
        )
        self.count = len(listed) + len(goals)
        if draft.agent != AGENT and last_summary(draft.items) is None:
            out += [dumps({"type": "msg", **message}) for message in listed]
        elif draft.agent != AGENT or draft.changed_from < len(draft.items) or len(told) < len(shown):
            out.append(dumps({"type": "restore", "messages": listed}))
        out += [dumps({"type": "msg", **message}) for message in goals]
        return b"\n".join(out) + b"\n"

    def _recorded(self, shown: set[int]) -> Iterator[bytes]:
        for link in self.draft.links:
            if link.sent and (link.seq in shown or link.seq in self.draft.ghosts):
                raw = self.draft.record(link.seq).strip()
                try:
                    known = load(raw).get("type") == "msg"
                except NotARecord:
                    continue
                if known:
                    yield raw

    def _framed(self, items: Sequence[Item]) -> Iterator[Item]:
        for item in items:
            if not is_summary(item) or item.text.lstrip().startswith(COMPRESSED):
                yield item
                continue
            self.notes.add("a summary begins as the agent's own do, and its acknowledgement follows")
            yield replace(item, role=Role.USER, parts=(Part(PartKind.TEXT, f"{_HEAD}\n\n{item.text}"),))
            thanks = (Part(PartKind.TEXT, _THANKS),)
            yield Item(f"{item.key}-thanks", None, Role.ASSISTANT, InsertKind.NOTICE, thanks)

    def _said(self, message: Message) -> Iterator[dict[str, Any]]:
        parts = message.parts
        results = [part for part in parts if part.kind is PartKind.TOOL_RESULT]
        rest = [part for part in parts if part.kind is not PartKind.TOOL_RESULT]
        calls = [
            {"id": part.call_id, "name": part.tool or "tool", "arguments": part.text}
            for part in rest
            if part.kind is PartKind.TOOL_CALL
        ]
        thought = "\n".join(part.text for part in rest if part.kind is PartKind.REASONING)
        role = Role.USER if message.role is Role.TOOL else message.role
        said: dict[str, Any] = {"role": role.value, "content": words(rest)}
        said |= ({"tool_calls": calls} if calls else {}) | ({"reasoning_content": thought} if thought else {})
        if message.role is not Role.TOOL and (rest or not results):
            yield said
        for part in results:
            yield {"role": "tool", "content": part.text, "tool_call_id": part.call_id}
        if message.role is Role.TOOL and rest:
            yield said


def _normal(message: Message) -> Item:
    """A message as one item, its words one text: the format has a single one for them."""
    parts = message.parts
    text = words([part for part in parts if part.kind is not PartKind.TOOL_RESULT])
    thought = "\n".join(part.text for part in parts if part.kind is PartKind.REASONING)
    said = [Part(PartKind.REASONING, thought)] if thought else []
    said += [Part(PartKind.TEXT, text, role=Role.USER if message.role is Role.TOOL else None)] if text else []
    said += [part for part in parts if part.kind is PartKind.TOOL_CALL]
    results = [part for part in parts if part.kind is PartKind.TOOL_RESULT]
    ordered = [*results, *said] if message.role is Role.TOOL else [*said, *results]
    return replace(message.items[0], role=message.role, parts=tuple(ordered))


WRITER = JCli()
