"""An export of telemetry, sorted by the session that each of its records belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sessions.adapters.generic.genai import conversation, is_message, operation
from sessions.adapters.generic.otlp import Record, record_of

_KINDS = {"resourceSpans": ("scopeSpans", "spans"), "resourceLogs": ("scopeLogs", "logRecords")}


@dataclass(slots=True)
class Sorted:
    """What of an export belongs to one session: `export` holds it as OTLP/JSON. `tells`: a model's request is among it."""

    export: dict[str, Any] = field(default_factory=dict)
    traces: set[str] = field(default_factory=set)
    records: int = 0
    tells: bool = False


def by_session(
    export: Mapping[str, Any],
    known: Callable[[set[str]], Mapping[str, str]],
    seen: Callable[[str, set[str]], set[str]],
) -> dict[str, Sorted]:
    """The records of an OTLP/JSON export by the conversation they name, else by that of their trace, else by the trace itself.

    `known`: of traces seen before, the conversation each was of. `seen`: of a conversation and spans, those that came before (an
    exporter sends a batch again where it got no answer). Records of neither trace nor conversation belong to nothing and are left out.
    """
    found = list(_records(export))
    traces = {record.trace for *_, record in found if record.trace}
    of_trace = dict(known(traces))
    for *_, record in found:
        if record.trace and (name := conversation(record)) is not None:
            of_trace[record.trace] = name
    names = [conversation(record) or of_trace.get(record.trace, record.trace) for *_, record in found]
    spans: dict[str, set[str]] = {}
    for name, (*_, record) in zip(names, found, strict=True):
        if name and record.span and record.id:
            spans.setdefault(name, set()).add(record.id)
    twice = {name: seen(name, ids) for name, ids in spans.items()}
    out: dict[str, Sorted] = {}
    for name, (kind, resource, scope, raw, record) in zip(names, found, strict=True):
        if not name or (record.span and record.id in twice.get(name, ())):
            continue
        mine = out.setdefault(name, Sorted())
        mine.records += 1
        mine.traces |= {record.trace} if record.trace else set()
        mine.tells = mine.tells or bool(operation(record)) or is_message(record)
        _put(mine.export, kind, resource, scope, raw)
    return out


def _records(export: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any, dict[str, Any], Record]]:
    for kind, (scopes, inner) in _KINDS.items():
        for resource in _objects(export.get(kind)):
            for scope in _objects(resource.get(scopes)):
                for raw in _objects(scope.get(inner)):
                    record = record_of(raw, span=kind == "resourceSpans")
                    yield kind, resource.get("resource"), scope.get("scope"), raw, record


def _put(export: dict[str, Any], kind: str, resource: Any, scope: Any, raw: dict[str, Any]) -> None:
    """Put a record behind those of the same resource and scope."""
    scopes, inner = _KINDS[kind]
    rows = export.setdefault(kind, [])
    if not rows or rows[-1].get("resource") != resource:
        rows.append({"resource": resource, scopes: []})
    held = rows[-1][scopes]
    if not held or held[-1].get("scope") != scope:
        held.append({"scope": scope, inner: []})
    held[-1][inner].append(raw)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
