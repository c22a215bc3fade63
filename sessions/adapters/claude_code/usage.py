"""Token usage of an answer, by the rules for counting it once and knowing a placeholder."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from sessions.entries import Usage

SYNTHETIC = "<synthetic>"
_NOTHING = (None, None, None, None)
# Versions that store the figure from the start of the stream as the output: seen from 2.0.64 to 2.1.50, final again in 2.1.150.
# Between those two nothing was seen: there a missing stop reason decides.
_PLACEHOLDER = ((2, 0, 64), (2, 1, 149))


def usage_of(message: dict[str, Any], version: str | None) -> Usage | None:
    """The usage of an assistant record; None where it has none. Break-downs (`iterations`) are not added."""
    raw = message.get("usage")
    if not isinstance(raw, dict):
        return None
    details = raw.get("output_tokens_details")
    written = _count(raw.get("cache_creation_input_tokens"))
    if written is None and isinstance(raw.get("cache_creation"), dict):
        parts = [_count(value) for value in raw["cache_creation"].values()]
        written = sum(part for part in parts if part is not None) if parts else None
    usage = Usage(
        fresh=_count(raw.get("input_tokens")),
        cache_read=_count(raw.get("cache_read_input_tokens")),
        cache_write=written,
        output=_count(raw.get("output_tokens")),
        reasoning=_count(details.get("thinking_tokens")) if isinstance(details, dict) else None,
        estimated=message.get("stop_reason") is None and _within(version),
    )
    said = (usage.fresh, usage.cache_read, usage.cache_write, usage.output)
    return None if said == _NOTHING else usage


@lru_cache(maxsize=64)
def _within(version: str | None) -> bool:
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version or "")
    return found is not None and _PLACEHOLDER[0] <= tuple(int(n) for n in found.groups()) <= _PLACEHOLDER[1]


def _count(value: Any) -> int | None:
    if type(value) is int and 0 <= value < 2**53:  # as nearly all are, seen sooner than by the types below
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        return None
    return int(value)
