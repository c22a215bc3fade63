"""The verbs on a session's memory: bring it up to date, edit it, choose how it is kept; and the look whether it is time.

One at a time writes the memory of a session: an advisory lock, which a process that dies gives up by dying. Versions are only ever added;
who wrote while another was at it finds out, and does its work again on what is there now.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import Error, IntegrityError, OperationalError, connection, transaction
from django.db.models import Sum
from django.db.models.functions import Now
from psycopg.errors import LockNotAvailable

from compaction import remembered
from compaction.choosing import SUMMARISERS
from compaction.models_memory import MemoryKeeping, MemoryNote
from compaction.notes.asking import ask_for
from compaction.notes.due import WAIT, Since, due
from compaction.notes.editing import TooLong, edited
from compaction.notes.sections import BadText, Notes, render
from compaction.notes.updating import update
from compaction.plan import NotWritten
from compaction.strategies.claude_code import CLEARABLE
from compaction.summarisers import configured
from compaction.summarisers.asking import Asker
from compaction.tools import kind_of
from sessions.contexts import Item
from sessions.fields import to_multirange
from sessions.limits import overrides_of
from sessions.meters.tokens import count
from sessions.models import Entry, Session
from sessions.projection import ancestry
from sessions.ranges import Ranges
from sessions.store import ITEM_COLUMNS, clean, item_of
from sessions.versions import Refused

logger = logging.getLogger(__name__)

BLOCK = 1_000
"""Entries that are taken in at once: between two blocks it is seen whether there is still time."""

RECENT = 24 * 3600
"""Seconds without a new entry after which a session is nobody's work any more: taking in an archive begins no memory."""

AGAIN = 10  # seconds after which a look that came to nothing is sent again
LOOKS = 20  # sessions of one look
POLL = 0.25
LOCKED = 2.0  # seconds that somebody who waits for the memory waits for a session that is locked
_ROLLED_BACK = ("rewind", "rollback", "revert")


class TooLate(Exception):
    """There is no time left to wait for the memory."""


def _nobody() -> None:
    pass


@dataclass(slots=True)
class Patience:
    """How long somebody waits. `watch` may raise where it is no longer wanted at all. Clock and sleep are the process's own, unless a test
    says otherwise.
    """

    seconds: float | None = None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep
    watch: Callable[[], None] = _nobody
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    @property
    def left(self) -> float | None:
        """Seconds; None: without end."""
        return None if self.seconds is None else max(0.0, self.began + self.seconds - self.clock())

    @property
    def over(self) -> bool:
        return self.left == 0

    def look(self) -> None:
        """Raise TooLate where the time is over."""
        self.watch()
        if self.over:
            raise TooLate


@dataclass(frozen=True, slots=True)
class Brought:
    """What bringing it up to date came to. `row`: the version that holds; `new`: it was written now; `whole`: nothing is left to take in."""

    row: MemoryNote | None
    new: bool
    whole: bool


# ── bringing it up to date ─────────────────────────────────────────────────────────────────────────────────────────


def bring_up_to_date(
    session: Session, *, reason: str, upto: int | None = None, by: Any = None, patience: Patience | None = None
) -> Brought:
    """Take in the entries since the last time, by the summariser that the session's memory is kept with.

    `upto`: no entry behind that one. With `patience` what has been taken in when the time is over is kept, and `whole` says that it is not
    all; a model's answer that is not there by then is given up. Raises TooLate where another is at it until then, and NotWritten where a
    model gives none. Outside any transaction.
    """
    patience = patience or Patience()
    with _alone(session, patience):
        for _ in range(3):
            base = remembered.newest(session)
            notes, writer, whole = _taken_in(session, remembered.notes_of(base), upto, patience)
            if notes == remembered.notes_of(base):
                return Brought(base, new=False, whole=whole)
            row = _write(session, base, notes, MemoryNote.Origin.UPDATE, writer, reason, by, patience)
            if row is not None:
                return Brought(row, new=True, whole=whole)
        raise Refused(
            "busy", "The memory was edited again and again while it was brought up to date; nothing is lost. Try again."
        )


