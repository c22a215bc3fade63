"""Writes a goal-tree trace: a new folder with `messages.jsonl`, `goal.json` and `meta.json`, linked to the trace it comes from.

A fold is a summary that names the messages it replaces; they stay in the log before it. Goals travel in `goal.json`, which is the
trace's own place for them: those changed here with what was done to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sessions.adapters.lineage import NAME
from sessions.adapters.records import NotARecord, load
from sessions.contexts import Item
from sessions.entries import GoalStatus, Part, PartKind, Role
from sessions.writers.base import Draft, File, Notes, PlannedGoal, Written, stamp
from sessions.writers.chat import Message, messages
from sessions.writers.splice import dumps

AGENT = "trace"
_STATUS = {"dropped": GoalStatus.ABANDONED}


class Trace:
    """See `sessions.writers.base.Writer`."""

    agent = AGENT
    label = "Goal-tree trace"

    def write(self, draft: Draft) -> Written:
        made = _Log(draft)
        name = draft.names.uuid4()
        data = made.lines()
        tree = _tree(draft)
        meta: dict[str, Any] = {
            "format": "trace",
            "version": 1,
            "trace_id": name,
            "title": draft.title,
            "cwd": draft.facts.cwd,
            "model": draft.facts.models[-1] if draft.facts.models else None,
            "status": "running",
            "created_at": draft.names.stamp(),
            "updated_at": draft.names.stamp(),
            NAME: draft.lineage.to_json(),
        }
        if draft.agent == AGENT and draft.facts.native_id:
            meta["parent_trace_id"] = draft.facts.native_id
        files = (
            File(f"{name}/messages.jsonl", data),
            File(f"{name}/goal.json", dumps(tree)),
            File(f"{name}/meta.json", dumps({key: value for key, value in meta.items() if value is not None})),
        )
        return Written(name, files, tuple(made.expected), (*draft.notes, *made.notes.lines()))

    def command(self, native_id: str, file: str, *, placed: bool) -> str:
        return ""


@dataclass(slots=True)
class _Log:
    draft: Draft
    expected: list[Item] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)
    _out: list[bytes] = field(default_factory=list)
    _ids: set[str] = field(default_factory=set)

    def lines(self) -> bytes:
        own = self.draft.agent == AGENT
        for message in messages(self.draft.items):
            replaces = self._ghosts() if own and message.summary else []
            known = self._recorded(message) if own and not message.summary else None
            if known is not None:
                self._line(known)
                self.expected += message.items
                continue
            said = list(self._said(message))
            for n, record in enumerate(said):
                if message.summary and n == 0:
                    record |= {"kind": "summary", "replaces": {"ids": replaces}}
                self._line(record)
            if said:
                self.expected += [self._sendable(item) for item in message.items]
        self.expected = [item for item in self.expected if item.parts]
        return b"".join(self._out)

    def _ghosts(self) -> list[str]:
        """Write what was folded and is not there yet; the ids of it."""
        out: list[str] = []
        for link in self.draft.links:
            if link.seq not in self.draft.ghosts or not link.native_id or link.native_id in self._ids:
                continue
            record = self._load(link.seq)
            if record is not None and record.get("role"):
                self._line(record)
                out.append(link.native_id)
        return out

    def _recorded(self, message: Message) -> dict[str, Any] | None:
        if len(message.items) != 1 or message.items[0].seq is None:
            return None
        item = message.items[0]
        if item.seq is None or item.parts != self.draft.parts_of(item.seq):
            return None
        record = self._load(item.seq)
        return record if record is not None and "replaces" not in record else None

    def _load(self, seq: int) -> dict[str, Any] | None:
        try:
            return load(self.draft.record(seq))
        except NotARecord:
            return None

    def _line(self, record: dict[str, Any]) -> None:
        name = record.get("id")
        if not isinstance(name, str) or name in self._ids:
            name = self.draft.names.uuid4()
        self._ids.add(name)
        self._out.append(dumps({**record, "id": name, "seq": len(self._out) + 1}) + b"\n")

    def _sendable(self, item: Item) -> Item:
        return replace(item, parts=tuple(part for part in item.parts if part.kind is not PartKind.REASONING))

    def _said(self, message: Message) -> Iterator[dict[str, Any]]:
        parts = message.parts
        if any(part.kind is PartKind.REASONING for part in parts):
            self.notes.add("reasoning left out: its record changed, and a signature holds only for what it was made of")
        results = [part for part in parts if part.kind is PartKind.TOOL_RESULT]
        texts = [
            {"type": "text", "text": part.text}
            for part in parts
            if part.kind in (PartKind.TEXT, PartKind.MEDIA, PartKind.OTHER) and part.text
        ]
        calls = [
            {"id": part.call_id, "name": part.tool or "tool", "arguments": _parsed(part)}
            for part in parts
            if part.kind is PartKind.TOOL_CALL
        ]
        item = message.items[0]
        at = stamp(item.at) if item.at is not None else self.draft.names.stamp()
        base: dict[str, Any] = {"ts": at, "goal_id": item.goal if self.draft.agent == AGENT else None}
        role = Role.USER if message.role is Role.TOOL else message.role
        content: Any = texts if len(texts) > 1 else texts[0]["text"] if texts else ""
        said = {**base, "role": role.value, "content": content} | ({"tool_calls": calls} if calls else {})
        if message.role is not Role.TOOL and (texts or calls):
            yield said
        for part in results:
            failed = {"is_error": True} if part.is_error else {}
            yield {**base, "role": "tool", "tool_call_id": part.call_id, "content": part.text, **failed}
        if message.role is Role.TOOL and texts:
            yield said


def _parsed(part: Part) -> Any:
    try:
        return load(part.text.encode("utf-8", "replace"))
    except NotARecord:
        return part.text


# -- goals --------------------------------------------------------------------------------------------------------------


def _tree(draft: Draft) -> dict[str, Any]:
    """The goal tree: as it was recorded, with what was changed here."""
    extra = draft.facts.extra
    goals = draft.goals or [_planned(row) for row in extra.get("goals", []) if isinstance(row, Sequence)]
    ids = _ids(goals)
    nodes: dict[str, dict[str, Any]] = {}
    top: list[dict[str, Any]] = []
    current: str | None = None
    for goal in goals:
        status = _STATUS.get(goal.status.value, goal.status)
        note = goal.note or (goal.text if status in (GoalStatus.COMPLETED, GoalStatus.ABANDONED) else None)
        name = ids[goal.path]
        node: dict[str, Any] = {
            "id": name,
            "description": goal.text,
            "status": status.value,
            "summary": note,
            "children": [],
        }
        nodes[goal.path] = node
        parent = nodes.get(goal.path.rpartition(".")[0])
        (parent["children"] if parent is not None else top).append(node)
        if status is GoalStatus.IN_PROGRESS:
            current = name
    return {"mission": extra.get("mission") or draft.title or "", "current_id": current, "goals": top}


def _ids(goals: Sequence[PlannedGoal]) -> Mapping[str, str]:
    """Every goal's id in the tree: its own path; one that was added here gets the next number below its parent."""
    used = {goal.path for goal in goals if "+" not in goal.path}
    ids = {path: path for path in used}
    for goal in goals:
        if goal.path in ids:
            continue
        above = ids.get(goal.path.rpartition(".")[0])
        n = 1
        while (name := f"{above}.{n}" if above else str(n)) in used:
            n += 1
        used.add(name)
        ids[goal.path] = name
    return ids


def _planned(row: Sequence[Any]) -> PlannedGoal:
    name, text, status, _, note = row
    return PlannedGoal(str(name), str(text), GoalStatus(status), note)


WRITER = Trace()
