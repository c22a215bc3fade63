"""OpenTelemetry GenAI: traces and logs of model requests, as OTLP/JSON or as the JavaScript SDK prints them, as one session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import PurePath
from typing import Any

from sessions.adapters.base import Follow, Line, Link, NativeVersion, PartsOf
from sessions.adapters.following import Held
from sessions.adapters.generic import threads
from sessions.adapters.generic.adapter import Messages
from sessions.adapters.generic.forms import Form
from sessions.adapters.generic.lists import Wanted, edits_to
from sessions.adapters.generic.messages import HEAD, other
from sessions.adapters.generic.messages import Reader as MessageReader
from sessions.adapters.generic.threads import LIST, RECORD, SAID
from sessions.adapters.generic.values import moment, name_of, number
from sessions.entries import Entry, Facts, Kind, Part, PartKind, Role, Usage

_KINDS = {"compaction": Kind.COMPACTION}
_LABELS = {
    "compaction": "The list of messages was made anew, shorter",
    "rollback": "Went back to an earlier message",
    "replacement": "The list of messages was replaced",
}


class Reader(MessageReader):
    """Reads what `threads` made of the records: messages, lists that replace them, and the records themselves."""

    def record(self, record: Mapping[str, Any]) -> Entry:
        if HEAD in record:
            said = record[HEAD]
            name = name_of(said.get("conversation")) if isinstance(said, dict) else None
            self.facts.native_id = name or self.facts.native_id
            return Entry(Kind.META)
        lane = record["lane"] if isinstance(record.get("lane"), str) else ""
        at = moment(record.get("at"))
        if isinstance(record.get(SAID), dict):
            return replace(self._said(record), at=at, lane=lane)
        if isinstance(record.get(LIST), list):
            return replace(self._list(record), at=at, lane=lane)
        if isinstance(record.get(RECORD), dict):
            return replace(self._record(record, record[RECORD]), lane=lane)
        return other(record)

    def _said(self, record: Mapping[str, Any]) -> Entry:
        entry = self.message(record[SAID]) or other(record[SAID])
        step, model = name_of(record.get("step")), name_of(record.get("model"))
        if record.get("lane"):
            entry = replace(entry, sent=False, opens_turn=False, goals=None)
        if step and model and model not in self.facts.models:
            self.facts.models.append(model)
        # An answer that came with a request's history has no request of its own here.
        return replace(entry, step_key=step, model=model if step else None, response_id=name_of(record.get("response")))

    def _list(self, record: Mapping[str, Any]) -> Entry:
        inner = MessageReader(PurePath("list"))
        parts: list[Part] = []
        for n, message in enumerate(record[LIST]):
            entry = inner.message(message) if isinstance(message, dict) else None
            if entry is not None:
                parts += [replace(part, role=entry.role, meta={**part.meta, "n": n}) for part in entry.parts]
        how = str(record.get("how"))
        return Entry(_KINDS.get(how, Kind.ROLLBACK), parts=tuple(parts), link={"is": "list", "how": how})

    def _record(self, record: Mapping[str, Any], said: Mapping[str, Any]) -> Entry:
        counts = record.get("usage")
        usage = None
        if isinstance(counts, list) and len(counts) == 5:
            fresh, read, write, output, thought = (number(count) for count in counts)
            usage = Usage(fresh, read, write, output, thought)
        step, model = name_of(record.get("step")), name_of(record.get("model"))
        shown = {key: value for key, value in said.items() if key not in ("at", "id", "text")}
        text = name_of(said.get("failed")) or name_of(said.get("text")) or name_of(said.get("name")) or "telemetry"
        return Entry(
            Kind.EVENT,
            parts=(Part(PartKind.MARKER, text, is_error="failed" in said, meta=shown),),
            native_id=name_of(said.get("id")),
            at=moment(said.get("at")),
            step_key=step,
            response_id=name_of(record.get("response")),
            model=model if step else None,
            usage=usage,
        )


class OpenTelemetry(Messages):
    """The adapter of telemetry."""

    version = 2

    def documents(self, path: PurePath, data: bytes) -> Iterator[Line]:
        return threads.records(data)

    def reader(self, path: PurePath, state: Mapping[str, Any] | None = None) -> Reader:
        return Reader(path, state)

    def follow(self, parts_of: PartsOf, *, whole: bool = False) -> Follow:
        return Held(self, parts_of)

    def steady(self, tip: Mapping[str, Any], link: Link, *, repeated: bool) -> dict[str, Any] | None:
        return None

    def history(self, links: Sequence[Link], parts_of: PartsOf, facts: Facts) -> Sequence[NativeVersion]:
        out: list[NativeVersion] = []
        for link in links:
            if link.facts.get("is") != "list" or link.lane:
                continue
            how = str(link.facts.get("how"))
            edits = tuple(edits_to(_wanted(parts_of(link.seq)), links, link.seq))
            if edits != (out[-1].edits if out else ()):
                out.append(
                    NativeVersion(how if how in _LABELS else "replacement", link.seq, edits, _LABELS.get(how, how))
                )
        return out


def _wanted(parts: Sequence[Part]) -> list[Wanted]:
    out: list[Wanted] = []
    for _, group in groupby(parts, key=lambda part: part.meta.get("n")):
        block = list(group)
        body = tuple(
            replace(part, role=None, meta={key: value for key, value in part.meta.items() if key != "n"})
            for part in block
        )
        out.append(Wanted(block[0].role or Role.USER, body))
    return out


ADAPTER = OpenTelemetry(Form.OTEL, "OpenTelemetry GenAI")
