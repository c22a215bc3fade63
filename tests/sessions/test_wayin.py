"""The pages of the ways in: uploads as a form, the intake log and its bounds, whether folders are watched."""

from __future__ import annotations

import io
import re
import signal
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from sessions import intake, uploads, watched
from sessions.ingest import Taken
from sessions.ingesting import ingest_paths
from sessions.models import Intake, Session, Watcher
from tests.claude_lines import ClaudeLines, turns
from tests.processes import MANAGE, read_until
from webapp.models import Membership, Role, User, Workspace

pytestmark = pytest.mark.django_db

NAME = "11111111-2222-4333-8444-555555555555.jsonl"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def workspace() -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def member(workspace: Workspace, name: str, role: Role) -> Client:
    user = User.objects.create_user(name, password="a long pass phrase")
    Membership.objects.create(user=user, workspace=workspace, role=role)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def quill(workspace: Workspace) -> Client:
    return member(workspace, "quill", Role.OPERATOR)


@pytest.fixture
def gall(workspace: Workspace) -> Client:
    return member(workspace, "gall", Role.VIEWER)


def text_of(response: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def upload(client: Client, *files: tuple[str, bytes], **more: Any) -> Any:
    return client.post("/take-in", {"files": [SimpleUploadedFile(name, data) for name, data in files], **more})


# -- by hand -----------------------------------------------------------------------------------------------------------


def test_a_form_takes_in_many_files_and_says_what_became_of_each(quill, workspace):
    other = ClaudeLines("99999999-2222-4333-8444-555555555555")
    answer = upload(
        quill,
        (NAME, bytes(turns(3))),
        ("other.jsonl", bytes(turns(2, other))),
        ("notes.md", b"no session\n"),
        ("e", b""),
    )
    assert answer.status_code == 200
    said = text_of(answer)
    assert said.count("new session") == 2
    assert "no records of an agent known here" in said
    assert Session.objects.filter(workspace=workspace).count() == 2
    assert reverse("sessions:session", args=[Session.objects.get(native_id=NAME[:36]).pk]) in answer.content.decode()
    assert dict(intake.counts(workspace)) == {"added": 2, "skipped": 2}
    assert {row.by.username for row in Intake.objects.all()} == {"quill"}


def test_a_shorter_file_stays_out_until_the_box_is_ticked(quill, workspace):
    long, short = bytes(turns(5)), bytes(turns(2))
    upload(quill, (NAME, long))
    refused = text_of(upload(quill, (NAME, short)))
    assert f"{len(long):,} are stored under its name. They stay as they are." in refused
    assert Session.objects.get().source.size == len(long)
    assert "new revision" in text_of(upload(quill, (NAME, short), rewrite="1"))
    assert Session.objects.get(superseded_by=None).source.size == len(short)
    assert "unchanged" in text_of(upload(quill, (NAME, short)))


def test_a_form_without_a_file_says_so(quill):
    assert "No file was chosen" in text_of(quill.post("/take-in"))


def test_a_database_is_sent_where_it_can_be_read(quill):
    said = text_of(upload(quill, ("opencode.db", uploads.DATABASE + b"\0" * 5000)))
    assert "`ingest` it there, or `push` its sessions" in said
    assert not Session.objects.exists()


def test_who_may_only_read_takes_nothing_in(gall, workspace):
    assert gall.get("/take-in").status_code == 403
    assert upload(gall, (NAME, bytes(turns(1)))).status_code == 403
    assert not Session.objects.exists()
    assert "/take-in" not in gall.get("/").content.decode()
    assert "/take-in" not in gall.get("/intake").content.decode()
    assert gall.get("/intake").status_code == 200


def test_strangers_are_sent_to_the_door(workspace):
    for address in ("/take-in", "/intake", "/watched"):
        assert Client().get(address).status_code == 302
    User.objects.create_user("alone", password="a long pass phrase")
    alone = Client()
    alone.force_login(User.objects.get(username="alone"))
    assert alone.get("/intake").status_code == 404
    assert alone.get("/take-in").status_code == 403


def test_the_list_leads_there(quill, workspace):
    assert 'href="/take-in"' in quill.get("/").content.decode()


# -- the log -----------------------------------------------------------------------------------------------------------


def test_every_way_in_is_written_down_by_one_hand(quill, workspace, tmp_path):
    path = tmp_path / NAME
    path.write_bytes(bytes(turns(2)))
    (tmp_path / "notes.md").write_text("no session")
    call_command("ingest", str(tmp_path), stdout=io.StringIO())
    path.write_bytes(bytes(turns(4)))
    ingest_paths(workspace, [tmp_path], how=intake.How.WATCH)
    quill.post("/api/sources?name=x.jsonl", b"nothing", content_type="application/octet-stream")
    rows = set(Intake.objects.values_list("how", "outcome", "path"))
    assert rows == {
        ("command", "added", str(path)),
        ("command", "skipped", str(tmp_path / "notes.md")),
        ("watch", "grown", str(path)),
        ("watch", "skipped", str(tmp_path / "notes.md")),
        ("upload", "skipped", "upload:/x.jsonl"),
    }
    page = text_of(quill.get("/intake"))
    assert "no records of an agent known here" in page
    assert "skipped 3" in page


def test_the_same_outcome_again_is_the_same_row(workspace, tmp_path):
    path = tmp_path / NAME
    for n in range(1, 5):
        path.write_bytes(bytes(turns(n)))
        ingest_paths(workspace, [path], how=intake.How.WATCH)
        ingest_paths(workspace, [path], how=intake.How.WATCH)  # unchanged: no news
    added, grown = Intake.objects.order_by("pk")
    assert (added.outcome, added.times, added.added) == ("added", 1, 4)
    assert (grown.outcome, grown.times, grown.added, grown.entries) == ("grown", 3, 12, 16)
    assert grown.at > added.at


def test_the_log_is_bounded_and_each_workspace_has_its_own(workspace, settings):
    settings.INTAKE_KEPT = 5
    other = Workspace.objects.create(name="Elsewhere", slug="elsewhere")
    intake.note(other, Taken("/there.jsonl", "skipped", "x"), how="command")
    for n in range(9):
        intake.note(workspace, Taken(f"/{n}.jsonl", "skipped", "x"), how="command")
    assert intake.prune(workspace) == 4
    assert intake.prune(workspace) == 0
    kept = list(Intake.objects.filter(workspace=workspace).order_by("-at", "-pk").values_list("path", flat=True))
    assert kept == [f"/{n}.jsonl" for n in (8, 7, 6, 5, 4)]
    assert Intake.objects.filter(workspace=other).count() == 1


def test_the_page_filters_and_goes_on_by_keyset(quill, workspace, monkeypatch):
    for n in range(7):
        intake.note(workspace, Taken(f"/{n}.jsonl", "failed" if n % 2 else "skipped", f"why {n}"), how="command")
    Intake.objects.update(at=timezone.now())  # all at once: the number decides
    seen: list[str] = []
    after: str | None = ""
    while after is not None:
        page = intake.page(workspace, after=after, size=3)
        seen += [row.path for row in page.rows]
        after = page.after
    assert seen == [f"/{n}.jsonl" for n in range(6, -1, -1)]
    monkeypatch.setattr(intake, "PAGE", 3)
    assert [row.path for row in intake.page(workspace, outcome="failed").rows] == ["/5.jsonl", "/3.jsonl", "/1.jsonl"]
    answer = quill.get("/intake?outcome=failed")
    assert "why 5" in text_of(answer)
    assert "why 4" not in text_of(answer)
    assert "Nothing of this kind" in text_of(quill.get("/intake?how=push"))
    assert quill.get("/intake?after=nonsense&how=no&outcome=no").status_code == 200
    fragment = quill.get("/intake?outcome=skipped", headers=HTMX).content.decode()
    assert "<html" not in fragment
    assert "why 4" in fragment


def test_a_strange_name_and_reason_are_text(quill, workspace):
    intake.note(workspace, Taken("/<script>alert(1)</script>\u202e\x00.jsonl", "failed", "<b>no</b>"), how="command")
    page = quill.get("/intake").content.decode()
    assert "<script>alert(1)" not in page
    assert "<b>no</b>" not in page
    assert "\u202e" not in page


def test_nobody_sees_what_came_into_another_workspace(quill, workspace):
    other = Workspace.objects.create(name="Elsewhere", slug="elsewhere")
    intake.note(other, Taken("/secret.jsonl", "skipped", "x"), how="command")
    assert "secret" not in text_of(quill.get("/intake"))


# -- watched folders ---------------------------------------------------------------------------------------------------


def test_the_list_says_when_watched_folders_were_read(quill, workspace):
    assert "no folder is watched" in text_of(quill.get("/"))
    watched.beat(workspace, "desk", ["/home/ada/.claude"], read=False)
    assert "watched folders are being read" in text_of(quill.get("/"))
    watched.beat(workspace, "desk", ["/home/ada/.claude"], read=True)
    Watcher.objects.update(read_at=timezone.now() - timedelta(seconds=8))
    assert re.search(r"watched folders read (8|9) s ago", text_of(quill.get("/")))
    Watcher.objects.update(read_at=timezone.now() - timedelta(minutes=3))
    assert "watched folders read 3 min ago" in text_of(quill.get("/watched", headers=HTMX))
    Watcher.objects.update(heard_at=timezone.now() - watched.LATE - timedelta(seconds=1))
    assert "folders not watched since" in text_of(quill.get("/"))
    watched.beat(workspace, "desk", ["/home/ada/.claude"], read=True)
    assert "/home/ada/.claude" in text_of(quill.get("/watched"))
    watched.ended(workspace, "desk")
    assert "folders not watched since" in text_of(quill.get("/"))
    assert Watcher.objects.count() == 1


def test_old_watchers_are_forgotten(workspace):
    watched.beat(workspace, "gone", ["/x"], read=True)
    Watcher.objects.update(heard_at=timezone.now() - watched.FORGOTTEN - timedelta(days=1))
    watched.beat(workspace, "desk", ["/y"], read=True)
    assert list(Watcher.objects.values_list("host", flat=True)) == ["desk"]


@pytest.mark.django_db(transaction=True)
def test_a_real_watcher_says_that_it_has_read(worker_environment, tmp_path):
    workspace = Workspace.objects.create(name="Scriptorium", slug="scriptorium")
    watching = subprocess.Popen(
        [*MANAGE, "watch", str(tmp_path)],
        env={**worker_environment, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        read_until(watching, "Watching")
        for n in range(2):  # the second is heard of only when the first is read
            lines = ClaudeLines(f"{n}1111111-2222-4333-8444-555555555555")
            (tmp_path / f"{n}.jsonl").write_bytes(bytes(turns(1, lines)))
            read_until(watching, f"added     {tmp_path}")
        found = watched.watch_of(workspace)
        assert found is not None
        assert (found.watching, found.folders) == (True, (str(tmp_path),))
        assert found.read_at is not None
        assert set(Intake.objects.values_list("how", "outcome")) == {("watch", "added")}
    finally:
        watching.send_signal(signal.SIGINT)
        assert watching.wait(timeout=20) == 0
        watching.stdout.close()
    ended = watched.watch_of(workspace)
    assert ended is not None
    assert not ended.watching


def test_the_names_of_files_are_no_paths_of_ours(quill, workspace, tmp_path: Path):
    answer = quill.post(
        f"/api/sources?name={tmp_path}/evil.jsonl", bytes(turns(1)), content_type="application/octet-stream"
    )
    assert answer.status_code == 201
    assert list(tmp_path.iterdir()) == []
