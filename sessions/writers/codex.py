"""Writes a Codex rollout: a new thread in the plain ("legacy") form, items from their own bytes, a fold as a `compacted` line.

What stands up to the summary, and whatever was put in, is the replacement history of that line; what follows are lines of their own.
What the summary stands for goes before it, with the events from which the agent draws its transcript. Usage is not copied: it was paid
in the thread this one comes from. Checked with 0.171.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sessions.adapters.base import Link
from sessions.adapters.codex.items import read_item
from sessions.adapters.lineage import NAME
from sessions.adapters.records import NotARecord, load
from sessions.contexts import Item
from sessions.entries import Kind, Part, PartKind, Role, digest_of
from sessions.writers.base import Draft, File, Notes, Written, last_summary, stamp
from sessions.writers.goals import split
from sessions.writers.splice import dumps, member, spliced

AGENT = "codex"
_VERSION = "0.171.0"
_NOT_COPIED = (
    "history_mode",
    "history_base",
    "subagent_history_start_ordinal",
    "parent_thread_id",
    "agent_path",
    "agent_nickname",
    "agent_role",
    "agent_type",
    "thread_source",
    "multi_agent_version",
    "forked_from_ordinal_exclusive",
    "context_window",
)


class Codex:
    """See `sessions.writers.base.Writer`."""

    agent = AGENT
    label = "Codex"

    def write(self, draft: Draft) -> Written:
        made = _Rollout(draft)
        data = made.lines()
        name = f"rollout-{draft.names.now.astimezone():%Y-%m-%dT%H-%M-%S}-{made.thread}.jsonl"
        return Written(made.thread, (File(name, data),), tuple(made.expected), (*draft.notes, *made.notes.lines()))

    def command(self, native_id: str, file: str, *, placed: bool) -> str:
        return f"codex resume {native_id}"


@dataclass(slots=True)
class _Rollout:
    draft: Draft
    thread: str = ""
    expected: list[Item] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)
    _out: list[bytes] = field(default_factory=list)
    _turn: str | None = None
    _last: str | None = None  # the assistant's last words in this turn
    _known: dict[bytes, dict[str, Any]] | None = None

    def lines(self) -> bytes:
        draft = self.draft
        self.thread = draft.names.uuid7()
        self._line("session_meta", self._meta())
        self._line(NAME, draft.lineage.to_json())
        items = [item for item in draft.items if self._sendable(item)]
        at = last_summary(items)
        cut = 0
        if at is not None:
            cut = max(n for n, item in enumerate(split(items)[0]) if n == at or item.inserted) + 1
            self._ghosts()
            self._compacted(items[:cut], items[at])
        self.expected = items
        self._items(items[cut:])
        self._close()
        return b"".join(self._out)

    # -- the thread's own line ----------------------------------------------------------------------------------------

    def _meta(self) -> dict[str, Any]:
        draft = self.draft
        before = self._recorded_meta()
        payload = {key: value for key, value in before.items() if key not in _NOT_COPIED}
        payload |= {"id": self.thread, "session_id": self.thread, "timestamp": draft.names.stamp(), "source": "cli"}
        payload.setdefault("cwd", draft.facts.cwd or "/")
        payload.setdefault("originator", "codex_cli_rs")
        payload.setdefault("cli_version", _VERSION)
        payload.setdefault("model_provider", "openai")
        if draft.agent == AGENT and draft.facts.native_id:
            payload["forked_from_id"] = draft.facts.native_id
        return payload

    def _recorded_meta(self) -> dict[str, Any]:
        if self.draft.agent != AGENT:
            return {}
        own: dict[str, Any] = {}
        for link in self.draft.links:
            if link.facts.get("mark") == "meta" and not link.facts.get("copied"):
                payload = load(self.draft.record(link.seq)).get("payload")
                if isinstance(payload, dict):
                    own = payload
        return {key: own[key] for key in own if own[key] is not None}

    # -- what goes before ---------------------------------------------------------------------------------------------

    def _ghosts(self) -> None:
        if self.draft.agent != AGENT:
            return
        for link in self.draft.links:
            if link.seq in self.draft.ghosts and not link.lane:
                line = self._wrapped(link)
                if line is not None:
                    self._spoken(line, link.kind, self.draft.parts_of(link.seq))
        self._close()

    def _compacted(self, items: Sequence[Item], summary: Item) -> None:
        history = [self._payload(item) for item in items]
        self._begin()
        self._line(
            "compacted", {"message": summary.text, "replacement_history": [one for many in history for one in many]}
        )
        self._line("event_msg", {"type": "context_compacted"})
        self._close()

    # -- what is sent -------------------------------------------------------------------------------------------------

    def _sendable(self, item: Item) -> bool:
        if any(self._payload(item)):
            return True
        if item.parts:
            self.notes.add("reasoning left out: its sealed form is not known here")
        return False

    def _items(self, items: Iterable[Item]) -> None:
        links = {link.seq: link for link in self.draft.links} if self.draft.agent == AGENT else {}
        waiting: list[tuple[bytes, Item]] = []
        for item in items:
            link = links.get(item.seq) if item.seq is not None else None
            lines = self._lines_of(item, link)
            if item.role in (Role.USER, Role.DEVELOPER) and item.kind is not Kind.PROMPT:
                waiting += [(line, item) for line in lines]
                continue
            if item.kind is Kind.PROMPT:
                self._close()
                self._begin()
            for line, other in waiting:
                self._spoken(line, other.kind, other.parts)
            waiting = []
            for line in lines:
                self._spoken(line, item.kind, item.parts, begun=True)
        for line, other in waiting:
            self._spoken(line, other.kind, other.parts)

    def _lines_of(self, item: Item, link: Link | None) -> list[bytes]:
        if link is not None and item.parts == self.draft.parts_of(link.seq):
            line = self._wrapped(link)
            if line is not None:
                return [line]
        return [self._wrap("response_item", payload, item.at) for payload in self._payload(item)]

    def _wrapped(self, link: Link) -> bytes | None:
        """A recorded line as a line of this thread: without the number that only a paginated one has; a bare item wrapped."""
        raw = self.draft.record(link.seq).strip()
        record = load(raw)
        payload = record.get("payload")
        if not isinstance(payload, dict):
            return self._wrap("response_item", raw, None) if _is_item(record) else None
        if record.get("type") != "response_item":
            return None
        return spliced(raw, {"ordinal": None}) if member(raw, "ordinal") is not None else raw

    def _payload(self, item: Item) -> list[dict[str, Any]]:
        """The items of the model's log that say an item of a context."""
        if self.draft.agent == AGENT:
            recorded = self._recorded(item)
            if recorded is not None:
                return [recorded]
        return list(payloads(item))

    def _recorded(self, item: Item) -> dict[str, Any] | None:
        """The recorded item with the same parts, or with the same calls and another text."""
        if self._known is None:
            self._known = {}
            for link in self.draft.links:
                for one in self._raw_items(link):
                    if _is_item(one):
                        read = read_item(one)
                        self._known[digest_of(read.role, read.parts)] = one
        found = self._known.get(item.digest)
        if found is not None or item.seq is None:
            return found
        raw = next(iter(self._raw_items(self.draft.links[item.seq])), None)
        return _told(raw, item) if raw is not None and _is_item(raw) else None

    def _raw_items(self, link: Link) -> Iterator[dict[str, Any]]:
        mark = link.facts.get("mark")
        if not (link.sent or mark == "compaction"):
            return
        try:
            record = load(self.draft.record(link.seq).strip())
        except NotARecord:
            return
        payload = record.get("payload", record)
        if not isinstance(payload, dict):
            return
        if mark == "compaction":
            history = payload.get("replacement_history")
            yield from (one for one in history or [] if isinstance(one, dict))
        elif record.get("type") != "inter_agent_communication":
            yield payload

    # -- lines --------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._turn = self.draft.names.uuid7()
        self._last = None
        self._line("event_msg", {"type": "task_started", "turn_id": self._turn, "started_at": self._seconds()})

    def _close(self) -> None:
        if self._turn is not None:
            ended = {"type": "task_complete", "turn_id": self._turn, "last_agent_message": self._last}
            self._line("event_msg", ended | {"completed_at": self._seconds()})
            self._turn = None

    def _seconds(self) -> int:
        return int(self.draft.names.now.timestamp())

    def _spoken(self, line: bytes, kind: Any, parts: Sequence[Part], *, begun: bool = False) -> None:
        """A line of the model's log, and the event by which the agent shows it."""
        if kind is Kind.PROMPT and not begun:
            self._close()
        if self._turn is None:
            self._begin()
        self._out.append(line + b"\n")
        words = "\n".join(part.text for part in parts if part.kind is PartKind.TEXT)
        if kind is Kind.PROMPT and words:
            self._line("event_msg", {"type": "user_message", "message": words, "kind": "plain"})
        elif kind is Kind.MESSAGE and words:
            self._line("event_msg", {"type": "agent_message", "message": words})
            self._last = words

    def _line(self, name: str, payload: Any) -> None:
        self._out.append(self._wrap(name, payload, None) + b"\n")

    def _wrap(self, name: str, payload: Any, at: datetime | None) -> bytes:
        when = stamp(at) if at is not None else self.draft.names.stamp()
        body = payload if isinstance(payload, bytes) else dumps(payload)
        return b'{"timestamp":%s,"type":%s,"payload":%s}' % (dumps(when), dumps(name), body)


