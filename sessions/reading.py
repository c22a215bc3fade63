"""Reads a session's sources on from where reading stopped: records to entries, in batches, into the database.

A log is read on from its last whole line. A document is read whole: here where it is new, by `documents` where it changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import PurePath
from typing import Any, Protocol

from django.db import connection

from sessions.adapters.base import HEAD, Adapter, Documents, Line, NativeVersion, Reader
from sessions.assembly import Assembly, Placed, Step
from sessions.batches import Batches
from sessions.entries import TELLING, Entry, Kind
from sessions.goalmarks import timeline_of
from sessions.inturn import in_turn
from sessions.models import Session, SessionSource, Source
from sessions.models import Step as StepRow
from sessions.packing import unpacked
from sessions.projection import facts_of
from sessions.sourcebytes import HELD, LARGEST, LONGEST, Keeping, content, split, stored
from sessions.store import (
    clean,
    clean_json,
    discount_goals,
    figure,
    preview,
    write_goals,
    write_steps,
)
from sessions.telling import Telling

_STEPS = 5000  # steps that are held at once
_LINES = 128  # lines that are read in a row before they are placed, and as many bytes of them
_BYTES = 512 << 10
_PROMPT = ("fresh", "cache_read", "cache_write")
_SUMMED = ("fresh", "cache_read", "cache_write", "output", "reasoning")


@dataclass(frozen=True, slots=True)
class Read:
    """What reading came to: how many entries more there are, and the agent's versions; None where they are as they were."""

    added: int
    versions: Sequence[NativeVersion] | None


def read_chain(
    session: Session,
    adapter: Adapter,
    *,
    modified: datetime | None = None,
    keeping: Keeping | None = None,
    chain: Sequence[SessionSource] | None = None,
) -> Read:
    """Read what is new of a session's own source (and, the first time, the sources before it in its chain).

    The caller holds the source's lock and a transaction, and saves the session. `keeping`: the bytes that come, which are stored on the
    way; without it they are in the database already. `chain`: that of a session which is new, so that nothing of it need be asked for. A
    last line without its end is read as far as it goes and read again when the file has grown: until then its entry is provisional.
    """
    source = session.source
    begun = source.state is None
    documents = None if keeping is not None else _documents(source, adapter)
    with Batches(session) as batch:
        going = Going.begun(session, adapter) if source.state is None else Going.on(source.state, source, adapter)
        going.assembly.goals.timeline = timeline_of(session) if chain is None else []
        first_step = 1 if begun else going.assembly.oldest_open
        counted = {} if begun else sums(session, since=first_step)
        dropped = 0 if begun else going.take_back(session)
        going.telling = Telling(session, adapter, batch.parts_of, begun=begun, tip=(source.state or {}).get("tip"))
        if begun:
            going.bases(session, batch, _chain_of(session) if chain is None else chain)
        if documents is not None:
            going.document(_records(documents, source), source, batch)
        else:
            going.lines(source, batch, keeping)
        batch.rest()
    assembly = going.assembly
    going.write_steps(session, assembly.take_changed())
    going.write_goals(session, batch)
    mark_counted_elsewhere(session, since=first_step)
    _count(session, counted, sums(session, since=first_step))
    describe(session, going, batch, modified)
    versions, tip = going.telling.told(facts_of(session), lasting=going.ended and documents is None)
    source.state = {**(source.state or {}), "tip": tip}
    source.save()
    return Read(batch.written - dropped, versions)


class Taking(Protocol):
    """What takes the entries of a session in order: `Batches`, and of a document that changed `differing.Differences`."""

    first_at: datetime | None
    last_at: datetime | None
    beyond: datetime | None

    def add(self, placed: Placed, source_id: int) -> None: ...


