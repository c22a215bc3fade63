"""What Codex keeps of its threads in databases beside the rollouts, laid over the sessions that are here."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessions.discover import agent_folders, meant
from sessions.indexes import FACT, index_at, tell
from sessions.ingest import Taken
from sessions.ingesting import ingest_paths
from sessions.models import Goal, Session, Source
from tests.adapters.codex import build
from webapp.models import Workspace

pytestmark = pytest.mark.django_db

THREAD = "01a22ad3-b28f-7fd0-85d1-293746753d40"
CHILD = "01a22aee-2026-7ba0-b666-07e7d2e03e9d"
_TABLES = """
CREATE TABLE threads (id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL, title TEXT NOT NULL, archived INTEGER NOT NULL DEFAULT 0,
  git_sha TEXT, git_branch TEXT, git_origin_url TEXT, name TEXT, creator_account_id TEXT);
CREATE TABLE thread_spawn_edges (parent_thread_id TEXT NOT NULL, child_thread_id TEXT NOT NULL PRIMARY KEY, status TEXT NOT NULL);
CREATE TABLE remote_control_enrollments (server_id TEXT PRIMARY KEY, secret TEXT);
INSERT INTO remote_control_enrollments VALUES ('s', 'hunter2');
"""
_GOALS = "CREATE TABLE thread_goals (thread_id TEXT PRIMARY KEY, goal_id TEXT, objective TEXT NOT NULL, status TEXT NOT NULL)"


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A folder of Codex in which an agent is at work: its database is open, and what it wrote last stands in the log of it alone."""
    folder = tmp_path / ".codex"
    (folder / "sessions").mkdir(parents=True)
    for thread in (THREAD, CHILD):
        records = [*build.meta(thread, git=None), *build.user("Ship it"), *build.says(f"As {thread} says")]
        (folder / "sessions" / f"rollout-2026-11-30T05-00-46-{thread}.jsonl").write_bytes(build.data(records))
    with sqlite3.connect(folder / "goals_1.sqlite") as goals:
        goals.execute(_GOALS)
        goals.execute("INSERT INTO thread_goals VALUES (?, 'g', 'Ship the parser', 'active')", (THREAD,))
    goals.close()
    connection = sqlite3.connect(folder / "state_5.sqlite", isolation_level=None)
    connection.execute("PRAGMA journal_mode = wal")
    connection.executescript(_TABLES)
    connection.execute(
        "INSERT INTO threads VALUES (?, '/r', 'Ship it', 1, 'abc', 'main', 'git@host:it', 'The release', 'acct')",
        (THREAD,),
    )
    connection.execute("INSERT INTO threads (id, rollout_path, title) VALUES (?, '/c', 'Ship it')", (CHILD,))
    connection.execute("INSERT INTO thread_spawn_edges VALUES (?, ?, 'open')", (THREAD, CHILD))
    yield folder
    connection.close()


def take(workspace: Workspace, path: Path) -> dict[str, Taken]:
    return {Path(one.path).name: one for one in ingest_paths(workspace, [path])}


def session_of(thread: str) -> Session:
    return Session.objects.get(native_id=thread, superseded_by=None)


def test_what_stands_only_there_is_laid_over_the_sessions_that_came_with_it(workspace: Workspace, home: Path) -> None:
    taken = take(workspace, home)
    assert (taken["state_5.sqlite"].outcome, taken["state_5.sqlite"].agent) == ("skipped", "codex")
    assert "2 of the sessions here" in taken["state_5.sqlite"].reason
    session = session_of(THREAD)
    assert session.title == "The release"
    assert session.facts[FACT] == {"commit": "abc", "origin": "git@host:it", "archived": True}
    assert session_of(CHILD).parent == session
    goal = session.goals.get(added=True)
    assert (goal.text, goal.status) == ("Ship the parser", "pending")
    assert not Source.objects.filter(path__endswith=".sqlite").exists(), "nothing of a database is kept"


