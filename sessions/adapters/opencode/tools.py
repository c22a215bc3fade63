"""A tool part: the call, and what became of it in the words that the model is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sessions.adapters.opencode.media import media
from sessions.adapters.opencode.values import inside, number, words
from sessions.adapters.records import NotARecord, load, text_of
from sessions.entries import GoalChange, GoalItem, GoalStatus, Part, PartKind

CLEARED = "[Old tool result content cleared]"
INTERRUPTED = "[Tool execution was interrupted]"
_PLAN = "todowrite"
_STATUS = {
    "pending": GoalStatus.PENDING,
    "in_progress": GoalStatus.IN_PROGRESS,
    "completed": GoalStatus.COMPLETED,
    "cancelled": GoalStatus.ABANDONED,
}


def call(part: Mapping[str, Any]) -> Part:
    """The call that a tool part makes. Input that was not yet whole stands as the text it was."""
    state = part.get("state")
    given = inside(state, "input") if isinstance(state, dict) else None
    if not given and isinstance(state, dict) and words(state.get("raw")):
        given = state["raw"]
    title = words(inside(state, "title")) if isinstance(state, dict) else None
    return Part(
        PartKind.TOOL_CALL,
        text_of({} if given is None else given),
        tool=words(part.get("tool")),
        call_id=words(part.get("callID")),
        meta={"title": title[:200]} if title else {},
    )


def result(state: Mapping[str, Any], tool: str | None, call_id: str | None) -> tuple[Part, ...]:
    """What a call came to, as it is sent while nothing clears it."""
    status = state.get("status")
    meta = _shown(state)
    if status == "completed":
        first = Part(PartKind.TOOL_RESULT, text_of(state.get("output", "")), tool=tool, call_id=call_id, meta=meta)
        attached = state.get("attachments")
        files = (
            [media(file, call_id) for file in attached if isinstance(file, dict)] if isinstance(attached, list) else []
        )
        return (first, *files)
    if status == "error":
        kept = inside(state, "metadata", "output") if inside(state, "metadata", "interrupted") is True else None
        text = kept if isinstance(kept, str) else text_of(state.get("error", ""))
        return (
            Part(PartKind.TOOL_RESULT, text, tool=tool, call_id=call_id, is_error=not isinstance(kept, str), meta=meta),
        )
    return (Part(PartKind.TOOL_RESULT, INTERRUPTED, tool=tool, call_id=call_id, is_error=True, meta=meta),)


def cleared(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The same result after the agent pruned it: its words replaced, its attachments gone."""
    return tuple(
        Part(part.kind, CLEARED, tool=part.tool, call_id=part.call_id, meta=part.meta)
        for part in parts
        if part.kind is PartKind.TOOL_RESULT
    )


def goals(state: Mapping[str, Any], tool: str | None) -> GoalChange | None:
    """What a finished call of the plan tool made of the goals; the whole list each time."""
    if tool != _PLAN or state.get("status") != "completed":
        return None
    given = inside(state, "input", "todos")
    return listed(inside(state, "metadata", "todos") if given is None else given)


def listed(given: Any) -> GoalChange | None:
    """A list of tasks as goals, also given as JSON text, which models write inside a string. None for what is no list."""
    if isinstance(given, str):
        given = given.encode("utf-8", "replace")
    if isinstance(given, bytes):
        try:
            given = load(b'{"todos":' + given + b"}")["todos"]
        except NotARecord:
            return None
    if not isinstance(given, list):
        return None
    items = [
        GoalItem(
            text=item["content"].strip(),
            status=_STATUS.get(str(item.get("status")), GoalStatus.PENDING),
            key=words(item.get("id")),
        )
        for item in given
        if isinstance(item, dict) and isinstance(item.get("content"), str) and item["content"].strip()
    ]
    return GoalChange(tuple(items), whole=True)


def _shown(state: Mapping[str, Any]) -> dict[str, Any]:
    """Small facts for display: exit code, the child session, how long it took."""
    out: dict[str, Any] = {}
    code = inside(state, "metadata", "exit")
    if isinstance(code, int) and not isinstance(code, bool):
        out["exit"] = code
    child = words(inside(state, "metadata", "sessionId"))
    if child:
        out["session"] = child[:200]
    start, end = number(inside(state, "time", "start")), number(inside(state, "time", "end"))
    if start and end and end >= start:
        out["ms"] = end - start
    return out