class Going:
    """A reader and an assembly on their way through a source."""

    def __init__(
        self,
        assembly: Assembly,
        again: Callable[[Any], Reader],
        state: Any,
        malformed: int,
        number: int,
    ) -> None:
        self.assembly = assembly
        self.again = again  # makes a reader of a state
        self.reader = again(state)
        self.malformed = malformed
        self.number = number
        self.ended = True  # the last record has its end
        self.begins = state is None  # from the source's first record on
        self.prompt = ""  # the first that came, as far as its row holds it
        self.prompted = False
        self.telling: Telling
        self._steps = assembly.step  # the last step that is written
        self._goals = not self.begins  # some are written

    @classmethod
    def begun(cls, session: Session, adapter: Adapter) -> Going:
        return cls(Assembly(), partial(adapter.reader, PurePath(session.source.path)), None, 0, 0)

    @classmethod
    def on(cls, state: dict[str, Any], source: Source, adapter: Adapter) -> Going:
        return cls(
            Assembly.from_state(state["assembly"]),
            partial(adapter.reader, PurePath(source.path)),
            state["reader"],
            state["malformed"],
            state["number"],
        )

    def bases(self, session: Session, batch: Batches, chain: Iterable[SessionSource]) -> None:
        """Read the sources before the session's own."""
        for link in chain:
            if link.source_id == session.source_id:
                continue
            for some in stretches(split(batch.resting(content(link.source, until=link.until_offset)))):
                self.take(some, batch, link.source_id, copied=True)

    def take_back(self, session: Session) -> int:
        """Forget what was provisional; how many entries that were."""
        first = self.assembly.next_seq
        provisional = session.entries.filter(seq__gte=first)
        dropped = 0
        if provisional.exists():
            discount_goals(session.pk, since=first)
            dropped, _ = provisional.delete()
        session.steps.filter(n__gt=self.assembly.step).delete()
        if dropped:
            self.assembly.changed = {step.n: step for step in self.assembly.open_steps.values()}
        return dropped

    def lines(self, source: Source, batch: Batches, keeping: Keeping | None) -> None:
        """Read a log on. What comes is stored on the way, by turns with the entries made of it."""
        if keeping is None:
            blocks = batch.resting(content(source, start=source.consumed))
        elif source.encoding:
            blocks = unpacked(keeping.blocks())
        else:
            # A line that had no end begins before what comes; no entry waits yet while its bytes are fetched.
            before = stored(source, start=source.consumed, until=source.size) if source.consumed < source.size else ()
            blocks = chain(before, keeping.blocks())
        lasting: dict[str, Any] | None = None
        for some in stretches(split(blocks, offset=source.consumed, number=self.number)):
            last = some[-1]
            if not last.ended:
                lasting, self.ended = self.state(), False
            self.take(some, batch, source.pk)
            if last.ended:
                self.number = last.number
                source.consumed = last.offset + last.length
            if keeping is not None and (batch.due or keeping.waiting >= HELD):
                batch.rest()
                keeping.store()
            if len(self.assembly.changed) > _STEPS:
                self._pass_on(batch)
        if keeping is not None:
            batch.rest()
            keeping.store()
            source.size, source.digest = keeping.size, keeping.digest or source.digest
        source.state = lasting or self.state()

    def _pass_on(self, batch: Batches) -> None:
        """Write the steps and goals so far, so that memory does not grow with the log."""
        batch.rest()
        self.write_steps(batch.session, self.assembly.take_closed())
        self.write_goals(batch.session, batch)
        self.assembly.goals.pass_on()

    def write_steps(self, session: Session, steps: Sequence[Step]) -> None:
        write_steps(session.pk, steps, newest=self._steps)
        self._steps = max(self._steps, steps[-1].n if steps else 0)

    def write_goals(self, session: Session, batch: Batches) -> None:
        write_goals(session.pk, self.assembly.goals.take_changed(), batch.goals, first=not self._goals)
        batch.goals = {}
        self._goals = True

    def take(self, lines: Sequence[Line], batch: Taking, source_id: int, *, copied: bool = False) -> None:
        """Read and place some lines in a row: one step for all of them, then the next."""
        entries = [self._read(line) for line in lines]
        placed = [self.assembly.place(entry, line, copied=copied) for entry, line in zip(entries, lines, strict=True)]
        for one in placed:
            batch.add(one, source_id)
        for one, line in zip(placed, lines, strict=True):
            # Behind it: a history may ask for the parts of the entry it is given.
            self.telling.add(one, lasting=line.ended)
        for entry in entries:
            self.malformed += entry.kind is Kind.MALFORMED
            if entry.opens_turn and not self.prompted:
                self.prompt, self.prompted = preview(entry), True

    def _read(self, line: Line) -> Entry:
        if not line.beyond:
            return self.reader.read(line)
        words = f"a line of {line.length:,} bytes, longer than the {LONGEST:,} that are read; its bytes are kept in the source"
        return Entry(kind=Kind.MALFORMED, problem=words)

    def document(self, lines: Iterable[Line], source: Source, batch: Batches) -> None:
        """Read a document that is new."""
        for some in stretches(lines):
            self.take(some, batch, source.pk)
        source.consumed = source.size
        source.state = {"document": True}

    def state(self) -> dict[str, Any]:
        return _state(self.assembly, self.reader, self.malformed, self.number)


