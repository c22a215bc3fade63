"""A context as chat messages: what the formats of no one agent, the trace and j-cli have in common.

One message for an answer and everything its steps say, one for each run of results, one for each thing that a person or the harness says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sessions.contexts import Item
from sessions.entries import Part, PartKind, Role
from sessions.writers.base import is_summary


@dataclass(frozen=True, slots=True)
class Message:
    """`items`: those it is made of; `parts`: theirs."""

    role: Role
    items: tuple[Item, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(part for item in self.items for part in item.parts)

    @property
    def summary(self) -> bool:
        return any(is_summary(item) for item in self.items)


def messages(items: Sequence[Item]) -> Iterator[Message]:
    """The messages of a context, in order."""
    run: list[Item] = []
    for item in items:
        role = _role(item)
        if run and not (_role(run[0]) is role and _same(run[-1], item, role)):
            yield Message(_role(run[0]), tuple(run))
            run = []
        run.append(item)
    if run:
        yield Message(_role(run[0]), tuple(run))


def _role(item: Item) -> Role:
    if item.results and item.role is not Role.ASSISTANT:
        return Role.TOOL
    return Role.USER if item.role in (None, Role.TOOL) else item.role or Role.USER


def _same(before: Item, item: Item, role: Role) -> bool:
    if role is Role.TOOL:
        return True
    return role is Role.ASSISTANT and before.step is not None and before.step == item.step


def words(parts: Sequence[Part]) -> str:
    """The texts of parts, a line between them; media by their names."""
    return "\n".join(
        part.text for part in parts if part.kind not in (PartKind.TOOL_CALL, PartKind.REASONING) and part.text
    )


def chat_calls(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Calls as OpenAI's messages have them, and others after it."""
    return [
        {"id": part.call_id, "type": "function", "function": {"name": part.tool or "tool", "arguments": part.text}}
        for part in parts
        if part.kind is PartKind.TOOL_CALL
    ]