def before_run(
    session: Session,
    upto: int,
    told: Callable[[str], None],
    *,
    watch: Callable[[], None] = _nobody,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> None:
    """Before a run folds anything its memory is brought up to date. The run waits WAIT seconds for that, then goes on without; nothing but
    what `watch` or the database raises keeps it from going on.
    """
    keeping = remembered.keeping_of(session)
    if not settings.SESSION_MEMORY or not keeping.on:
        return
    unwanted: list[BaseException] = []

    def still_wanted() -> None:
        try:
            watch()
        except BaseException as error:
            unwanted.append(error)
            raise

    try:
        patience = Patience(WAIT, clock, sleep, still_wanted)
        found = bring_up_to_date(session, reason="before a compaction", upto=upto, patience=patience)
        if not found.whole:
            told(f"the session's memory was not whole after {WAIT:g} s; going on with what is in it")
        elif found.new and found.row is not None:
            told(f"brought the session's memory up to entry {found.row.until}")
    except TooLate:
        told(f"the session's memory was not ready after {WAIT:g} s; going on without")
    except Error:
        raise
    except (NotWritten, Refused) as failure:
        told(f"the session's memory was not brought up to date ({failure}); going on without")
    except Exception as error:
        if unwanted:
            raise
        logger.exception("the memory of session %s", session.pk)
        told(f"the session's memory was not brought up to date ({type(error).__name__}); going on without")


def _taken_in(session: Session, notes: Notes, upto: int | None, patience: Patience) -> tuple[Notes, str, bool]:
    """The notes with what is there to take in, who wrote them, and whether that is all."""
    keeping = remembered.keeping_of(session)
    gone = rolled_back(session)
    if keeping.summariser == "llm":
        asker = _asker(session, configured.named(keeping.model), patience)
        items = list(_entries(session, notes.until, upto, None))
        capacity = configured.capacity(asker.model, asker.overrides)
        kept = [item for item in items if item.seq not in gone]
        return ask_for(notes, kept, capacity, count, asker.ask), f"llm:{asker.model.name}", True
    while True:
        size, before = BLOCK, notes
        items = list(_entries(session, notes.until, upto, size))
        notes = update(notes, items, count, title=session.title, gone=gone)
        while notes.until == before.until and len(items) == size:  # calls that wait for each other over a whole block
            size *= 4
            items = list(_entries(session, notes.until, upto, size))
            notes = update(notes, items, count, title=session.title, gone=gone)
        if len(items) < size:
            return notes, "extractive", True
        if patience.over:
            return notes, "extractive", False
        patience.watch()


def _entries(session: Session, after: int, upto: int | None, most: int | None) -> Iterator[Item]:
    rows = Entry.objects.filter(session=session, sent=True, lane="", seq__gt=after)
    if upto is not None:
        rows = rows.filter(seq__lte=upto)
    found = rows.order_by("seq").values_list(*ITEM_COLUMNS, named=True)
    return (item_of(row) for row in (found if most is None else found[:most]))


def rolled_back(session: Session) -> Ranges:
    """Entries that a rewind or roll back on the way to the version in force took out of the conversation."""
    gone = Ranges()
    hidden = Ranges()
    for version in ancestry(session.current):
        if version.kind in _ROLLED_BACK:
            gone |= version.hidden - hidden
        hidden = version.hidden
    return gone


def _asker(session: Session, target: configured.Target, patience: Patience) -> Asker:
    second = configured.fallback(target)
    return Asker(
        run_id=None,
        session_id=session.pk,
        models=[target] if second is None else [target, second],
        overrides=overrides_of(session.workspace_id),
        watch=patience.look,
        sleep=patience.sleep,
    )


def _write(
    session: Session,
    base: MemoryNote | None,
    notes: Notes,
    origin: str,
    writer: str,
    reason: str,
    by: Any,
    patience: Patience | None = None,
) -> MemoryNote | None:
    """Add a version behind `base`; None where another has done so. Raises TooLate where the session is held for longer than there is patience:
    a run or an ingest holds up nothing that only names it, but who takes it away does.
    """
    stored = Notes.from_json(_storable(notes.to_json()))
    try:
        with transaction.atomic():
            if patience is not None and (left := patience.left) is not None:
                _set("SET LOCAL lock_timeout = %s", max(1, int(min(left, LOCKED) * 1000)))
            return MemoryNote.objects.create(
                session=session,
                n=1 if base is None else base.n + 1,
                origin=origin,
                until=stored.until,
                notes=stored.to_json(),
                tokens=count([render(stored)])[0],
                writer=writer,
                reason=reason,
                by=by if getattr(by, "pk", None) is not None else None,
            )
    except IntegrityError:
        return None
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            raise TooLate from error
        raise


def _set(statement: str, milliseconds: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, [milliseconds])


def _storable(value: Any) -> Any:
    """JSON that the database can hold, whatever a transcript contains."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): _storable(one) for key, one in value.items()}
    return [_storable(one) for one in value] if isinstance(value, list) else value


@contextmanager
def _alone(session: Session, patience: Patience) -> Iterator[None]:
    """Hold the memory of a session alone. Raises TooLate where another has it until the time is over."""
    name = f"memory:{session.pk}"
    while not _said("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", name):
        patience.look()
        patience.sleep(POLL)
    try:
        yield
    finally:
        _said("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", name)


def _said(statement: str, name: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, [name])
        return bool(cursor.fetchone()[0])


# ── a person's hand ────────────────────────────────────────────────────────────────────────────────────────────────


def edit(session: Session, text: str, *, base: int | None = None, by: Any = None) -> MemoryNote:
    """Write a person's text as a version of its own. `base`: the version they saw; what came since stays.

    Refused (bad_memory) for a text without the ten headings or longer than there is room for, (nothing_to_do) where it changes nothing.
    """
    for _ in range(3):
        newest = remembered.newest(session)
        seen = newest if base is None or newest is None else remembered.version_of(session, base)
        before = remembered.notes_of(newest)
        try:
            after = edited(remembered.notes_of(seen), before, clean(text) or "", count)
        except (BadText, TooLong) as wrong:
            raise Refused("bad_memory", f"{str(wrong)[:1].upper()}{str(wrong)[1:]}. Nothing was changed.") from wrong
        if after == before:
            raise Refused("nothing_to_do", "This text says what the memory says already.")
        row = _write(session, newest, after, MemoryNote.Origin.EDIT, "edited", "", by)
        if row is not None:
            return row
    raise Refused("busy", "The memory is being written again and again; nothing was changed. Try again.")


def keep_with(
    session: Session, *, on: bool | None = None, summariser: str | None = None, model: str | None = None
) -> MemoryKeeping:
    """Choose how a session's memory is kept. Refused for a summariser or model that there is none of."""
    values: dict[str, Any] = {} if on is None else {"on": on}
    if summariser is not None:
        if summariser not in SUMMARISERS:
            raise Refused(
                "no_such_summariser", f"There is no summariser {summariser!r}; there are: {', '.join(SUMMARISERS)}."
            )
        target = configured.named(model) if summariser == "llm" else None
        values |= {"summariser": summariser, "model": None if target is None else target.name}
    row, _ = MemoryKeeping.objects.update_or_create(session=session, defaults=values)
    return row


# ── looking whether it is time ─────────────────────────────────────────────────────────────────────────────────────

_DUE = """
    INSERT INTO compaction_memorykeeping (session_id, "on", summariser, looked_seq, words, at)
    SELECT s.id, true, 'extractive', -1, 'due', clock_timestamp()
    FROM agent_sessions_session s LEFT JOIN compaction_memorykeeping k ON k.session_id = s.id
    WHERE s.last_at > clock_timestamp() - make_interval(secs => %(recent)s) AND s.entries_count > 0 AND s.superseded_by_id IS NULL
        AND coalesce(k."on", true) AND coalesce(k.looked_seq, -1) < s.entries_count - 1
        AND (k.words IS DISTINCT FROM 'due' OR k.at < clock_timestamp() - make_interval(secs => %(again)s))
    ORDER BY s.last_at DESC LIMIT %(most)s
    ON CONFLICT (session_id) DO UPDATE SET words = 'due', at = clock_timestamp()
    RETURNING session_id
"""


def to_look_at() -> list[UUID]:
    """Sessions that have grown since somebody last looked; they are marked, so that two who ask at once do not both get them."""
    if not settings.SESSION_MEMORY:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_DUE, {"recent": RECENT, "again": AGAIN, "most": LOOKS})
        return [row[0] for row in cursor.fetchall()]


