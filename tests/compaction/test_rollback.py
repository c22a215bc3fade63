"""A roll back with its consequences: what goes is said first, the goal and the agent are told, and undo leads back."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from compaction.goingback import gone_of, notice_of
from compaction.rollback_views import point_of
from compaction.rollingback import foresee, go_back
from sessions import goalmarks, versions
from sessions.contexts import InsertKind
from sessions.entries import Kind, PartKind
from sessions.models import Entry, Session
from sessions.projection import context_items, log_items
from sessions.ranges import Ranges
from sessions.versions import Refused
from tests.builders import call, items, prompt, result
from tests.compaction.stage import a_workspace, everything, member_of, taken_in
from webapp.models import Role, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    return a_workspace()


@pytest.fixture
def session(workspace: Workspace, tmp_path: Path) -> Session:
    return taken_in(workspace, tmp_path, entries=120, bulk=20)


def fresh(session: Session) -> Session:
    return Session.objects.select_related("head", "native_head").get(pk=session.pk)


def test_what_goes_is_what_the_transcript_says_came_after(session: Session) -> None:
    rows = everything()
    turn = session.turns - 2
    seen = foresee(session, to_turn=turn)
    assert everything() == rows
    later = {item.seq for item in context_items(session)} & {item.seq for item in log_items(session, 10**6)}
    later = {seq for seq in later if seq is not None and seq > seen.way.point}
    assert seen.gone.entries == len(later)
    assert [one.n for one in seen.gone.turns] == [turn + 1, turn + 2]
    calls = sum(
        part.kind is PartKind.TOOL_CALL
        for item in log_items(session, session.entries_count - 1)
        if item.seq in later
        for part in item.parts
    )
    assert seen.gone.calls == calls
    assert seen.after < seen.before
    moved = go_back(session.pk, to_turn=turn)
    assert [item.seq for item in context_items(fresh(session))] == [
        item.seq for item in context_items(session, moved.was) if item.seq not in later
    ]


def test_a_step_keeps_the_results_of_its_calls(session: Session) -> None:
    made = Entry.objects.filter(session=session, kind=Kind.TOOL_CALL, step__isnull=False).order_by("-seq")[4]
    assert made.step is not None
    way = versions.way_back(fresh(session), to_step=made.step)
    answered = Entry.objects.get(session=session, kind=Kind.TOOL_RESULT, call_ids=made.call_ids)
    assert way.point >= answered.seq
    assert way.where == f"step {made.step}"
    following = session.steps.filter(n__gt=made.step).order_by("n").first()
    assert following is not None
    assert way.point < following.first_seq


def test_files_are_shown_as_they_were_at_the_point() -> None:
    log = items(
        [
            prompt("go"),
            call("Write", "a", file_path="/p/x.py", content="one\ntwo\n"),
            result("ok"),
            prompt("more"),
            call("Edit", "b", file_path="/p/x.py", old_string="two", new_string="three"),
            result("ok"),
            call("Write", "c", file_path="/p/new.py", content="fresh\n"),
            result("ok"),
            call("Edit", "d", file_path="/p/other.py", old_string="q", new_string="r"),
            result("ok"),
        ]
    )
    gone = gone_of(log, Ranges.of([(3, 10)]), 2, "/p")
    by_path = {file.shown: file for file in gone.files}
    assert by_path["x.py"].before == "one\ntwo\n"
    assert by_path["x.py"].whole
    assert by_path["x.py"].seqs == (4, 5)
    assert (by_path["new.py"].before, by_path["new.py"].made) == (None, True)
    assert (by_path["other.py"].before, by_path["other.py"].made) == (None, False)
    said = notice_of(gone, where="entry 2", reason="It broke the build.", goal="Split the parser")
    for words in ("entry 2", "It broke the build.", "Split the parser", "x.py", "new.py"):
        assert words in said


def test_with_a_reason_the_goal_is_given_up_and_the_agent_is_told(session: Session) -> None:
    path = goalmarks.add(session.pk, text="Map the file into memory", focus=True).goal.path
    moved = go_back(session.pk, to_turn=session.turns - 1, reason="mmap fails on the mount", abandon=True, notice=True)
    goal = session.goals.get(path=path)
    assert (goalmarks.standing(goal), goalmarks.note_of(goal)) == ("abandoned", "mmap fails on the mount")
    notice = next(item for item in context_items(fresh(session)) if item.kind is InsertKind.NOTICE)
    assert "mmap fails on the mount" in notice.text
    assert "Map the file into memory" in notice.text
    back = versions.undo(session.pk)
    assert back.now.pk == moved.was.pk
    assert all(item.kind is not InsertKind.NOTICE for item in context_items(fresh(session)))


def test_the_start_of_a_goal_is_before_its_first_entry(session: Session) -> None:
    goal = session.goals.exclude(spans=Ranges()).order_by("-first_seq").first()
    assert goal is not None
    way = versions.way_back(fresh(session), to_goal=goal.path)
    assert way.point < goal.spans.spans[0][0]


def test_refusals_write_nothing(session: Session) -> None:
    rows = everything()
    for to, words in (
        ({"to_turn": 999}, "turns"),
        ({"to_step": 9999}, "steps"),
        ({"to_goal": "99.9"}, "no goal"),
        ({}, "Say either"),
        ({"to_turn": session.turns}, "Nothing stands after"),
    ):
        with pytest.raises(Refused, match=words):
            go_back(session.pk, **to)
    with pytest.raises(Refused, match="Say why"):
        go_back(session.pk, to_turn=1, notice=True)
    assert everything() == rows


def test_points_are_read_as_they_are_typed() -> None:
    assert point_of("t12") == {"to_turn": 12}
    assert point_of(" step 88") == {"to_step": 88}
    assert point_of("400") == point_of("e400") == {"to_entry": 400}
    assert point_of("g2.1") == {"to_goal": "2.1"}
    for wrong in ("", "x y z", "tt", "e-1"):
        with pytest.raises(Refused):
            point_of(wrong)


def test_page_command_and_api(session: Session, workspace: Workspace) -> None:
    client = Client()
    client.force_login(member_of(workspace, "quill", Role.OPERATOR))
    turn = session.turns - 1
    page = client.get(f"/s/{session.pk}/rollback?to=t{turn}").content.decode()
    assert f"Back to turn {turn}" in page
    part = client.get(f"/s/{session.pk}/rollback?to=t{turn}", headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    out = StringIO()
    call_command("rollback", str(session.pk), "--to-turn", str(turn), "--preview", "--json", stdout=out)
    told = json.loads(out.getvalue())
    asked = client.post(
        f"/api/sessions/{session.pk}/rollback", {"to_turn": turn, "preview": True}, content_type="application/json"
    ).json()
    assert told == asked
    bad = client.post(f"/s/{session.pk}/rollback", {"to": f"t{turn}", "base": "77"})
    assert (bad.status_code, "Nothing was changed" in bad.content.decode()) == (409, True)
    made = client.post(f"/s/{session.pk}/rollback", {"to": f"t{turn}", "reason": "no", "notice": "yes"}, follow=True)
    assert "Rolled back" in made.content.decode()
