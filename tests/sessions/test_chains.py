"""Sources that continue others by reference: read through the base, in whatever order they come, tokens counted once."""

from pathlib import Path

import pytest

from sessions.ingest import Taken, take_file
from sessions.ingesting import ingest_paths
from sessions.models import Session
from sessions.naming import find_session
from sessions.projection import context_items
from sessions.sourcebytes import stored
from tests.adapters.codex.build import THREAD, counts, data, meta, numbered, says, token_count, turn, user
from webapp.models import Workspace

pytestmark = pytest.mark.django_db

CHILD = "01a22af4-01c0-70e3-8cce-5252ad85f752"
PARENT = f"rollout-2026-11-30T05-36-02-{THREAD}.jsonl"
FORK = f"rollout-2026-11-30T05-36-05-{CHILD}.jsonl"

FIRST, SECOND = counts(100, 60, 20, 5), counts(150, 100, 30, 5)
BASE = numbered(
    [
        *meta(history_mode="paginated"),
        *turn("t1", user("first"), says("to first"), token_count(FIRST, FIRST)),
        *turn("t2", user("second"), says("to second"), token_count(SECOND, counts(50, 40, 10, 0))),
    ]
)
CUT = next(n for n, record in enumerate(BASE) if record["payload"].get("turn_id") == "t2")
BRANCH = numbered(
    [
        *meta(
            CHILD,
            history_mode="paginated",
            forked_from_id=THREAD,
            history_base={
                "thread_id": THREAD,
                "end_ordinal_exclusive": CUT,
                "end_byte_offset": len(data(BASE[:CUT])),
            },
        ),
        *turn("t3", user("another way"), says("to another way"), token_count(counts(40, 0, 8, 0), counts(40, 0, 8, 0))),
    ],
    CUT,
)


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def texts(session: Session) -> list[str]:
    return [item.text for item in context_items(session)]


def by_name(found: list[Taken]) -> dict[str, Session]:
    return {Path(taken.path).name: Session.objects.get(pk=taken.session) for taken in found}


def test_a_fork_by_reference_is_read_through_its_base_whatever_the_names(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / FORK).write_bytes(data(BRANCH))
    (tmp_path / "b" / PARENT).write_bytes(data(BASE))
    found = by_name(ingest_paths(workspace, [tmp_path]))
    fork, parent = found[FORK], found[PARENT]
    assert texts(fork) == ["first", "to first", "another way", "to another way"]
    assert fork.parent == parent
    assert b"".join(stored(fork.source)) == data(BRANCH)
    assert (fork.totals["output"], parent.totals["output"]) == (8, 30)
    assert list(fork.entries.filter(copied=True).values_list("source_id", flat=True).distinct()) == [parent.source_id]


def test_a_fork_whose_base_is_missing_says_so_and_gets_it_when_it_comes(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / FORK).write_bytes(data(BRANCH))
    (alone,) = ingest_paths(workspace, [tmp_path])
    assert alone.outcome == "added"
    assert "is not here" in alone.problems[0]
    fork = Session.objects.get(pk=alone.session)
    assert texts(fork) == ["another way", "to another way"]
    (tmp_path / PARENT).write_bytes(data(BASE))
    ingest_paths(workspace, [tmp_path])
    fork.refresh_from_db()
    assert texts(fork) == ["first", "to first", "another way", "to another way"]
    assert fork.problems == []


def test_a_fork_that_grows_goes_on_after_its_base(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / PARENT).write_bytes(data(BASE))
    path = tmp_path / FORK
    path.write_bytes(data(BRANCH))
    ingest_paths(workspace, [tmp_path])
    path.write_bytes(
        data([*BRANCH, *numbered([*turn("t4", user("and then"), says("to and then"))], CUT + len(BRANCH))])
    )
    grown = take_file(workspace, path)
    assert grown.outcome == "grown"
    assert texts(Session.objects.get(pk=grown.session))[-2:] == ["and then", "to and then"]


def test_a_base_that_grows_leaves_the_fork_as_it_was(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / PARENT
    path.write_bytes(data(BASE))
    (tmp_path / FORK).write_bytes(data(BRANCH))
    fork = by_name(ingest_paths(workspace, [tmp_path]))[FORK]
    before = texts(fork)
    path.write_bytes(data([*BASE, *numbered([*turn("t9", user("late"))], len(BASE))]))
    assert take_file(workspace, path).outcome == "grown"
    assert texts(fork) == before


def test_the_agents_id_names_the_file_that_a_thread_was_reverted_into(workspace: Workspace, tmp_path: Path) -> None:
    """Both files are the thread's, by its id; the agent goes on from the second, and the first stays to be looked at."""
    into = f"rollout-2026-11-30T05-36-05-{THREAD}_{CHILD}.jsonl"
    base = {"thread_id": THREAD, "end_ordinal_exclusive": CUT, "end_byte_offset": len(data(BASE[:CUT]))}
    again = numbered(
        [*meta(history_mode="paginated", history_base=base), *turn("t3", user("otherwise"), says("to otherwise"))], CUT
    )
    (tmp_path / PARENT).write_bytes(data(BASE))
    (tmp_path / into).write_bytes(data(again))
    found = by_name(ingest_paths(workspace, [tmp_path]))
    assert {session.native_id for session in found.values()} == {THREAD}
    assert found[into].parent == found[PARENT]
    assert find_session(THREAD) == found[into]
    assert find_session(THREAD[:-1]) == found[into]
    assert find_session(str(found[PARENT].pk)) == found[PARENT]
