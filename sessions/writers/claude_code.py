"""Writes a Claude Code transcript: kept records from their own bytes, a fold as a compact boundary with its summary.

Of a record that is kept only its place in the tree and its session change. What the summary stands for goes before the boundary, where
the agent shows it and does not send it. Checked with 2.1.332 (`tests/adapters/test_writing_resume.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from sessions.adapters.claude_code.content import parts_of_message
from sessions.adapters.lineage import NAME
from sessions.adapters.records import NotARecord, load
from sessions.contexts import InsertKind, Item
from sessions.entries import Kind, Part, PartKind, Role, digest_of
from sessions.writers.base import Draft, File, Notes, Written, groups, is_summary, last_summary
from sessions.writers.splice import dumps, member, spliced

_TREE = frozenset({"user", "assistant", "system", "attachment"})
_NO_FIGURES = {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
_VERSION = "2.1.332"  # whose records these are, where the session was another agent's
_BOUNDARY = "Conversation compacted"


class ClaudeCode:
    """See `sessions.writers.base.Writer`."""

    agent = "claude-code"
    label = "Claude Code"

    def write(self, draft: Draft) -> Written:
        made = _Transcript(draft)
        data = made.lines()
        return Written(
            made.session,
            (File(f"{made.session}.jsonl", data),),
            tuple(made.expected),
            (*draft.notes, *made.notes.lines()),
        )

    def command(self, native_id: str, file: str, *, placed: bool) -> str:
        return f"claude --resume {native_id}"


@dataclass(slots=True)
class _Transcript:
    draft: Draft
    session: str = ""
    parent: str | None = None
    expected: list[Item] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)
    _used: set[str] = field(default_factory=set)
    _taken: set[str] = field(default_factory=set)  # ids that the log has
    _written: set[str] = field(default_factory=set)
    _equal: dict[bytes, int] | None = None
    _answers: dict[int, str] = field(default_factory=dict)

    def lines(self) -> bytes:
        draft = self.draft
        self._taken = {link.native_id for link in draft.links if link.native_id} | {draft.facts.native_id or ""}
        self.session = self._new()
        out = [_line({"type": NAME, "sessionId": self.session, NAME: draft.lineage.to_json()})]
        folded = last_summary(draft.items) is not None
        if folded:
            out += self._ghosts()
            out.append(self._boundary())
        whole = self._whole_answers()
        for n, item in enumerate(draft.items):
            kept = self._sendable(item, whole)
            if kept is None:
                continue
            self.expected.append(kept)
            out.append(self._record(kept, figures=n < draft.changed_from))
        if draft.title:
            out.append(_line({"type": "custom-title", "customTitle": draft.title, "sessionId": self.session}))
        if self.parent:
            out.append(_line({"type": "last-prompt", "leafUuid": self.parent, "sessionId": self.session}))
        return b"".join(out)

    # -- what goes before ---------------------------------------------------------------------------------------------

    def _ghosts(self) -> Iterator[bytes]:
        """What was folded, as it was; a record whose parent is not among them hangs on the one before it."""
        if self.draft.agent != "claude-code":
            return
        for link in self.draft.links:
            if link.seq not in self.draft.ghosts or link.lane or not link.native_id or link.native_id in self._used:
                continue
            raw = _plain(self.draft.record(link.seq))
            if raw is None:
                continue
            changes: dict[str, bytes | None] = {"sessionId": dumps(self.session)}
            if link.native_parent not in self._written:
                changes["parentUuid"] = dumps(self.parent)
            if (
                link.response_id is None
                and (message := member(raw, "message")) is not None
                and member(message, "usage")
            ):
                changes["message"] = spliced(message, {"usage": dumps(_NO_FIGURES)})
            self._used.add(link.native_id)
            self._written.add(link.native_id)
            self.parent = link.native_id
            yield spliced(raw, self._own(changes, raw, link.native_id)) + b"\n"

    def _boundary(self) -> bytes:
        leaf, self.parent = self.parent, None
        record = self._envelope("system") | {
            "subtype": "compact_boundary",
            "content": _BOUNDARY,
            "isMeta": False,
            "level": "info",
            "logicalParentUuid": leaf,
            "compactMetadata": {"trigger": "manual"},
        }
        return _line(record)

    # -- what is sent -------------------------------------------------------------------------------------------------

    def _whole_answers(self) -> set[int]:
        """Answers all of whose records are in the context: only of these may the signed reasoning stay."""
        there = {item.seq for item in self.draft.items if item.seq is not None}
        parted = {
            link.step
            for link in self.draft.links
            if link.step is not None and link.role is Role.ASSISTANT and link.sent and link.seq not in there
        }
        return {item.step for item in self.draft.items if item.step is not None and item.step not in parted}

    def _sendable(self, item: Item, whole: set[int]) -> Item | None:
        parts = tuple(part for part in item.parts if self._keeps(part, item, whole))
        if not parts and item.parts:
            return None
        return item if len(parts) == len(item.parts) else replace(item, parts=parts)

    def _keeps(self, part: Part, item: Item, whole: set[int]) -> bool:
        if part.kind is not PartKind.REASONING or not part.signed:
            return True
        if item.seq is not None and item.step is not None and item.step not in whole:
            self.notes.add("signed reasoning left out: another part of its answer is not in the context")
            return False
        if item.seq is None and self._source_of(item) is None:
            self.notes.add("signed reasoning left out: its signature is not known here")
            return False
        return True

    def _record(self, item: Item, *, figures: bool) -> bytes:
        seq = self._source_of(item)
        raw = _plain(self.draft.record(seq)) if seq is not None else None
        if raw is None or seq is None:
            return self._made(item)
        changes: dict[str, bytes | None] = {"parentUuid": dumps(self.parent), "sessionId": dumps(self.session)}
        body = self._body(raw, item, seq, figures=figures)
        if body is None:
            return self._made(item)
        changes |= body
        name = _name(member(raw, "uuid"))
        if name is None or name in self._used:
            name = self._new()
            changes["uuid"] = dumps(name)
            message = changes.get("message") or member(raw, "message")
            if message is not None and member(message, "id") is not None:
                # Said a second time it is an answer of its own, else the agent puts the two together.
                fresh = {"id": dumps(self._answer_name()), "usage": dumps(_NO_FIGURES)}
                changes["message"] = spliced(message, fresh)
        origin = _name(member(raw, "uuid")) or name
        self._used.add(name)
        self.parent = name
        if member(raw, "isSidechain") == b"true":
            changes["isSidechain"] = b"false"
        return spliced(raw, self._own(changes, raw, origin)) + b"\n"

    def _own(self, changes: dict[str, bytes | None], raw: bytes, origin: str) -> dict[str, bytes | None]:
        if member(raw, "session_id") is not None:
            changes["session_id"] = dumps(self.session)
        if self.draft.facts.native_id:
            changes["forkedFrom"] = dumps({"sessionId": self.draft.facts.native_id, "messageUuid": origin})
        return changes

    def _source_of(self, item: Item) -> int | None:
        """The entry whose record says what the item says."""
        if self.draft.agent != "claude-code":
            return None
        if item.seq is not None:
            return item.seq
        if item.kind is not InsertKind.MESSAGE and item.label != "moved by the agent":
            return None
        if self._equal is None:
            self._equal = {}
            for link in self.draft.links:
                if link.sent and not link.lane:
                    self._equal[link.digest] = link.seq
        return self._equal.get(item.digest)

    def _body(self, raw: bytes, item: Item, seq: int, *, figures: bool) -> dict[str, bytes | None] | None:
        """What of a record's own content changes: nothing, or its message. None: it cannot hold what is to be said."""
        changes: dict[str, bytes | None] = {}
        message = member(raw, "message")
        if item.parts != self.draft.parts_of(seq):
            if message is None:
                return None
            content = load(message).get("content")
            blocks = list(_blocks(item.parts, content))
            if any(block is None for block in blocks):
                return None
            message = spliced(message, {"content": dumps(blocks)})
            changes["message"] = message
            changes["toolUseResult"] = None
        known = message is not None and member(message, "id") is not None  # by which an answer is counted once only
        if not (figures and known) and message is not None and member(message, "usage") is not None:
            changes["message"] = spliced(message, {"usage": dumps(_NO_FIGURES)})
        return changes

    def _made(self, item: Item) -> bytes:
        """A record for what no record says."""
        if item.role is Role.ASSISTANT:
            return _line(self._envelope("assistant") | {"message": self._answer(item)})
        blocks = [block or {"type": "text", "text": part.text} for part, block in _each(item.parts)]
        texts = all(block.get("type") == "text" for block in blocks)
        content: Any = blocks[0]["text"] if texts and len(blocks) == 1 else blocks
        record = self._envelope("user") | {"message": {"role": "user", "content": content}}
        if is_summary(item):
            record |= {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
        elif item.kind is not Kind.PROMPT and texts:
            record["isMeta"] = True
        return _line(record)

    def _answer(self, item: Item) -> dict[str, Any]:
        name = self._answers.get(item.step) if item.step is not None else None
        if name is None:
            name = self._answer_name()
            if item.step is not None:
                self._answers[item.step] = name
        calls = any(part.kind is PartKind.TOOL_CALL for part in item.parts)
        models = self.draft.facts.models
        return {
            "id": name,
            "type": "message",
            "role": "assistant",
            "model": models[-1] if models else "unknown",
            "content": [block or {"type": "text", "text": part.text} for part, block in _each(item.parts)],
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": _NO_FIGURES,
        }

    def _new(self) -> str:
        """An id that no record has, here or in the log."""
        while (name := self.draft.names.uuid4()) in self._used or name in self._taken:
            pass
        return name

    def _answer_name(self) -> str:
        return "msg_" + self.draft.names.word("0123456789abcdefghijklmnopqrstuvwxyz", 24)

    def _envelope(self, kind: str) -> dict[str, Any]:
        draft = self.draft
        own, parent = self._new(), self.parent
        self._used.add(own)
        self.parent = own
        facts = draft.facts
        return {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": facts.cwd or "/",
            "sessionId": self.session,
            "version": (facts.agent_version if draft.agent == "claude-code" else None) or _VERSION,
            "gitBranch": facts.branch or "",
            "type": kind,
            "uuid": own,
            "timestamp": draft.names.stamp(),
        }


def _blocks(parts: Sequence[Part], content: Any) -> Iterator[dict[str, Any] | None]:
    """Blocks that say these parts: the recorded ones where they say the same, a result's with another text, else made anew."""
    recorded = content if isinstance(content, list) else [{"type": "text", "text": content}]
    said = [(block, parts_of_message([block], lambda _: None)) for block in recorded]
    digests = {digest_of(None, _bare(found)): block for block, found in said}
    for group in groups(parts):
        block = digests.get(digest_of(None, _bare(group)))
        if isinstance(block, dict):
            yield block
        elif group[0].kind is PartKind.TOOL_RESULT:
            old = next((b for b, found in said if found and found[0].call_id == group[0].call_id), None)
            yield _result(group, old)
        else:
            yield _block(group[0])


def _bare(parts: Sequence[Part]) -> tuple[Part, ...]:
    return tuple(
        replace(part, role=None, tool=part.tool if part.kind is PartKind.TOOL_CALL else None) for part in parts
    )


def _result(group: Sequence[Part], old: Any) -> dict[str, Any]:
    first = group[0]
    media: list[Any] = []
    if len(group) > 1 and isinstance(old, dict) and isinstance(old.get("content"), list):
        media = [
            piece for piece in old["content"] if isinstance(piece, dict) and piece.get("type") in ("image", "document")
        ]
    content: Any = [{"type": "text", "text": first.text}, *media] if media else first.text
    block = {**old} if isinstance(old, dict) else {"type": "tool_result", "tool_use_id": first.call_id}
    block["content"] = content
    block.pop("is_error", None)
    return block | ({"is_error": True} if first.is_error else {})


def _each(parts: Sequence[Part]) -> Iterator[tuple[Part, dict[str, Any] | None]]:
    for group in groups(parts):
        yield group[0], _result(group, None) if group[0].kind is PartKind.TOOL_RESULT else _block(group[0])


def _block(part: Part) -> dict[str, Any] | None:
    match part.kind:
        case PartKind.TEXT:
            return {"type": "text", "text": part.text}
        case PartKind.TOOL_CALL:
            return {"type": "tool_use", "id": part.call_id, "name": part.tool, "input": arguments(part.text)}
        case PartKind.OTHER:
            try:
                return load(part.text.encode())
            except NotARecord:
                return None
        case _:
            return None


def arguments(text: str) -> Any:
    """A call's arguments as an object; what is none stands in one under a name that says so."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = text
    return value if isinstance(value, dict) else {"arguments": value}


def _plain(raw: bytes) -> bytes | None:
    """The bytes of a record of the tree without a carriage return; None where they are none."""
    raw = raw.rstrip(b"\r\n")
    try:
        return raw if load(raw).get("type") in _TREE else None
    except NotARecord:
        return None


def _name(value: bytes | None) -> str | None:
    if value is None:
        return None
    name = orjson.loads(value)
    return name if isinstance(name, str) and name else None


def _line(record: Mapping[str, Any]) -> bytes:
    return dumps(record) + b"\n"


WRITER = ClaudeCode()
