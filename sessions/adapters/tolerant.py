"""A line to its entry, whatever it holds: what is no record, and a record in a shape nobody knows, is said and never raised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sessions.adapters.base import Line
from sessions.adapters.records import NotARecord, load
from sessions.entries import Entry, Kind, Part, PartKind

_SHOWN = 2000  # bytes of what is no record that stay readable
_UNEXPECTED = (TypeError, ValueError, KeyError, AttributeError, IndexError, RecursionError)


def entry_of(line: Line, read: Callable[[dict[str, Any]], Entry]) -> Entry:
    """What `read` makes of the record of a line; an entry that says what is wrong with it otherwise."""
    raw = line.raw[:-1] if line.raw.endswith(b"\r") else line.raw
    try:
        record = load(raw)
    except NotARecord as problem:
        torn = "" if line.ended else "; the line has no end yet"
        return malformed(raw, f"line {line.number}: {problem}{torn}")
    try:
        return read(record)
    except _UNEXPECTED as error:
        return malformed(raw, f"line {line.number}: a record in an unexpected shape ({type(error).__name__})")


def malformed(raw: bytes, problem: str) -> Entry:
    """Bytes that are no record, with why; their beginning stays readable."""
    text = raw[:_SHOWN].decode("utf-8", "replace")
    parts = (Part(PartKind.OTHER, text),) if text.strip("\x00 \t\r\n") else ()
    return Entry(Kind.MALFORMED, parts=parts, problem=problem)
