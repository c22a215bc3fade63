"""Goals carried over: through a compaction, to a project's next session, and into a new session that takes one up again."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from sessions.abandonment import Text
from sessions.carried import Fate, fate_of
from sessions.carrying import carried_over, left_open_before
from sessions.models import Session
from sessions.takeup import LONGEST, words_of
from sessions.tried import tried
from tests.claude_lines import ClaudeLines
from tests.sessions.test_abandoned import given_up, taken, todos
from tests.sessions.test_api import bearer
from tests.sessions.test_audit import given_up_session
from tests.sessions.test_views import HTMX, member
from webapp.models import Role, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def compacted(workspace: Workspace, folder: Path) -> Session:
    lines = ClaudeLines()
    lines.prompt("Make it whole")
    todos(
        lines,
        "t1",
        ("Stream the ledger import", "in_progress"),
        ("Measure the importer on the large file", "pending"),
        ("Rotate the signing keys", "pending"),
        ("Read the code", "completed"),
    )
    lines.says("Going on.")
    lines.compact("In progress: stream the ledger import.\nThen measure the importer on a large file.")
    lines.says("I go on with the import.")
    todos(lines, "t2", ("Stream the ledger import", "in_progress"), ("Rotate the signing keys", "pending"))
    return taken(workspace, folder, lines)


def test_a_compaction_says_which_goals_it_carried_reworded_and_lost(workspace: Workspace, tmp_path: Path) -> None:
    session = compacted(workspace, tmp_path)
    version = session.versions.get(kind="compaction")
    over = carried_over(session, version)
    assert {one.text: one.fate for one in over.goals} == {
        "Stream the ledger import": Fate.CARRIED,
        "Measure the importer on the large file": Fate.REWORDED,
        "Rotate the signing keys": Fate.LOST,
    }
    again = {one.path: one.again_seq for one in over.goals}
    assert again["2"] is None
    assert again["3"] is not None
    client = member(workspace, "quill", Role.VIEWER)
    page = client.get(f"/s/{session.pk}/versions/{version.n}/goals", headers=HTMX).content.decode()
    assert (
        page.count('<li class="lost">')
        == page.count('<li class="carried">')
        == page.count('<li class="reworded">')
        == 1
    )
    assert "is no compaction" in client.get(f"/s/{session.pk}/versions/0/goals").content.decode()
    assert f"/versions/{version.n}/goals" in client.get(f"/s/{session.pk}/versions").content.decode()
    token = bearer(workspace, Role.VIEWER)
    said = Client().get(f"/api/sessions/{session.pk}/versions/{version.n}/goals", **token).json()
    assert (said["carried"], said["reworded"], said["lost"]) == (1, 1, 1)
    out = io.StringIO()
    call_command("goals", str(session.pk), "--carried", "--json", stdout=out)
    assert json.loads(out.getvalue())["compactions"] == [said]


@given(st.text(min_size=1, max_size=40), st.text(max_size=80))
def test_what_stands_word_for_word_is_carried_and_no_text_carries_nothing(goal: str, around: str) -> None:
    assert fate_of("1", [goal], []).fate is Fate.LOST
    if goal.strip():
        assert fate_of("1", [goal], [Text.of(f"{around}\n{goal}\n{around}", 7)]).fate is Fate.CARRIED


def test_a_new_session_of_the_project_shows_what_earlier_ones_left_open(workspace: Workspace, tmp_path: Path) -> None:
    first = ClaudeLines("11111111-2222-4333-8444-000000000001")
    first.prompt("Begin")
    todos(
        first, "t1", ("Rotate the signing keys", "pending"), ("Write the docs", "in_progress"), ("Read it", "completed")
    )
    one = taken(workspace, tmp_path, first)
    second = ClaudeLines("11111111-2222-4333-8444-000000000002")
    second.prompt("Go on")
    todos(second, "t1", ("Write the docs", "in_progress"))
    two = taken(workspace, tmp_path, second)
    assert one.last_at is not None
    Session.objects.filter(pk=two.pk).update(started_at=one.last_at.replace(year=one.last_at.year + 1))
    two.refresh_from_db()
    assert [goal.text for goal in left_open_before(two)] == ["Rotate the signing keys"]
    assert left_open_before(one) == []
    page = member(workspace, "quill", Role.VIEWER).get(f"/s/{two.pk}/goals").content.decode()
    assert "1 goal left open by earlier sessions" in page
    assert f"/s/{one.pk}/goal/1" in page


def test_taking_up_again_hands_over_what_was_learned(workspace: Workspace, tmp_path: Path) -> None:
    row = given_up(given_up_session(workspace, tmp_path, "Map the ledger file", compacted=True), "1")
    row.files = ["/home/ada/ledger/map.py"]
    said = words_of(tried(row))
    assert said.startswith("Take up again: Map the ledger file.")
    for words in (
        row.reason,
        "OSError: ENODEV no such device on the mount",
        "First I will map the whole file",
        "/home/ada/ledger/map.py",
    ):
        assert words in said
    assert "\n" not in said
    row.text = "x" * 5_000
    assert len(words_of(tried(row))) <= LONGEST
    # The compact page takes it as the goal of the handoff.
    client = member(workspace, "quill", Role.OPERATOR)
    page = client.get(f"/abandoned/{row.pk}").content.decode()
    address = page.split('class="take-up"><a class="button small" href="')[1].split('"')[0].replace("&amp;", "&")
    taken_up = client.get(address)
    assert taken_up.status_code == 200
    assert "Take up again: Map the ledger file." in taken_up.content.decode()


def test_an_explicitly_empty_list_gives_up_what_was_open(workspace: Workspace, tmp_path: Path) -> None:
    lines = ClaudeLines()
    lines.prompt("Begin")
    todos(lines, "t1", ("Rotate the keys", "in_progress"), ("Read it", "completed"))
    todos(lines, "t2")
    session = taken(workspace, tmp_path, lines)
    assert dict(session.goals.values_list("path", "status")) == {"1": "dropped", "2": "completed"}
    assert given_up(session, "1").how == "vanished"
