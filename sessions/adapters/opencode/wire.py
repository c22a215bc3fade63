"""A context as OpenCode sends it: within one step all that the model said, then the results; no thoughts of an answer stopped early."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from sessions.contexts import Item
from sessions.entries import PartKind


def sent(items: Sequence[Item]) -> list[Item]:
    """The items as sent."""
    out: list[Item] = []
    for step, group in groupby(items, key=lambda item: item.step):
        block = list(group)
        if step is None:
            out += block
        elif not all(_stopped(item) for item in block):
            out += _ordered(block)
    return out


def _ordered(block: Sequence[Item]) -> Iterator[Item]:
    yield from (item for item in block if not item.results)
    yield from (item for item in block if item.results)


def _stopped(item: Item) -> bool:
    return bool(item.parts) and all(part.kind is PartKind.REASONING and part.meta.get("stopped") for part in item.parts)
