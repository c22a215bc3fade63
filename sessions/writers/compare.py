"""Two contexts side by side, block for block, as a model is sent them: whatever entries and records hold the blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from sessions.contexts import Item
from sessions.entries import PartKind, Role


@dataclass(frozen=True, slots=True)
class Block:
    """One block of what a model is sent. `text` of a call: its arguments with their keys in one order."""

    role: str
    kind: str
    text: str
    tool: str | None = None
    call_id: str | None = None


def blocks(items: Sequence[Item]) -> list[Block]:
    """A context (wired) as blocks. Marks and parts that are only shown are none."""
    out: list[Block] = []
    for item in items:
        for part in item.parts:
            if part.kind is PartKind.MARKER and not part.signed:
                continue
            if part.meta.get("unsent"):
                continue
            role = str(part.role or item.role or "")
            text = _canonical(part.text) if part.kind is PartKind.TOOL_CALL else part.text
            if part.kind is PartKind.TOOL_RESULT or (part.kind is PartKind.MEDIA and part.call_id):
                role = Role.TOOL.value
            elif role == Role.TOOL:
                role = Role.USER.value
            tool = part.tool if part.kind is PartKind.TOOL_CALL else None
            out.append(Block(role, part.kind.value, text, tool, part.call_id))
    return out


def difference(ours: Sequence[Block], theirs: Sequence[Block]) -> str | None:
    """The first place where two contexts part, in words; None where they are the same."""
    for n, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        if one != other:
            return f"block {n}: {_show(one)} was to be sent, {_show(other)} would be"
    if len(ours) > len(theirs):
        return f"block {len(theirs)}: {_show(ours[len(theirs)])} was to be sent, and nothing would be"
    if len(theirs) > len(ours):
        return f"block {len(ours)}: {_show(theirs[len(ours)])} would be sent besides"
    return None


def _show(block: Block) -> str:
    named = " ".join(filter(None, (block.role, block.kind, block.tool, block.call_id)))
    return f"{named} of {len(block.text):,} characters ({block.text[:60]!r})"


def _canonical(text: str) -> str:
    try:
        return orjson.dumps(orjson.loads(text), option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONDecodeError:
        return text
