"""Which messages the agent reads back, and in which order: its own rule for compactions, on values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class Message:
    """A message as history sees it. Entries `first` to `last` are its own: its info and its parts.

    `compacts`: it asks for a compaction; `tail`: and keeps what begins with the message of that id. `summary`: it is a compaction's
    answer; `counts`: a finished one without error. `parts`: the first entry of each part, by id.
    """

    id: str
    first: int
    last: int
    user: bool
    parent: str | None = None
    created: float | None = None
    compacts: bool = False
    tail: str | None = None
    auto: bool = False
    summary: bool = False
    counts: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """`order`: places of the messages that are read, as sent. `moved`: places among them that stand before older ones, in order."""

    order: tuple[int, ...]
    moved: tuple[int, ...] = ()


def view(messages: Sequence[Message]) -> View:
    """What is read of `messages`, which are in order of time.

    From the newest back to the last compaction that has its summary, or on to the message with which its tail begins. The newest
    request with a tail then stands, with its summary, before that tail. Source: the agent's `filterCompacted`, 1.18.33.
    """
    start = _start(messages)
    kept = range(start, len(messages))
    asked = next((n for n in reversed(kept) if messages[n].user and messages[n].compacts and messages[n].tail), None)
    if asked is None:
        return View(tuple(kept))
    answered = next(
        (n for n in kept if n > asked and messages[n].summary and messages[n].parent == messages[asked].id), None
    )
    tail = next((n for n in kept if messages[n].id == messages[asked].tail), None)
    if answered is None or tail is None or tail >= asked:
        return View(tuple(kept))
    moved = tuple(range(asked, answered + 1))
    return View((*moved, *range(tail, asked), *range(answered + 1, len(messages))), moved)


def _start(messages: Sequence[Message]) -> int:
    summarised: set[str] = set()
    until: str | None = None
    for n in range(len(messages) - 1, -1, -1):
        message = messages[n]
        if until is not None:
            if message.id == until:
                return n
        elif message.user and message.compacts and message.id in summarised:
            if not message.tail or message.tail == message.id:
                return n
            until = message.tail
        elif message.counts and message.parent:
            summarised.add(message.parent)
    return 0
