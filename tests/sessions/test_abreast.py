"""Files taken in at the same time: what comes of them is what comes of them one after the other."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from django.db import connection

from sessions import ingest, ingesting, reading
from sessions.abreast import crew
from sessions.bench import corpus
from sessions.ingest import Taken, take_file
from sessions.ingesting import ingest_paths
from sessions.inturn import in_turn
from sessions.models import Session, Source
from tests.adapters.codex.build import data
from tests.claude_lines import ClaudeLines
from tests.processes import CHECKOUT
from tests.sessions.test_chains import BASE, BRANCH, FORK, PARENT, texts
from webapp.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def workspace(worker_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """One that other processes find, which are started anew for it: they take the environment in which they are first started."""
    monkeypatch.setenv("DATABASE_URL", worker_environment["DATABASE_URL"])
    monkeypatch.setattr(ingesting, "_MUCH", 0)
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def stored(workspace: Workspace) -> dict[str, list[tuple[object, ...]]]:
    """What is in the database, without the numbers it gives itself."""
    entry = ("seq", "turn", "step", "goal", "kind", "text", "tokens", "digest", "copied", "byte_offset")
    return {
        str(session.native_id): [
            *session.entries.order_by("seq").values_list(*entry),
            *session.steps.order_by("n").values_list("n", "fresh", "output"),
            *session.versions.order_by("n").values_list("n", "kind", "content_hash"),
            (sorted(session.totals.items()), session.problems, session.turns),
        ]
        for session in Session.objects.filter(workspace=workspace)
    }


def test_abreast_comes_to_the_same_as_one_after_the_other(workspace: Workspace, tmp_path: Path) -> None:
    for seed in range(1, 5):
        corpus.write(tmp_path, 150 * seed, seed=seed)
    (tmp_path / FORK).write_bytes(data(BRANCH))
    (tmp_path / PARENT).write_bytes(data(BASE))
    (tmp_path / "notes.md").write_text("# Not a session\n")
    other = Workspace.objects.create(name="Other", slug="other")
    one_by_one = ingest_paths(other, [tmp_path])
    told: list[Taken] = []
    with crew(2) as beside:
        abreast = ingest_paths(workspace, [tmp_path], told=told.append, crew=beside)
        again = ingest_paths(workspace, [tmp_path], crew=beside)
    assert [(one.path, one.outcome, one.tokens, one.copied) for one in abreast] == [
        (one.path, one.outcome, one.tokens, one.copied) for one in one_by_one
    ]
    assert sorted(one.path for one in told) == sorted(one.path for one in abreast)
    assert {one.outcome for one in again} == {"unchanged", "skipped"}
    assert stored(workspace) == stored(other)


# -- of two that come at the same time the second finds the first ---------------------------------------------------------


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Taken]]:
    """Takes two files in so that neither is settled before both are read."""

    def take_both(workspace: Workspace, *paths: Path) -> dict[str, Taken]:
        both_read = threading.Barrier(len(paths))
        waited: set[int] = set()

        def after_both(*shared: object) -> None:
            if threading.get_ident() not in waited:
                waited.add(threading.get_ident())
                both_read.wait(60)
            in_turn(*shared)

        for module in (ingest, reading):
            monkeypatch.setattr(module, "in_turn", after_both)
        found: dict[str, Taken] = {}

        def take(path: Path) -> None:
            with closing(connection):
                found[path.name] = take_file(workspace, path, patient=False)

        threads = [threading.Thread(target=take, args=[path]) for path in paths]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found

    return take_both


def a_session(path: Path, session: str, *, answers: int = 3) -> Path:
    made = ClaudeLines(session_id=session)
    for n in range(answers):
        made.prompt(f"part {n}")
        made.says(f"Looked at part {n}.", message=f"msg_0123456789abcdefghij{n}")
    path.write_bytes(bytes(made))
    return path


def test_the_same_bytes_under_two_names_are_one_session(
    workspace: Workspace, tmp_path: Path, together: Callable[..., dict[str, Taken]]
) -> None:
    one = a_session(tmp_path / "one.jsonl", "11111111-2222-4333-8444-555555555555")
    other = tmp_path / "other.jsonl"
    other.write_bytes(one.read_bytes())
    found = together(workspace, one, other)
    assert sorted(taken.outcome for taken in found.values()) == ["added", "same"]
    assert (Session.objects.count(), Source.objects.count()) == (1, 1)


def test_answers_of_two_copies_are_counted_once(
    workspace: Workspace, tmp_path: Path, together: Callable[..., dict[str, Taken]]
) -> None:
    names = ("11111111-2222-4333-8444-555555555555", "22222222-2222-4333-8444-555555555555")
    paths = [a_session(tmp_path / f"{name}.jsonl", name, answers=3 + n) for n, name in enumerate(names)]
    found = together(workspace, *paths)
    assert {taken.outcome for taken in found.values()} == {"added"}
    assert sum(session.totals["steps"] for session in Session.objects.all()) == 4


def test_a_fork_that_comes_with_its_base_is_read_through_it(
    workspace: Workspace, tmp_path: Path, together: Callable[..., dict[str, Taken]]
) -> None:
    (tmp_path / FORK).write_bytes(data(BRANCH))
    (tmp_path / PARENT).write_bytes(data(BASE))
    found = together(workspace, tmp_path / FORK, tmp_path / PARENT)
    fork = Session.objects.get(pk=found[FORK].session)
    assert texts(fork) == ["first", "to first", "another way", "to another way"]
    assert (fork.problems, "waits_for" in fork.facts) == ([], False)
    assert sum(session.totals["output"] for session in Session.objects.all()) == 38


# -- processes that end otherwise than they should ------------------------------------------------------------------------


def twice_but_not_there(number: int) -> int:
    if number == 3 and multiprocessing.parent_process() is not None:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def fails(number: int) -> int:
    raise ValueError(f"nothing is made of {number}")


def test_what_a_process_died_of_is_done_here(workspace: Workspace) -> None:
    with crew(2) as beside:
        assert beside is not None
        assert dict(beside.each(twice_but_not_there, range(6))) == {n: 2 * n for n in range(6)}
        assert dict(beside.each(twice_but_not_there, [1, 2])) == {0: 2, 1: 4}, "and others go on afterwards"


def test_an_error_ends_it_and_them(workspace: Workspace) -> None:
    with crew(2) as beside:
        assert beside is not None
        with pytest.raises(ValueError, match="nothing is made of"):
            list(beside.each(fails, [1, 2, 3]))
        there = [psutil.Process(number) for number in beside.processes]
    assert there
    assert not psutil.wait_procs(there, timeout=60)[1]


STARTER = """
import os, time
from sessions.abreast import crew

if __name__ == "__main__":
    with crew(2) as beside:
        list(beside.each(len, ["a", "b", "c", "d"]))
        print(*beside.processes, flush=True)
        time.sleep(600)
"""


def test_they_end_with_the_one_that_is_killed(worker_environment: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "starter.py"
    script.write_text(STARTER)
    environment = worker_environment | {"PYTHONPATH": str(CHECKOUT), "DJANGO_SETTINGS_MODULE": "webapp.settings"}
    starter = subprocess.Popen([sys.executable, str(script)], env=environment, stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    with starter.stdout:
        there = [psutil.Process(int(number)) for number in starter.stdout.readline().split()]
        assert there
        starter.kill()
        starter.wait()
        assert not psutil.wait_procs(there, timeout=60)[1]
