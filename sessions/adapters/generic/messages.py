"""One message of a chat as an entry, in every dialect, and the reader of a list of them.

A message is one entry, whatever it holds: its parts are its words, thoughts, calls and results. Only what carries call and result in
one (AI SDK UI messages, ATIF steps) is taken apart before it gets here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import PurePath
from typing import Any

from sessions.adapters import lineage
from sessions.adapters.base import Line
from sessions.adapters.generic.blocks import call_of, parts_of, reasoning, result_of
from sessions.adapters.generic.plans import planned
from sessions.adapters.generic.usage import usage_of
from sessions.adapters.generic.values import inside, moment, name_of, words
from sessions.adapters.records import NotARecord, load, text_of
from sessions.adapters.tolerant import malformed
from sessions.entries import Entry, Facts, Kind, Part, PartKind, Role

ROLES = {
    "user": Role.USER,
    "human": Role.USER,
    "assistant": Role.ASSISTANT,
    "model": Role.ASSISTANT,
    "ai": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
    "system": Role.SYSTEM,
    "developer": Role.DEVELOPER,
}
HEAD = "$document"  # a record made of what a document says besides its messages
_CALLS = 256  # calls without their result that are remembered
_TIMES = ("timestamp_ms", "timestamp", "ts", "createdAt", "created_at", "time")
_ITEM_CALLS = ("function_call", "custom_tool_call")
_ITEM_RESULTS = ("function_call_output", "custom_tool_call_output")
ITEMS = frozenset((*_ITEM_CALLS, *_ITEM_RESULTS, "reasoning", "message", "item_reference", "compaction"))


class Reader:
    """Reads messages one by one. `state`: which request the next answer is, whose calls are open, what was learned of the whole."""

    def __init__(self, path: PurePath, state: Mapping[str, Any] | None = None) -> None:
        self.facts = Facts(native_id=path.stem)
        self.step = 0
        self.model: str | None = None
        self._answering = False
        self._calls: dict[str, str] = {}
        if state is not None:
            self.facts = facts_from(state["facts"])
            self.step, self.model, self._answering = state["step"], state["model"], state["answering"]
            self._calls = dict(state["calls"])

    def state(self) -> dict[str, Any]:
        return {
            "facts": asdict(self.facts),
            "step": self.step,
            "model": self.model,
            "answering": self._answering,
            "calls": self._calls,
        }

    def read(self, line: Line) -> Entry:
        try:
            record = load(line.raw)
        except NotARecord as problem:
            return malformed(line.raw, str(problem))
        return self.record(record)

    def record(self, record: Mapping[str, Any]) -> Entry:
        """The entry of one record."""
        if HEAD in record:
            return self._head(record)
        entry = self.message(record)
        return entry if entry is not None else other(record)

    def message(self, record: Mapping[str, Any]) -> Entry | None:
        """The entry of a message or item. None for what is neither."""
        role = record.get("role")
        known = ROLES.get(role) if isinstance(role, str) else None
        if known is None:
            return self._item(record)
        parts = self._parts(record, known)
        entry = self._answer(record, parts) if known is Role.ASSISTANT else self._given(known, parts)
        self._answering = known is Role.ASSISTANT and record.get("type") == "message"
        return replace(entry, native_id=name_of(record.get("id")), at=_time(record))

    def tool_of(self, call_id: str) -> str | None:
        """The tool of an open call."""
        return self._calls.get(call_id)

    # -- what a message holds --------------------------------------------------------------------------------------------

    def _parts(self, record: Mapping[str, Any], role: Role) -> tuple[Part, ...]:
        if role is Role.TOOL and not _has_results(record.get("content")):
            call_id = name_of(record.get("tool_call_id"))
            told = {"tool_use_id": call_id, "content": record.get("content"), "name": record.get("name")}
            failed = record.get("is_error") is True
            return tuple(result_of({**told, "is_error": failed}, self.tool_of))
        out: list[Part] = []
        for key in ("reasoning_content", "reasoning", "thinking"):
            if name_of(record.get(key)):
                out.append(Part(PartKind.REASONING, record[key], signed=bool(record.get("signature"))))
                break
        out += parts_of(record.get("content"), self.tool_of)
        if name_of(record.get("refusal")):
            out.append(Part(PartKind.TEXT, record["refusal"], meta={"refusal": True}))
        calls = record.get("tool_calls")
        out += [chat_call(call) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
        if isinstance(record.get("function_call"), dict):
            out.append(call_of(record["function_call"]))
        if any(part.kind is PartKind.TOOL_RESULT for part in out):
            # What a person adds beside a result is theirs, not the tool's.
            out = [replace(part, role=Role.USER) if part.kind is PartKind.TEXT else part for part in out]
        return tuple(out)

    def _answer(self, record: Mapping[str, Any], parts: tuple[Part, ...], *, same: bool = False) -> Entry:
        """An answer of the model. `same`: it belongs to the request of the record before it."""
        if not (same or (self._answering and record.get("type") == "message")):
            self.step += 1
        self._remember(parts)
        model = name_of(record.get("model")) or name_of(record.get("model_name")) or self.model
        if model and model not in self.facts.models:
            self.facts.models.append(model)
        usage = usage_of(record.get("usage")) or usage_of(inside(record, "metadata", "usage"))
        return Entry(
            kind_of(parts),
            Role.ASSISTANT,
            parts,
            sent=bool(parts),
            step_key=f"m{self.step}",
            model=model,
            usage=usage,
            goals=planned(parts),
        )

    def _given(self, role: Role, parts: tuple[Part, ...]) -> Entry:
        """A message that is no answer: a person's, a tool's, or an instruction."""
        if any(part.kind is PartKind.TOOL_RESULT for part in parts):
            for part in parts:
                if part.call_id:
                    self._calls.pop(part.call_id, None)
            return Entry(Kind.TOOL_RESULT, Role.TOOL, parts, sent=True)
        if role is not Role.USER:
            return Entry(Kind.CONTEXT, role, parts, sent=True)
        spoken = any(part.kind in (PartKind.TEXT, PartKind.MEDIA) for part in parts)
        media = bool(parts) and all(part.kind is PartKind.MEDIA for part in parts)
        return Entry(Kind.MEDIA if media else Kind.PROMPT, role, parts, sent=bool(parts), opens_turn=spoken)

    def _item(self, record: Mapping[str, Any]) -> Entry | None:
        """An item of the Responses interface that is no message. Items of one answer follow each other."""
        kind = record.get("type")
        if kind == "reasoning" or kind in _ITEM_CALLS:
            part = reasoning(record) if kind == "reasoning" else call_of(record)
            entry = self._answer(record, (part,), same=self._answering)
            self._answering = True
        elif kind in _ITEM_RESULTS:
            entry = self._given(Role.TOOL, tuple(result_of(record, self.tool_of)))
            self._answering = False
        elif isinstance(kind, str) and (kind in ITEMS or kind.endswith("_call")):
            part = Part(PartKind.OTHER, text_of(record), meta={"type": kind})
            entry = Entry(
                Kind.OTHER, Role.ASSISTANT, (part,), sent=True, step_key=f"m{self.step}" if self._answering else None
            )
        else:
            return None
        return replace(entry, native_id=name_of(record.get("id")), at=_time(record))

    def _head(self, record: Mapping[str, Any]) -> Entry:
        """What a document says besides its messages: its model, and after them what the last answer cost."""
        said = record[HEAD]
        said = said if isinstance(said, dict) else {}
        self.model = name_of(said.get("model")) or self.model
        for key in ("id", "conversation_id", "session_id", "sessionId", "thread_id"):
            if name_of(said.get(key)):
                self.facts.native_id = said[key]
        self.facts.title = name_of(said.get("title")) or self.facts.title
        if lineage.NAME in said:
            lineage.take(said[lineage.NAME], self.facts)
        usage = usage_of(said.get("usage")) if self.step else None
        kept = {key: value for key, value in said.items() if key != "usage"}
        part = Part(PartKind.OTHER, text_of(kept)) if kept else None
        return Entry(
            Kind.EVENT if usage else Kind.META,
            parts=(part,) if part else (),
            usage=usage,
            step_key=f"m{self.step}" if usage else None,
            at=_time(said),
        )

    def _remember(self, parts: tuple[Part, ...]) -> None:
        for part in parts:
            if part.kind is PartKind.TOOL_CALL and part.call_id and part.tool:
                self._calls[part.call_id] = part.tool
        while len(self._calls) > _CALLS:
            del self._calls[next(iter(self._calls))]


def chat_call(call: Mapping[str, Any]) -> Part:
    """A call as chat messages carry it: `{id, function: {name, arguments}}`, `{id, custom: {name, input}}` or flat."""
    inner = next((call[key] for key in ("function", "custom") if isinstance(call.get(key), dict)), call)
    return call_of({**inner, "id": call.get("id"), "name": inner.get("name")})


def kind_of(parts: tuple[Part, ...]) -> Kind:
    """What an answer is: a call where it makes one, reasoning where it is nothing else."""
    kinds = {part.kind for part in parts}
    if PartKind.TOOL_CALL in kinds:
        return Kind.TOOL_CALL
    return Kind.REASONING if kinds == {PartKind.REASONING} else Kind.MESSAGE


def other(record: Mapping[str, Any]) -> Entry:
    """A record that is none of this format's, kept as it is."""
    kind = record.get("type")
    return Entry(
        Kind.OTHER, parts=(Part(PartKind.OTHER, text_of(record), meta={"type": kind} if isinstance(kind, str) else {}),)
    )


def facts_from(raw: Mapping[str, Any]) -> Facts:
    """Facts from what `asdict` made of them."""
    return Facts(**{**raw, "models": list(raw["models"]), "extra": dict(raw["extra"])})


def first_words(entry: Entry, longest: int = 200) -> str:
    """The beginning of an entry's text on one line."""
    return " ".join(words(entry.text[: longest * 4]).split())[:longest]


def _has_results(content: Any) -> bool:
    """Whether content is made of result blocks (AI SDK) and not the words of one result."""
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") in ("tool-result", "tool_result", "tool_call_response")
        for block in content
    )


def _time(record: Mapping[str, Any]) -> Any:
    return next((at for key in _TIMES if (at := moment(record.get(key))) is not None), None)
