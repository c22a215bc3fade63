"""Reads the records of a session in order and makes entries of them: the session's info, messages, parts, results."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from sessions.adapters import lineage
from sessions.adapters.base import Line
from sessions.adapters.opencode import second, tools
from sessions.adapters.opencode.parts import part_entry
from sessions.adapters.opencode.said import Said
from sessions.adapters.opencode.values import inside, moment, usage, words
from sessions.adapters.records import NotARecord, load, text_of
from sessions.entries import Entry, Facts, Kind, Part, PartKind, Role

_FORKED = re.compile(r" \(fork #\d+\)\Z")


class Reader:
    """`state` is the message being read: what its parts need to know of it, and the tool whose result comes next."""

    def __init__(self, path: PurePath, state: Mapping[str, Any] | None = None) -> None:
        self.facts = Facts()
        self._said = Said()
        if state is not None:
            self._said = Said.from_json(state["said"])
            facts = state["facts"]
            self.facts = Facts(**{**facts, "models": list(facts["models"]), "extra": dict(facts["extra"])})

    def state(self) -> dict[str, Any]:
        facts = self.facts
        return {
            "said": self._said.to_json(),
            "facts": {
                "native_id": facts.native_id,
                "title": facts.title,
                "cwd": facts.cwd,
                "agent_version": facts.agent_version,
                "models": facts.models,
                "parent_native_id": facts.parent_native_id,
                "parent_kind": facts.parent_kind,
                "extra": facts.extra,
            },
        }

    def read(self, line: Line) -> Entry:
        if line.raw[:1] == b"[":
            return Entry(Kind.META, goals=tools.listed(line.raw), link={"is": "todos"})
        try:
            record = load(line.raw)
        except NotARecord as problem:
            return Entry(kind=Kind.MALFORMED, problem=str(problem))
        entry = self._entry(record)
        if entry.model and entry.model not in self.facts.models:
            self.facts.models.append(entry.model)
        return entry

    def _entry(self, record: dict[str, Any]) -> Entry:
        if isinstance(record.get("role"), str):
            return self._message(record)
        if second.is_row(record):
            self._said = second.said_by(record)
            return second.row_entry(record, self._said)
        if isinstance(record.get("type"), str):
            return self._part(record)
        if self._said.call is not None and isinstance(record.get("status"), str):
            return self._result(record)
        if isinstance(record.get("cache"), dict) and "input" in record:
            entry = Entry(Kind.EVENT, native_parent=self._said.id, usage=usage(record))
            return replace(entry, **self._said.step()) if entry.usage else entry
        if str(record.get("id")).startswith("ses") or ("directory" in record and "version" in record):
            return self._session(record)
        return Entry(Kind.OTHER, native_id=words(record.get("id")), parts=(Part(PartKind.OTHER, text_of(record)),))

    def _session(self, info: Mapping[str, Any]) -> Entry:
        facts = self.facts
        facts.native_id = words(info.get("id"))
        facts.title = words(info.get("title"))
        facts.cwd = words(info.get("directory"))
        facts.agent_version = words(info.get("version"))
        facts.parent_native_id = words(info.get("parentID"))
        if facts.parent_native_id:
            facts.parent_kind = "subagent"
        elif facts.title and _FORKED.search(facts.title):
            facts.parent_kind = "fork"
        for name in ("agent", "slug", "projectID"):
            if words(info.get(name)):
                facts.extra[name] = info[name][:200]
        if (written := inside(info, "metadata", lineage.NAME)) is not None:
            lineage.take(written, facts)
        revert = info.get("revert")
        link: dict[str, Any] = {"is": "session"}
        if isinstance(revert, dict) and words(revert.get("messageID")):
            link["revert"] = [revert["messageID"], words(revert.get("partID"))]
        return Entry(
            Kind.META,
            parts=(Part(PartKind.TEXT, facts.title),) if facts.title else (),
            native_id=facts.native_id,
            at=moment(inside(info, "time", "created")),
            link=link,
        )

    def _message(self, info: Mapping[str, Any]) -> Entry:
        said = self._said = Said.of(info)
        link: dict[str, Any] = {"is": "message", "created": said.created}
        if said.role == "assistant":
            link["summary"] = said.summary
            link["counts"] = bool(said.summary and info.get("finish") and not said.error)
        problem = _problem(info.get("error"))
        return Entry(
            kind=Kind.EVENT if problem else Kind.META,
            parts=(Part(PartKind.TEXT, problem, is_error=True),) if problem else (),
            native_id=said.id,
            native_parent=words(info.get("parentID")),
            at=moment(said.created),
            model=said.model if said.role == "assistant" else None,
            link=link,
        )

    def _part(self, part: Mapping[str, Any]) -> Entry:
        owner = words(part.get("messageID"))
        if owner is not None and self._said.id is not None and owner != self._said.id:
            lost = part_entry(part, Said(id=owner, error="lost"))
            return replace(lost, sent=False, opens_turn=False, problem="a part of a message that is not here")
        return part_entry(second.as_part(part, self._said), self._said)

    def _result(self, state: Mapping[str, Any]) -> Entry:
        said = self._said
        assert said.call is not None
        part_id, call_id, tool = said.call
        said.call = None
        if said.second:
            state = second.as_state(state)
        when = inside(state, "time", "compacted")
        start, end = inside(state, "time", "start"), inside(state, "time", "end")
        known = state.get("status") in ("completed", "error", "running", "pending")
        return Entry(
            Kind.TOOL_RESULT,
            Role.TOOL,
            tools.result(state, tool, call_id),
            native_id=f"{part_id}/result" if part_id else None,
            native_parent=said.id,
            at=moment(end) or moment(start) or moment(said.created),
            sent=said.sent,
            model=said.model,
            goals=tools.goals(state, tool),
            link={"cleared": when} if when and state.get("status") == "completed" else None,
            problem=None if known else "a state of a tool call that is not known",
            **said.step(),
        )


def _problem(error: object) -> str | None:
    """An error as words. Its headers and body are left where they are: they may hold keys."""
    if not isinstance(error, dict):
        return None
    name = words(error.get("name")) or "error"
    message = words(inside(error, "data", "message"))
    return f"{name}: {message}" if message else name