def test_a_second_time_nothing_is_news_and_a_session_that_grows_keeps_it(workspace: Workspace, home: Path) -> None:
    take(workspace, home)
    before = (list(Session.objects.order_by("pk").values()), list(Goal.objects.order_by("pk").values()))
    again = take(workspace, home)
    assert "sessions here" not in again["state_5.sqlite"].reason
    assert (list(Session.objects.order_by("pk").values()), list(Goal.objects.order_by("pk").values())) == before
    rollout = home / "sessions" / f"rollout-2026-11-30T05-00-46-{CHILD}.jsonl"
    rollout.write_bytes(rollout.read_bytes() + build.data(build.says("Done")))
    assert take(workspace, rollout)[rollout.name].outcome == "grown"
    assert session_of(CHILD).parent == session_of(THREAD)
    assert session_of(CHILD).parent_kind == "subagent"


def test_a_goal_that_is_complete_there_is_completed_once(workspace: Workspace, home: Path) -> None:
    take(workspace, home)
    with sqlite3.connect(home / "goals_1.sqlite") as goals:
        goals.execute("UPDATE thread_goals SET status = 'complete'")
    goals.close()
    take(workspace, home / "goals_1.sqlite")
    take(workspace, home / "goals_1.sqlite")
    session = session_of(THREAD)
    (goal,) = session.goals.filter(added=True)
    assert (goal.status, goal.mark_note) == ("completed", "complete, says Codex")
    assert session.goal_marks.count() == 2


def test_the_agent_feels_no_lock_and_nothing_is_left_beside_its_database(workspace: Workspace, home: Path) -> None:
    files = sorted(path.name for path in home.iterdir())
    writer = sqlite3.connect(home / "state_5.sqlite", isolation_level=None, timeout=0)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE threads SET name = 'not yet'")
    take(workspace, home)
    writer.execute("COMMIT")
    writer.close()
    assert session_of(THREAD).title == "The release", "as it was at the last whole transaction"
    assert sorted(path.name for path in home.iterdir()) == files


@pytest.mark.parametrize("of", ["broken", "older"])
def test_a_database_that_is_broken_or_older_stops_nothing(workspace: Workspace, home: Path, of: str) -> None:
    path = home / "state_4.sqlite"
    if of == "broken":
        path.write_bytes(b"SQLite format 3\0" + b"\x07" * 5000)
    else:
        with sqlite3.connect(path) as old:
            old.execute("CREATE TABLE threads (id TEXT PRIMARY KEY, title TEXT)")
            old.execute("INSERT INTO threads VALUES (?, 'Ship it')", (THREAD,))
        old.close()
    taken = take(workspace, home)
    assert taken["state_4.sqlite"].outcome == ("failed" if of == "broken" else "skipped")
    assert session_of(THREAD).title == "The release"


def test_its_databases_are_watched_where_they_are(home: Path) -> None:
    found = [path for agent, path in agent_folders(home.parent, {}) if agent == "codex"]
    assert {home / "state_5.sqlite", home / "state_5.sqlite-wal", home / "goals_1.sqlite"} <= set(found)
    assert meant(home / "state_5.sqlite-wal") == home / "state_5.sqlite"


def test_recorded_databases_say_what_their_rollouts_do_not(workspace: Workspace, shared_data: Path) -> None:
    take(workspace, shared_data / "codex" / "cli-0.171.0")
    said: dict[str, Any] = {
        name: facts.get(FACT, {}) for name, facts in Session.objects.values_list("native_id", "facts")
    }
    assert said["01a22ad4-95be-7cb2-8859-193679ad29e3"]["archived"] is True
    assert sum(bool(facts.get("archived")) for facts in said.values()) == 1
    assert session_of(THREAD).title == "My named thread"
    assert session_of(THREAD).goals.filter(text="Ship the parser").count() == 1, "its rollout states it, too"


def test_a_turn_of_one_thread_costs_no_more_statements_however_many_there_are(
    workspace: Workspace, home: Path, django_assert_max_num_queries: Any
) -> None:
    take(workspace, home)
    with sqlite3.connect(home / "state_5.sqlite") as state:
        for n in range(200):
            state.execute(
                "INSERT INTO threads (id, rollout_path, title, archived) VALUES (?, '/r', 't', 1)", (f"t{n}",)
            )
            own = Source.objects.create(
                workspace=workspace, agent="codex", adapter_version=1, role="session", path=f"/{n}"
            )
            Session.objects.create(workspace=workspace, agent="codex", native_id=f"t{n}", source=own)
    state.close()
    index = index_at(home / "state_5.sqlite")
    assert index is not None
    assert tell(workspace, index) == 200
    with django_assert_max_num_queries(3):
        assert tell(workspace, index) == 0
