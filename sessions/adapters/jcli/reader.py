"""Reads a transcript event by event: messages, and the marks that empty or replace the list of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from sessions.adapters import lineage
from sessions.adapters.generic.messages import HEAD, other
from sessions.adapters.generic.messages import Reader as MessageReader
from sessions.adapters.generic.usage import usage_of
from sessions.adapters.generic.values import moment, short
from sessions.adapters.jcli.claims import names
from sessions.adapters.records import text_of
from sessions.entries import Entry, Kind, Part, PartKind, Role

COMPRESSED = "[Conversation compressed. Transcript:"
_UNDERSTOOD = "Understood. I have the context from the summary"
_NOTICE = "\N{PACKAGE}"  # begins the notice of older releases that the conversation was compacted


class Reader(MessageReader):
    """j-cli records neither the tokens nor the model of an answer, so its steps have none."""

    def __init__(self, path: PurePath, state: Mapping[str, Any] | None = None) -> None:
        super().__init__(path, state)
        if state is None:
            self.facts.native_id, parent = names(path)
            if parent is not None:
                self.facts.parent_native_id, self.facts.parent_kind = parent, "subagent"

    def record(self, record: Mapping[str, Any]) -> Entry:
        if HEAD in record:
            return super().record(record)
        match record.get("type"):
            case "msg" | None:
                entry = self.message({key: value for key, value in record.items() if key != "type"})
                return entry if entry is not None else other(record)
            case "clear":
                return Entry(Kind.ROLLBACK, parts=(Part(PartKind.MARKER, "Cleared"),), link={"is": "clear"})
            case "restore" if isinstance(record.get("messages"), list):
                return self._restore(record["messages"])
            case lineage.NAME:
                return lineage.take(record.get(lineage.NAME), self.facts)
            case "metrics":
                usage = usage_of(record) or usage_of(record.get("metrics"))
                return Entry(
                    Kind.EVENT,
                    parts=(Part(PartKind.OTHER, text_of(short(record))),),
                    at=moment(record.get("timestamp_ms")),
                    usage=usage,
                    step_key=f"m{self.step}" if usage and self.step else None,
                )
            case _:
                return other(record)

    def message(self, record: Mapping[str, Any]) -> Entry | None:
        entry = super().message(record)
        if entry is None:
            return None
        text = entry.text[:200].lstrip()
        if entry.role is Role.USER and text.startswith(COMPRESSED):
            return replace(entry, kind=Kind.SUMMARY, opens_turn=False)
        if entry.role is Role.ASSISTANT and text.startswith(_UNDERSTOOD):
            return replace(entry, kind=Kind.CONTEXT, step_key=None)
        if entry.role is Role.SYSTEM and text.startswith(_NOTICE):
            return replace(entry, kind=Kind.CONTEXT)
        if record.get("sender_name") and entry.opens_turn:
            # Another agent's words, which reach the model as a user's.
            return replace(entry, kind=Kind.CONTEXT, opens_turn=False)
        return entry

    def _restore(self, messages: list[Any]) -> Entry:
        """A whole new list: one record with the parts of all its messages, each marked with the number of its message."""
        inner = Reader(PurePath("restore"))
        parts: list[Part] = []
        summary = False
        for n, message in enumerate(messages):
            entry = inner.message(message) if isinstance(message, dict) else None
            if entry is None:
                entry = Entry(Kind.OTHER, Role.USER, (Part(PartKind.OTHER, text_of(message)),))
            summary = summary or entry.kind is Kind.SUMMARY
            parts += [replace(part, role=entry.role, meta={**part.meta, "n": n}) for part in entry.parts]
        kind = Kind.COMPACTION if summary else Kind.ROLLBACK
        return Entry(kind, parts=tuple(parts), link={"is": "restore", "count": len(messages)})
