"""A session's memory in the database: its versions, who waits for whom, what a run makes of it, its page, command and API."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.db.models.functions import Now
from django.test import Client

from compaction import project_memory, remembered, runs, session_memory
from compaction.models import MemoryKeeping, MemoryNote, ProjectNote
from compaction.notes.due import WAIT
from compaction.notes.sections import render
from compaction.session_memory import Patience, TooLate
from sessions.contexts import InsertKind
from sessions.models import Session
from sessions.store import edits_of
from sessions.versions import Refused, locked
from tests.compaction.stage import everything, grow, member_of
from tests.compaction.test_runs import prompt_after
from webapp.models import Role, Workspace

pytestmark = pytest.mark.django_db(transaction=True)


class Hands:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def text_of(session: Session) -> str:
    return render(remembered.notes_of(remembered.newest(session)))


def test_it_is_brought_up_to_date_once_and_again_only_with_what_is_new(session: Session) -> None:
    first = session_memory.bring_up_to_date(session, reason="asked for")
    assert first.row is not None
    assert (first.row.n, first.new, first.whole, first.row.writer) == (1, True, True, "extractive")
    again = session_memory.bring_up_to_date(session, reason="asked for")
    assert (again.row, again.new) == (first.row, False)
    grow(session, prompt_after(session))
    session.refresh_from_db()
    second = session_memory.bring_up_to_date(session, reason="asked for")
    assert second.row is not None
    assert (second.row.n, second.row.until) == (2, session.entries_count - 1)
    assert MemoryNote.objects.get(session=session, n=1).notes == first.row.notes


def test_an_edit_is_a_version_of_its_own_and_outlives_updates(session: Session) -> None:
    session_memory.bring_up_to_date(session, reason="asked for")
    row = session_memory.edit(session, text_of(session).replace("# Learnings", "# Learnings\n- mind the cache"))
    assert (row.n, row.origin, row.writer) == (2, "edit", "edited")
    grow(session, prompt_after(session))
    session_memory.bring_up_to_date(Session.objects.get(pk=session.pk), reason="asked for")
    assert "- mind the cache" in text_of(session)
    with pytest.raises(Refused, match="already"):
        session_memory.edit(session, text_of(session))
    with pytest.raises(Refused, match="before the first section"):
        session_memory.edit(session, "nothing of it")


def test_an_edit_between_reading_and_writing_is_taken_in_not_written_over(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken_in = session_memory._taken_in
    edited: list[MemoryNote] = []

    def slow(*given: Any) -> Any:
        found = taken_in(*given)
        if not edited:
            edited.append(session_memory.edit(session, text_of(session).replace("# Learnings", "# Learnings\n- mine")))
        return found

    monkeypatch.setattr(session_memory, "_taken_in", slow)
    brought = session_memory.bring_up_to_date(session, reason="asked for")
    assert brought.row is not None
    assert [edited[0].n, brought.row.n] == [1, 2]
    assert "- mine" in text_of(session)


def test_a_run_waits_fifteen_seconds_for_another_that_is_at_it_and_goes_on_without(session: Session) -> None:
    held, done = Event(), Event()

    def another() -> None:
        with session_memory._alone(session, Patience()):
            held.set()
            done.wait()
        connection.close()

    thread = Thread(target=another)
    thread.start()
    held.wait()
    hands, told = Hands(), []
    try:
        session_memory.before_run(session, 299, told.append, clock=hands.clock, sleep=hands.sleep)
        assert WAIT <= hands.now < WAIT + 1
        assert told == ["the session's memory was not ready after 15 s; going on without"]
    finally:
        done.set()
        thread.join()
    session_memory.before_run(session, 299, told.append, clock=hands.clock, sleep=hands.sleep)
    assert "up to entry" in told[-1]


def test_what_was_taken_in_when_the_time_is_over_is_kept(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_memory, "BLOCK", 40)
    ticks = iter(range(0, 1000, 8))
    brought = session_memory.bring_up_to_date(
        session, reason="asked for", patience=Patience(15, lambda: float(next(ticks)), lambda _: None)
    )
    assert brought.row is not None
    assert not brought.whole
    assert brought.row.until < session.entries_count - 1
    assert session_memory.bring_up_to_date(session, reason="asked for").whole


@pytest.mark.parametrize(("taken_away", "written"), [(False, True), (True, False)])
def test_a_memory_is_written_beside_a_run_and_waits_only_for_a_session_that_is_taken_away(
    session: Session, taken_away: bool, written: bool
) -> None:
    raised: list[BaseException] = []

    def bring() -> None:
        try:
            session_memory.bring_up_to_date(session, reason="asked for", patience=Patience(0.2))
        except TooLate as late:
            raised.append(late)
        finally:
            connection.close()

    with transaction.atomic():
        if taken_away:
            Session.objects.select_for_update().get(pk=session.pk)
        else:
            locked(session.pk)
        thread = Thread(target=bring)
        thread.start()
        thread.join()
    assert bool(raised) is not written
    assert MemoryNote.objects.filter(session=session).exists() is written


def test_a_run_that_folds_puts_the_memory_first_and_does_what_its_preview_showed(session: Session) -> None:
    params = {"memory_least": 100, "memory_messages": 1, "memory_most": 2_000, "micro": "nothing"}
    session_memory.bring_up_to_date(session, reason="asked for")
    before = everything()
    shown = runs.preview_run(session, strategy="claude-code", params=params)
    assert everything() == before
    assert shown.preview.plan.facts["session_memory"] is True
    run = runs.request(
        session.pk,
        strategy="claude-code",
        params=params,
        expected_hash=shown.base.content_hash,
        plan_digest=shown.preview.digest,
    )
    session_memory.edit(session, text_of(session).replace("# Learnings", "# Learnings\n- too late for this run"))
    runs.execute(run.pk)
    run.refresh_from_db()
    assert run.state == "completed", run.reason
    assert run.version is not None
    kinds = [edit for edit in edits_of(run.version) if getattr(edit, "kind", None) is InsertKind.MEMORY]
    assert len(kinds) == 1
    assert "too late" not in kinds[0].text  # type: ignore[union-attr]
    assert run.report["facts"]["session_memory"] is True


def test_a_run_without_a_preview_takes_the_newest(session: Session) -> None:
    params = {"memory_least": 100, "memory_messages": 1, "memory_most": 2_000, "micro": "nothing"}
    run = runs.request(session.pk, strategy="claude-code", params=params)
    runs.execute(run.pk)
    run.refresh_from_db()
    assert run.state == "completed", run.reason
    assert run.report["facts"]["session_memory"] is True
    assert MemoryNote.objects.get(session=session).reason == "before a compaction"


def test_sessions_at_work_are_looked_at_once_and_an_archive_never(session: Session, settings: Any) -> None:
    assert session_memory.to_look_at() == []
    Session.objects.filter(pk=session.pk).update(last_at=Now())
    assert session_memory.to_look_at() == [session.pk]
    assert session_memory.to_look_at() == []
    MemoryKeeping.objects.update(at=Now() - timedelta(seconds=session_memory.AGAIN + 1))
    assert session_memory.to_look_at() == [session.pk]
    brought = session_memory.look(session.pk)
    assert brought is not None
    assert brought.new
    assert (
        "the context has reached" in MemoryKeeping.objects.get().words
        or "clearing" in MemoryKeeping.objects.get().words
    )
    assert session_memory.to_look_at() == []
    session_memory.keep_with(session, on=False)
    MemoryKeeping.objects.update(looked_seq=0)
    assert session_memory.to_look_at() == []
    session_memory.keep_with(session, on=True)
    settings.SESSION_MEMORY = False
    assert session_memory.to_look_at() == []


def test_a_worker_keeps_it_by_itself_and_proposes_what_was_learned(
    session: Session, worker_environment: dict[str, str]
) -> None:
    from tests.compaction.test_tasks import a_worker

    Session.objects.filter(pk=session.pk).update(last_at=Now())
    with a_worker({**worker_environment, "PALIMPSEST_RUN_HEARTBEAT": "1"}):
        with connection.cursor() as cursor:
            cursor.execute("LISTEN palimpsest_nobody")
        for _ in range(120):
            if MemoryNote.objects.exists() and ProjectNote.objects.exists():
                break
            list(connection.connection.notifies(timeout=1, stop_after=1))
    row = MemoryNote.objects.get(session=session)
    assert row.origin == "update"
    assert row.reason
    assert {note.state for note in ProjectNote.objects.all()} == {"proposed"}


def test_what_a_session_taught_is_proposed_once_and_only_what_a_person_accepts_holds(session: Session) -> None:
    new = project_memory.propose_from(session)
    assert new
    assert project_memory.propose_from(session) == []
    assert project_memory.accepted(session) == []
    note, other = new[0], new[-1]
    project_memory.decide(session.workspace, note.pk, "accept", wording="As I would say it.")
    project_memory.decide(session.workspace, other.pk, "reject")
    assert "As I would say it." in [one.text for one in project_memory.accepted(session)]
    assert project_memory.propose_from(session) == []
    assert ProjectNote.objects.get(pk=other.pk).state == "rejected"
    with pytest.raises(Refused, match="no note"):
        project_memory.decide(Workspace.objects.create(name="Two", slug="two"), note.pk, "accept")
    assert note.evidence[0][0] == str(session.pk)


def signed_in(workspace: Workspace, role: Role) -> Client:
    client = Client()
    client.force_login(member_of(workspace, role.value, role))
    return client


def test_the_page_shows_edits_and_compares_and_a_viewer_only_reads(session: Session) -> None:
    address = f"/s/{session.pk}/session-memory"
    operator, viewer = signed_in(session.workspace, Role.OPERATOR), signed_in(session.workspace, Role.VIEWER)
    assert "none is kept yet" in viewer.get(address).content.decode()
    session_memory.bring_up_to_date(session, reason="asked for")
    page = viewer.get(address).content.decode()
    assert f"/s/{session.pk}?at=e" in page
    assert "Bring up to date" not in page
    assert viewer.post(address, {"do": "edit", "text": "x"}).status_code == 403
    text = text_of(session).replace("# Learnings", "# Learnings\n- <b>mine</b>")
    assert operator.post(address, {"do": "edit", "text": text, "base": "1"}).status_code == 302
    page = viewer.get(address).content.decode()
    assert "&lt;b&gt;mine&lt;/b&gt;" in page
    assert "<ins>&lt;b&gt;mine&lt;/b&gt;</ins>" in viewer.get(f"{address}?a=1&b=2").content.decode()
    refused = operator.post(address, {"do": "edit", "text": "# Worklog"})
    assert refused.status_code == 409
    assert "missing" in refused.content.decode()
    assert viewer.get(f"{address}?n=77").status_code == 409
    stranger = signed_in(Workspace.objects.create(name="Two", slug="two"), Role.ADMIN)
    assert stranger.get(address).status_code == 404


def told(*words: str) -> dict[str, Any]:
    out = StringIO()
    call_command(*words, "--json", stdout=out)
    return dict(json.loads(out.getvalue()))


def test_command_and_api_say_the_same(session: Session, tmp_path: Path) -> None:
    name = str(session.pk)
    assert told("session-memory", name)["memory"] is None
    made = told("session-memory", name, "--update")
    file = tmp_path / "memory.md"
    file.write_text(made["memory"]["text"].replace("# Learnings", "# Learnings\n- mine"))
    assert told("session-memory", name, "--edit", str(file))["memory"]["n"] == 2
    client = signed_in(session.workspace, Role.OPERATOR)
    assert client.get(f"/api/sessions/{name}/session-memory").json() == told("session-memory", name)
    difference = client.get(f"/api/sessions/{name}/session-memory/diff?a=1&b=2").json()
    assert difference == told("session-memory", name, "--diff", "1", "2")
    assert [one["new"] for one in difference["sections"] if one["new"]] == [["mine"]]
    put = client.put(f"/api/sessions/{name}/session-memory", {"text": "x"}, content_type="application/json")
    assert (put.status_code, put.json()["error"]["code"]) == (422, "bad_memory")


def test_the_page_of_what_was_learned_decides_and_shows_where_it_was_said(session: Session) -> None:
    note = project_memory.propose_from(session)[0]
    operator, viewer = signed_in(session.workspace, Role.OPERATOR), signed_in(session.workspace, Role.VIEWER)
    page = operator.get("/memory").content.decode()
    assert f"/s/{session.pk}?at=e{note.evidence[0][1][0]}" in page
    assert viewer.post("/memory", {"do": "accept", "note": note.pk, "wording": "x"}).status_code == 403
    sent = operator.post("/memory", {"do": "accept", "note": note.pk, "wording": "Say <i>less</i>."})
    assert sent.status_code == 302
    assert "Say &lt;i&gt;less&lt;/i&gt;." in viewer.get("/memory?state=accepted").content.decode()
    assert operator.post("/memory", {"do": "accept", "note": "9999"}).status_code == 409
    found = told("project-memory", "--state", "accepted")
    assert [row["text"] for row in found["notes"]] == ["Say <i>less</i>."]
    assert "Say <i>less</i>." in found["index"]
    said = operator.get("/api/project-memory?state=accepted").json()
    assert said == found["notes"]
    stranger = signed_in(Workspace.objects.create(name="Two", slug="two"), Role.ADMIN)
    assert note.text not in stranger.get("/memory").content.decode()
