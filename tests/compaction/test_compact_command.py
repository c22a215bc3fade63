"""`compact` as a person or a script runs it: in a process of its own, with a worker elsewhere."""

from __future__ import annotations

import json
import subprocess
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from compaction import runs
from compaction.models import Run
from sessions import versions
from sessions.models import Session
from tests.compaction.stage import context_hash, ended, everything, head_of
from tests.processes import manage

pytestmark = pytest.mark.django_db(transaction=True)

FOLDS = ("--strategy", "hybrid", "--set", "free=1_000_000")


def said(*arguments: str) -> str:
    """What the command prints, run in this process."""
    out = StringIO()
    call_command("compact", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_a_preview_prints_the_same_twice_and_writes_nothing(
    session: Session, worker_environment: dict[str, str]
) -> None:
    before = everything()
    first, second = (
        manage("compact", str(session.native_id), *FOLDS, "--preview", "--json", environment=worker_environment)
        for _ in range(2)
    )
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout == second.stdout
    assert everything() == before
    plan = json.loads(first.stdout)
    assert (plan["session"], plan["base"], plan["status"], plan["lands"]) == (str(session.pk), 1, "completed", True)
    assert plan["params"]["free"] == 1_000_000
    previewed = runs.preview_run(session, strategy="hybrid", params={"free": 1_000_000})
    assert plan["plan_digest"] == previewed.preview.digest


def test_it_waits_for_its_run_and_prints_the_outcome(
    session: Session, worker_environment: dict[str, str], live_worker: Any
) -> None:
    before = context_hash(session)
    done = manage("compact", str(session.pk)[:8], *FOLDS, "--json", environment=worker_environment)
    assert (done.returncode, done.stderr) == (0, "")
    run = json.loads(done.stdout)
    assert (run["state"], run["status"], run["base"], run["version"]) == ("completed", "completed", 1, 2)
    assert type(run["tokens"]["after"]) is int
    assert run["ended_at"].endswith("Z")
    assert run["report"]["lands"] is True
    assert head_of(session) == session.versions.get(n=2)

    again = manage("compact", str(session.pk)[:8], "--strategy", "hybrid", environment=worker_environment)
    assert (again.returncode, again.stdout) == (1, "")
    assert "Run" in again.stderr
    assert "refused (noop" in again.stderr.splitlines()[-1]
    assert head_of(session) == session.versions.get(n=2)

    versions.undo(session.pk)
    assert context_hash(session) == before


def test_without_waiting_it_prints_the_id(
    session: Session, worker_environment: dict[str, str], live_worker: Any
) -> None:
    sent = manage("compact", str(session.pk), *FOLDS, "--no-wait", environment=worker_environment)
    assert sent.returncode == 0
    assert ended(int(sent.stdout)).state == "completed"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("nobody", *FOLDS), 1, "No session is named 'nobody'"),
        (("{session}", "--strategy", "nap"), 2, "There is no strategy 'nap'"),
        (("{session}", "--set", "aim"), 2, "--set takes KEY=VALUE"),
        (("{session}", "--set", "aim=much"), 2, "'much' is no number"),
        (("{session}", "--set", "nap=1"), 2, "no parameter 'nap'"),
        (("{session}", "--pin", "99999"), 2, "entries 0 to 302"),
        (("{session}", "--summariser", "llm"), 1, "No model is configured"),
    ],
)
def test_what_cannot_be_done_ends_with_its_reason_and_code(
    session: Session, arguments: tuple[str, ...], code: int, words: str
) -> None:
    before = everything()
    with pytest.raises(CommandError, match=words) as refused:
        said(*(one.format(session=session.pk) for one in arguments))
    assert refused.value.returncode == code
    assert everything() == before


def test_a_run_that_is_live_is_named(session: Session) -> None:
    run = runs.request(session.pk, strategy="hybrid")
    with pytest.raises(CommandError, match=f"Run {run.pk} of this session is still queued") as refused:
        said(str(session.pk), *FOLDS)
    assert refused.value.returncode == 1


def test_no_broker_is_one_line_on_stderr(session: Session, worker_environment: dict[str, str]) -> None:
    head = head_of(session)
    environment = {**worker_environment, "CELERY_BROKER_URL": "pgmq://nobody@127.0.0.1:1/nowhere"}
    done = manage("compact", str(session.pk), *FOLDS, environment=environment)
    run = Run.objects.get()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        f"Run {run.pk} failed: The broker cannot be reached, so no worker would learn of the run; the head stays where it was."
    ]
    assert (run.state, head_of(session)) == ("failed", head)


def test_no_database_is_one_line_on_stderr(session: Session, worker_environment: dict[str, str]) -> None:
    environment = {**worker_environment, "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nowhere"}
    done = manage("compact", str(session.pk), *FOLDS, environment=environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("The database is not reachable")


def test_a_run_whose_worker_is_gone_is_looked_after_by_who_waits(
    session: Session, worker_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No worker ever comes: the one who waits ends the run, with a reason, and the head stays."""
    monkeypatch.setattr("compaction.awaiting.NOBODY", 0.0)
    head = head_of(session)
    with pytest.raises(CommandError, match="No worker took the run") as refused:
        said(str(session.pk), *FOLDS)
    assert refused.value.returncode == 1
    run = Run.objects.get()
    assert (run.state, run.status, head_of(session)) == ("failed", "interrupted", head)


def test_unknown_options_are_a_matter_of_usage(worker_environment: dict[str, str]) -> None:
    done: subprocess.CompletedProcess[str] = manage("compact", environment=worker_environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert "SESSION" in done.stderr
