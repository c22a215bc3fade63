"""The normal form of a session: entries and their parts, steps, goal changes and session facts.

Every adapter turns its agent's records into these values; everything above reads only these. Unknown is None, never 0 or "".
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

import orjson

from sessions.values import value

type Json = bool | int | float | str | list[Any] | dict[str, Any] | None


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"
    DEVELOPER = "developer"


class Kind(StrEnum):
    """What an entry is. The first group reaches the model (where the entry is `sent`), the second never does."""

    PROMPT = "prompt"  # a person's message: opens a turn
    COMMAND = "command"  # a person's slash or shell command, and what it printed
    MESSAGE = "message"  # the assistant's words
    REASONING = "reasoning"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    CONTEXT = "context"  # text the harness put in: environment, memory files, reminders, skills, hook output
    SUMMARY = "summary"  # what a compaction wrote
    MEDIA = "media"

    COMPACTION = "compaction"  # the mark of a compaction
    ROLLBACK = "rollback"  # the mark of a rewind, rollback or revert
    EVENT = "event"  # turn marks, token counts, progress, errors of the provider
    META = "meta"  # titles, modes, settings, snapshots
    MALFORMED = "malformed"  # bytes that are no record; `problem` says why
    OTHER = "other"  # a record of a type this adapter does not know


class PartKind(StrEnum):
    TEXT = "text"
    REASONING = "reasoning"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    MEDIA = "media"
    MARKER = "marker"
    OTHER = "other"


@value(frozen=True, slots=True)
class Part:
    """One block of an entry.

    `text`: words; of a tool call its arguments as JSON text (as recorded when they are no valid JSON); of a result its output; of
    media a short description, never the bytes. `role` is set only where a record carries items of several roles (a replacement
    history). `signed` marks reasoning with a signature or encrypted body: kept whole or dropped whole. `meta` holds small display
    facts (exit code, line range, patch hunks), never sent to the model; `unsent` there says that the agent itself does not send the
    part back (thoughts that are only shown): it counts for nothing.
    """

    kind: PartKind
    text: str = ""
    tool: str | None = None
    call_id: str | None = None
    is_error: bool = False
    signed: bool = False
    media_type: str | None = None
    media_bytes: int | None = None
    role: Role | None = None
    meta: dict[str, Any] = field(default_factory=dict)

    def with_text(self, text: str) -> Part:
        """The part with another text. By its fields in order: `replace` takes five times as long, and masks are many."""
        return Part(
            self.kind,
            text,
            self.tool,
            self.call_id,
            self.is_error,
            self.signed,
            self.media_type,
            self.media_bytes,
            self.role,
            self.meta,
        )

    def with_meta(self, meta: dict[str, Any]) -> Part:
        """The part with other display facts; see `with_text`."""
        return Part(
            self.kind,
            self.text,
            self.tool,
            self.call_id,
            self.is_error,
            self.signed,
            self.media_type,
            self.media_bytes,
            self.role,
            meta,
        )

    def to_json(self) -> dict[str, Any]:
        """The stored and printed form: only what is set."""
        out: dict[str, Any] = {"kind": self.kind.value}
        if self.text:
            out["text"] = self.text
        if self.tool is not None:
            out["tool"] = self.tool
        if self.call_id is not None:
            out["call_id"] = self.call_id
        if self.media_type is not None:
            out["media_type"] = self.media_type
        if self.media_bytes is not None:
            out["media_bytes"] = self.media_bytes
        if self.is_error:
            out["is_error"] = True
        if self.signed:
            out["signed"] = True
        if self.role is not None:
            out["role"] = self.role.value
        if self.meta:
            out["meta"] = self.meta
        return out

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> Part:
        return cls(
            kind=PartKind(raw["kind"]),
            text=raw.get("text", ""),
            tool=raw.get("tool"),
            call_id=raw.get("call_id"),
            is_error=raw.get("is_error", False),
            signed=raw.get("signed", False),
            media_type=raw.get("media_type"),
            media_bytes=raw.get("media_bytes"),
            role=Role(raw["role"]) if raw.get("role") else None,
            meta=raw.get("meta", {}),
        )


def digest_of(role: Role | None, parts: Iterable[Part]) -> bytes:
    """Eight bytes that tell two contents apart as the model would see them; `meta` does not count."""
    hasher = hashlib.blake2b(digest_size=8)
    hasher.update((role or "").encode())
    for part in parts:
        seen = [
            part.kind,
            part.text,
            part.tool,
            part.call_id,
            part.is_error,
            part.media_type,
            part.media_bytes,
            part.role,
        ]
        hasher.update(orjson.dumps(seen))
    return hasher.digest()


@value(frozen=True, slots=True)
class SizeVector:
    """Sizes of what an entry sends, taken once; any meter over any version is a sum of these.

    `tokens`, `cl100k`: tokens of the text by those vocabularies. `chars`: code points. `json`: UTF-8 bytes of the text as JSON has it,
    escapes included, quotes not. `wide_tool`: those UTF-16 units of calls and results that are not ASCII (one agent counts them by
    another rule). Media count by number, never by the length of their base64.
    """

    utf8: int = 0
    utf16: int = 0
    ascii: int = 0
    images: int = 0
    documents: int = 0
    tokens: int = 0
    cl100k: int = 0
    chars: int = 0
    json: int = 0
    wide_tool: int = 0

    def __add__(self, other: SizeVector) -> SizeVector:
        return SizeVector(
            self.utf8 + other.utf8,
            self.utf16 + other.utf16,
            self.ascii + other.ascii,
            self.images + other.images,
            self.documents + other.documents,
            self.tokens + other.tokens,
            self.cl100k + other.cl100k,
            self.chars + other.chars,
            self.json + other.json,
            self.wide_tool + other.wide_tool,
        )


class GoalStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    ABANDONED = "abandoned"  # somebody said so
    DROPPED = "dropped"  # nobody did: it was open and is gone from the list


@dataclass(frozen=True, slots=True)
class GoalItem:
    """One item as an agent's plan tool states it. `key` is the agent's own id where it has one; `path` where that id is a path itself."""

    text: str
    status: GoalStatus
    key: str | None = None
    parent_key: str | None = None
    note: str | None = None  # the agent's summary or reason
    path: str | None = None


@dataclass(frozen=True, slots=True)
class GoalChange:
    """What a record did to the goals. `whole`: `items` is the complete list and replaces the former; else only these items change.

    `focus`: key of the goal that entries belong to from here on, where the agent says it of each; "" is none. `plan`: the text of a plan
    that was agreed on in plan mode and is worked on from here.
    """

    items: tuple[GoalItem, ...]
    whole: bool
    focus: str | None = None
    plan: str | None = None


TELLING = 20  # characters of an answer's id from which on it is nobody else's: makers draw them, servers of one's own only count


@value(frozen=True, slots=True)
class Usage:
    """Tokens of one model request and its answer, in disjoint parts: prompt = fresh + cache_read + cache_write; output includes reasoning.

    None where the agent does not record a figure. `estimated`: the agent wrote a placeholder or an estimate (the figure is a lower
    bound, or a gauge and no cost). `window`: the model's context window as recorded with it.
    """

    fresh: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int | None = None
    reasoning: int | None = None
    total: int | None = None  # the agent's own total where its parts do not say it
    window: int | None = None
    estimated: bool = False

    @property
    def prompt(self) -> int | None:
        known = [part for part in (self.fresh, self.cache_read, self.cache_write) if part is not None]
        return sum(known) if known else None

    @property
    def context(self) -> int | None:
        """Tokens of the window taken once the answer is in: the agent's total, else prompt plus output."""
        if self.total is not None:
            return self.total
        return None if self.prompt is None else self.prompt + (self.output or 0)


