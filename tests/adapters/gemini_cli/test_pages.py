"""Its sessions on the pages: a call with its result in one record, the exact bytes of a message inside a document."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from sessions.ingest import take_file
from sessions.models import Session
from tests.adapters.gemini_cli import build
from webapp.models import Membership, Role, User, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


@pytest.fixture
def quill(workspace: Workspace) -> Client:
    user = User.objects.create_user("quill", password="a long pass phrase")
    Membership.objects.create(user=user, workspace=workspace, role=Role.OPERATOR)
    client = Client()
    client.force_login(user)
    return client


def taken(workspace: Workspace, folder: Path, name: str, data: bytes) -> Session:
    path = folder / name
    path.write_bytes(data)
    found = take_file(workspace, path).session
    assert found is not None
    return Session.objects.get(pk=found)


MADE = build.call("run_shell_command__c1", "run_shell_command", {"command": "seq 3"}, "the output of seq")
ANSWER = build.model("g1", "Counting.", thoughts=[build.thought("On", "numbers")], toolCalls=[MADE])


def test_a_message_of_a_document_opens_with_its_call_and_its_result(
    quill: Client, workspace: Workspace, tmp_path: Path
) -> None:
    session = taken(workspace, tmp_path, "session-x.json", build.document(build.user("u1", "count"), ANSWER))
    entry = session.entries.get(native_id="g1")
    page = quill.get(reverse("sessions:session", args=[session.pk])).content.decode()
    assert "Counting." in page
    assert "seq 3" in page
    opened = quill.get(reverse("sessions:entry", args=[session.pk, entry.seq])).content.decode()
    assert opened.count("the output of seq") == 1
    raw = quill.get(reverse("sessions:raw", args=[session.pk, entry.seq])).content.decode()
    assert "the output of seq" in raw


def test_a_compacted_log_shows_its_summary_and_its_ghosts(quill: Client, workspace: Workspace, tmp_path: Path) -> None:
    log = build.data(
        build.head(),
        build.user("u1", "count"),
        ANSWER,
        build.compacted("s1", "it was counted"),
        build.user("u2", "and on"),
    )
    session = taken(workspace, tmp_path, "session-x.jsonl", log)
    page = quill.get(reverse("sessions:session", args=[session.pk])).content.decode()
    assert "it was counted" in page
    assert "and on" in page
    assert session.native_head is not None
    assert session.native_head.kind == "compaction"
    for name in ("meter", "turns", "chart", "goals", "versions"):
        assert quill.get(reverse(f"sessions:{name}", args=[session.pk])).status_code == 200
