"""Runs whose worker is gone: found by their silence, queued again or ended. Any process may look, at any time."""

from __future__ import annotations

import logging

from django.db import connection

from compaction import progress
from compaction.models import ModelCall, Run

logger = logging.getLogger(__name__)

_LINE = (
    "jsonb_build_array(jsonb_build_array("
    "round(extract(epoch FROM clock_timestamp() - started_at)::numeric, 2), 'worker gone', 'no word from its worker'))"
)
_TRIED = "(attempts - (draft IS NOT NULL)::int)"  # the attempt that wrote the draft did what it was to do
_LANDED = "version_id IS NOT NULL"  # it was telling its hooks, or about to: the head has moved
_ENDS = (
    f"CASE WHEN {_LANDED} THEN 'completed' WHEN cancel_asked THEN 'cancelled' "
    f"WHEN {_TRIED} < %(attempts)s THEN 'queued' ELSE 'failed' END"
)
_SETTLE = f"""
    UPDATE compaction_run SET
        state = {_ENDS}, phase = {_ENDS}, log = log || {_LINE}, heartbeat_at = clock_timestamp(),
        status = CASE WHEN {_LANDED} THEN status WHEN cancel_asked OR {_TRIED} >= %(attempts)s THEN 'interrupted' END,
        reason = CASE
            WHEN {_LANDED} THEN 'Its worker ended before all its hooks were told.'
            WHEN cancel_asked THEN 'Cancelled; the head stays where it was.'
            WHEN {_TRIED} >= %(attempts)s THEN 'Its worker ended ' || CASE WHEN {_TRIED} > 1 THEN {_TRIED} || ' times ' ELSE '' END || 'in the middle of it; the head stays where it was.'
            ELSE '' END,
        ended_at = CASE WHEN {_LANDED} OR cancel_asked OR {_TRIED} >= %(attempts)s THEN clock_timestamp() END
    WHERE state = 'running' AND heartbeat_at < clock_timestamp() - make_interval(secs => %(late)s)
    RETURNING id, state
"""  # noqa: S608 -- constants of this module
_SEND_AGAIN = """
    UPDATE compaction_run SET heartbeat_at = clock_timestamp()
    WHERE state = 'queued' AND heartbeat_at < clock_timestamp() - make_interval(secs => %(long)s)
      AND NOT EXISTS (SELECT 1 FROM compaction_run WHERE state = 'running' AND heartbeat_at > clock_timestamp() - make_interval(secs => %(late)s))
    RETURNING id
"""


def pick_up_stale_runs() -> list[int]:
    """Settle the runs whose worker is gone; the ids of those to be sent again.

    A run without a heartbeat for `stale_seconds()` ends: cancelled where that was asked, failed after the attempts allowed (until
    then it is queued again). A queued one that nobody took for long, while no worker works, is sent again: its message went down
    with a worker.
    Each is settled by one statement, so that several callers at once settle it once.
    """
    late = progress.stale_seconds()
    with connection.cursor() as cursor:
        cursor.execute(_SETTLE, {"late": late, "attempts": progress.attempts_allowed()})
        settled_runs = cursor.fetchall()
        cursor.execute(_SEND_AGAIN, {"late": late, "long": late * 4})
        waiting = [pk for (pk,) in cursor.fetchall()]
    gone = [pk for pk, _ in settled_runs]
    ModelCall.objects.filter(run__in=gone, outcome="asking").update(outcome="broken off")
    for pk, state in settled_runs:
        logger.warning("run %s: its worker is gone; it is %s now", pk, state)
        progress.tell(pk)
    return [pk for pk, state in settled_runs if state == Run.State.QUEUED] + waiting
