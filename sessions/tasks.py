"""Messages: sessions that came in are looked through for search by a worker, within seconds, and never while they are taken in."""

from __future__ import annotations

import logging
from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.db import connection, connections

from sessions.search.index import index_waiting
from sessions.search.merging import merge_all
from sessions.search.waiting import waiting

logger = logging.getLogger(__name__)

EVERY = 5.0  # seconds between two looks for sessions that wait
SLICE = 20.0  # seconds that one message works, so that others come to their turn
_ALONE = 7742  # the lock of whoever is at it


@shared_task(name="sessions.index")  # type: ignore[untyped-decorator]  # Celery carries no types
def index() -> None:
    """Look through what waits, for a while. May be delivered twice: the second finds the first at it, or nothing left."""
    if not _alone():
        return
    try:
        index_waiting(seconds=SLICE)
        merge_all()
    finally:
        _not_alone()


def _alone() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [_ALONE])
        return bool(cursor.fetchone()[0])


def _not_alone() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock(%s)", [_ALONE])


@worker_ready.connect  # type: ignore[untyped-decorator]  # as above
def _watch_over_search(sender: Any, **kwargs: Any) -> None:
    """Every worker looks, at its start and then again and again, whether there is anything to look through."""
    sender.timer.call_repeatedly(EVERY, _send_quietly)
    _send_quietly()


def _send_quietly() -> None:
    try:
        # Only asked: whoever is at it goes on by itself, and a second message would find nothing to do.
        if waiting() and _alone():
            _not_alone()
            index.delay()
    except Exception:  # the worker goes on; the next look may find the database and the broker back
        logger.warning("cannot look for sessions to index", exc_info=True)
    finally:
        # A child forked later must not inherit an open connection.
        connections.close_all()
