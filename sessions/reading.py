"""Reads a session's sources on from where reading stopped: lines to entries, in batches, into the database."""

from __future__ import annotations

from datetime import datetime
from pathlib import PurePath
from typing import Any

from django.db.models import Count, Sum

from sessions.adapters.base import Adapter, Line, Reader
from sessions.assembly import Assembly, Placed
from sessions.entries import Entry, Facts, Kind
from sessions.models import Session
from sessions.models import Step as StepRow
from sessions.sourcebytes import LONGEST, content, split
from sessions.store import clean, clean_json, copy_entries, count_goals, figure, write_goals, write_steps

_BATCH_ENTRIES = 2000
_BATCH_BYTES = 8 << 20


class _Batch:
    """Placed entries waiting for their COPY, by source."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.waiting: list[Placed] = []
        self.size = 0
        self.written = 0
        self.first_at: datetime | None = None
        self.last_at: datetime | None = None

    def add(self, placed: Placed, source_id: int) -> None:
        self.waiting.append(placed)
        self.size += placed.length
        at = placed.entry.at
        if at is not None:
            self.first_at = at if self.first_at is None else min(self.first_at, at)
            self.last_at = at if self.last_at is None else max(self.last_at, at)
        if len(self.waiting) >= _BATCH_ENTRIES or self.size >= _BATCH_BYTES:
            self.flush(source_id)

    def flush(self, source_id: int) -> None:
        copy_entries(self.session.pk, source_id, self.waiting)
        self.written += len(self.waiting)
        self.waiting = []
        self.size = 0


def read_chain(session: Session, adapter: Adapter, *, modified: datetime | None = None) -> int:
    """Read what is new of a session's own source (and, the first time, the sources before it in its chain); how many entries came.

    The caller holds the source's lock and a transaction. A last line without its end is read as far as it goes and read again when
    the file has grown: until then its entry is provisional.
    """
    source = session.source
    path = PurePath(source.path)
    batch = _Batch(session)
    state: dict[str, Any] | None = source.state
    dropped = 0
    if state is None:
        assembly = Assembly()
        reader = adapter.reader(path)
        malformed = 0
        for link in session.chain.select_related("source").order_by("position"):
            if link.source_id == source.pk:
                continue
            for line in split(content(link.source, until=link.until_offset)):
                malformed += _take(assembly, reader, line, batch, link.source_id, copied=True)
            batch.flush(link.source_id)
        number = 0
    else:
        assembly = Assembly.from_state(state["assembly"])
        reader = adapter.reader(path, state["reader"])
        malformed = state["malformed"]
        number = state["number"]
        provisional = session.entries.filter(source_id=source.pk, byte_offset__gte=source.consumed)
        if provisional.exists():
            count_goals(session.pk, since=assembly.next_seq, sign=-1)
            dropped, _ = provisional.delete()
        session.steps.filter(n__gt=assembly.step).delete()
        assembly.changed = {step.n: step for step in assembly.open_steps.values()}
    first = 0 if state is None else assembly.next_seq
    lasting: dict[str, Any] | None = None
    for line in split(content(source, start=source.consumed), offset=source.consumed, number=number):
        if not line.ended:
            lasting = _state(assembly, reader, malformed, number)
        malformed += _take(assembly, reader, line, batch, source.pk, copied=False)
        if line.ended:
            number = line.number
            source.consumed = line.offset + line.length
    batch.flush(source.pk)
    source.state = lasting or _state(assembly, reader, malformed, number)
    source.save()
    write_steps(session.pk, assembly.take_changed())
    write_goals(session.pk, assembly.goals.take_changed(), since=first)
    _mark_counted_elsewhere(session)
    _describe(session, reader.facts, assembly, malformed, batch, modified)
    return batch.written - dropped


def _take(assembly: Assembly, reader: Reader, line: Line, batch: _Batch, source_id: int, *, copied: bool) -> int:
    """Place one line; 1 where it was no record."""
    if line.beyond:
        words = f"a line of {line.length:,} bytes, longer than the {LONGEST:,} that are read; its bytes are kept in the source"
        entry = Entry(kind=Kind.MALFORMED, problem=words)
    else:
        entry = reader.read(line)
    batch.add(assembly.place(entry, line, copied=copied), source_id)
    return int(entry.kind is Kind.MALFORMED)


def _state(assembly: Assembly, reader: Reader, malformed: int, number: int) -> dict[str, Any]:
    facts = reader.facts
    state: dict[str, Any] = clean_json(
        {
            "assembly": assembly.state(),
            "reader": reader.state(),
            "malformed": malformed,
            "number": number,
            "title": facts.title,
        }
    )
    return state


def _mark_counted_elsewhere(session: Session) -> None:
    """Steps whose answer another session of the workspace has counted already are copies (forks, continued and resumed sessions)."""
    mine = session.steps.filter(response_id__isnull=False, copied=False)
    known = StepRow.objects.filter(
        session__workspace_id=session.workspace_id,
        session__agent=session.agent,
        session__superseded_by=None,
        copied=False,
        response_id__in=mine.values("response_id"),
    ).exclude(session_id=session.pk)
    mine.filter(response_id__in=list(known.values_list("response_id", flat=True))).update(copied=True)


def _describe(
    session: Session, facts: Facts, assembly: Assembly, malformed: int, batch: _Batch, modified: datetime | None
) -> None:
    """Bring the session's own row up to date."""
    session.native_id = clean(facts.native_id) or session.native_id
    session.title = clean(facts.title) or session.title or _first_prompt(session)
    session.cwd = clean(facts.cwd)
    session.project = facts.cwd and (clean(PurePath(facts.cwd).name) or None)
    session.branch = clean(facts.branch)
    session.agent_version = clean(facts.agent_version)
    session.models_used = clean_json(facts.models)
    session.window = figure(facts.window)
    session.parent_native_id = clean(facts.parent_native_id)
    session.parent_kind = facts.parent_kind
    session.parent_call_id = clean(facts.parent_call_id)
    session.facts = clean_json({**session.facts, **facts.extra})
    session.entries_count = assembly.next_seq
    session.turns = assembly.turn
    session.steps_count = assembly.step
    session.malformed = malformed
    if batch.first_at is not None and (session.started_at is None or batch.first_at < session.started_at):
        session.started_at = batch.first_at
    last = batch.last_at or modified
    if last is not None and (session.last_at is None or last > session.last_at):
        session.last_at = last
    session.totals = session.steps.filter(copied=False).aggregate(
        fresh=Sum("fresh"),
        cache_read=Sum("cache_read"),
        cache_write=Sum("cache_write"),
        output=Sum("output"),
        reasoning=Sum("reasoning"),
        steps=Count("n"),
    )
    session.save()


def _first_prompt(session: Session) -> str:
    text = session.entries.filter(opens_turn=True).order_by("seq").values_list("text", flat=True).first() or ""
    return " ".join(text.split())[:200]
