"""Rows for tests of pages: sessions of any length straight into the database, without a file being read.

Every turn is a prompt and then rounds of reasoning, a shell call, its result and a message; one step a round. The source really holds the
bytes that the entries point to. Texts can be given, so that hostile ones reach every place of a page.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sessions.contexts import Edit, Hide, Insert, InsertKind
from sessions.entries import Kind, Part, PartKind, Role
from sessions.models import Entry, Goal, Session, Source, Step, Version
from sessions.packing import pack
from sessions.ranges import Ranges
from sessions.sourcebytes import keep
from sessions.versions import make

START = datetime(2026, 9, 14, 9, 12, tzinfo=UTC)
ROUND = 4  # entries of a round
ROUNDS = 5  # rounds of a turn
TURN = 1 + ROUND * ROUNDS


@dataclass(frozen=True)
class Row:
    """An entry to be written. `sent` follows from the kind unless it is said."""

    kind: Kind
    role: Role | None
    parts: tuple[Part, ...]
    sent: bool = True
    opens_turn: bool = False
    problem: str | None = None


def prompt(text: str) -> Row:
    return Row(Kind.PROMPT, Role.USER, (Part(PartKind.TEXT, text),), opens_turn=True)


def message(text: str) -> Row:
    return Row(Kind.MESSAGE, Role.ASSISTANT, (Part(PartKind.TEXT, text),))


def reasoning(text: str) -> Row:
    return Row(Kind.REASONING, Role.ASSISTANT, (Part(PartKind.REASONING, text, signed=True),))


def call(call_id: str, tool: str, **given: Any) -> Row:
    return Row(
        Kind.TOOL_CALL, Role.ASSISTANT, (Part(PartKind.TOOL_CALL, json.dumps(given), tool=tool, call_id=call_id),)
    )


def result(call_id: str, text: str, *, failed: bool = False, **meta: Any) -> Row:
    part = Part(PartKind.TOOL_RESULT, text, call_id=call_id, is_error=failed, meta=meta)
    return Row(Kind.TOOL_RESULT, Role.TOOL, (part,))


def meta(text: str = "mode") -> Row:
    return Row(Kind.META, None, (Part(PartKind.MARKER, text),), sent=False)


def malformed(text: str, problem: str) -> Row:
    return Row(Kind.MALFORMED, None, (Part(PartKind.OTHER, text),), sent=False, problem=problem)


def conversation(entries: int) -> Iterator[Row]:
    """So many entries of an ordinary session."""
    for seq in range(entries):
        place = seq % TURN
        turn = seq // TURN + 1
        if place == 0:
            yield prompt(f"Request {turn}: make the importer stream.")
            continue
        match (place - 1) % ROUND:
            case 0:
                yield reasoning(f"Thinking about entry {seq}.")
            case 1:
                yield call(f"call_{seq}", "Bash", command=f"cargo test -p import n{seq}")
            case 2:
                yield result(f"call_{seq - 1}", f"test result: ok, {seq} passed", exit_code=0)
            case _:
                yield message(f"Step {seq} is done; `main.rs` reports it.")


def a_session(
    workspace: Any,
    rows: Iterable[Row],
    *,
    native_id: str = "native-1",
    title: str = "Port the ledger importer",
    **more: Any,
) -> Session:
    """Write a session of these rows, with its source, steps, an inferred goal and version 0."""
    rows = list(rows)
    lines = [json.dumps({"n": seq, "words": row.parts[0].text[:2000]}).encode() + b"\n" for seq, row in enumerate(rows)]
    source = Source.objects.create(
        workspace=workspace,
        agent="claude-code",
        adapter_version=1,
        role=Source.Role.SESSION,
        path=f"/nowhere/{native_id}.jsonl",
        native_id=native_id,
    )
    source.size, source.digest = keep(source, io.BytesIO(b"".join(lines)), offset=0)
    source.consumed = source.size
    source.save()
    facts = {
        "agent_version": "2.1.150", "project": "ledgerd", "branch": "feat/streaming-import", "cwd": "/home/quill/ledgerd",
        "models_used": ["claude-sonnet-4-5-20250929"], "started_at": START, "last_at": START + timedelta(seconds=20 * len(rows)),
    }  # fmt: skip
    session = Session.objects.create(
        workspace=workspace,
        agent="claude-code",
        native_id=native_id,
        source=source,
        title=title,
        entries_count=len(rows),
        **{**facts, **more},
    )
    _entries(session, source, rows, lines)
    session.turns = sum(row.opens_turn for row in rows)
    session.steps_count = _steps(session, rows)
    session.malformed = sum(row.kind is Kind.MALFORMED for row in rows)
    session.totals = {
        "fresh": 10 * session.steps_count,
        "cache_read": 1000 * session.steps_count,
        "output": 40 * session.steps_count,
    }
    root = make(
        session, parent=None, edits=[], origin=Version.Origin.RECORDED, kind="recorded", label="As recorded", at_seq=-1
    )
    session.native_head = root
    session.save()
    Goal.objects.create(
        session=session, path="1", position=0, text="Stream the ledger", status="in_progress", first_seq=0, last_seq=len(rows) - 1,
        entries_count=len(rows), tokens=12 * len(rows),
    )  # fmt: skip
    return session


def _entries(session: Session, source: Source, rows: Sequence[Row], lines: Sequence[bytes]) -> None:
    out: list[Entry] = []
    turn = step = offset = 0
    for seq, (row, line) in enumerate(zip(rows, lines, strict=True)):
        turn += row.opens_turn
        step += row.kind is Kind.REASONING
        text = "\n".join(part.text for part in row.parts)
        tool = next((part.tool for part in row.parts if part.tool), None)
        calls = [part.call_id for part in row.parts if part.call_id]
        out.append(
            Entry(
                session=session, seq=seq, turn=turn or None, step=step if step and row.role is Role.ASSISTANT else None, goal="1",
                kind=row.kind.value, role=row.role and row.role.value, tool=tool, native_id=f"n{seq}", call_ids=calls or None,
                is_error=any(part.is_error for part in row.parts), sent=row.sent, opens_turn=row.opens_turn,
                at=START + timedelta(seconds=20 * seq), text=text[:4000], parts=pack(row.parts), digest=seq.to_bytes(8), utf8=len(text.encode()),
                utf16=len(text), ascii=len(text), tokens=max(1, len(text) // 4) if row.sent else 0, source=source, byte_offset=offset,
                byte_length=len(line), problem=row.problem,
            )
        )  # fmt: skip
        offset += len(line)
    Entry.objects.bulk_create(out, batch_size=2000)


def _steps(session: Session, rows: Sequence[Row]) -> int:
    starts = [seq for seq, row in enumerate(rows) if row.kind is Kind.REASONING]
    turn_at: list[int] = []
    turn = 0
    for row in rows:
        turn += row.opens_turn
        turn_at.append(turn)
    Step.objects.bulk_create(
        [
            Step(
                session=session, n=n, turn=turn_at[seq] or None, first_seq=seq, last_seq=min(seq + 3, len(rows) - 1), response_id=f"r{n}",
                model="claude-sonnet-4-5-20250929", at=START + timedelta(seconds=20 * seq), fresh=10, cache_read=1000 + 40 * (n % 900),
                cache_write=30, output=40,
            )
            for n, seq in enumerate(starts, start=1)
        ],
        batch_size=2000,
    )  # fmt: skip
    return len(starts)


def compacted(session: Session, start: int, stop: int, summary: str = "What was done so far.") -> Version:
    """A native compaction that folds entries `start` to `stop` (excluded) behind a summary."""
    edits: list[Edit] = [
        Hide(Ranges.of([(start, stop)])),
        Insert(
            stop - 1,
            Role.USER,
            InsertKind.SUMMARY,
            (Part(PartKind.TEXT, summary),),
            Ranges.of([(start, stop)]),
            "Summary",
        ),
    ]
    version = make(
        session,
        parent=session.native_head,
        edits=edits,
        origin=Version.Origin.NATIVE,
        kind="compaction",
        label="Compacted (auto)",
        at_seq=stop - 1,
    )
    session.native_head = version
    session.save(update_fields=["native_head"])
    return version