def stretches(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Lines, some at a time; one that has no end by itself, so that what was before it is known.

    To do one thing with many of them and then the next takes a fifth less time than to do everything with one of them after another.
    """
    some: list[Line] = []
    size = 0
    for line in lines:
        if not line.ended and some:
            yield some
            some, size = [], 0
        some.append(line)
        size += len(line.raw)
        if len(some) >= _LINES or size >= _BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


def _chain_of(session: Session) -> Iterable[SessionSource]:
    return session.chain.select_related("source").order_by("position")


def is_document(source: Source) -> bool:
    """Whether what was read of a source was one document, no log. "digests": as it was told before."""
    return not {"document", "digests"}.isdisjoint(source.state or ())


def _documents(source: Source, adapter: Adapter) -> Documents | None:
    """The adapter, where the source is one document."""
    if not isinstance(adapter, Documents):
        return None
    head = b"".join(content(source, until=HEAD))
    claim = adapter.claim(PurePath(source.path.removesuffix(".zst") if source.encoding else source.path), head)
    return adapter if claim is not None and claim.whole else None


def _records(documents: Documents, source: Source) -> Iterator[Line]:
    if source.size > LARGEST:
        return iter([Line(0, b"", True, 1, beyond=source.size - 1)])
    return documents.documents(PurePath(source.path), b"".join(content(source)))


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


def mark_counted_elsewhere(session: Session, *, since: int) -> None:
    """Steps whose answer another session of the workspace has counted already are copies (forks, continued and resumed sessions).

    From here on the transaction has its turn (`in_turn`).
    """
    in_turn(session.workspace_id, session.agent)
    mine = session.steps.filter(response_id__isnull=False, copied=False, n__gte=since)
    answers = mine.values("response_id") if since <= 1 else list(mine.values_list("response_id", flat=True))
    known = StepRow.objects.filter(
        session__workspace_id=session.workspace_id,
        session__agent=session.agent,
        session__superseded_by=None,
        copied=False,
        response_id__in=answers,
    )
    found = set(known.exclude(session_id=session.pk).values_list("response_id", *_PROMPT))
    twice = {answer for answer, *_figures in found}
    if any(len(answer) < TELLING for answer in twice):
        # Such an id may be of another answer altogether; that one's prompt was hardly as long to the token.
        here = mine.filter(response_id__in=twice).values_list("response_id", *_PROMPT)
        twice = {row[0] for row in here if len(row[0]) >= TELLING or row in found}
    if twice:
        mine.filter(response_id__in=twice).update(copied=True)


def sums(session: Session, *, since: int = 1, copied: bool = False) -> dict[str, int | None]:
    """What a session's own steps from `since` on add up to; or those that count where they were requested."""
    with connection.cursor() as cursor:
        # By hand: to put it together from models takes longer than to sum the steps of a session.
        cursor.execute(
            "SELECT sum(fresh), sum(cache_read), sum(cache_write), sum(output), sum(reasoning), count(*) FROM agent_sessions_step "
            "WHERE session_id = %s AND copied = %s AND n >= %s",
            [session.pk, copied, since],
        )
        return dict(zip((*_SUMMED, "steps"), cursor.fetchone(), strict=True))


def copied_of(session: Session) -> dict[str, int | None]:
    """What the steps add up to that a session has, and that count where they were requested; empty where all are its own."""
    if session.totals.get("steps") == session.steps_count:
        return {}
    return sums(session, copied=True)


def _count(session: Session, before: dict[str, int | None], after: dict[str, int | None]) -> None:
    """Bring the totals up to date: what the steps that may have changed came to before goes, what they come to now is added."""
    if not before:
        session.totals = after
        return
    totals: dict[str, int | None] = {}
    for name, value in after.items():
        whole, was = session.totals.get(name), before[name]
        known = whole is not None or value is not None
        totals[name] = (whole or 0) - (was or 0) + (value or 0) if known else None
    session.totals = totals


def recount(session: Session) -> None:
    """Sum a session's own steps anew, where it changed which of them are its own."""
    session.totals = sums(session)
    session.save(update_fields=["totals"])


def describe(session: Session, going: Going, batch: Taking, modified: datetime | None) -> None:
    """Bring the session's own row up to date; the caller saves it."""
    facts, assembly = going.reader.facts, going.assembly
    session.native_id = clean(facts.native_id) or session.native_id
    session.title = (
        clean(facts.title) or session.title or _title(going.prompt if going.begins else _first_prompt(session))
    )
    session.cwd = clean(facts.cwd)
    session.project = facts.cwd and (clean(PurePath(facts.cwd).name) or None)
    # What a database beside it says (`indexes`) stays, where the session itself says nothing.
    session.branch = clean(facts.branch) or session.branch
    session.agent_version = clean(facts.agent_version)
    session.models_used = clean_json(facts.models)
    session.window = figure(facts.window)
    session.parent_native_id = clean(facts.parent_native_id) or session.parent_native_id
    session.parent_kind = facts.parent_kind or session.parent_kind
    session.parent_call_id = clean(facts.parent_call_id)
    session.facts = clean_json({**session.facts, **facts.extra})
    session.entries_count = assembly.next_seq
    session.turns = assembly.turn
    session.steps_count = assembly.step
    session.malformed = going.malformed
    if batch.first_at is not None and (session.started_at is None or batch.first_at < session.started_at):
        session.started_at = batch.first_at
    if batch.beyond is not None:
        words = f"a record is dated {batch.beyond:%Y-%m-%d}: its time is shown and does not count as the session's last"
        session.problems = list(dict.fromkeys([*session.problems, words]))
    last = batch.last_at or modified
    if last is not None and (session.last_at is None or last > session.last_at):
        session.last_at = last


def _first_prompt(session: Session) -> str:
    return session.entries.filter(opens_turn=True).order_by("seq").values_list("text", flat=True).first() or ""


def _title(prompt: str) -> str:
    return clean(" ".join(prompt.split())[:200]) or ""
