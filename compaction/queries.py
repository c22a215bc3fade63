"""What pages, API and command line read of runs. Lists are bounded and paged by key; reports stay out of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Now

from compaction.models import Run
from compaction.progress import CHANNEL, stale_seconds
from sessions.models import Session

PAGE = 50
MOST = 200
LOOK_AGAIN = 1.0  # seconds after which a run is read again though nobody told of a change


@dataclass(frozen=True, slots=True)
class Page:
    """Runs, newest first; `next` is the id to go on `before`, None at the end."""

    runs: list[Run]
    next: int | None


def _known() -> QuerySet[Run]:
    return Run.objects.select_related("session", "base", "version", "by").order_by("-pk")


def runs_page(
    workspace: Any,
    *,
    session: Session | None = None,
    state: str | None = None,
    before: int | None = None,
    limit: int = PAGE,
) -> Page:
    """Runs of a workspace (of one session, in one state), without their reports."""
    found = _known().filter(workspace=workspace).defer("report", "edited_summary", "draft")
    if session is not None:
        found = found.filter(session=session)
    if state is not None:
        found = found.filter(state=state)
    if before is not None:
        found = found.filter(pk__lt=before)
    limit = max(1, min(MOST, limit))
    rows = list(found[: limit + 1])
    return Page(rows[:limit], rows[limit - 1].pk if len(rows) > limit else None)


def run_in(workspace: Any, run_id: int) -> Run:
    """A run of a workspace; Run.DoesNotExist for another's, as for none."""
    return _known().get(workspace=workspace, pk=run_id)


def live_run(session: Session) -> Run | None:
    """The run of a session that is queued or running."""
    return _known().filter(session=session, state__in=Run.LIVE).first()


def held_run(session: Session) -> Run | None:
    """The newest run of a session that holds a draft."""
    return _known().filter(session=session, state=Run.State.HELD).first()


def last_run(session: Session) -> Run | None:
    """The newest run of a session, whatever became of it."""
    return _known().filter(session=session).first()


def someone_works() -> bool:
    """Whether any run has a worker that lives: then one that waits is waiting for its turn."""
    return Run.objects.filter(
        state=Run.State.RUNNING, heartbeat_at__gt=Now() - timedelta(seconds=stale_seconds())
    ).exists()


def follow(run_id: int) -> Iterator[Run]:
    """The run as it stands, again at every change and at least each LOOK_AGAIN seconds, until it has ended.

    For a process with a connection of its own (a command), outside any transaction: it listens on that connection.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"LISTEN {CHANNEL}")
    try:
        while True:
            run = _known().get(pk=run_id)
            yield run
            if run.state not in Run.LIVE:
                return
            for _ in connection.connection.notifies(timeout=LOOK_AGAIN, stop_after=1):
                pass
    finally:
        if connection.connection is not None and not connection.connection.closed:
            with connection.cursor() as cursor:
                cursor.execute(f"UNLISTEN {CHANNEL}")
