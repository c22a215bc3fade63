"""Changes members of a JSON object inside its bytes, so that all the rest of a record stays as the agent wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from sessions.adapters.scan import Cursor


def dumps(value: Any) -> bytes:
    """JSON on one line. Lone surrogates were replaced when the value was read, so this never fails on what `load` gives."""
    return orjson.dumps(value)


def member(raw: bytes, name: str) -> bytes | None:
    """The bytes of a member's value; None where there is none."""
    found = _places(raw).get(name)
    return None if found is None else raw[found[0] : found[1]]


def spliced(raw: bytes, changes: Mapping[str, bytes | None]) -> bytes:
    """The object with these members' values (JSON, as bytes) put in place, or behind all others; None takes a member away.

    Where a name stands twice, the last one counts, as it does for whoever reads it.
    """
    places = _places(raw)
    if any(value is None and name in places for name, value in changes.items()):
        kept = {name: raw[start:stop] for name, (start, stop) in places.items() if changes.get(name, b"") is not None}
        raw = b"{" + b",".join(dumps(name) + b":" + value for name, value in kept.items()) + b"}"
        places = _places(raw)
    added = [(name, value) for name, value in changes.items() if value is not None and name not in places]
    there = [(places[name], value) for name, value in changes.items() if value is not None and name in places]
    out = raw.rstrip()
    for (start, stop), value in sorted(there, reverse=True):
        out = out[:start] + value + out[stop:]
    if added:
        body = out[:-1].rstrip()
        more = b",".join(dumps(name) + b":" + value for name, value in added)
        out = body + (b"" if body.endswith(b"{") else b",") + more + b"}"
    return out


def _places(raw: bytes) -> dict[str, tuple[int, int]]:
    cursor = Cursor(raw)
    out: dict[str, tuple[int, int]] = {}
    for name in cursor.members():
        start = cursor.at
        cursor.value()
        out[name] = (start, cursor.at)
    return out
