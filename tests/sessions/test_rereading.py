"""Sessions read again from the bytes that are kept."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from sessions import rereading
from sessions.ingest import take_file
from sessions.models import Event, Session
from sessions.models_marks import Bookmark
from sessions.rereading import read_again
from sessions.versions import Refused, roll_back
from tests.claude_lines import turns
from tests.sessions.test_amendments import all_of, take_in
from tests.sessions.test_amendments import made as opencode_session
from tests.sessions.test_api import bearer
from webapp.models import Membership, Role, User, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


@pytest.fixture
def session(workspace: Workspace, tmp_path: Path) -> Session:
    path = tmp_path / "0f0f0f0f-1111-4222-8333-444444444444.jsonl"
    path.write_bytes(bytes(turns(6)))
    taken = take_file(workspace, path)
    path.unlink()  # it need not be there any more
    return Session.objects.get(pk=taken.session)


def spoilt(session: Session) -> dict[str, Any]:
    """What is stored of a session, which is then as an older adapter might have read it."""
    before = all_of(session)
    session.entries.filter(seq__gt=3).update(text="read otherwise", kind="other", sent=False)
    session.steps.all().delete()
    Session.objects.filter(pk=session.pk).update(turns=1)
    return before


@pytest.mark.parametrize("whole", [False, True], ids=["log", "document"])
def test_what_is_stored_is_what_the_bytes_say(workspace: Workspace, session: Session, whole: bool) -> None:
    if whole:
        session = Session.objects.get(pk=take_in(workspace, opencode_session()).session)
    before = spoilt(session)
    taken = read_again(session.pk)
    session.refresh_from_db()
    assert all_of(session) == before
    assert (taken.outcome, taken.entries, taken.added) == ("reread", session.entries_count, 0)
    assert Event.objects.filter(session=session, what="reread").count() == 1


def test_what_people_made_stays(session: Session, admin_user: Any) -> None:
    ours = roll_back(session.pk, to_turn=2).now
    Bookmark.objects.create(session=session, seq=2, by=admin_user)
    read_again(session.pk)
    session.refresh_from_db()
    assert session.head == ours
    assert session.bookmarks.get().seq == 2


def test_a_mapping_that_was_changed_holds_for_what_is_read_again(workspace: Workspace, tmp_path: Path) -> None:
    mapping = tmp_path / "palimpsest.toml"
    mapping.write_text('[[mapping]]\nfiles = ["*.acme.jsonl"]\n[mapping.entry]\nrole = "$.who"\ntext = "$.words"\n')
    path = tmp_path / "a.acme.jsonl"
    path.write_text('{"who": "user", "words": "Hi", "said": "Good day"}\n')
    session = Session.objects.get(pk=take_file(workspace, path).session)
    mapping.write_text(mapping.read_text().replace("$.words", "$.said"))
    assert take_file(workspace, path).outcome == "unchanged"
    assert session.entries.get().text == "Hi"
    read_again(session.pk)
    assert session.entries.get().text == "Good day"


def test_an_agent_whose_adapter_is_gone_is_refused(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rereading, "adapters", dict)
    with pytest.raises(Refused, match="claude-code"):
        read_again(session.pk)
    assert session.entries.exists()


def test_the_command_reads_several(session: Session, workspace: Workspace) -> None:
    other = take_in(workspace, opencode_session())
    out = StringIO()
    call_command("reread", str(session.pk), str(other.session), "--json", stdout=out)
    assert [row["session"] for row in json.loads(out.getvalue())] == [str(session.pk), other.session]


def member(workspace: Workspace, role: Role) -> Client:
    user = User.objects.create_user(role.value)
    Membership.objects.create(user=user, workspace=workspace, role=role)
    client = Client()
    client.force_login(user)
    return client


def test_the_page_has_a_button_and_the_api_a_verb(workspace: Workspace, session: Session) -> None:
    operator, viewer = member(workspace, Role.OPERATOR), member(workspace, Role.VIEWER)
    spoilt(session)
    assert viewer.post(f"/s/{session.pk}/reread").status_code == 403
    assert session.entries.filter(text="read otherwise").exists()
    assert operator.post(f"/s/{session.pk}/reread").status_code == 302
    assert not session.entries.filter(text="read otherwise").exists()
    assert f"/s/{session.pk}/reread" in operator.get(f"/s/{session.pk}").content.decode()
    assert f"/s/{session.pk}/reread" not in viewer.get(f"/s/{session.pk}").content.decode()
    key = bearer(workspace, Role.OPERATOR)
    assert Client().post(f"/api/sessions/{session.pk}/reread", **key).json()["outcome"] == "reread"
    assert Client().post(f"/api/sessions/{session.pk}/reread", **bearer(workspace, Role.VIEWER)).status_code == 403
