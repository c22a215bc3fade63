"""Plans: the list of tasks after a call, and how it differs from the list before. Single tasks as what was said of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sessions.calls import Call
from sessions.entries import Part, PartKind
from sessions.pieces.base import Asked, Piece, Placed, answer_piece, fields_piece

_STATUS = {
    "pending": "pending", "in_progress": "in_progress", "completed": "completed", "abandoned": "abandoned", "cancelled": "abandoned",
    "canceled": "abandoned", "deleted": "abandoned", "done": "completed", "active": "in_progress",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Task:
    """A row of a plan. `change`: new, gone, or moved (its status before is `was`); "" where nothing changed."""

    status: str
    text: str
    change: str = ""
    was: str = ""


def listed(given: Mapping[str, Any]) -> list[tuple[str, str]] | None:
    """Status and text of each task of a call that states a whole list; None where it states none."""
    rows = given.get("todos", given.get("plan"))
    if not isinstance(rows, list):
        return None
    return [_row(row) for row in rows if isinstance(row, Mapping)]


def _row(row: Mapping[str, Any]) -> tuple[str, str]:
    text = next(
        (
            row[name]
            for name in ("content", "step", "description", "subject", "title", "task")
            if isinstance(row.get(name), str)
        ),
        "",
    )
    return _STATUS.get(str(row.get("status", "pending")), "pending"), text


def plan_in(parts: Sequence[Part], reading: Any) -> list[tuple[str, str]] | None:
    """The last whole list that the calls among these parts state. `reading`: how a call is read (`calls.call_of`)."""
    found = None
    for part in parts:
        if part.kind is PartKind.TOOL_CALL:
            found = listed(reading(part.tool, part.text).given) or found
    return found


def compared(now: Sequence[tuple[str, str]], before: Sequence[tuple[str, str]] | None) -> list[Task]:
    """The list as it is, each task with what changed; then those that are gone. Without a list before, nothing is said to have changed."""
    if before is None:
        return [Task(status, text) for status, text in now]
    was: dict[str, list[str]] = {}
    for status, text in before:
        was.setdefault(text, []).append(status)
    out: list[Task] = []
    for status, text in now:
        left = was.get(text)
        if not left:
            out.append(Task(status, text, "new"))
        else:
            old = left.pop(0)
            out.append(Task(status, text, "moved" if old != status else "", old if old != status else ""))
    for text, left in was.items():
        out.extend(Task(status, text, "gone", status) for status in left)
    return out


def plan_words(given: Mapping[str, Any]) -> tuple[str, str] | None:
    """What a plan's line says: the task in progress, and how many are done. None where the call states no list."""
    rows = listed(given)
    if not rows:
        return None
    now = next((text for status, text in rows if status == "in_progress"), "")
    done = sum(1 for status, _ in rows if status == "completed")
    return now, f"{done} / {len(rows)}"


def draw(call: Call, asked_for: Placed, answer: Placed | None, asked: Asked) -> Iterator[Piece]:
    rows = listed(call.given)
    if rows is not None:
        tasks = compared(rows, asked.before)
        yield Piece("plan", rows=tasks, facts={"first": asked.before is None})
        said = call.given.get("explanation")
        if isinstance(said, str) and said:
            yield Piece("note", said)
        if answer is not None and answer.part.is_error:
            yield from answer_piece(answer, asked)
        return
    piece = fields_piece(dict(call.given), asked)
    if piece is not None:
        yield piece
    if answer is not None:
        yield from answer_piece(answer, asked)
