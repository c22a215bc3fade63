"""The page and the API that give a version back: what they show, what they send, and whom they refuse."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from sessions.models import Session
from sessions.writers import writers
from tests.compaction.stage import member_of
from tests.sessions.test_api import bearer
from tests.sessions.test_writing import a_session
from webapp.models import Role, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


@pytest.fixture
def session(workspace: Workspace, tmp_path: Path) -> Session:
    return a_session(workspace, tmp_path / "there")


def signed_in(workspace: Workspace, role: Role) -> Client:
    client = Client()
    client.force_login(member_of(workspace, f"quill-{role}", role))
    return client


def test_the_page_says_what_would_be_written_and_the_file_is_that_one(workspace: Workspace, session: Session) -> None:
    quill = signed_in(workspace, Role.OPERATOR)
    page = quill.get(reverse("sessions:resume", args=[session.pk]), {"as": "codex"}).content.decode()
    native = re.search(r"codex resume ([0-9a-f-]{36})", page)
    mark = re.search(r'name="mark" value="([^"]+)"', page)
    assert native is not None
    assert mark is not None
    assert "no equal" in page
    assert "Install on this machine" not in page
    assert not session.events.filter(what="written_back").exists()
    answer = quill.post(
        reverse("sessions:resume-file", args=[session.pk]),
        {"as": "codex", "mark": mark[1], "version": str(session.current.n)},  # type: ignore[union-attr]
    )
    assert native[1] in answer.headers["Content-Disposition"]
    assert json.loads(answer.content.splitlines()[0])["payload"]["id"] == native[1]
    assert session.events.get(what="written_back").facts["native_id"] == native[1]


def test_it_installs_only_where_the_setting_says_so(
    workspace: Workspace, session: Session, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quill = signed_in(workspace, Role.OPERATOR)
    address = reverse("sessions:resume-install", args=[session.pk])
    refused = quill.post(address, {"as": "claude-code"})
    assert refused.status_code == 409
    assert "PALIMPSEST_INSTALL" in refused.content.decode()
    settings.INSTALL_SESSIONS = True
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    live = quill.post(address, {"as": "claude-code"}).content.decode()
    assert "looks live" in live
    done = quill.post(address, {"as": "claude-code", "even_if_live": "1"}).content.decode()
    assert "Installed." in done
    assert len(list((tmp_path / "claude").rglob("*.jsonl"))) == 1


def test_who_may_only_read_sees_and_does_not_write(workspace: Workspace, session: Session) -> None:
    reader = signed_in(workspace, Role.VIEWER)
    page = reader.get(reverse("sessions:resume", args=[session.pk])).content.decode()
    assert "claude --resume" in page
    assert "Download" not in page
    for name in ("sessions:resume-file", "sessions:resume-install"):
        assert reader.post(reverse(name, args=[session.pk])).status_code == 403
    stranger = signed_in(Workspace.objects.create(name="Other", slug="other"), Role.ADMIN)
    assert stranger.get(reverse("sessions:resume", args=[session.pk])).status_code == 404


def test_the_api_answers_as_the_command_does(workspace: Workspace, session: Session, client: Client) -> None:
    key = bearer(workspace, Role.OPERATOR)
    row = client.get(f"/api/sessions/{session.pk}/resume?agent=gemini-cli", **key).json()  # type: ignore[arg-type]
    assert row["agent"] == "gemini-cli"
    assert row["blocks"] > 10
    whole = client.post(
        f"/api/sessions/{session.pk}/resume", json.dumps({"as": "trace"}), content_type="application/json", **key
    )  # type: ignore[arg-type]
    assert whole.content.startswith(b"PK")
    wrong = client.post(
        f"/api/sessions/{session.pk}/resume", json.dumps({"as": "x"}), content_type="application/json", **key
    )  # type: ignore[arg-type]
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (422, "no_writer")
    refused = client.post(f"/api/sessions/{session.pk}/resume/install", "{}", content_type="application/json", **key)  # type: ignore[arg-type]
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "not_allowed")
    reading = bearer(workspace, Role.VIEWER)
    assert (
        client.post(f"/api/sessions/{session.pk}/resume", "{}", content_type="application/json", **reading).status_code
        == 403
    )  # type: ignore[arg-type]


def test_hostile_titles_stay_words(workspace: Workspace, session: Session) -> None:
    evil = '"><script>alert(1)</script>\u202e'
    Session.objects.filter(pk=session.pk).update(title=evil, cwd="/srv/$(touch x)/`id`'")
    page = signed_in(workspace, Role.OPERATOR).get(reverse("sessions:resume", args=[session.pk])).content.decode()
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "cd &#x27;/srv/$(touch x)/`id`&#x27;&quot;&#x27;&quot;&#x27;&#x27; &amp;&amp; claude --resume" in page


def test_the_line_finds_a_file_that_lies_where_it_is_typed(workspace: Workspace, session: Session) -> None:
    quill = signed_in(workspace, Role.OPERATOR)
    page = quill.get(reverse("sessions:resume", args=[session.pk]), {"as": "opencode"}).content.decode()
    assert re.search(
        r"cd \S+ &amp;&amp; opencode import &quot;\$OLDPWD&quot;/ses_\w+\.json &amp;&amp; opencode --session ses_", page
    )


def test_every_writer_can_be_chosen(workspace: Workspace, session: Session) -> None:
    quill = signed_in(workspace, Role.OPERATOR)
    page = quill.get(reverse("sessions:resume", args=[session.pk])).content.decode()
    for writer in writers().values():
        assert writer.label in page
