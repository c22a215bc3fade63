"""The first JSON value of bytes that may break off anywhere: as much of it as is whole."""

from __future__ import annotations

import re
from typing import Any

import orjson

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],"]', re.DOTALL)
_CLOSERS = {b"{": b"}", b"[": b"]"}


def first_value(text: bytes) -> tuple[Any, int | None]:
    """The value, and where it ends; None for the end where it is cut off, and then what was whole before the cut.

    (None, None) for what is no JSON object or array.
    """
    stack: list[bytes] = []
    whole = 0
    held: list[bytes] = []
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign == b'"':  # of a string that is cut off
            break
        if sign in _CLOSERS:
            stack.append(sign)
            whole, held = token.end(), list(stack)
        elif sign in (b"}", b"]"):
            if not stack or _CLOSERS[stack.pop()] != sign:
                return None, None
            if not stack:
                return _loads(text[: token.end()]), token.end()
            whole, held = token.end(), list(stack)
        elif sign == b",":
            whole, held = token.start(), list(stack)
    if not held:
        return None, None
    return _loads(text[:whole] + b"".join(_CLOSERS[sign] for sign in reversed(held))), None


def _loads(text: bytes) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
