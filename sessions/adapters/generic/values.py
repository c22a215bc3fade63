"""What foreign JSON holds, taken with care: names, numbers, times, nested values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from sessions.adapters.records import text_of, utc

_SECONDS, _MILLISECONDS, _MICROSECONDS = (
    1e11,
    1e14,
    1e17,
)  # numbers below stand for seconds, milliseconds, microseconds since 1970


def name_of(value: Any) -> str | None:
    """A non-empty string, or None."""
    return value if isinstance(value, str) and value else None


def words(value: Any) -> str:
    """A text field, whatever stands there."""
    return value if isinstance(value, str) else "" if value is None else text_of(value)


def number(value: Any) -> int | None:
    """A count of something; also one that was written as text. None for what is none."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return int(value) if 0 <= value < 2**53 else None
    except (ValueError, OverflowError):
        return None


def moment(value: Any) -> datetime | None:
    """A time as ISO 8601 text or as a number since 1970 in seconds, milli-, micro- or nanoseconds, told apart by its size."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return utc(value)
    if not 0 < value < 1e20:
        return None
    scale = next(
        (n for limit, n in ((_SECONDS, 1.0), (_MILLISECONDS, 1e3), (_MICROSECONDS, 1e6)) if value < limit), 1e9
    )
    try:
        return datetime.fromtimestamp(value / scale, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def inside(record: Any, *keys: str) -> Any:
    """The value at a path of keys; None where there is none."""
    for key in keys:
        if not isinstance(record, dict):
            return None
        record = record.get(key)
    return record


def parsed(value: Any) -> Any:
    """What a string holds as JSON; the value itself where it is no JSON text."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value


def short(record: Mapping[str, Any], longest: int = 300) -> dict[str, Any]:
    """The small values of an object: numbers, truths and texts, cut."""
    out: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, bool | int | float):
            out[key] = value
        elif isinstance(value, str):
            out[key] = value[:longest]
    return out
