"""A JSON document of messages as its records: a list, or an object that holds one, as requests, responses and exports do.

Records: what stands beside the messages (made, `HEAD`), instructions beside them (made into a message), each message with its own
bytes, and, after those, what the last answer cost. A UI message is taken apart into the messages the model is sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from sessions.adapters.base import Line
from sessions.adapters.generic.messages import HEAD
from sessions.adapters.generic.uimessages import is_ui, taken_apart
from sessions.adapters.generic.values import inside, name_of, short
from sessions.adapters.records import NotARecord, load
from sessions.adapters.scan import Cursor, Torn

_LISTS = ("messages", "input", "items", "history")  # under which an object holds its messages
_INSTRUCTIONS = ("system", "instructions")
_BLANK = b" \t\r\n"


@dataclass(slots=True)
class _Found:
    """Places of what was found: spans of bytes, in order of the document."""

    opens: int = 0
    instructions: list[tuple[int, int]] = field(default_factory=list)
    messages: list[tuple[int, int]] = field(default_factory=list)
    answers: list[tuple[int, int]] = field(default_factory=list)
    beside: dict[str, Any] = field(default_factory=dict)
    usage: tuple[int, int] | None = None
    torn: int | None = None
    begun: int | None = None


def records(data: bytes) -> Iterator[Line]:
    """The records of a document. What is no JSON from some byte on is one last record, for the reader to say so."""
    found = _walk(data)
    number = 1
    head = orjson.dumps({HEAD: found.beside})
    yield Line(0, head, True, number, span=max(1, found.opens))
    for start, stop in found.instructions:
        number += 1
        raw = b'{"role":"system","content":' + data[start:stop] + b"}"
        yield Line(start, raw, True, number, span=stop - start)
    for start, stop in (*found.messages, *found.answers):
        for raw in _message(data[start:stop]):
            number += 1
            yield Line(start, raw, True, number, span=stop - start)
    if found.usage is not None:
        start, stop = found.usage
        raw = b'{"%s":{"usage":' % HEAD.encode() + data[start:stop] + b"}}"
        yield Line(start, raw, True, number + 1, span=stop - start)
    if found.torn is not None and data[found.torn :].strip(_BLANK + b","):
        yield Line(found.torn, data[found.torn :], False, number + 2, span=len(data) - found.torn)


def _walk(data: bytes) -> _Found:
    found = _Found()
    cursor = Cursor(data.replace(b"\xef\xbb\xbf", b"   ", 1) if data.startswith(b"\xef\xbb\xbf") else data)
    try:
        if cursor.peek() == "[":
            found.opens = cursor.at + 1
            _list(cursor, found, found.messages)
        else:
            for key in cursor.members():
                _member(key, cursor, data, found)
        cursor.space()
        if cursor.at < len(data):
            found.torn = cursor.at
    except Torn as error:
        found.torn = error.at if found.begun is None else found.begun
    return found


def _member(key: str, cursor: Cursor, data: bytes, found: _Found) -> None:
    sign = cursor.peek()
    start = cursor.at
    if key in _LISTS and sign == "[":
        found.opens = found.opens or start + 1
        _list(cursor, found, found.messages)
    elif key == "output" and sign == "[":
        _list(cursor, found, found.answers)
    elif key == "choices" and sign == "[":
        for _ in cursor.items():
            _choice(cursor, found)
    elif key == "response" and sign == "{":
        for inner in cursor.members():
            _member(inner, cursor, data, found)
    else:
        value = cursor.value()
        if key in _INSTRUCTIONS and isinstance(value, str | list) and value:
            found.instructions.append((start, cursor.at))
        elif key == "input" and isinstance(value, str):
            found.messages.append((start, cursor.at))
        elif key == "usage" and isinstance(value, dict):
            found.usage = (start, cursor.at)
        else:
            _beside(key, data[start : cursor.at], found)


def _choice(cursor: Cursor, found: _Found) -> None:
    if cursor.peek() != "{":
        cursor.value()
        return
    for key in cursor.members():
        start = cursor.at
        value = cursor.value()
        if key == "message" and isinstance(value, dict):
            found.answers.append((start, cursor.at))


def _list(cursor: Cursor, found: _Found, into: list[tuple[int, int]]) -> None:
    for _ in cursor.items():
        start = found.begun = cursor.at
        cursor.value()
        into.append((start, cursor.at))
        found.begun = None


def _beside(key: str, raw: bytes, found: _Found) -> None:
    """Keep the small facts beside the messages: values, and of tools their names."""
    try:
        value = load(b'{"v":' + raw + b"}")["v"]
    except NotARecord:
        return
    if key == "tools" and isinstance(value, list):
        names = [name_of(inside(tool, "name")) or name_of(inside(tool, "function", "name")) for tool in value]
        found.beside["tools"] = [name for name in names if name]
    elif isinstance(value, dict):
        found.beside[key] = short(value)
    else:
        found.beside.update(short({key: value}))


def _message(raw: bytes) -> Iterator[bytes]:
    if raw.startswith(b'"'):
        yield b'{"role":"user","content":' + raw + b"}"  # a prompt that is nothing but its words
        return
    try:
        message = load(raw)
    except NotARecord:
        yield raw
        return
    if is_ui(message):
        yield from (orjson.dumps(piece) for piece in taken_apart(message))
    else:
        yield raw
