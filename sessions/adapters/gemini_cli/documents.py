"""A whole file as records: its head, and each message with its own bytes.

Nothing is parsed but what stands around the messages; a file that breaks off in the middle gives all that is whole in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import orjson

from sessions.adapters.base import Line
from sessions.adapters.gemini_cli.reader import DOCUMENT

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],]', re.DOTALL)
_NAMED = re.compile(rb"\s*:")
_BLANK = b" \t\r\n"
_ARRAYS = {b'"messages"': "session", b'"history"': "checkpoint"}


def documents(data: bytes) -> Iterator[Line]:
    """The records of one JSON document, in its order. The head stands for all that is no message; its span ends where they begin."""
    mark = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    found = _array(data, mark)
    if found is None:
        yield Line(mark, data[mark:], True, 1, span=len(data) - mark)
        return
    form, opens, elements, closes = found
    yield Line(0, _head(data[mark:opens], b"" if closes is None else data[closes:], form), True, 1, span=max(opens, 1))
    number = 1
    for start, stop in elements:
        number += 1
        yield Line(start, data[start:stop], True, number, span=stop - start)
    if closes is None:
        at = elements[-1][1] if elements else opens + 1
    else:
        at = _end(data, mark) or closes
    rest = data[at:].lstrip(_BLANK + b",")
    if rest:
        yield Line(len(data) - len(rest), rest, closes is not None, number + 1, span=len(rest))


def _head(before: bytes, behind: bytes, form: str) -> bytes:
    """What is left of the document without its messages, as one object that says what it is the head of."""
    if not before.lstrip(_BLANK):
        return orjson.dumps({DOCUMENT: form})
    for raw in (before + b"null" + behind, before + b"null}"):
        try:
            value = orjson.loads(raw[: _end(raw, 0) or len(raw)])
        except orjson.JSONDecodeError:
            continue
        kept = {key: item for key, item in value.items() if key not in ("messages", "history")}
        return orjson.dumps({DOCUMENT: form, **kept})
    return before


def _end(data: bytes, start: int) -> int | None:
    """Where the first bracketed value ends; None where it does not."""
    depth = 0
    for token in _TOKEN.finditer(data, start):
        match token[0]:
            case b"{" | b"[":
                depth += 1
            case b"}" | b"]":
                depth -= 1
                if depth == 0:
                    return token.end()
    return None


def _array(data: bytes, start: int) -> tuple[str, int, list[tuple[int, int]], int | None] | None:
    """The array of messages: what it belongs to, where it opens, its elements, and the place behind its end (None: it has none)."""
    depth = 0
    key = form = b""
    opens = at = whole = inner = -1
    elements: list[tuple[int, int]] = []
    for token in _TOKEN.finditer(data, start):
        text = token[0]
        if text in (b"{", b"["):
            depth += 1
            if opens < 0 and text == b"[" and (depth == 1 or (depth == 2 and key in _ARRAYS)):
                opens, at, inner, form = token.start(), token.end(), depth, key
        elif text in (b"}", b"]"):
            depth -= 1
            if opens >= 0 and depth < inner:
                _add(elements, data, at, token.start())
                return _ARRAYS.get(form, "checkpoint"), opens, elements, token.end()
            whole = token.end() if depth == inner else whole
        elif text == b",":
            if opens >= 0 and depth == inner:
                _add(elements, data, at, token.start())
                at = token.end()
        elif opens < 0 and depth == 1 and _NAMED.match(data, token.end()):
            key = text
    if opens < 0:
        return None
    _add(elements, data, at, max(at, whole))  # the last whole one of a file that breaks off
    return _ARRAYS.get(form, "checkpoint"), opens, elements, None


def _add(elements: list[tuple[int, int]], data: bytes, start: int, stop: int) -> None:
    while start < stop and data[start] in _BLANK:
        start += 1
    while stop > start and data[stop - 1] in _BLANK:
        stop -= 1
    if start < stop:
        elements.append((start, stop))
