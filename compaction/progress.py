"""A run being carried out: claimed, heard of, cancelled, ended. Every write is fenced by the attempt that makes it.

A worker that was taken for dead and is not finds its attempt gone at its next write and stops; so two workers never write one run.
All times are the database's, so that machines whose clocks differ agree on who is late.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import Error, connection
from django.db.models import QuerySet
from django.db.models.functions import Now

from compaction.models import Run

logger = logging.getLogger(__name__)

CHANNEL = "palimpsest_runs"
"""Where every change of a run is told (`NOTIFY`), with the run's id."""

MISSED = 5  # heartbeats without a word after which a worker counts as gone


def heartbeat_seconds() -> int:
    return int(settings.RUN_HEARTBEAT_SECONDS)


def attempts_allowed() -> int:
    """How often a run is tried whose worker dies in the middle: once, unless the operator says otherwise.

    Once means that what a person asked for either happens soon after or never: a head that moves long after a crash surprises.
    """
    return int(settings.RUN_ATTEMPTS)


def stale_seconds() -> int:
    return heartbeat_seconds() * MISSED


class Lost(Exception):
    """The run is no longer this attempt's: another worker has it, or it has ended."""


class CancelAsked(Exception):
    """A person wants the run to stop."""


@dataclass(slots=True)
class Claim:
    """One attempt at a run. `run` is the row as it was claimed."""

    run: Run
    attempt: int

    def note(self, phase: str, words: str) -> None:
        """Write a line of the log, with a heartbeat. Raises Lost or CancelAsked where there is no going on."""
        line = "jsonb_build_array(jsonb_build_array(round(extract(epoch FROM clock_timestamp() - started_at)::numeric, 2), %s, %s))"
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE compaction_run SET phase = %s, heartbeat_at = clock_timestamp(), log = log || {line} "  # noqa: S608 -- a constant
                "WHERE id = %s AND state = 'running' AND attempts = %s RETURNING cancel_asked",
                [phase, phase, words, self.run.pk, self.attempt],
            )
            row = cursor.fetchone()
        tell(self.run.pk)
        if row is None:
            raise Lost(self.run.pk)
        if row[0]:
            raise CancelAsked(self.run.pk)

    def wanted(self) -> None:
        """Raise Lost or CancelAsked where there is no going on. Writes nothing: for those who wait and look about often."""
        asked = self._mine().values_list("cancel_asked", flat=True).first()
        if asked is None:
            raise Lost(self.run.pk)
        if asked:
            raise CancelAsked(self.run.pk)

    def beat(self) -> bool:
        """Say that this attempt lives; whether it still has the run."""
        return bool(self._mine().update(heartbeat_at=Now()))

    def end(self, state: str, *, status: str | None, reason: str = "", **fields: Any) -> bool:
        """Write the outcome; False where the run was no longer this attempt's (then nothing was written)."""
        ended = self._mine().update(
            state=state, status=status, reason=reason, phase=state, ended_at=Now(), heartbeat_at=Now(), **fields
        )
        tell(self.run.pk)
        return bool(ended)

    def _mine(self) -> QuerySet[Run]:
        return Run.objects.filter(pk=self.run.pk, state=Run.State.RUNNING, attempts=self.attempt)


def claim(run_id: int) -> Claim | None:
    """Take a queued run for this worker; None where another has it or it has ended: a message delivered twice does nothing."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE compaction_run SET state = 'running', attempts = attempts + 1, heartbeat_at = clock_timestamp(), "
            "started_at = coalesce(started_at, clock_timestamp()) WHERE id = %s AND state = 'queued' RETURNING attempts",
            [run_id],
        )
        row = cursor.fetchone()
    if row is None:
        return None
    return Claim(Run.objects.select_related("session", "base").get(pk=run_id), row[0])


@contextmanager
def heartbeat(held: Claim) -> Iterator[None]:
    """Beat from a thread of its own, on a connection of its own, while the block works."""
    stop = threading.Event()

    def work() -> None:
        try:
            while not stop.wait(heartbeat_seconds()):
                try:
                    if not held.beat():
                        return
                except Error as error:  # the database is away: the work itself will find out
                    logger.warning("run %s: no heartbeat: %s", held.run.pk, type(error).__name__)
                    connection.close()
        finally:
            connection.close()

    thread = threading.Thread(target=work, name=f"heartbeat-{held.run.pk}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def tell(run_id: int) -> None:
    """Let those who follow the run know that it changed; inside a transaction, once it commits."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, str(run_id)])
