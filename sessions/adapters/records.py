"""From a line's bytes to a record: tolerant of what real files hold, and saying what was wrong with the rest."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from typing import Any

import orjson

_SURROGATE = re.compile("[\ud800-\udfff]")
_MAYBE_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class NotARecord(ValueError):
    """The line is no JSON object; the message says in words why."""


def load(raw: bytes) -> dict[str, Any]:
    """The JSON object of a line. NotARecord for anything else.

    Lone surrogates become U+FFFD (they cannot be UTF-8); NUL stays. Invalid UTF-8 is read with replacement characters.
    """
    try:
        record = orjson.loads(raw)
    except orjson.JSONDecodeError as strict:
        record = _load_leniently(raw, strict)
    if not isinstance(record, dict):
        raise NotARecord(f"a JSON {_name(record)} where an object is expected")
    return record


def _load_leniently(raw: bytes, strict: ValueError) -> Any:
    if not raw.strip(b" \t\r\n\x00"):
        raise NotARecord("an empty line" if not raw.strip() else f"{len(raw)} NUL bytes") from strict
    try:
        record = json.loads(
            raw.decode("utf-8", "replace"), strict=False, parse_int=_integer, parse_float=_float, parse_constant=str
        )
    except RecursionError:
        raise NotARecord("nested too deeply to be read") from None
    except ValueError as error:
        raise NotARecord(f"not valid JSON: {error}") from None
    return _clean(record) if _MAYBE_SURROGATE.search(raw) else record


def _integer(digits: str) -> int | float | str:
    """A JSON integer; one that 64 bits do not hold as orjson has it, a float, and beyond a float's reach its digits."""
    if len(digits) < 20 and -(1 << 63) <= (value := int(digits)) < 1 << 63:
        return value
    return _float(digits)


def _float(digits: str) -> float | str:
    """A JSON number; where no finite float is it, its digits: neither JSON nor PostgreSQL writes an infinity."""
    value = float(digits)
    return value if math.isfinite(value) else digits


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_SURROGATE.sub("\ufffd", key): _clean(item) for key, item in value.items()}
    return value


def _name(value: Any) -> str:
    return {list: "array", str: "string", bool: "boolean", type(None): "null"}.get(type(value), "number")


def text_of(value: Any) -> str:
    """A value as the words it is, or as its JSON."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # integers beyond 64 bits
        return json.dumps(value, ensure_ascii=False)


def utc(stamp: object) -> datetime | None:
    """An ISO 8601 time as an aware datetime in UTC; None for what is no time. Times are hints, never an error."""
    if not isinstance(stamp, str):
        return None
    try:
        at = datetime.fromisoformat(stamp)
        if at.tzinfo is UTC:  # as nearly every agent writes it
            return at
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
