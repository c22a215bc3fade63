"""Messages: a run is sent once its row is committed, and sent again where its worker died. The only module that knows Celery."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
from celery import shared_task
from celery.exceptions import SoftTimeLimitExceeded
from celery.signals import worker_ready
from django.conf import settings
from django.db import connections, transaction
from kombu.exceptions import OperationalError as BrokerError

from compaction import holding, progress, project_memory, rules, runs, session_memory
from compaction.holding import Wishes
from compaction.models import Run
from compaction.plan import NotWritten
from sessions.models import Session
from sessions.versions import Refused

logger = logging.getLogger(__name__)

UNREACHABLE = (BrokerError, psycopg.Error, OSError)  # what kombu and its pgmq transport raise where nobody answers


@shared_task(  # type: ignore[untyped-decorator]  # Celery carries no types
    name="compaction.execute", soft_time_limit=settings.RUN_SOFT_LIMIT, time_limit=settings.RUN_HARD_LIMIT
)
def execute(run_id: int) -> None:
    """Carry a run out. May be delivered twice: the second does nothing. Beyond its soft limit the run ends and says so; beyond the hard one
    its process is ended, and `sweep` says so.
    """
    runs.execute(run_id, limits=(SoftTimeLimitExceeded,))


def submit(session_id: UUID, **choice: Any) -> Run:
    """Request a run (arguments of `runs.request`) and send it. Refused as that is, and (broker_unreachable) where it cannot be sent."""
    sweep()  # a run that died earlier may stand in the way of this one
    run = runs.request(session_id, **choice)
    start(run)
    return run


def apply(run_id: int, wishes: Wishes | None = None, *, plan_digest: str | None = None) -> Run:
    """Apply a draft (arguments of `holding.apply`) and send the run again. Refused as that is, and (broker_unreachable) where it cannot be
    sent: then the draft is held as before.
    """
    sweep()
    run = holding.apply(run_id, wishes, plan_digest=plan_digest)
    start(run)
    return run


def start(run: Run) -> None:
    """Send a requested run to the workers once the transaction around has committed.

    Where the broker cannot be reached the run ends as failed, and Refused (broker_unreachable) says so.
    """
    transaction.on_commit(partial(_send_first, run.pk))


@shared_task(name="compaction.look")  # type: ignore[untyped-decorator]  # as above
def look(rule_id: int, session_id: str) -> None:
    """Have a rule look at a session, and send the run it calls for. May be delivered twice: the second finds the first one's run."""
    wanted = rules.look(rule_id, UUID(session_id))
    if wanted is None:
        return
    try:
        run = submit(UUID(session_id), **wanted)
    except Refused as refusal:
        rules.noted(wanted["rule"], UUID(session_id), rules.REFUSED, str(refusal))
        return
    rules.noted(wanted["rule"], UUID(session_id), rules.STARTED, run=run)


def look_about() -> None:
    """Send rules to the sessions that have grown, and somebody to look at their memory. Costs a small query each where none has."""
    for rule_id, session_id in rules.due():
        try:
            look.delay(rule_id, str(session_id))
        except UNREACHABLE as error:
            logger.warning("rule %s: cannot look yet: %s", rule_id, type(error).__name__)
    for session in session_memory.to_look_at():
        try:
            remember.delay(str(session))
        except UNREACHABLE as error:
            logger.warning("session %s: nobody looks at its memory yet: %s", session, type(error).__name__)


@shared_task(name="compaction.remember")  # type: ignore[untyped-decorator]  # as above
def remember(session_id: str, reason: str = "") -> None:
    """Look whether a session's memory is to be brought up to date, and do it; with a reason do it in any case. May be delivered twice: the
    second finds nothing to take in.
    """
    if not reason:
        brought = session_memory.look(UUID(session_id))
        if brought is not None and brought.new:
            learn.delay(session_id)
        return
    session = Session.objects.select_related("head", "native_head").filter(pk=session_id).first()
    if session is not None:
        try:
            session_memory.bring_up_to_date(session, reason=reason)
        except (NotWritten, Refused) as failure:
            logger.warning("the memory of session %s was not brought up to date: %s", session_id, failure)


@shared_task(name="compaction.learn")  # type: ignore[untyped-decorator]  # as above
def learn(session_id: str) -> None:
    """Propose what a session taught for its project's memory. May be delivered twice: the second proposes nothing new."""
    session = Session.objects.filter(pk=session_id).first()
    if session is not None:
        project_memory.propose_from(session)


def ask_to_remember(session_id: UUID, reason: str) -> None:
    """Have a session's memory brought up to date once the transaction around has committed. Refused (broker_unreachable) where nobody would
    learn of it.
    """

    def send() -> None:
        try:
            _knock()
            remember.delay(str(session_id), reason)
        except UNREACHABLE as error:
            words = "The broker cannot be reached, so no worker would learn of it; the memory stays as it is."
            raise Refused("broker_unreachable", words) from error

    transaction.on_commit(send)


def sweep() -> None:
    """Settle the runs whose worker is gone and send again what is to be done again. Any process may, at any time."""
    for run_id in runs.pick_up_stale_runs():
        try:
            execute.delay(run_id)
        except UNREACHABLE as error:
            logger.warning("run %s: cannot be sent again yet: %s", run_id, type(error).__name__)


def _send_first(run_id: int) -> None:
    try:
        _knock()
        execute.delay(run_id)
    except UNREACHABLE as error:
        reason = "The broker cannot be reached, so no worker would learn of the run; the head stays where it was."
        runs.fail(run_id, reason=reason)
        raise Refused("broker_unreachable", f"Run {run_id} failed: {reason}") from error


def _knock() -> None:
    """Ask the broker's database for a connection, where it is one: kombu's own pool would wait half a minute to say that none comes."""
    if settings.BROKER.conninfo is not None:
        psycopg.connect(settings.BROKER.conninfo).close()


@worker_ready.connect  # type: ignore[untyped-decorator]  # as above
def _watch_over_runs(sender: Any, **kwargs: Any) -> None:
    """Every worker looks after the runs of all: at its start and then again and again, so that no other process has to."""
    sender.timer.call_repeatedly(progress.heartbeat_seconds(), _sweep_quietly)
    _sweep_quietly()


def _sweep_quietly() -> None:
    try:
        sweep()
        look_about()
    except Exception:  # the worker goes on; the next look may find the database back
        logger.warning("cannot look after runs and rules", exc_info=True)
    finally:
        # A child forked later must not inherit an open connection.
        connections.close_all()
