"""A context as the agent sends it when it goes on from a session.

Thoughts are not sent. All records of one answer stand together. A conversation that ends with results is closed by the agent before the
next prompt. Calls without a result are sent as they are: the agent mends nothing there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sessions.contexts import InsertKind, Item
from sessions.entries import Part, PartKind, Role

INTERRUPTED = "[The previous response was interrupted before it completed.]"


def sent(items: Sequence[Item]) -> list[Item]:
    """The items as sent."""
    out = _once([cleaned for item in _together(items) if (cleaned := _cleaned(item)) is not None])
    if out and _last_is_result(out[-1]):
        out.append(
            Item(
                key=f"{out[-1].key}-closed",
                seq=None,
                role=Role.ASSISTANT,
                kind=InsertKind.NOTICE,
                parts=(Part(PartKind.TEXT, INTERRUPTED),),
                turn=out[-1].turn,
                after=out[-1].seq if out[-1].seq is not None else out[-1].after,
                label="put in by the agent: no answer followed the last results",
            )
        )
    return out


def _cleaned(item: Item) -> Item | None:
    parts = tuple(part for part in item.parts if not part.meta.get("unsent") and part.kind is not PartKind.MARKER)
    if not parts:
        return None
    return item if len(parts) == len(item.parts) else replace(item, parts=parts)


def _together(items: Sequence[Item]) -> list[Item]:
    """What a later record adds to an answer follows what the answer said first."""
    out: list[Item] = []
    last: dict[int, int] = {}
    for item in items:
        if item.step is None or item.role is not Role.ASSISTANT:
            out.append(item)
            continue
        at = last.get(item.step)
        if at is None or at == len(out) - 1:
            out.append(item)
            last[item.step] = len(out) - 1
            continue
        out.insert(at + 1, item)
        last = {step: place + (place > at) for step, place in last.items()}
        last[item.step] = at + 1
    return out


def _once(items: Sequence[Item]) -> list[Item]:
    """A result that stands with its call is not sent again by itself."""
    waiting: dict[str, int] = {}
    seen: set[str] = set()
    out: list[Item] = []
    for item in items:
        for call in item.calls:
            waiting[call] = waiting.get(call, 0) + 1
        parts: list[Part] = []
        for part in item.parts:
            if part.kind is PartKind.TOOL_RESULT and part.call_id:
                if waiting.get(part.call_id, 0) > 0:
                    waiting[part.call_id] -= 1
                elif part.call_id in seen:
                    continue
                seen.add(part.call_id)
            parts.append(part)
        if parts:
            out.append(item if len(parts) == len(item.parts) else replace(item, parts=tuple(parts)))
    return out


def _last_is_result(item: Item) -> bool:
    """Whether the results of a tool end the conversation."""
    last = item.parts[-1]
    return last.kind is PartKind.TOOL_RESULT or (last.kind is PartKind.MEDIA and last.call_id is not None)