@value(frozen=True, slots=True)
class Entry:
    """One record of a session, as an adapter's reader gives it: exactly one for every line or record of the source.

    `sent`: of a nature that reaches the model while on the active path. `lane`: "" for the main conversation, else the inline
    sub-agent it belongs to (then it is not sent). `opens_turn`: a person's message. `step_key`: entries of one model request share
    it; None = belongs to no request. `usage` may stand on any entry of its step; the last one wins. `link`: the adapter's own small
    facts for `history` (kept as JSON; keep it short). `problem`: what is wrong with it, in words for a person.
    """

    kind: Kind
    role: Role | None = None
    parts: tuple[Part, ...] = ()
    native_id: str | None = None
    native_parent: str | None = None
    at: datetime | None = None
    sent: bool = False
    lane: str = ""
    opens_turn: bool = False
    step_key: str | None = None
    response_id: str | None = None
    model: str | None = None
    usage: Usage | None = None
    goals: GoalChange | None = None
    link: dict[str, Any] | None = None
    problem: str | None = None

    @property
    def tool(self) -> str | None:
        for part in self.parts:
            if part.tool:
                return part.tool
        return None

    @property
    def call_ids(self) -> tuple[str, ...]:
        found = [part.call_id for part in self.parts if part.call_id]
        return tuple(dict.fromkeys(found)) if len(found) > 1 else tuple(found)

    @property
    def is_error(self) -> bool:
        for part in self.parts:  # noqa: SIM110 -- asked of every entry; a generator takes three times as long
            if part.is_error:
                return True
        return False

    @property
    def text(self) -> str:
        """The words of all parts, for reading and searching."""
        return "\n".join(part.text for part in self.parts if part.text)


@dataclass(slots=True)
class Facts:
    """What a reader learned of the session as a whole, so far. Later values overwrite earlier ones as the adapter sees fit."""

    native_id: str | None = None
    title: str | None = None
    cwd: str | None = None
    branch: str | None = None
    agent_version: str | None = None
    models: list[str] = field(default_factory=list)
    window: int | None = None
    parent_native_id: str | None = None
    parent_kind: str | None = None  # fork, subagent, continued, revert, branch
    parent_call_id: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
