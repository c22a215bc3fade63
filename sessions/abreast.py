"""Work on many things abreast: in processes of their own, as many as the machine has cores, started once there is enough to do."""

from __future__ import annotations

import importlib
import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager

from django.conf import settings

from sessions import aside

MOST = 8  # processes: beyond, the database is what they wait for

# Each is made of a clean process: one made of this, with its threads and its connection, may wait forever for what those held.
_METHOD = "forkserver" if sys.platform == "linux" else "spawn"

_BEGUN = "sessions.begun"

log = logging.getLogger(__name__)


def usual() -> int:
    """How many processes make sense here, or as many as the settings say."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return settings.INGEST_PROCESSES or min(MOST, there or 1)


class Crew:
    """Processes that are started when they are first asked for something, and kept. To be had from `crew`."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._pool: ProcessPoolExecutor | None = None

    def each[T, R](self, work: Callable[[T], R], jobs: Sequence[T]) -> Iterator[tuple[int, R]]:
        """What `work`, a function of a module, makes of each job: with the job's number, as they are done. The first error ends it.

        Where a process dies (for want of memory, say), what is not done by then is done here, one after the other.
        """
        left = dict(enumerate(jobs))
        try:
            pool = self._started()
            under_way = {pool.submit(work, job): n for n, job in left.items()}
            for future in as_completed(under_way):
                n, found = under_way[future], future.result()
                del left[n]
                yield n, found
        except BrokenExecutor:
            log.warning("a process that worked beside this one died; the %d jobs left are done here", len(left))
            self.end()
            for n, job in left.items():
                yield n, work(job)

    @property
    def processes(self) -> tuple[int, ...]:
        """The numbers of those that are started."""
        return tuple(self._pool._processes or ()) if self._pool is not None else ()  # noqa: SLF001 -- no other way to them

    def end(self) -> None:
        """End the processes, whatever they are at: a transaction that is under way is rolled back."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        for process in tuple((pool._processes or {}).values()):  # noqa: SLF001 -- `kill_workers` is of Python 3.14
            process.kill()
        pool.shutdown(cancel_futures=True)

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context(_METHOD)
            context.set_forkserver_preload([_BEGUN])
            self._pool = ProcessPoolExecutor(self.size, mp_context=context, initializer=_begin)
        return self._pool


@contextmanager
def crew(size: int) -> Iterator[Crew | None]:
    """So many processes for as long as this lasts; None where it is one, which is this."""
    if size <= 1:
        yield None
        return
    found = Crew(size)
    try:
        yield found
    finally:
        found.end()


def _begin() -> None:
    """What a process does first."""
    # Signals for a terminal's or a service's whole group are for the one that started these, and ends them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    aside.none()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    importlib.import_module(_BEGUN)  # where processes are no copies of one that has read it


def _end_with_parent() -> None:
    """One that is killed ends nothing: its processes would wait for work forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
