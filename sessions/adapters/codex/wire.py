"""A context as Codex sends it: in the order of the log, calls without a result answered, results without a call dropped.

Not repeated here, because it hangs on the model that resumes and not on the session: outputs of tools that are longer than that
model's limit (and a fifth) lose their middle when the log is read again. The agent already cut them to its limit when it wrote them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sessions.contexts import Item
from sessions.entries import Kind, Part, PartKind, Role

_SILENT = frozenset({"web_search", "image_generation"})  # calls that the provider answers itself


def sent(items: Sequence[Item]) -> list[Item]:
    """The items as sent. What the agent puts in has a `label` that says so, and stands right behind its call."""
    calls = {part.call_id for item in items for part in item.parts if part.kind is PartKind.TOOL_CALL and part.call_id}
    results = {
        part.call_id for item in items for part in item.parts if part.kind is PartKind.TOOL_RESULT and part.call_id
    }
    out: list[Item] = []
    for item in items:
        if any(call not in calls for call in item.results):
            continue
        out.append(item)
        out.extend(_aborted(item, part) for part in _unanswered(item, results))
    return out


def _unanswered(item: Item, results: set[str]) -> Iterator[Part]:
    for part in item.parts:
        if (
            part.kind is PartKind.TOOL_CALL
            and part.call_id
            and part.call_id not in results
            and part.tool not in _SILENT
        ):
            yield part


def _aborted(item: Item, call: Part) -> Item:
    text = "[]" if call.tool == "tool_search" else "aborted"
    return Item(
        key=f"{item.key}-{call.call_id}",
        seq=None,
        role=Role.TOOL,
        kind=Kind.TOOL_RESULT,
        parts=(Part(PartKind.TOOL_RESULT, text, tool=call.tool, call_id=call.call_id, is_error=text == "aborted"),),
        turn=item.turn,
        goal=item.goal,
        at=item.at,
        after=item.seq if item.seq is not None else item.after,
        label="put in by the agent: the call has no result",
    )
