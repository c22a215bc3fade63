"""Runs through a real broker and real worker processes: sent, carried out, killed in the middle, sent again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from threading import Thread
from typing import Any

import psutil
import pytest
from django.db import connection, transaction

from compaction import runs, tasks
from compaction.models import Run
from sessions import versions
from sessions.models import Session
from sessions.versions import Refused
from tests.compaction.stage import context_hash, ended, head_of, until
from tests.processes import CHECKOUT, read_until
from webapp.embedded import broker

pytestmark = pytest.mark.django_db(transaction=True)

DEAD = broker.address("pgmq://nobody@127.0.0.1:1/nowhere", None)
FOLDS: dict[str, Any] = {"strategy": "hybrid", "params": {"free": 1_000_000}}


@contextmanager
def a_worker(environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A worker of its own process group, so that all of it can be killed; gone after the block in any case."""
    command = [sys.executable, "-m", "celery", "-A", "webapp", "worker", "--concurrency", "1", "--loglevel", "INFO"]
    command += ["--queues", "ingest,compaction", "--without-gossip", "--without-mingle", "--without-heartbeat"]
    worker = subprocess.Popen(
        command,
        cwd=CHECKOUT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert worker.stdout is not None
    reader = Thread(target=worker.stdout.read)  # a full pipe must not stop the worker
    try:
        read_until(worker, " ready.")
        reader.start()
        yield worker
    finally:
        if worker.poll() is None:
            worker.terminate()
            try:
                worker.wait(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
        if reader.ident is not None:
            reader.join()
        worker.stdout.close()


@pytest.fixture
def quick(worker_environment: dict[str, str]) -> dict[str, str]:
    """An environment in which a worker counts as gone after five seconds instead of fifteen, and a run is tried three times."""
    return {**worker_environment, "PALIMPSEST_RUN_HEARTBEAT": "1", "PALIMPSEST_RUN_ATTEMPTS": "3"}


def test_a_run_goes_the_whole_way_through_broker_and_worker_once(session: Session, live_worker: Any) -> None:
    """A second message for it does nothing, whether it comes before or after its end."""
    before = context_hash(session)
    sent = tasks.submit(session.pk, **FOLDS)
    tasks.execute.delay(sent.pk)
    run = ended(sent.pk)
    assert (run.state, run.status, run.attempts) == ("completed", "completed", 1)
    assert head_of(session) == run.version
    tasks.execute.delay(run.pk)
    versions.undo(session.pk)
    assert context_hash(session) == before
    # A later run is a later message: once it has ended, the one before it has been taken as well.
    assert ended(tasks.submit(session.pk, **FOLDS).pk).state == "completed"
    assert (Run.objects.get(pk=run.pk).attempts, session.versions.filter(origin="run").count()) == (1, 2)


def test_nothing_is_sent_before_the_commit(session: Session, settings: Any) -> None:
    """The broker is dead, which is found out when the transaction has committed, and not where it is rolled back."""
    settings.BROKER = DEAD
    with transaction.atomic():
        tasks.submit(session.pk, **FOLDS)
        transaction.set_rollback(True)
    assert not Run.objects.exists()

    inside: list[Run] = []
    with pytest.raises(Refused, match="broker cannot be reached"), transaction.atomic():
        inside.append(tasks.submit(session.pk, **FOLDS))
    assert [run.state for run in inside] == ["queued"]
    assert Run.objects.get().state == "failed"


def _kill_all(worker: subprocess.Popen[str]) -> None:
    os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()


def _kill_child(worker: subprocess.Popen[str]) -> None:
    (child,) = psutil.Process(worker.pid).children()
    child.kill()


@pytest.mark.parametrize(("kill", "another"), [(_kill_all, True), (_kill_child, False)])
def test_a_worker_killed_in_the_middle_leaves_a_run_that_ends(
    session: Session, quick: dict[str, str], kill: Callable[[subprocess.Popen[str]], None], another: bool
) -> None:
    """Killed at the worst place, inside the landing: the lock held here keeps it there as long as this takes.

    Where all of it is killed, another worker picks the run up; where only its child is, the worker itself does.
    """
    head, before = head_of(session), context_hash(session)
    run = tasks.submit(session.pk, **FOLDS)
    with a_worker(quick) as worker:
        with transaction.atomic():
            versions.locked(session.pk)
            _elsewhere(lambda: until(run.pk, lambda now: now.phase == "land"))
            kill(worker)
        # Its connection may still wait for the lock: what it then gets it can never commit.
        assert (head_of(session), context_hash(session)) == (head, before)
        assert Run.objects.get(pk=run.pk).state == Run.State.RUNNING
        with a_worker(quick) if another else nullcontext():
            after = ended(run.pk)
            assert (after.state, after.attempts) == ("completed", 2)
            assert [phase for _, phase, _ in after.log].count("worker gone") == 1
            assert session.versions.filter(origin="run").count() == 1
            assert head_of(session) == after.version

            versions.undo(session.pk)
            assert context_hash(session) == before
            assert ended(tasks.submit(session.pk, **FOLDS).pk).state == "completed"


def test_unless_told_otherwise_a_run_whose_worker_is_killed_fails_and_the_head_stays(
    session: Session, worker_environment: dict[str, str]
) -> None:
    head, before = head_of(session), context_hash(session)
    run = tasks.submit(session.pk, **FOLDS)
    environment = {**worker_environment, "PALIMPSEST_RUN_HEARTBEAT": "1"}
    with a_worker(environment) as worker, transaction.atomic():
        versions.locked(session.pk)
        _elsewhere(lambda: until(run.pk, lambda now: now.phase == "land"))
        _kill_all(worker)
    with a_worker(environment):
        after = ended(run.pk)
        assert (after.state, after.status, after.attempts) == ("failed", "interrupted", 1)
        assert after.reason == "Its worker ended in the middle of it; the head stays where it was."
        assert (head_of(session), context_hash(session)) == (head, before)
        assert ended(tasks.submit(session.pk, **FOLDS).pk).state == "completed"


def test_a_run_that_kills_every_worker_fails_and_the_head_stays(session: Session, quick: dict[str, str]) -> None:
    head = head_of(session)
    run = tasks.submit(session.pk, **FOLDS)
    twice = {**quick, "PALIMPSEST_RUN_ATTEMPTS": "2"}
    for attempt in (1, 2):
        with a_worker(twice) as worker, transaction.atomic():
            versions.locked(session.pk)
            _elsewhere(partial(until, run.pk, partial(_is_landing, attempt=attempt)))
            _kill_all(worker)
    with a_worker(twice):
        after = ended(run.pk)
        assert (after.state, after.status, after.attempts) == ("failed", "interrupted", 2)
        assert "ended 2 times" in after.reason
        assert head_of(session) == head
        assert ended(tasks.submit(session.pk, **FOLDS).pk).state == "completed"


def test_a_worker_goes_on_where_its_connection_is_lost_and_where_its_run_is_cancelled(
    session: Session, quick: dict[str, str]
) -> None:
    with a_worker(quick):
        run = tasks.submit(session.pk, **FOLDS)
        with transaction.atomic():
            versions.locked(session.pk)
            _elsewhere(lambda: until(run.pk, lambda now: now.phase == "land"))
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                    "WHERE pid <> pg_backend_pid() AND cardinality(pg_blocking_pids(pid)) > 0"
                )
                assert cursor.fetchone() == (1,)
        after = ended(run.pk)
        assert (after.state, after.attempts) == ("completed", 2)
        assert session.versions.filter(origin="run").count() == 1

        versions.undo(session.pk)
        head = head_of(session)
        wanted = tasks.submit(session.pk, **FOLDS)
        with transaction.atomic():
            versions.locked(session.pk)
            _elsewhere(lambda: until(wanted.pk, lambda now: now.phase == "land"))
            _elsewhere(lambda: runs.cancel(wanted.pk))
        after = ended(wanted.pk)
        assert (after.state, after.version) == ("cancelled", None)
        assert head_of(session) == head


def test_where_no_broker_answers_the_run_fails_and_says_so(session: Session, settings: Any) -> None:
    settings.BROKER = DEAD
    head = head_of(session)
    with pytest.raises(Refused, match="broker cannot be reached") as refused:
        tasks.submit(session.pk, **FOLDS)
    assert refused.value.code == "broker_unreachable"
    run = Run.objects.get()
    assert (run.state, run.status) == ("failed", "interrupted")
    assert "broker cannot be reached" in run.reason
    assert head_of(session) == head


def _is_landing(run: Run, *, attempt: int) -> bool:
    return run.attempts == attempt and run.phase == "land"


def _elsewhere[T](call: Callable[[], T]) -> T:
    """Do something on another connection than the one whose transaction holds the lock."""
    out: list[Any] = []

    def work() -> None:
        try:
            out.append(call())
        except BaseException as error:  # raised again below, in the test
            out.append(error)
        finally:
            connection.close()

    thread = Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(out[0], BaseException):
        raise out[0]
    return out[0]
