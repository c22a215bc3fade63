"""Sessions from plain calls, for tests of what is pure: `session(prompt("…"), call("Read", file_path="a.py"), result("…"))`.

Places are given as the assembly gives them: entries are numbered from 0, a prompt opens a turn, assistant entries in a row are one step, a
result answers the oldest open call unless it names one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from compaction.plan import Snapshot
from sessions.contexts import Edit, Item, hidden_by, project
from sessions.entries import Kind, Part, PartKind, Role
from sessions.meters.tokens import sizes

CWD = "/home/ada/app"


@dataclass(frozen=True)
class Draft:
    """An entry without its place. `tool_of`: of a result, the id of the call it answers; None: the oldest open one."""

    kind: Kind
    role: Role
    parts: tuple[Part, ...]
    open_call: bool = False
    meta: dict[str, Any] = field(default_factory=dict)


def prompt(text: str) -> Draft:
    return Draft(Kind.PROMPT, Role.USER, (Part(PartKind.TEXT, text),))


def say(text: str) -> Draft:
    return Draft(Kind.MESSAGE, Role.ASSISTANT, (Part(PartKind.TEXT, text),))


def think(text: str, *, signed: bool = True) -> Draft:
    return Draft(Kind.REASONING, Role.ASSISTANT, (Part(PartKind.REASONING, text, signed=signed),))


def call(tool: str, call_id: str | None = None, /, **args: Any) -> Draft:
    part = Part(PartKind.TOOL_CALL, json.dumps(args, ensure_ascii=False), tool=tool, call_id=call_id)
    return Draft(Kind.TOOL_CALL, Role.ASSISTANT, (part,))


def raw_call(tool: str, text: str, call_id: str | None = None) -> Draft:
    """A call whose arguments are no JSON object."""
    return Draft(Kind.TOOL_CALL, Role.ASSISTANT, (Part(PartKind.TOOL_CALL, text, tool=tool, call_id=call_id),))


def result(text: str, of: str | None = None, *, error: bool = False, images: int = 0, **meta: Any) -> Draft:
    part = Part(PartKind.TOOL_RESULT, text, call_id=of, is_error=error, meta=meta)
    media = tuple(Part(PartKind.MEDIA, "a picture", media_type="image/png", media_bytes=90_000) for _ in range(images))
    return Draft(Kind.TOOL_RESULT, Role.TOOL, (part, *media))


def context(text: str, role: Role = Role.USER) -> Draft:
    return Draft(Kind.CONTEXT, role, (Part(PartKind.TEXT, text),))


def native_summary(text: str) -> Draft:
    """A summary that the agent itself wrote."""
    return Draft(Kind.SUMMARY, Role.USER, (Part(PartKind.TEXT, text),))


def media(images: int = 1) -> Draft:
    part = Part(PartKind.MEDIA, "a picture", media_type="image/png", media_bytes=400_000)
    return Draft(Kind.MEDIA, Role.USER, (part,) * images)


def read(path: str, text: str, *, start: int = 1, limit: int | None = None) -> tuple[Draft, Draft]:
    """A call of Claude Code's Read and its answer."""
    args: dict[str, Any] = {"file_path": path}
    if start != 1 or limit is not None:
        args |= {"offset": start, "limit": limit}
    lines = text.split("\n")[start - 1 : None if limit is None else start - 1 + limit]
    if lines and lines[-1] == "" and limit is None:
        lines.pop()
    return call("Read", **args), result("\n".join(f"{n:>6}\u2192{line}" for n, line in enumerate(lines, start)))


def items(drafts: Iterable[Draft | Sequence[Draft]], after: Sequence[Item] = ()) -> list[Item]:
    """The drafts in their places, behind the entries `after`."""
    out = list(after)
    seq = (out[-1].seq or 0) + 1 if out else 0
    turn = max((item.turn or 0 for item in out), default=0)
    step = max((item.step or 0 for item in out), default=0)
    ids = sum(len(item.calls) for item in out)
    done = {call_id for item in out for call_id in item.results}
    waiting = [call_id for item in out for call_id in item.calls if call_id not in done]
    answering = False
    new: list[Item] = []
    flat = [draft for group in drafts for draft in ([group] if isinstance(group, Draft) else group)]
    for draft in flat:
        parts: list[Part] = []
        for part in draft.parts:
            if part.kind is PartKind.TOOL_CALL:
                call_id = part.call_id or f"call-{ids}"
                ids += 1
                waiting.append(call_id)
                parts.append(replace(part, call_id=call_id))
            elif part.kind is PartKind.TOOL_RESULT:
                call_id = part.call_id or waiting[0]
                waiting.remove(call_id)
                parts.append(replace(part, call_id=call_id))
            else:
                parts.append(part)
        if draft.kind is Kind.PROMPT:
            turn += 1
        assistant = draft.role is Role.ASSISTANT
        if assistant and not answering:
            step += 1
        answering = assistant
        new.append(
            Item(
                key=f"e{seq}",
                seq=seq,
                role=draft.role,
                kind=draft.kind,
                parts=tuple(parts),
                turn=turn or None,
                step=step if assistant else None,
            )
        )
        seq += 1
    return [*out, *sized(new)]


def sized(drafts: Sequence[Item]) -> list[Item]:
    vectors = sizes([item.parts for item in drafts])
    return [replace(item, sizes=size) for item, size in zip(drafts, vectors, strict=True)]


def snapshot(
    log: Sequence[Item],
    edits: Sequence[Edit] = (),
    *,
    pins: Iterable[int] = (),
    cwd: str | None = CWD,
    agent: str = "claude-code",
) -> Snapshot:
    """The context that `edits` make of `log`, frozen, counted in o200k tokens."""
    pinned = frozenset(pins)
    held = sized([replace(item, pinned=True) if item.seq in pinned else item for item in project(log, edits)])
    whole = tuple(log)
    return Snapshot(
        items=tuple(held),
        tokens=tuple(item.sizes.tokens + 1_600 * item.sizes.images for item in held),
        last_seq=whole[-1].seq if whole and whole[-1].seq is not None else -1,
        edits=tuple(edits),
        ghosts=hidden_by(edits),
        pinned=pinned,
        log=lambda: whole,
        agent=agent,
        cwd=cwd,
    )


def session(
    *drafts: Draft | Sequence[Draft], pins: Iterable[int] = (), cwd: str | None = CWD, agent: str = "claude-code"
) -> Snapshot:
    """A session of these entries, nothing hidden."""
    return snapshot(items(drafts), pins=pins, cwd=cwd, agent=agent)
