"""Files that hold many sessions, and sessions that lie in many files."""

import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessions.differing import PROVISIONAL
from sessions.discover import may_hold
from sessions.expansion import Unreadable, expanded, snapshot
from sessions.ingest import Taken
from sessions.ingesting import ingest_paths
from sessions.models import Session, Source
from sessions.projection import context_items
from sessions.sourcebytes import record_of, stored
from sessions.versions import roll_back
from tests.adapters.opencode import build
from tests.adapters.opencode.store import Store, lay_out
from webapp.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "opencode.db")
    yield made
    made.close()


def long(name: str = build.SESSION, turns: int = PROVISIONAL, **info: Any) -> build.Session:
    out = build.Session(name, **info)
    for n in range(turns):
        out.user(build.text(f"question {n}"))
        out.assistant(build.start(), build.text(f"answer {n}"), build.tool(f"call_{n}"), build.finish(10 + n, 5))
    return out


def take(workspace: Workspace, path: Path) -> list[Taken]:
    return ingest_paths(workspace, [path])


def outcomes(taken: list[Taken]) -> list[str]:
    return [one.outcome for one in taken]


def session_of(native_id: str) -> Session:
    return Session.objects.get(native_id=native_id, superseded_by=None)


def texts(session: Session) -> list[str]:
    return [item.text for item in context_items(session)]


def test_each_session_of_a_database_is_a_session(workspace: Workspace, store: Store) -> None:
    parent, child = long(), build.Session("ses_child", parentID=build.SESSION)
    child.user(build.text("look around"))
    store.write(parent)
    store.write(child)
    taken = take(workspace, store.path)
    assert outcomes(taken) == ["added", "added"]
    assert {one.path.rpartition("#")[2] for one in taken} == {build.SESSION, "ses_child"}
    assert session_of("ses_child").parent == session_of(build.SESSION)
    assert session_of("ses_child").parent_kind == "subagent"
    assert texts(session_of(build.SESSION)) == [item.text for item in build.read(parent.data()).context()]


def test_a_session_is_the_same_whether_exported_or_from_the_database(
    workspace: Workspace, store: Store, tmp_path: Path
) -> None:
    made = long()
    store.write(made)
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "session.json").write_bytes(made.data())
    take(workspace, store.path)
    take(workspace, folder)
    one, other = Session.objects.order_by("created_at")
    names = ("seq", "turn", "step", "kind", "native_id", "sent", "text", "tokens")
    assert list(one.entries.order_by("seq").values_list(*names)) == list(
        other.entries.order_by("seq").values_list(*names)
    )
    assert (one.totals["steps"], other.totals["steps"]) == (PROVISIONAL, 0), "counted once"


def test_the_bytes_of_a_session_are_those_its_entries_point_to(workspace: Workspace, store: Store) -> None:
    store.write(long(turns=2))
    take(workspace, store.path)
    source = Source.objects.get()
    whole = json.loads(b"".join(stored(source)))
    assert whole["info"]["id"] == build.SESSION
    for entry in session_of(build.SESSION).entries.all():
        assert json.loads(record_of(entry))


def test_the_same_database_twice_changes_nothing(workspace: Workspace, store: Store) -> None:
    store.write(long())
    take(workspace, store.path)
    before = list(Session.objects.values())
    assert outcomes(take(workspace, store.path)) == ["unchanged"]
    assert list(Session.objects.values()) == before


def test_what_came_is_added_to_the_one_that_grew(workspace: Workspace, store: Store) -> None:
    made, other = long(), build.Session("ses_other")
    other.user(build.text("elsewhere"))
    store.write(made)
    store.write(other)
    take(workspace, store.path)
    made.user(build.text("one more"))
    made.assistant(build.start(), build.text("indeed"), build.finish())
    store.write(made)
    grown, left = take(workspace, store.path)
    assert (grown.outcome, left.outcome) == ("grown", "unchanged")
    assert texts(session_of(build.SESSION)) == [item.text for item in build.read(made.data()).context()]
    assert Session.objects.count() == 2


def test_a_message_that_says_more_of_itself_later_changes_no_other(workspace: Workspace, store: Store) -> None:
    """The digest of a turn's changes is written into the person's message when the next turn is on its way."""
    made = long()
    made.user(build.text("so that reading stops"), build.text("in the midst of an answer"))
    store.write(made)
    take(workspace, store.path)
    made.messages[2]["info"]["summary"] = {"diffs": [{"file": "a", "additions": 1, "deletions": 0}]}
    made.info["title"] = "A better title"
    made.user(build.text("one more"))
    made.assistant(build.start(), build.text("indeed"), build.finish())
    store.write(made)
    assert outcomes(take(workspace, store.path)) == ["grown"]
    session = session_of(build.SESSION)
    assert session.title == "A better title"
    whole = build.read(b"".join(stored(session.source)))
    said = [(one.seq, one.entry.native_id, one.entry.native_parent, one.turn, one.step) for one in whole.placed]
    names = ("seq", "native_id", "native_parent", "turn", "step")
    assert list(session.entries.order_by("seq").values_list(*names)) == said


