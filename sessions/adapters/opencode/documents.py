"""An export as its records, in the order in which the agent reads them back.

Shapes: `{info, messages: [{info, parts}]}` as `opencode export` prints it, and the array of `{type, data}` that shared sessions have.
A record is the session's info, a message's info, or a part. Two more stand for what a part or a message says besides: the `state` of a
tool part is its result, and the `tokens` of a message without step marks are its usage.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sessions.adapters.base import Line
from sessions.adapters.opencode.values import usage
from sessions.adapters.scan import Cursor, Torn

_STEPPED = "step-finish"


@dataclass(slots=True)
class Piece:
    """A record's place, and what of it decides the order.

    `inner`: the member that is a record too: of a tool its state, of a message its tokens.
    """

    start: int
    stop: int = 0
    id: str = ""
    kind: str = ""  # a part's type, a message's role
    message: str = ""  # the message a part names
    created: float | None = None
    inner: str | None = None


@dataclass(slots=True)
class Said:
    """A message with its parts. `info` is None where the document has only parts of it."""

    info: Piece | None
    parts: list[Piece] = field(default_factory=list)


@dataclass(slots=True)
class _Found:
    head: list[Piece] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    second: list[Said] = field(default_factory=list)
    tail: list[Piece] = field(default_factory=list)


def records(data: bytes) -> Iterator[Line]:
    """The records of a document; what is no JSON from some byte on is one last record, for the reader to say so."""
    found = _Found()
    cursor = Cursor(data)
    torn: int | None = None
    try:
        _document(cursor, found)
        cursor.space()
        if cursor.at < len(data):
            torn = cursor.at
    except Torn as error:
        torn = _start_of_torn(found, error.at)
    number = 0
    for start, stop in _in_order(cursor, found):
        number += 1
        yield Line(start, data[start:stop], number=number, span=stop - start)
    if torn is not None and data[torn:].strip(b" \t\r\n"):
        yield Line(torn, data[torn:], False, number + 1, span=len(data) - torn)


def _document(cursor: Cursor, found: _Found) -> None:
    if cursor.peek() == "[":
        _shared(cursor, found)
        return
    for key in cursor.members():
        if key == "messages" and cursor.peek() == "[":
            for _ in cursor.items():
                _message(cursor, found)
        elif key == "session_messages" and cursor.peek() == "[":
            for _ in cursor.items():
                _row(cursor, found)
        elif key == "orphans" and cursor.peek() == "[":
            for _ in cursor.items():
                _take(cursor, found.tail)
        elif key in ("todos", "info"):
            _take(cursor, found.tail if key == "todos" else found.head)
        elif cursor.peek() == "{":
            _take(cursor, found.tail)
        else:
            cursor.value()


def _message(cursor: Cursor, found: _Found) -> None:
    said = Said(None)
    found.said.append(said)
    if cursor.peek() != "{":
        _take(cursor, said.parts)
        return
    for key in cursor.members():
        if key == "info":
            said.info = Piece(cursor.at)
            _fill(cursor, said.info)
        elif key == "parts" and cursor.peek() == "[":
            for _ in cursor.items():
                _take(cursor, said.parts)
        else:
            cursor.value()


def _row(cursor: Cursor, found: _Found) -> None:
    """A row of the second store: the message, and what stands inside an answer as its parts."""
    said = Said(Piece(cursor.at))
    found.second.append(said)
    assert said.info is not None
    if cursor.peek() != "{":
        cursor.value()
    else:
        for key in cursor.members():
            if key == "content" and cursor.peek() == "[":
                for _ in cursor.items():
                    _take(cursor, said.parts)
            else:
                _note(said.info, key, cursor.value())
    said.info.stop = cursor.at


def _shared(cursor: Cursor, found: _Found) -> None:
    """The flat array of a shared session."""
    by_id: dict[str, Said] = {}
    for _ in cursor.items():
        if cursor.peek() != "{":
            _take(cursor, found.tail)
            continue
        kind: Any = None
        piece: Piece | None = None
        for key in cursor.members():
            if key == "type":
                kind = cursor.value()
            elif key == "data":
                piece = Piece(cursor.at)
                _fill(cursor, piece)
            else:
                cursor.value()
        if piece is None:
            continue
        if kind == "session":
            found.head.append(piece)
        elif kind in ("message", "part"):
            name = piece.id if kind == "message" else piece.message
            said = by_id.get(name)
            if said is None:
                said = by_id[name] = Said(None)
                found.said.append(said)
            if kind == "message":
                said.info = piece
            else:
                said.parts.append(piece)


def _take(cursor: Cursor, into: list[Piece]) -> None:
    piece = Piece(cursor.at)
    into.append(piece)
    _fill(cursor, piece)


def _fill(cursor: Cursor, piece: Piece) -> None:
    """Take the value here as `piece`; it stays without `stop` where the text is torn inside it."""
    value = cursor.value()
    piece.stop = cursor.at
    if isinstance(value, dict):
        for key in value:
            _note(piece, key, value[key])


def _note(piece: Piece, key: str, value: Any) -> None:
    """Keep what decides the order."""
    if key == "id" and isinstance(value, str):
        piece.id = value
    elif key in ("type", "role") and isinstance(value, str):
        piece.kind = value
    elif key == "messageID" and isinstance(value, str):
        piece.message = value
    elif key == "time" and isinstance(value, dict) and _is_number(value.get("created")):
        piece.created = value["created"]
    elif isinstance(value, dict) and (key == "state" or (key == "tokens" and usage(value) is not None)):
        piece.inner = key


def _inner(cursor: Cursor, piece: Piece) -> Iterator[tuple[int, int]]:
    """Where the member stands that is a record too."""
    found: tuple[int, int] | None = None
    cursor.at = piece.start
    for key in cursor.members():
        start = cursor.at
        cursor.value()
        if key == piece.inner:
            found = start, cursor.at
    if found is not None:
        yield found


def _in_order(cursor: Cursor, found: _Found) -> Iterator[tuple[int, int]]:
    """Messages by time and id, parts by id, as the agent's database gives them; as they stand where that cannot be said."""
    for piece in found.head:
        yield from _whole(piece)
    said = found.said
    if all(one.info is not None and one.info.created is not None for one in said):
        said = sorted(said, key=_when)
    for one in said:
        yield from _of(
            cursor, one, sorted(one.parts, key=lambda piece: piece.id) if all(p.id for p in one.parts) else one.parts
        )
    for one in found.second:
        yield from _of(cursor, one, one.parts)
    for piece in found.tail:
        yield from _whole(piece)


def _of(cursor: Cursor, said: Said, parts: list[Piece]) -> Iterator[tuple[int, int]]:
    info = said.info
    if info is not None:
        yield from _whole(info)
        if info.inner and info.stop and info.kind == "assistant" and not any(p.kind == _STEPPED for p in parts):
            yield from _inner(cursor, info)
    for piece in parts:
        yield from _whole(piece)
        if piece.kind == "tool" and piece.inner and piece.stop:
            yield from _inner(cursor, piece)


def _when(said: Said) -> tuple[float, str]:
    assert said.info is not None
    assert said.info.created is not None
    return said.info.created, said.info.id


def _whole(piece: Piece) -> Iterator[tuple[int, int]]:
    if piece.stop:
        yield piece.start, piece.stop


def _start_of_torn(found: _Found, at: int) -> int:
    """Where the record begins in which the text broke off; else where it broke off."""
    pieces = [*found.head, *found.tail]
    for last in (*found.said[-1:], *found.second[-1:]):
        pieces += [*([last.info] if last.info else []), *last.parts[-1:]]
    return min((piece.start for piece in pieces if not piece.stop), default=at)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
