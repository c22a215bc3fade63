"""Spans and log records in a file: OTLP/JSON (one export, several in a row or in a list), and what the JavaScript SDK prints of its objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sessions.adapters.generic.values import inside, name_of, parsed
from sessions.adapters.records import NotARecord, load
from sessions.adapters.scan import Cursor, Torn

_INSIDE = {
    "resourceSpans": ("scopeSpans", "instrumentationLibrarySpans"),
    "resourceLogs": ("scopeLogs", "instrumentationLibraryLogs"),
}
_RECORDS = ("spans", "logRecords", "logs")


@dataclass(frozen=True, slots=True)
class Record:
    """A span or a log record. `start` and `stop`: its bytes. `begin` and `end`: nanoseconds since 1970; of a log both are its time."""

    start: int
    stop: int
    span: bool
    name: str
    attributes: Mapping[str, Any]
    trace: str = ""
    id: str = ""
    parent: str = ""
    begin: int = 0
    end: int = 0
    failed: str | None = None
    events: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    body: Any = None


@dataclass(slots=True)
class Telemetry:
    """What a file holds. `others`: places of what is neither span nor log. `torn`: from where on it is no JSON."""

    records: list[Record] = field(default_factory=list)
    others: list[tuple[int, int]] = field(default_factory=list)
    torn: int | None = None


def telemetry(data: bytes) -> Telemetry:
    """The records of a file, in its order."""
    found = Telemetry()
    cursor = Cursor(b"   " + data[3:] if data.startswith(b"\xef\xbb\xbf") else data)
    begun = 0
    try:
        while cursor.peek():
            begun = cursor.at
            if cursor.peek() == "[":
                for _ in cursor.items():
                    _value(cursor, data, found)
            else:
                _value(cursor, data, found)
            cursor.space()
    except Torn as error:
        known = [record.stop for record in found.records] + [stop for _, stop in found.others]
        found.torn = max([begun, *known]) if known and max(known) > begun else error.at if begun == 0 else begun
    return found


def _value(cursor: Cursor, data: bytes, found: Telemetry) -> None:
    """One value of the file: an export, an object of the SDK, or something else."""
    start = cursor.at
    if cursor.peek() != "{":
        cursor.value()
        found.others.append((start, cursor.at))
        return
    export = False
    for key in cursor.members():
        if key in _INSIDE and cursor.peek() == "[":
            export = True
            for _ in cursor.items():
                _resource(key, cursor, data, found)
        else:
            cursor.value()
    if not export:
        record = _dumped(data, start, cursor.at)
        if record is None:
            found.others.append((start, cursor.at))
        else:
            found.records.append(record)


def _resource(kind: str, cursor: Cursor, data: bytes, found: Telemetry) -> None:
    for key in cursor.members():
        if key not in _INSIDE[kind] or cursor.peek() != "[":
            cursor.value()
            continue
        for _ in cursor.items():
            for inner in cursor.members():
                if inner not in _RECORDS or cursor.peek() != "[":
                    cursor.value()
                    continue
                for _ in cursor.items():
                    start = cursor.at
                    cursor.value()
                    found.records.append(_exported(data, start, cursor.at, span=kind == "resourceSpans"))


def _exported(data: bytes, start: int, stop: int, *, span: bool) -> Record:
    return record_of(_object(data[start:stop]), start, stop, span=span)


def record_of(raw: Mapping[str, Any], start: int = 0, stop: int = 0, *, span: bool) -> Record:
    """A span or a log record as OTLP/JSON writes it."""
    attributes = attributes_of(raw.get("attributes"))
    begin = _nanos(raw.get("startTimeUnixNano") if span else raw.get("timeUnixNano") or raw.get("observedTimeUnixNano"))
    status = raw.get("status")
    failed = None
    if isinstance(status, dict) and status.get("code") in (2, "STATUS_CODE_ERROR"):
        failed = name_of(status.get("message")) or name_of(attributes.get("error.type")) or "failed"
    events = raw.get("events")
    return Record(
        start,
        stop,
        span,
        name_of(raw.get("name")) or name_of(raw.get("eventName")) or name_of(attributes.get("event.name")) or "",
        attributes,
        trace=name_of(raw.get("traceId")) or "",
        id=name_of(raw.get("spanId")) or "",
        parent=name_of(raw.get("parentSpanId")) or "",
        begin=begin,
        end=_nanos(raw.get("endTimeUnixNano")) or begin,
        failed=failed,
        events=tuple(
            (name_of(event.get("name")) or "", attributes_of(event.get("attributes")))
            for event in (events if isinstance(events, list) else [])
            if isinstance(event, dict)
        ),
        body=value_of(raw.get("body")),
    )


def _dumped(data: bytes, start: int, stop: int) -> Record | None:
    """An object of the SDK as it prints it: times in seconds and nanoseconds, attributes as a plain object."""
    raw = _object(data[start:stop])
    attributes = raw.get("attributes")
    context = raw.get("_spanContext") or raw.get("spanContext")
    if not isinstance(attributes, dict) or not ("_spanContext" in raw or "hrTime" in raw):
        return None
    span = "_spanContext" in raw
    begin = _pair(raw.get("startTime") if span else raw.get("hrTime"))
    code = inside(raw, "status", "code")
    return Record(
        start,
        stop,
        span,
        name_of(raw.get("name")) or name_of(attributes.get("event.name")) or "",
        attributes,
        trace=name_of(inside(context, "traceId")) or "",
        id=name_of(inside(context, "spanId")) or "",
        parent=name_of(inside(raw, "parentSpanContext", "spanId")) or name_of(raw.get("parentSpanId")) or "",
        begin=begin,
        end=_pair(raw.get("endTime")) or begin,
        failed=(name_of(inside(raw, "status", "message")) or "failed") if code == 2 else None,
        events=tuple(_dumped_events(raw.get("events"))),
        body=raw.get("_body", raw.get("body")),
    )


def _dumped_events(events: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for event in events if isinstance(events, list) else []:
        if isinstance(event, dict):
            said = event.get("attributes")
            yield name_of(event.get("name")) or "", said if isinstance(said, dict) else {}


def attributes_of(raw: Any) -> dict[str, Any]:
    """Attributes as OTLP writes them, as a plain object."""
    if isinstance(raw, dict):
        return raw
    return {
        pair["key"]: value_of(pair.get("value"))
        for pair in (raw if isinstance(raw, list) else [])
        if isinstance(pair, dict) and isinstance(pair.get("key"), str)
    }


def value_of(raw: Any) -> Any:
    """An attribute's value. 64-bit numbers are text in files that keep to the rule, and plain numbers in many that do not."""
    if not isinstance(raw, dict) or len(raw) != 1:
        return None if raw == {} else raw
    ((kind, value),) = raw.items()
    match kind:
        case "intValue":
            number = parsed(value)
            try:
                return int(number)
            except (TypeError, ValueError):
                return value
        case "arrayValue":
            held = inside(value, "values")
            return [value_of(item) for item in held] if isinstance(held, list) else []
        case "kvlistValue":
            return attributes_of(inside(value, "values"))
        case "stringValue" | "doubleValue" | "boolValue" | "bytesValue":
            return value
        case _:
            return raw


def _object(raw: bytes) -> dict[str, Any]:
    try:
        return load(raw)
    except NotARecord:
        return {}


def _nanos(value: Any) -> int:
    try:
        return int(value or 0)
    except (TypeError, ValueError, OverflowError):
        return 0


def _pair(value: Any) -> int:
    if isinstance(value, list) and len(value) == 2 and all(isinstance(part, int | float) for part in value):
        return int(value[0]) * 1_000_000_000 + int(value[1])
    return 0