def test_a_result_cleared_long_after_keeps_the_session_and_its_versions(workspace: Workspace, store: Store) -> None:
    made = long()
    store.write(made)
    take(workspace, store.path)
    session = session_of(build.SESSION)
    ours = roll_back(session.pk, to_turn=PROVISIONAL - 1)
    state = made.messages[1]["parts"][2]["state"]
    state["time"]["compacted"] = build.START + 10_000_000
    store.write(made)
    (taken,) = take(workspace, store.path)
    assert taken.outcome == "grown"
    session.refresh_from_db()
    assert session.superseded_by is None
    assert session.versions.filter(pk=ours.now.pk).exists()
    assert session.versions.filter(kind="microcompaction").count() == 1
    native = [item.text for item in context_items(session, session.native_head)]
    assert native == [item.text for item in build.read(made.data()).context()]
    assert "[Old tool result content cleared]" in native


def test_deleted_messages_make_a_revision_and_stay_in_the_older_one(workspace: Workspace, store: Store) -> None:
    made = long()
    store.write(made)
    take(workspace, store.path)
    first = session_of(build.SESSION)
    made.messages = made.messages[:4]
    made.user(build.text("another way"))
    store.rewrite(made)
    (taken,) = take(workspace, store.path)
    assert taken.outcome == "rewritten"
    first.refresh_from_db()
    assert first.superseded_by == session_of(build.SESSION)
    assert "question 7" in texts(first)


def test_a_live_agent_is_not_held_up(store: Store) -> None:
    """While we read, its writes go through at once, and we do not see them."""
    store.write(long(turns=1))
    found = expanded(store.path)
    assert found is not None
    members = found.members()
    member = next(members)
    store.connection.execute("PRAGMA busy_timeout = 0")
    store.write(long("ses_later", turns=1))
    assert json.loads(member.document())["info"]["id"] == build.SESSION
    assert list(members) == []


def test_a_change_of_the_log_is_one_of_its_database(workspace: Workspace, store: Store) -> None:
    store.write(long(turns=1))
    log = Path(f"{store.path}-wal")
    assert may_hold(log)
    assert [one.outcome for one in ingest_paths(workspace, [log, store.path])] == ["added"]


def test_what_is_in_the_log_alone_is_read(store: Store, tmp_path: Path) -> None:
    """A copy of the two files, as a crash leaves them: no index of the log, nobody at work."""
    store.write(long(turns=1))
    copy = tmp_path / "crashed" / "opencode.db"
    copy.parent.mkdir()
    for suffix in ("", "-wal"):
        (copy.parent / f"opencode.db{suffix}").write_bytes(Path(f"{store.path}{suffix}").read_bytes())
    before = {path.name: path.read_bytes() for path in copy.parent.iterdir()}
    found = expanded(copy)
    assert found is not None
    assert [member.native_id for member in found.members()] == [build.SESSION]
    assert {path.name: path.read_bytes() for path in copy.parent.iterdir()} == before


def test_a_database_locked_by_another_is_read_all_the_same(tmp_path: Path) -> None:
    made = Store(tmp_path / "opencode.db", journal="delete")
    made.write(long(turns=1))
    made.connection.execute("BEGIN EXCLUSIVE")
    found = expanded(made.path)
    assert found is not None
    assert [member.native_id for member in found.members()] == [build.SESSION]
    made.connection.execute("ROLLBACK")
    made.close()


