"""The agent's token counts in disjoint parts."""

from __future__ import annotations

from typing import Any

from sessions.entries import Usage


def usage_of(raw: Any) -> Usage | None:
    """`tokens` of a message: `input` counts the cached, `output` does not count the thoughts. None where nothing is said."""
    if not isinstance(raw, dict):
        return None
    whole, output, cached, thoughts, tool, total = (
        _count(raw.get(name)) for name in ("input", "output", "cached", "thoughts", "tool", "total")
    )
    if whole is None and output is None:
        return None
    if not any((whole, output, cached, thoughts, total)):
        return None
    fresh = None if whole is None else max(whole - (cached or 0), 0)
    said = (whole or 0) + (output or 0) + (thoughts or 0)
    if tool and total == said + tool and fresh is not None:  # what the API's own tools put before the model
        fresh += tool
        said += tool
    return Usage(
        fresh=fresh,
        cache_read=cached,
        output=None if output is None and thoughts is None else (output or 0) + (thoughts or 0),
        reasoning=thoughts,
        total=total if total is not None and total != said else None,
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
