"""Sources that are one document: read whole each time, and only what differs is written."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from sessions.differing import PROVISIONAL
from sessions.ingest import Taken, take_file
from sessions.models import Session, Source, Version
from sessions.projection import context_items
from sessions.sourcebytes import place, record_of, stored
from sessions.versions import roll_back
from tests.adapters.gemini_cli import build
from webapp.models import Workspace

pytestmark = pytest.mark.django_db

NAME = "session-2026-11-30T02-00-5f0c7c1e.json"
MANY = PROVISIONAL + 6


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def messages(count: int) -> list[build.Record]:
    """Prompts and answers in turn."""
    return [
        build.user(f"u{n}", f"question {n}", n)
        if n % 2 == 0
        else build.model(f"g{n}", f"answer {n}", n, tokens=build.tokens(100 * n, 10))
        for n in range(count)
    ]


def take(workspace: Workspace, folder: Path, data: bytes) -> Taken:
    path = folder / NAME
    path.write_bytes(data)
    return take_file(workspace, path)


def session_of(taken: Taken) -> Session:
    assert taken.session is not None
    return Session.objects.get(pk=taken.session)


def rows(session: Session) -> list[tuple[Any, ...]]:
    names = ("seq", "byte_offset", "turn", "step", "goal", "kind", "native_id", "sent", "text", "tokens", "byte_length")
    source = Source.objects.get(session=session)
    found = session.entries.order_by("seq").values_list(*names)
    return [(seq, *rest, place(source, seq, offset)) for seq, offset, *rest in found]


def lying(session: Session) -> dict[int, str]:
    """Where each entry's row lies: another place means that it was written anew."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT seq, ctid::text FROM agent_sessions_entry WHERE session_id = %s", [session.pk])
        return dict(cursor.fetchall())


def texts(session: Session) -> list[str]:
    return [item.text for item in context_items(session)]


def test_a_document_comes_in_message_by_message_and_each_points_to_its_bytes(
    workspace: Workspace, tmp_path: Path
) -> None:
    data = build.document(*messages(4))
    session = session_of(take(workspace, tmp_path, data))
    assert b"".join(stored(session.source)) == data
    assert texts(session) == ["question 0", "answer 1", "question 2", "answer 3"]
    assert (session.turns, session.steps_count, session.totals["output"]) == (2, 2, 20)
    entry = session.entries.get(native_id="g1")
    assert json.loads(record_of(entry)) == messages(4)[1]


@pytest.mark.parametrize("before", [2, 4, MANY])
def test_a_document_that_grew_keeps_its_entries_and_gets_the_new_ones(
    workspace: Workspace, tmp_path: Path, before: int
) -> None:
    session = session_of(take(workspace, tmp_path, build.document(*messages(before))))
    old = {row[0]: row for row in rows(session)}
    version = session.native_head
    # the head changes with every write, and here becomes longer: all that follows moves in the file
    grown = take(
        workspace, tmp_path, build.document(*messages(before + 2), summary="Two more", lastUpdated="later than that")
    )
    assert (grown.outcome, grown.added, grown.session) == ("grown", 2, str(session.pk))
    assert Source.objects.count() == 1
    session.refresh_from_db()
    assert session.native_head == version
    new = {row[0]: row for row in rows(session)}
    assert {seq: row[:9] for seq, row in new.items() if seq in old and seq} == {
        seq: row[:9] for seq, row in old.items() if seq
    }
    assert session.title == "Two more"
    for entry in session.entries.exclude(native_id=None):
        assert json.loads(record_of(entry))["id"] == entry.native_id


def test_growing_step_by_step_comes_to_the_same_as_reading_once(workspace: Workspace, tmp_path: Path) -> None:
    for count in range(1, MANY + 1):
        taken = take(workspace, tmp_path, build.document(*messages(count), lastUpdated=f"at {count}"))
    step_by_step = session_of(taken)
    found = (
        rows(step_by_step),
        list(step_by_step.steps.order_by("n").values_list("n", "fresh", "output")),
        step_by_step.totals,
    )
    goals = list(step_by_step.goals.order_by("path").values_list("path", "status", "entries_count", "tokens"))
    Session.objects.all().delete()
    Source.objects.all().delete()
    once = session_of(take(workspace, tmp_path, build.document(*messages(MANY), lastUpdated=f"at {MANY}")))
    assert found == (rows(once), list(once.steps.order_by("n").values_list("n", "fresh", "output")), once.totals)
    assert goals == list(once.goals.order_by("path").values_list("path", "status", "entries_count", "tokens"))