def test_a_database_that_keeps_changing_is_refused_with_the_reason(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Store(tmp_path / "opencode.db", journal="delete")
    made.write(long(turns=1))
    made.close()
    copied = shutil.copyfile

    def disturbed(source: Path, target: Path) -> Any:
        done = copied(source, target)
        with Path(source).open("r+b") as file:
            file.seek(24)
            count = int.from_bytes(file.read(4)) + 1
            file.seek(24)
            file.write(count.to_bytes(4))
            file.truncate(Path(source).stat().st_size + 4096)
        return done

    monkeypatch.setattr(shutil, "copyfile", disturbed)
    (taken,) = take(workspace, made.path)
    assert taken.outcome == "failed"
    assert "kept changing" in taken.reason


def test_keys_and_tokens_stay_closed(store: Store) -> None:
    store.connection.execute("CREATE TABLE credential (id text, value text)")
    store.connection.execute("INSERT INTO credential VALUES ('a', 'secret')")
    with snapshot(store.path, frozenset({"session"})) as connection:
        assert connection.execute("SELECT count(*) FROM session").fetchone() == (0,)
        for query in (
            "SELECT * FROM credential",
            "SELECT * FROM message",
            "PRAGMA table_info(session)",
            "ATTACH 'x' AS y",
        ):
            with pytest.raises(sqlite3.DatabaseError):
                connection.execute(query)


def test_no_secret_of_the_database_is_kept(workspace: Workspace, store: Store) -> None:
    store.connection.execute("CREATE TABLE session_share (session_id text, secret text)")
    store.connection.execute("INSERT INTO session_share VALUES (?, 'hunter2-secret')", (build.SESSION,))
    store.write(long(turns=1))
    store.connection.execute("UPDATE session SET share_url = 'https://share.example/hunter2-secret'")
    take(workspace, store.path)
    assert b"hunter2" not in b"".join(stored(Source.objects.get()))


def test_what_is_no_database_inside_is_said(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes(b"SQLite format 3\0" + b"\x07" * 5000)
    (taken,) = take(workspace, path)
    assert taken.outcome == "failed"
    assert "cannot be read" in taken.reason


def test_an_empty_store_is_no_session(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    sqlite3.connect(path).execute("CREATE TABLE other (id text)").connection.close()
    assert take(workspace, path) == []


def test_rows_that_are_no_records_lose_nothing_else(workspace: Workspace, store: Store) -> None:
    store.write(long(turns=2))
    store.connection.execute('UPDATE part SET data = \'{"type":"te\' WHERE id = (SELECT min(id) FROM part)')
    store.connection.execute("UPDATE part SET data = x'ff00' WHERE id = (SELECT max(id) FROM part)")
    (taken,) = take(workspace, store.path)
    assert (taken.outcome, taken.malformed) == ("added", 2)
    assert taken.turns == 1, "the first question is the part that broke"


def test_parts_of_a_message_that_is_gone_are_kept_apart(workspace: Workspace, store: Store) -> None:
    made = long(turns=2)
    store.write(made)
    gone = made.messages[0]["info"]["id"]
    store.connection.execute("PRAGMA foreign_keys = OFF")
    store.connection.execute("DELETE FROM message WHERE id = ?", (gone,))
    take(workspace, store.path)
    session = session_of(build.SESSION)
    (lost,) = session.entries.filter(problem__isnull=False)
    assert not lost.sent
    assert texts(session)[0] == "answer 0"


def test_a_session_of_the_storage_tree(workspace: Workspace, tmp_path: Path) -> None:
    made = long(turns=2)
    root = tmp_path / "storage"
    anchor = lay_out(made, root)
    taken = take(workspace, root)
    assert [one.outcome for one in taken if one.outcome != "skipped"] == ["added"]
    assert all(one.reason != "no records of an agent known here" for one in taken if one.outcome == "skipped")
    session = session_of(build.SESSION)
    assert session.source.path == str(anchor)
    assert texts(session) == [item.text for item in build.read(made.data()).context()]
    assert outcomes(take(workspace, anchor)) == ["unchanged"]
    made.user(build.text("more"))
    lay_out(made, root)
    assert outcomes(take(workspace, anchor)) == ["grown"]
    assert texts(session_of(build.SESSION))[-1] == "more"


def test_of_tree_and_database_the_database_wins(workspace: Workspace, store: Store, tmp_path: Path) -> None:
    made = long(turns=1)
    store.write(made)
    anchor = lay_out(made, tmp_path / "storage")
    take(workspace, store.path)
    (taken,) = take(workspace, anchor)
    assert taken.outcome == "skipped"
    assert "database" in taken.reason
    assert Session.objects.count() == 1


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "opencode.db")
    found: list[Any] = []
    reader = threading.Thread(target=lambda: found.append(expanded(tmp_path / "opencode.db")), daemon=True)
    reader.start()
    reader.join(5)
    assert found == [None]


def test_what_went_meanwhile_is_said(tmp_path: Path, store: Store) -> None:
    found = expanded(store.path)
    assert found is not None
    store.close()
    for path in store.path.parent.glob("opencode.db*"):
        path.unlink()
    with pytest.raises(Unreadable):
        list(found.members())


def test_recorded_sessions_of_a_database_are_their_exports(workspace: Workspace, shared_data: Path) -> None:
    folder = shared_data / "opencode"
    taken = take(workspace, folder / "gen11833-opencode.db")
    assert outcomes(taken) == ["added"] * 6
    for name in ("auto", "child", "partial", "prune"):
        path = folder / f"gen11833-export-{name}.json"
        whole = build.read(path.read_bytes())
        session = session_of(json.loads(path.read_bytes())["info"]["id"])
        assert texts(session) == [item.text for item in whole.context()], name
    fork = Session.objects.get(parent_kind="fork")
    assert fork.totals["steps"] == 0, "its answers were given in the session it was forked from"
    assert fork.parent == session_of("ses_dd53353d8ffeWZkOg3AwX9XLUC")


def test_everything_recorded_comes_in_once(workspace: Workspace, shared_data: Path) -> None:
    folder = shared_data / "opencode"
    first = take(workspace, folder)
    assert {one.outcome for one in first} <= {"added", "skipped"}
    assert all(one.reason for one in first if one.outcome == "skipped")
    assert sum(one.outcome == "added" for one in first) == 19 + 6 + 1
    assert not any(one.malformed for one in first)
    sources = {source.path: source for source in Source.objects.all()}
    for path in folder.glob("*.json"):
        assert b"".join(stored(sources[str(path.resolve())])) == path.read_bytes()
    again = take(workspace, folder)
    assert {one.outcome for one in again} <= {"unchanged", "skipped"}
    assert sum(one.added for one in again) == 0
