"""Looks entries through for search, after they were taken in: a stretch at a time, each in a transaction of its own.

A worker does it within seconds (`sessions/tasks`), `reindex` at once. Taking in pays nothing for it, and waits for it only where it
takes entries away from the very stretch that is being written.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection, transaction

from sessions.models import Entry, Session
from sessions.models_search import SearchPosting, SearchStretch, SearchWord
from sessions.packing import unpack
from sessions.search import bits, texts
from sessions.search.statements import LOCK
from sessions.search.waiting import next_waiting
from sessions.search.words import tokens_of, words_of
from sessions.store import clean, copying

BLOCK = 500  # entries of one read
FULL = 500_000  # places of words in a stretch beyond which it ends, so that memory stays bounded whatever entries hold
CACHED = 200_000  # words whose numbers one indexer remembers
log = logging.getLogger(__name__)

_COLUMNS = ("seq", "kind", "tool", "at", "sent", "is_error", "problem", "parts")


class Gathered:
    """What one stretch holds, until it is written."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.stop = first
        self.tokens: dict[str, list[int]] = {}
        self.filed: dict[str, list[int]] = {}
        self.classes = [0] * len(texts.CLASSES)
        self.size = 0

    @property
    def full(self) -> bool:
        return self.stop - self.first >= bits.MOST or self.size >= FULL

    def add(self, row: tuple[Any, ...]) -> None:
        """Take in the next entry. Records that are never sent count where they are malformed or an error, as in the transcript."""
        seq, kind, tool, at, sent, is_error, problem, parts = row
        place = seq - self.first
        self.stop = seq + 1
        wrong = is_error or kind == "malformed" or problem is not None
        if not (sent or wrong):
            return
        self.classes[texts.class_of(kind) if sent else texts.CLASSES.index("unsent")] |= 1 << place
        if wrong:
            self.classes[texts.ERRORS] |= 1 << place
        held = unpack(parts)
        for token in set(tokens_of(texts.text_of(held))):
            known = self.tokens.get(token)
            if known is None:
                self.tokens[token] = [place]
            else:
                known.append(place)
            self.size += 1
        if at is not None:
            self._file(texts.day_word(at), place)
        if tool:
            self._file(texts.tool_word(tool), place)
            for path in texts.files_named(tool, held):
                for name in texts.file_words(path):
                    self._file(name, place)

    def _file(self, word: str, place: int) -> None:
        known = self.filed.setdefault(word, [])
        if not known or known[-1] != place:
            known.append(place)

    def places(self) -> dict[str, list[int]]:
        """The places of every word, ascending."""
        found: dict[str, list[list[int]]] = {}
        for token, places in self.tokens.items():
            for word in words_of(token):
                found.setdefault(word, []).append(places)
        merged = {word: lists[0] if len(lists) == 1 else sorted(set().union(*lists)) for word, lists in found.items()}
        # The database holds no NUL, and no half of a surrogate pair.
        for word, places in self.filed.items():
            merged[clean(word) or word] = places
        return merged


class Indexer:
    """Looks sessions through, and remembers the numbers of words between them."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def session(self, session_id: UUID) -> int:
        """Look through what is not yet; how many entries that were. Ends early where entries are being taken away at this moment."""
        done = 0
        while (more := self._stretch(session_id)) is not None:
            done += more
        return done

    def _stretch(self, session_id: UUID) -> int | None:
        """One stretch more; None where there is none, or not now."""
        fresh: dict[str, int] = {}
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_try_advisory_xact_lock(%s, hashtext(%s) & 63)", [LOCK, str(session_id)])
                if not cursor.fetchone()[0]:
                    return None
            total = Session.objects.filter(pk=session_id).values_list("entries_count", flat=True).first()
            until = _until(session_id)
            if total is None or until >= total:
                return None
            stretch = self._gather(session_id, _absorbed(session_id, until, total))
            if (
                stretch.stop <= until
            ):  # its row counts entries that are not there: the row is behind, or ahead, of a taking in
                return None
            self._write(session_id, stretch, fresh)
        # Only now: a transaction that is undone takes its new words' numbers back.
        if len(self._numbers) + len(fresh) > CACHED:
            self._numbers.clear()
        self._numbers.update(fresh)
        return stretch.stop - until

    def _gather(self, session_id: UUID, first: int) -> Gathered:
        found = Gathered(first)
        rows = Entry.objects.filter(session_id=session_id).order_by("seq").values_list(*_COLUMNS)
        while block := list(rows.filter(seq__gte=found.stop)[:BLOCK]):
            for row in block:
                found.add(row)
                if found.full:
                    return found
        return found

    def _write(self, session_id: UUID, found: Gathered, fresh: dict[str, int]) -> None:
        width = (found.stop - found.first + 7) // 8
        row = SearchStretch.objects.create(
            session_id=session_id,
            first=found.first,
            stop=found.stop,
            classes=b"".join(one.to_bytes(width, "little") for one in found.classes),
        )
        places = found.places()
        numbers = self._numbered(places, fresh)
        with copying(SearchPosting._meta.db_table, ("word", "stretch", "places")) as write:
            for number, word in sorted((numbers[word], word) for word in places):
                write((number, row.pk, bits.packed(places[word])))

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


def _numbers_of(words: list[str]) -> dict[str, int]:
    if not words:
        return {}
    with connection.cursor() as cursor:
        cursor.execute("SELECT word, id FROM agent_sessions_searchword WHERE word = ANY(%s)", [words])
        return dict(cursor.fetchall())


def _until(session_id: UUID) -> int:
    last = SearchStretch.objects.filter(session_id=session_id).order_by("-first").values_list("stop", flat=True).first()
    return last or 0


def _absorbed(session_id: UUID, until: int, total: int) -> int:
    """Where the next stretch begins: short ones at the end, which a growing session leaves, are taken into it."""
    first = until
    short = SearchStretch.objects.filter(session_id=session_id).order_by("-first").values_list("pk", "first", "stop")
    gone: list[int] = []
    for pk, start, stop in short[:20]:
        if stop - start > 2 * (total - stop) or total - start > bits.MOST:
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
    while found := next_waiting(50, but=seen, workspace_id=workspace_id):
        for session_id in found:
            if seconds is not None and time.monotonic() - started > seconds:
                return sessions, entries
            seen.add(session_id)
            try:
                more = indexer.session(session_id)
            except (OperationalError, InterfaceError):
                raise
            except Exception:
                # One session must not keep the others from being found; the next look tries it again.
                log.exception("looking through session %s failed", session_id)
                continue
            sessions += 1
            entries += more
            if told is not None:
                told(session_id, more)
    return sessions, entries