def look(session_id: UUID) -> Brought | None:
    """Bring a session's memory up to date where it is time; None where it is not. What came of it is noted."""
    session = Session.objects.select_related("head", "native_head").filter(pk=session_id).first()
    if session is None:
        return None
    last = session.entries_count - 1
    reason = due(since(session))
    found: Brought | None = None
    words = "not yet"
    if reason:
        try:
            found = bring_up_to_date(session, reason=reason)
            words = reason
        except (NotWritten, Refused) as failure:
            words = f"{reason}, but it was not brought up to date: {failure}"
    MemoryKeeping.objects.update_or_create(
        session=session, defaults={"looked_seq": last, "words": clean(words) or "", "at": Now()}
    )
    return found


def since(session: Session) -> Since:
    """What has come since the session's memory was last brought up to date. Reads texts only where little has come."""
    row = remembered.newest(session)
    until = -1 if row is None else row.until
    new = Entry.objects.filter(session=session, sent=True, lane="", seq__gt=until)
    hidden = session.current.hidden if session.current is not None else Ranges()
    tokens = new.aggregate(n=Sum("tokens"))["n"] or 0
    if row is None and hidden:
        # Of a context that was compacted already only what is still sent counts as its size.
        sent = new.extra(where=["NOT (%s::int4multirange @> seq)"], params=[to_multirange(hidden)])
        tokens = sent.aggregate(n=Sum("tokens"))["n"] or 0
    calls = list(new.filter(kind="tool_call").values_list("tool", "call_ids"))
    answered = new.filter(kind="tool_result").count()
    clearable = sum(len(ids or ()) or 1 for tool, ids in calls if kind_of(tool or "") in CLEARABLE)
    last = new.order_by("-seq").values_list("kind", "role", named=True).first()
    pause = last is not None and last.kind == "message" and last.role == "assistant"
    return Since(tokens, len(calls), min(clearable, answered), pause, begun=row is not None)
