"""A context as Claude Code sends it: answers whole, results behind their calls, its words where something is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sessions.adapters.claude_code.attachments import QUEUED, REMINDER
from sessions.contexts import InsertKind, Item
from sessions.entries import Kind, Part, PartKind, Role

INTERRUPTED = (
    "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. "
    "Check whether it took effect before relying on it or running it again.]"
)
_ORPHAN = "[Orphaned tool result removed due to conversation resume]"


def as_sent(items: Sequence[Item]) -> list[Item]:
    """See `Adapter.wire`."""
    return _paired([item for item in map(_cleaned, items) if item is not None])


def _cleaned(item: Item) -> Item | None:
    """Without what is never sent: unsigned reasoning, marks of a fallback. Queued words get the agent's wrapping."""
    parts = tuple(
        _wrapped(part)
        for part in item.parts
        if not (part.kind is PartKind.REASONING and not part.signed)
        and not (part.kind is PartKind.OTHER and item.role is Role.ASSISTANT and part.meta.get("type") == "fallback")
        and part.kind is not PartKind.MARKER
        and not (part.kind is PartKind.TEXT and not part.text.strip())
    )
    if not parts:
        return None
    return item if parts == item.parts else replace(item, parts=parts)


def _wrapped(part: Part) -> Part:
    if not part.meta.get("queued"):
        return part
    return replace(part, text=REMINDER.format(QUEUED.format(part.text)), meta={**part.meta, "queued": False})


def _paired(items: Sequence[Item]) -> list[Item]:
    """Every answer's records together, its results right behind in the order in which they came; orphans dropped."""
    steps: dict[int, list[Item]] = {}
    answers: dict[str, tuple[int, Item]] = {}
    for at, item in enumerate(items):
        if item.step is not None and item.role is Role.ASSISTANT:
            steps.setdefault(item.step, []).append(item)
        for call in item.results:
            answers.setdefault(call, (at, item))
    out: list[Item] = []
    done: set[int] = set()
    placed: set[str] = set()
    beside: dict[int, Item] = {}  # a person's words that stood beside a result, where other results come after them
    called = {part.call_id for item in items for part in item.parts if part.kind is PartKind.TOOL_CALL}
    for here, item in enumerate(items):
        if id(item) in done:
            if id(item) in beside:
                out.append(beside.pop(id(item)))
            continue
        if item.results:
            if placed.issuperset(item.results) or called.isdisjoint(item.results):
                _orphan(item, placed, out)
            continue  # else its call comes later, and takes it along
        block = steps[item.step] if item.step is not None and item.role is Role.ASSISTANT else [item]
        done.update(id(member) for member in block)
        out.extend(block)
        found: list[tuple[int, Item]] = []
        for member in block:
            for part in member.parts:
                call = part.call_id
                if part.kind is not PartKind.TOOL_CALL or call is None or call in placed:
                    continue
                placed.add(call)
                at, answer = answers.get(call) or (len(items), _interrupted(member, part))
                if id(answer) not in done:
                    done.add(id(answer))
                    found.append((at, answer))
        found.sort(key=lambda pair: pair[0])
        for at, answer in found:
            words = _words_beside(answer) if len(found) > 1 and at > here else ()
            if words:
                beside[id(answer)] = replace(answer, key=f"{answer.key}:words", role=Role.USER, kind=Kind.PROMPT, parts=words)
                answer = replace(answer, parts=tuple(part for part in answer.parts if part not in words))
            out.append(answer)
    return out


def _words_beside(item: Item) -> tuple[Part, ...]:
    return tuple(part for part in item.parts if part.kind is PartKind.TEXT)


def _orphan(item: Item, placed: set[str], out: list[Item]) -> None:
    """A result whose call is not there, or was answered already, is dropped; a person's words beside it stay."""
    if any(call in placed for call in item.results):
        return
    rest = _words_beside(item)
    if not rest and not out:
        rest = (Part(PartKind.TEXT, _ORPHAN),)  # the conversation must begin with the user
    if rest:
        out.append(replace(item, parts=rest, role=Role.USER, kind=Kind.CONTEXT))


def _interrupted(call: Item, part: Part) -> Item:
    result = Part(PartKind.TOOL_RESULT, INTERRUPTED, tool=part.tool, call_id=part.call_id, is_error=True)
    return Item(
        key=f"{call.key}:interrupted",
        seq=None,
        role=Role.TOOL,
        kind=InsertKind.NOTICE,
        parts=(result,),
        turn=call.turn,
        after=call.seq,
        label="the agent's words for a call without result",
    )
