"""ATIF, the trajectory format of Harbor, versions 1.0 to 1.8: one JSON document, in which a step of the agent is one model request.

A step's observation (the results of its calls) is a record of its own. Embedded trajectories of sub-agents stand in lanes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import orjson

from sessions.adapters.base import Line
from sessions.adapters.generic.adapter import Messages
from sessions.adapters.generic.blocks import call_of, parts_of, told_by
from sessions.adapters.generic.forms import Form
from sessions.adapters.generic.messages import HEAD, kind_of, other
from sessions.adapters.generic.messages import Reader as MessageReader
from sessions.adapters.generic.plans import planned
from sessions.adapters.generic.usage import counted
from sessions.adapters.generic.values import inside, moment, name_of, number, short
from sessions.adapters.records import NotARecord, load, text_of
from sessions.adapters.scan import Cursor, Torn
from sessions.entries import Entry, Kind, Part, PartKind, Role, Usage

_DEEPEST = 8  # trajectories inside trajectories


def records(data: bytes) -> Iterator[Line]:
    """The records of a trajectory: its head, each step, after a step its observation, and then the trajectories inside it."""
    cursor = Cursor(b"   " + data[3:] if data.startswith(b"\xef\xbb\xbf") else data)
    spans: list[tuple[int, int, bytes | None]] = []
    torn: int | None = None
    try:
        _trajectory(cursor, data, spans, None, 0)
    except Torn as error:
        torn = error.at
    number_ = 0
    for number_, (start, stop, made) in enumerate(spans, 1):
        yield Line(start, data[start:stop] if made is None else made, True, number_, span=stop - start)
    if torn is not None and data[torn:].strip(b" \t\r\n"):
        yield Line(torn, data[torn:], False, number_ + 1, span=len(data) - torn)


def _trajectory(
    cursor: Cursor, data: bytes, spans: list[tuple[int, int, bytes | None]], lane: str | None, depth: int
) -> None:
    opens = cursor.at
    place = len(spans)
    spans.append((opens, opens + 1, b"{}"))
    said: dict[str, Any] = {}
    if lane is not None:
        said["lane"] = lane
    try:
        for key in cursor.members():
            if key == "steps" and cursor.peek() == "[":
                spans[place] = (opens, cursor.at + 1, None)
                for _ in cursor.items():
                    _step(cursor, spans)
            elif key == "subagent_trajectories" and cursor.peek() == "[" and depth < _DEEPEST:
                for n, _ in enumerate(cursor.items()):
                    _trajectory(cursor, data, spans, f"{lane or ''}/{n + 1}", depth + 1)
            else:
                start = cursor.at
                cursor.value()
                said |= _kept(key, data[start : cursor.at])
    finally:
        start, stop, _ = spans[place]
        spans[place] = (start, stop, orjson.dumps({HEAD: said}))


def _step(cursor: Cursor, spans: list[tuple[int, int, bytes | None]]) -> None:
    start = cursor.at
    observed: tuple[int, int] | None = None
    try:
        if cursor.peek() != "{":
            cursor.value()
        else:
            for key in cursor.members():
                at = cursor.at
                value = cursor.value()
                if key == "observation" and isinstance(value, dict):
                    observed = (at, cursor.at)
    except Torn:
        raise Torn(start) from None  # the step is one record, also where it breaks off
    spans.append((start, cursor.at, None))
    if observed is not None:
        spans.append((*observed, None))


def _kept(key: str, raw: bytes) -> dict[str, Any]:
    try:
        value = load(b'{"v":' + raw + b"}")["v"]
    except NotARecord:
        return {}
    return {key: short(value)} if isinstance(value, dict) else short({key: value})


class Reader(MessageReader):
    """Reads steps. `lane` is that of the trajectory being read: of sub-agents only, whose entries are not sent."""

    def __init__(self, path: PurePath, state: Mapping[str, Any] | None = None) -> None:
        super().__init__(path, state)
        self.lane: str = "" if state is None else state["lane"]

    def state(self) -> dict[str, Any]:
        return {**super().state(), "lane": self.lane}

    def record(self, record: Mapping[str, Any]) -> Entry:
        if HEAD in record:
            return self._head(record)
        if isinstance(record.get("results"), list) and "step_id" not in record:
            return replace(self._observation(record["results"]), lane=self.lane, sent=not self.lane)
        role = {"user": Role.USER, "system": Role.SYSTEM, "agent": Role.ASSISTANT}.get(str(record.get("source")))
        if role is None:
            return other(record)
        copied = record.get("is_copied_context") is True
        entry = self._agent(record) if role is Role.ASSISTANT else self._given(role, parts_of(record.get("message")))
        if copied:
            entry = replace(entry, opens_turn=False, step_key=None, usage=None, link={"copied": True})
        step = record.get("step_id")
        name = f"{self.lane}#{step}" if isinstance(step, int) else None
        return replace(
            entry, native_id=name, at=moment(record.get("timestamp")), lane=self.lane, sent=entry.sent and not self.lane
        )

    def _agent(self, record: Mapping[str, Any]) -> Entry:
        parts: list[Part] = []
        if name_of(record.get("reasoning_content")):
            parts.append(Part(PartKind.REASONING, record["reasoning_content"]))
        parts += parts_of(record.get("message"))
        calls = record.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            if isinstance(call, dict):
                given = {
                    "id": call.get("tool_call_id"),
                    "name": call.get("function_name"),
                    "arguments": call.get("arguments"),
                }
                parts.append(call_of(given))
        self._remember(tuple(parts))
        model = name_of(record.get("model_name")) or self.model
        asked = record.get("llm_call_count") != 0
        if asked:
            self.step += 1
            if model and model not in self.facts.models:
                self.facts.models.append(model)
        return Entry(
            kind_of(tuple(parts)),
            Role.ASSISTANT,
            tuple(parts),
            sent=bool(parts),
            step_key=f"{self.lane}m{self.step}" if asked else None,
            model=model if asked else None,
            usage=_usage(record.get("metrics")) if asked else None,
            goals=None if self.lane else planned(tuple(parts)),
        )

    def _observation(self, results: list[Any]) -> Entry:
        parts: list[Part] = []
        for result in results:
            if not isinstance(result, dict):
                parts.append(Part(PartKind.OTHER, text_of(result)))
                continue
            call_id = name_of(result.get("source_call_id"))
            text, shown = told_by(result.get("content"), call_id)
            sub = result.get("subagent_trajectory_ref")
            first = sub[0] if isinstance(sub, list) and sub else None
            name = name_of(inside(first, "trajectory_id")) or name_of(inside(first, "trajectory_path"))
            tool = self.tool_of(call_id) if call_id else None
            parts.append(
                Part(PartKind.TOOL_RESULT, text, tool=tool, call_id=call_id, meta={"session": name} if name else {}),
            )
            parts += shown
        return Entry(Kind.TOOL_RESULT, Role.TOOL, tuple(parts))

    def _head(self, record: Mapping[str, Any]) -> Entry:
        said = record[HEAD]
        said = said if isinstance(said, dict) else {}
        self.lane = said["lane"] if isinstance(said.get("lane"), str) else ""
        model = name_of(inside(said, "agent", "model_name"))
        if not self.lane:
            self.model = model
            self.facts.native_id = (
                name_of(said.get("trajectory_id")) or name_of(said.get("session_id")) or self.facts.native_id
            )
            self.facts.agent_version = name_of(inside(said, "agent", "version"))
            if name_of(inside(said, "agent", "name")):
                self.facts.extra["agent"] = said["agent"]["name"]
        return Entry(Kind.META, parts=(Part(PartKind.OTHER, text_of(said)),), lane=self.lane)


def _usage(metrics: Any) -> Usage | None:
    """A step's metrics: the prompt includes what was read from the cache, the completion the thoughts."""
    if not isinstance(metrics, dict):
        return None
    return counted(
        prompt=number(metrics.get("prompt_tokens")),
        read=number(metrics.get("cached_tokens")),
        output=number(metrics.get("completion_tokens")),
        reasoning=number(inside(metrics, "extra", "thoughts_tokens")),
    )


class Atif(Messages):
    """The adapter of trajectories."""

    def documents(self, path: PurePath, data: bytes) -> Iterator[Line]:
        return records(data)

    def reader(self, path: PurePath, state: Mapping[str, Any] | None = None) -> Reader:
        return Reader(path, state)


ADAPTER = Atif(Form.ATIF, "ATIF")
