"""Looks entries through for search, after they were taken in: a volume at a time, each in a transaction of its own.

A worker does it within seconds (`sessions/tasks`), `reindex` at once. Taking in pays nothing for it, and waits for it only where it
takes entries away from a session that is being looked through.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection, transaction

from sessions.models import Entry, Insertion, Session, Version
from sessions.models_search import SearchPosting, SearchStretch, SearchVolume, SearchWord
from sessions.packing import unpack
from sessions.search import bits, texts
from sessions.search.gathered import Gathered
from sessions.search.statements import LOCK
from sessions.search.waiting import next_waiting, versions_waiting
from sessions.search.words import is_filed
from sessions.store import clean, copying

BLOCK = 500  # entries of one read
LEAST = 512  # places for which a session is still begun in a volume, to go on in the next
MOST_INSERTED = 1_024  # insertions of one version that are looked through
CACHED = 200_000  # words whose numbers one indexer remembers
log = logging.getLogger(__name__)

_COLUMNS = ("seq", "kind", "tool", "at", "sent", "is_error", "problem", "parts")


class Indexer:
    """Looks sessions through, and remembers the numbers of words between them."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def session(self, session_id: UUID) -> int:
        """Look through what is not yet; how many entries that were. Ends early where entries are being taken away at this moment."""
        workspace_id = Session.objects.filter(pk=session_id).values_list("workspace_id", flat=True).first()
        queue, done = deque([session_id]), 0
        while queue and workspace_id is not None:
            done += sum(self.volume(workspace_id, queue).values())
        return done

    def volume(self, workspace_id: Any, queue: deque[UUID]) -> dict[UUID, int]:
        """One volume of what waits in these sessions; how many entries of each that was. Sessions that are done with leave the queue."""
        fresh: dict[str, int] = {}
        found = Gathered()
        done: dict[UUID, int] = {}
        with transaction.atomic():
            while queue:
                if found.laid and found.room < LEAST and found.room < _left(queue[0]):
                    break
                # Its lock keeps those who take entries away waiting until the volume is written.
                done[queue[0]], ended = _gathered(found, queue[0]) if _locked(queue[0]) else (0, True)
                if not ended:
                    break
                queue.popleft()
            if found.laid:
                self._write(workspace_id, found, fresh)
        # Only now: a transaction that is undone takes its new words' numbers back.
        if len(self._numbers) + len(fresh) > CACHED:
            self._numbers.clear()
        self._numbers.update(fresh)
        return done

    def _write(self, workspace_id: Any, found: Gathered, fresh: dict[str, int]) -> None:
        volume = SearchVolume.objects.create(workspace_id=workspace_id, size=found.size, classes=found.classes_kept())
        SearchStretch.objects.bulk_create(
            SearchStretch(
                session_id=one.session, version_id=one.version, volume=volume, at=one.at, first=one.first, stop=one.stop
            )
            for one in found.laid
        )
        # The database holds no NUL, and no half of a surrogate pair; only paths and tools may.
        places = {(clean(word) or word) if is_filed(word) else word: held for word, held in found.places().items()}
        numbers = self._numbered(places, fresh)
        with copying(SearchPosting._meta.db_table, ("word", "volume", "places")) as write:
            for number, word in sorted((numbers[word], word) for word in places):
                write((number, volume.pk, bits.packed(places[word])))

    def _numbered(self, words: Iterable[str], fresh: dict[str, int]) -> dict[str, int]:
        known = {word: number for word in words if (number := self._numbers.get(word)) is not None}
        missing = sorted(word for word in words if word not in known)
        fresh.update(_numbers_of(missing))
        new = [word for word in missing if word not in fresh]
        if new:
            # In order, so that two indexers cannot wait for one another.
            SearchWord.objects.bulk_create(
                (SearchWord(word=word) for word in new), batch_size=5000, ignore_conflicts=True
            )
            fresh.update(_numbers_of(new))
        return known | fresh


def _locked(session_id: UUID) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, hashtext(%s) & 63)", [LOCK, str(session_id)])
        return bool(cursor.fetchone()[0])


def _gathered(found: Gathered, session_id: UUID) -> tuple[int, bool]:
    """Read what waits of a session; how many entries that was, and whether it is all. One that cannot be read is left out, and said:
    it must not keep the others from being found, and the next look tries it again.
    """
    before = len(found.laid)
    try:
        with transaction.atomic():
            return _gather(found, session_id)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("looking through session %s failed", session_id)
        found.give_up(before)
        return 0, True


