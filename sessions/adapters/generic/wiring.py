"""Calls and results brought back into pairs, as providers require them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sessions.contexts import Item, unpaired
from sessions.entries import PartKind


def paired(items: Sequence[Item]) -> list[Item]:
    """The items without results whose call is gone and without calls that nothing answers; what is left empty goes too."""
    open_calls, orphans = unpaired(items)
    if not open_calls and not orphans:
        return list(items)
    return list(_without(items, set(open_calls), set(orphans)))


def _without(items: Sequence[Item], calls: set[str], results: set[str]) -> Iterator[Item]:
    for item in items:
        kept = tuple(
            part
            for part in item.parts
            if not (part.kind is PartKind.TOOL_CALL and part.call_id in calls)
            and not (part.kind is PartKind.TOOL_RESULT and part.call_id in results)
        )
        if len(kept) == len(item.parts):
            yield item
        elif any(part.kind is not PartKind.REASONING for part in kept):
            yield replace(item, parts=kept)