def test_settled_entries_are_not_written_again(workspace: Workspace, tmp_path: Path) -> None:
    session = session_of(take(workspace, tmp_path, build.document(*messages(MANY))))
    before = lying(session)
    take(workspace, tmp_path, build.document(*messages(MANY + 1), summary="Longer", lastUpdated="later than that"))
    after = lying(session)
    assert [seq for seq, place in after.items() if before.get(seq) != place] == [0, MANY + 1], "the head, and what came"


def test_a_last_message_that_got_its_results_is_the_same_session(workspace: Workspace, tmp_path: Path) -> None:
    asked = [*messages(4), build.user("u", "run it"), build.model("g", "Running.", tokens=build.tokens(500, 7))]
    session = session_of(take(workspace, tmp_path, build.document(*asked)))
    asked[-1] = {**asked[-1], "toolCalls": [build.call("c", "run_shell_command", {"command": "ls"}, "a b c")]}
    grown = take(
        workspace, tmp_path, build.document(*asked, build.model("h", "Three files.", tokens=build.tokens(600, 9)))
    )
    assert (grown.outcome, grown.session) == ("grown", str(session.pk))
    assert [item.kind for item in context_items(session)][-2:] == ["tool_call", "message"]
    session.refresh_from_db()
    assert session.totals["output"] == 20 + 7 + 9


def test_a_document_that_was_half_written_is_read_on_when_it_is_whole(workspace: Workspace, tmp_path: Path) -> None:
    data = build.document(*messages(6))
    torn = take(workspace, tmp_path, data[: data.index(b"answer 5")])
    assert (torn.outcome, torn.malformed) == ("added", 1)
    whole = take(workspace, tmp_path, data)
    assert (whole.outcome, whole.malformed, whole.session) == ("grown", 0, torn.session)
    assert texts(session_of(whole))[-1] == "answer 5"


def _other(found: list[build.Record]) -> list[build.Record]:
    return [build.user("x", "of another conversation"), *found[1:]]


def _masked(found: list[build.Record]) -> list[build.Record]:
    return [*found[:3], {**found[3], "content": "short"}, *found[4:]]


@pytest.mark.parametrize("count", [5, MANY])
@pytest.mark.parametrize("change", [_other, _masked, lambda found: found[:-2]], ids=["other", "shorter", "rewound"])
def test_a_document_that_changed_otherwise_is_another_revision(
    workspace: Workspace, tmp_path: Path, count: int, change: Any
) -> None:
    first = session_of(take(workspace, tmp_path, build.document(*messages(count))))
    before = rows(first)
    changed = take(workspace, tmp_path, build.document(*change(messages(count))))
    assert changed.outcome == "rewritten"
    second = session_of(changed)
    first.refresh_from_db()
    assert first.superseded_by == second
    assert rows(first) == before
    assert [source.superseded for source in Source.objects.order_by("revision")] == [True, False]


def test_the_same_document_again_changes_nothing(workspace: Workspace, tmp_path: Path) -> None:
    session = session_of(take(workspace, tmp_path, build.document(*messages(5))))
    before = rows(session)
    again = take(workspace, tmp_path, build.document(*messages(5)))
    assert (again.outcome, rows(session)) == ("unchanged", before)


def test_a_persons_versions_stay_when_a_document_grows(workspace: Workspace, tmp_path: Path) -> None:
    session = session_of(take(workspace, tmp_path, build.document(*messages(MANY))))
    roll_back(session.pk, to_turn=2)
    session.refresh_from_db()
    mine = session.head
    assert mine is not None
    take(workspace, tmp_path, build.document(*messages(MANY + 2)))
    session.refresh_from_db()
    assert session.head == mine
    assert Version.objects.filter(pk=mine.pk).exists()
    assert texts(session) == [
        "question 0",
        "answer 1",
        "question 2",
        "answer 3",
        f"question {MANY}",
        f"answer {MANY + 1}",
    ]


def test_lines_after_a_document_make_it_a_log(workspace: Workspace, tmp_path: Path) -> None:
    """An old session on one line, which a newer agent goes on writing to: read as the log that it then is."""
    path = tmp_path / "session-2026-11-30T02-00-5f0c7c1e.jsonl"
    path.write_bytes(build.document(*messages(3), indent=None) + b"\n")
    first = take_file(workspace, path)
    assert first.outcome == "added"
    path.write_bytes(path.read_bytes() + build.data(build.user("v", "and on")))
    grown = take_file(workspace, path)
    assert grown.outcome == "grown"
    assert texts(session_of(grown))[-1] == "and on"