def _is_item(raw: Mapping[str, Any]) -> bool:
    """Whether the agent sends it: older files and other programs wrote items that it leaves out."""
    found = read_item(raw)
    return found.sent and found.skipped is None and found.kind is not Kind.OTHER


def payloads(item: Item) -> Iterator[dict[str, Any]]:
    """Items of the model's log made of parts alone. Reasoning has none: its sealed form is not there."""
    texts: list[Part] = []
    for part in item.parts:
        if part.kind in (PartKind.TEXT, PartKind.OTHER) or (part.kind is PartKind.MEDIA and part.call_id is None):
            texts.append(part)
        elif part.kind is PartKind.TOOL_CALL:
            yield from _message(item, texts)
            texts = []
            yield {"type": "function_call", "name": part.tool, "arguments": part.text, "call_id": part.call_id}
        elif part.kind is PartKind.TOOL_RESULT:
            yield from _message(item, texts)
            texts = []
            yield {"type": "function_call_output", "call_id": part.call_id, "output": part.text}
    yield from _message(item, texts)


def _message(item: Item, texts: Sequence[Part]) -> Iterator[dict[str, Any]]:
    if not texts:
        return
    role = texts[0].role or item.role or Role.USER
    role = Role.USER if role is Role.TOOL else role
    kind = "output_text" if role is Role.ASSISTANT else "input_text"
    yield {"type": "message", "role": role.value, "content": [{"type": kind, "text": part.text} for part in texts]}


def _told(raw: dict[str, Any], item: Item) -> dict[str, Any] | None:
    """A recorded item that says what the parts of a masked one say."""
    parts = item.parts
    if "output" in raw and len(parts) >= 1 and parts[0].kind is PartKind.TOOL_RESULT:
        return {**raw, "output": parts[0].text}
    if raw.get("type") == "message" and all(part.kind is PartKind.TEXT for part in parts):
        kind = "output_text" if raw.get("role") == "assistant" else "input_text"
        return {**raw, "content": [{"type": kind, "text": part.text} for part in parts]}
    if "arguments" in raw and len(parts) == 1 and isinstance(raw["arguments"], str):
        return {**raw, "arguments": parts[0].text}
    if "input" in raw and len(parts) == 1:
        return {**raw, "input": parts[0].text}
    return None


WRITER = Codex()
