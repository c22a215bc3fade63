"""What records hold, taken with care: times, numbers, names."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sessions.entries import Usage


def moment(value: object) -> datetime | None:
    """A time in milliseconds since 1970; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return None
    try:
        return datetime.fromtimestamp(value / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def number(value: object) -> int | None:
    """A count; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return int(value) if 0 <= value < 2**53 else None
    except (ValueError, OverflowError):
        return None


def words(value: object) -> str | None:
    """A text that is not empty."""
    return value if isinstance(value, str) and value else None


def inside(record: Mapping[str, Any], *keys: str) -> Any:
    """The value at a path of keys; None where there is none."""
    value: Any = record
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def usage(tokens: object) -> Usage | None:
    """A step's tokens. Input excludes the cache, output excludes reasoning; all zero is what is written before the figures are in."""
    if not isinstance(tokens, dict):
        return None
    fresh, output, reasoning = (number(tokens.get(key)) for key in ("input", "output", "reasoning"))
    read, write = number(inside(tokens, "cache", "read")), number(inside(tokens, "cache", "write"))
    if not any((fresh, output, reasoning, read, write)):
        return None
    told = None if output is None and reasoning is None else (output or 0) + (reasoning or 0)
    total = number(tokens.get("total"))
    parts = sum(part or 0 for part in (fresh, read, write, told))
    return Usage(
        fresh=fresh,
        cache_read=read,
        cache_write=write,
        output=told,
        reasoning=reasoning,
        total=total if total and total != parts else None,
    )