def _gather(found: Gathered, session_id: UUID) -> tuple[int, bool]:
    before = len(found.laid)
    total = Session.objects.filter(pk=session_id).values_list("entries_count", flat=True).first()
    if total is None:
        return 0, True
    until = _until(session_id)
    stop = until
    if until < total:
        found.begin(session_id, _absorbed(session_id, until, total, found.room))
        ended = _entries(found, session_id)
        stop = found.laid[-1].stop
        if stop <= until:  # its row counts entries that are not there: it is behind, or ahead of, a taking in
            found.give_up(before)
            return 0, True
        if not ended and stop < total:
            return stop - until, False
    for version in versions_waiting(session_id):
        if found.room < MOST_INSERTED:
            return stop - until, False
        found.begin(session_id, 0, version)
        _inserted(found, version)
    return stop - until, True


def _left(session_id: UUID) -> int:
    total = Session.objects.filter(pk=session_id).values_list("entries_count", flat=True).first()
    return (total or 0) - _until(session_id)


def _entries(found: Gathered, session_id: UUID) -> bool:
    """Add entries to the stretch that was begun; whether the session ends with them."""
    rows = Entry.objects.filter(session_id=session_id).order_by("seq").values_list(*_COLUMNS)
    while block := list(rows.filter(seq__gte=found.laid[-1].stop)[:BLOCK]):
        for row in block:
            if found.full:
                return False
            found.add(row[:-1], unpack(row[-1]))
    return True


def _inserted(found: Gathered, version_id: int) -> None:
    """Add what a version puts in and its parent does not."""
    version = Version.objects.only("parent_id", "made_at").get(pk=version_id)
    above = set(_insertions(version.parent_id)) if version.parent_id is not None else set()
    for n, row in enumerate(_insertions(version_id)):
        _after, kind, parts = row
        found.add_inserted(n, kind, None if row in above else unpack(parts), texts.day_word(version.made_at))


def _insertions(version_id: int) -> Sequence[tuple[int, str, bytes]]:
    rows = Insertion.objects.filter(version_id=version_id, replaces=None).order_by("position")
    return [
        (after, kind, bytes(parts)) for after, kind, parts in rows.values_list("after", "kind", "parts")[:MOST_INSERTED]
    ]


def _numbers_of(words: list[str]) -> dict[str, int]:
    if not words:
        return {}
    with connection.cursor() as cursor:
        cursor.execute("SELECT word, id FROM agent_sessions_searchword WHERE word = ANY(%s)", [words])
        return dict(cursor.fetchall())


def _until(session_id: UUID) -> int:
    rows = SearchStretch.objects.filter(session_id=session_id, version=None).order_by("-first")
    return rows.values_list("stop", flat=True).first() or 0


def _absorbed(session_id: UUID, until: int, total: int, room: int) -> int:
    """Where the next stretch begins: short ones at the end, which a growing session leaves, are taken into it."""
    first = until
    short = SearchStretch.objects.filter(session_id=session_id, version=None).order_by("-first")
    gone: list[int] = []
    for pk, start, stop in short.values_list("pk", "first", "stop")[:20]:
        if stop - start > 2 * (total - stop) or total - start > room:
            break
        gone.append(pk)
        first = start
    if gone:
        SearchStretch.objects.filter(pk__in=gone).delete()
    return first


def forget(workspace_id: Any) -> None:
    """Let all of a workspace be looked through anew."""
    SearchStretch.objects.filter(session__workspace_id=workspace_id).delete()


def index_waiting(
    *, workspace_id: Any = None, seconds: float | None = None, told: Callable[[UUID, int], None] | None = None
) -> tuple[int, int]:
    """Look through sessions that wait, the newest first, for about so many seconds (None: to the end); how many sessions and entries.

    `told` hears of every session that is done.
    """
    started = time.monotonic()
    indexer = Indexer()
    seen: set[UUID] = set()
    sessions = entries = 0
    while found := next_waiting(1_000, but=seen, workspace_id=workspace_id):
        for where, queue in _by_workspace(found).items():
            while queue:
                if seconds is not None and time.monotonic() - started > seconds:
                    return sessions, entries
                for session_id, more in _volume(indexer, where, queue).items():
                    sessions += 1
                    entries += more
                    if told is not None:
                        told(session_id, more)
        seen.update(session_id for session_id, _ in found)
    return sessions, entries


def _by_workspace(found: Iterable[tuple[UUID, Any]]) -> dict[Any, deque[UUID]]:
    out: dict[Any, deque[UUID]] = {}
    for session_id, workspace_id in found:
        out.setdefault(workspace_id, deque()).append(session_id)
    return out


def _volume(indexer: Indexer, workspace_id: Any, queue: deque[UUID]) -> dict[UUID, int]:
    """A volume of the queue; where it cannot be written, its first session alone, and the others later."""
    tried = list(queue)
    try:
        return indexer.volume(workspace_id, queue)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("looking through session %s failed", tried[0])
    queue.clear()
    queue.extend(tried[1:])
    if len(tried) == 1:
        return {}
    return _volume(indexer, workspace_id, deque(tried[:1]))
