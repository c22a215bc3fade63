"""Takes in telemetry as it is exported: what a batch says of a conversation is put behind what is here of it, and read as one file.

A conversation is one source, named by the id that its records carry (else by its trace); each batch is a line of OTLP/JSON in it. So the
bytes that are kept are the records as they came, whatever the form of their transport, and a file of such lines reads the same.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from sessions import uploads
from sessions.adapters.generic.exports import Sorted, by_session
from sessions.ingest import Taken
from sessions.intake import How
from sessions.models import Entry, Session, Source
from sessions.packing import unpack
from sessions.store import clean

AGENT = "otel"
PREFIX = "otlp:/"
_TRACES = 1000  # traces that a session remembers, to know their other records by
_ATTEMPTS = 5  # another batch of the same conversation may come in between


@dataclass(frozen=True, slots=True)
class Exported:
    """What became of an export. `apart`: records of traces in which no model was asked for anything, so far; they are not kept."""

    taken: tuple[Taken, ...]
    records: int
    apart: int


def receive(workspace: Any, export: Mapping[str, Any], *, by: Any = None) -> Exported:
    """Take in an OTLP/JSON export of traces or logs. Refused as an upload is."""

    def known(traces: set[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for session in _sessions(workspace).filter(facts__traces__has_any_keys=sorted(traces)):
            found |= dict.fromkeys(session.facts["traces"], session.facts["conversation"])
        return found

    def seen(name: str, spans: set[str]) -> set[str]:
        rows = Entry.objects.filter(session__in=_sessions(workspace).filter(facts__conversation=clean(name)))
        found = rows.filter(native_id__in=spans).values_list("native_id", "parts")
        # A log record goes by the id of the span that it was written in.
        return {
            span for span, parts in found if span and any(part.meta.get("kind") == "span" for part in unpack(parts))
        }

    taken: list[Taken] = []
    records = apart = 0
    for name, mine in by_session(export, known, seen).items():
        path = _path(name)
        if not mine.tells and not Source.objects.filter(workspace=workspace, path=path, superseded=False).exists():
            apart += mine.records
            continue
        records += mine.records
        taken.append(_append(workspace, path, name, mine, by))
    return Exported(tuple(taken), records, apart)


def _sessions(workspace: Any) -> Any:
    return Session.objects.filter(workspace=workspace, agent=AGENT, superseded_by=None, facts__has_key="traces")


def _path(name: str) -> str:
    plain = "".join(char if char.isalnum() or char in "-_.:" else "_" for char in clean(name) or "")
    return f"{PREFIX}{plain[:200]}.jsonl"


def _append(workspace: Any, path: str, name: str, mine: Sorted, by: Any) -> Taken:
    line = orjson.dumps(mine.export) + b"\n"
    offset = Source.objects.filter(workspace=workspace, path=path, superseded=False).values_list("size", flat=True)
    for attempt in range(_ATTEMPTS):
        here = offset.first() or 0
        try:
            done = uploads.piece(workspace, path, io.BytesIO(line), offset=here, how=How.EXPORT, by=by)
        except uploads.NotTaken:
            if attempt == _ATTEMPTS - 1:
                raise
            continue
        assert done.taken is not None
        _remember(done.taken, name, mine)
        return done.taken
    raise AssertionError


def _remember(taken: Taken, name: str, mine: Sorted) -> None:
    session = Session.objects.filter(pk=taken.session).first() if taken.session else None
    if session is None:
        return
    traces = list(dict.fromkeys([*session.facts.get("traces", ()), *sorted(mine.traces)]))[-_TRACES:]
    session.facts = {**session.facts, "traces": traces, "conversation": clean(name)}
    session.save(update_fields=["facts"])
