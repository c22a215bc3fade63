"""Placed entries on their way into the database: counted and packed by a thread beside, written by a COPY that stays open meanwhile.

While a COPY is open the connection does nothing else, so whoever needs it lets the batches rest first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

from django.utils import timezone

from sessions import aside
from sessions.assembly import Placed
from sessions.entries import Part
from sessions.models import Entry, Session
from sessions.packing import unpack
from sessions.store import ENTRY_ROW, Measured, copying_bytes, measure_entries, write_entries

_ENTRIES = 250  # entries that are counted together
_BYTES = (
    256 << 10
)  # bytes of records after which fewer are: also of a short session most is counted while the rest is read
_BEFORE = 4  # batches that may wait for the thread
_AHEAD = timedelta(days=1)  # by which another machine's clock may be ahead
_REST = 8 << 20  # bytes of records after which a COPY is ended, so that the source's own bytes get their turn


class Batches:
    """Takes the entries of one session in order. To be closed, also after an error: nothing is written then."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.written = 0
        self.first_at: datetime | None = None
        self.last_at: datetime | None = None
        self.beyond: datetime | None = None  # a time that nobody can have written yet
        self.goals: dict[str, tuple[int, int]] = {}  # of each goal, how many entries came to it, and their tokens
        self._latest = timezone.now() + _AHEAD
        self._pool: Executor | None = None  # made once there is more than a few entries
        self._waiting: list[Placed] = []
        self._bytes = 0
        self._source: int | None = None
        self._under_way: deque[tuple[int, Sequence[Placed], Future[Measured]]] = deque()
        self._stack: ExitStack | None = None
        self._write: Callable[[bytes], None] | None = None
        self._since = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        if self._stack is not None:
            stack, self._stack = self._stack, None
            stack.__exit__(kind, error, trace)

    @property
    def due(self) -> bool:
        """Whether it is time for a rest."""
        return self._since >= _REST

    def add(self, placed: Placed, source_id: int) -> None:
        if source_id != self._source:
            self._hand_over()
            self._source = source_id
        self._waiting.append(placed)
        self._bytes += placed.length
        self._since += placed.length
        at = placed.entry.at
        if at is not None and at > self._latest:
            self.beyond = at
        elif at is not None:
            self.first_at = at if self.first_at is None else min(self.first_at, at)
            self.last_at = at if self.last_at is None else max(self.last_at, at)
        if len(self._waiting) >= _ENTRIES or self._bytes >= _BYTES:
            self._hand_over()

    def rest(self) -> None:
        """Write all that came; the connection is free then."""
        while self._under_way:
            self._put_next()
        if self._waiting and self._source is not None:
            self._put(self._source, measure_entries(self._waiting))
            self._waiting, self._bytes = [], 0
        self._since = 0
        if self._stack is not None:
            stack, self._stack, self._write = self._stack, None, None
            stack.close()

    def parts_of(self, seq: int) -> tuple[Part, ...]:
        """The parts of an entry that came, wherever it is by now."""
        for placed in (self._waiting, *(placed for _, placed, _ in self._under_way)):
            if placed and placed[0].seq <= seq <= placed[-1].seq:
                return placed[seq - placed[0].seq].entry.parts
        self.rest()
        packed = Entry.objects.filter(session=self.session, seq=seq).values_list("parts", flat=True).first()
        return () if packed is None else unpack(packed)

    def resting(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Blocks that come over the same connection."""
        while True:
            self.rest()
            block = next(blocks, None)
            if block is None:
                return
            yield block

    def _hand_over(self) -> None:
        """Give what waits to the thread, and write what it is done with."""
        if not self._waiting:
            return
        assert self._source is not None
        if self._pool is None:
            self._pool = aside.one()
        self._under_way.append((self._source, self._waiting, self._pool.submit(measure_entries, self._waiting)))
        self._waiting, self._bytes = [], 0
        while self._under_way and (len(self._under_way) > _BEFORE or self._under_way[0][2].done()):
            self._put_next()

    def _put_next(self) -> None:
        source_id, _, measured = self._under_way[0]
        self._put(source_id, measured.result())
        self._under_way.popleft()

    def _put(self, source_id: int, measured: Measured) -> None:
        if self._write is None:
            self._stack = ExitStack()
            self._write = self._stack.enter_context(
                copying_bytes(Entry._meta.db_table, ENTRY_ROW, many=self._pool is not None and aside.threads())
            )
        write_entries(self._write, self.session.pk, source_id, measured)
        for placed, size in zip(measured.placed, measured.sizes, strict=True):
            if placed.goal is not None:
                entries, tokens = self.goals.get(placed.goal, (0, 0))
                self.goals[placed.goal] = (entries + 1, tokens + size.tokens)
        self.written += len(measured.placed)
