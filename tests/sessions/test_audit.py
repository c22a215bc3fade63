"""The audit: its page and files, reviews with their history, one by one and many, who sees what, attempts at the same goal together."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions import reviewing
from sessions.abandoned import FACETS, Wanted, found, overview
from sessions.auditcharts import Spent, rounded, trend
from sessions.auditsheet import cell
from sessions.audittally import Cell, counted, merge, tallied
from sessions.families import families
from sessions.models import Event, Session
from sessions.models_goals import Abandonment, AuditTally, AuditView, Review
from sessions.tried import tried
from sessions.versions import Refused
from tests.claude_lines import ClaudeLines
from tests.sessions.test_abandoned import fails, given_up, taken, todos
from tests.sessions.test_api import bearer
from tests.sessions.test_views import HTMX, member
from webapp.models import Role, User, Workspace

pytestmark = pytest.mark.django_db

EVIL = '=HYPERLINK("http://x") <script>alert(1)</script>目标🎯'


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def given_up_session(workspace: Workspace, folder: Path, goal: str, n: int = 1, *, compacted: bool = False) -> Session:
    """A session that gives one goal up after an error, and goes on with another."""
    lines = ClaudeLines(f"11111111-2222-4333-8444-{n:012d}")
    lines.prompt("Make the cache shared")
    todos(lines, "t1", (goal, "in_progress"), ("Document the cache", "pending"))
    lines.says("First I will map the whole file with mmap.")
    fails(lines, "b1", "python -m pytest tests/test_cache.py", "OSError: ENODEV no such device on the mount")
    lines.says("The mount does not support mmap; I will read ahead instead.")
    if compacted:
        lines.compact("The cache is being made.")
    todos(lines, "t2", ("Read ahead in a buffer", "completed"), ("Document the cache", "completed"))
    return taken(workspace, folder, lines)


@pytest.fixture
def row(workspace: Workspace, tmp_path: Path) -> Abandonment:
    return given_up(given_up_session(workspace, tmp_path, f"Map the file {EVIL}", compacted=True), "1")


# -- the page ---------------------------------------------------------------------------------------------------------------


def test_the_page_shows_the_queue_and_opens_a_row_to_what_was_tried(workspace: Workspace, row: Abandonment) -> None:
    client = member(workspace, "quill", Role.OPERATOR)
    page = client.get("/abandoned").content.decode()
    assert f'id="r{row.pk}"' in page
    assert "<script>alert" not in page
    assert page.count('aria-current="page"') == 1  # the top bar knows it
    opened = client.get(f"/abandoned/{row.pk}", headers=HTMX).content.decode()
    assert not opened.lstrip().startswith("<!doctype")
    assert "First I will map the whole file with mmap." in opened
    assert "ENODEV" in opened
    assert "not sent to the model" in opened  # the compaction has folded that work
    for one in row.evidence:
        assert f"?at=e{one['seq']}" in opened
    assert "Read ahead in a buffer" in opened  # what came in its place
    assert "strategy=handoff&amp;set.goal=Take%20up%20again" in opened
    assert f'id="r{row.pk}"' in client.get(f"/abandoned?open={row.pk}").content.decode()
    whole = client.get(f"/abandoned/{row.pk}").content.decode()
    assert whole.lstrip().startswith("<!doctype")


def test_strangers_and_other_workspaces_see_nothing(workspace: Workspace, row: Abandonment) -> None:
    assert Client().get("/abandoned").status_code == 302
    other = Workspace.objects.create(name="Elsewhere", slug="elsewhere")
    stranger = member(other, "reed", Role.ADMIN)
    assert f'id="r{row.pk}"' not in stranger.get("/abandoned?review=").content.decode()
    for address in (f"/abandoned/{row.pk}", f"/api/abandoned/{row.pk}/reviews"):
        assert stranger.get(address).status_code == 404
    assert stranger.post(f"/abandoned/{row.pk}/review", {"state": "accepted"}).status_code == 404
    with pytest.raises(Refused):
        reviewing.review(other, [row.pk], state="accepted")


def test_what_was_tried_is_quoted_attempt_by_attempt(row: Abandonment) -> None:
    opened = tried(row)
    (attempt,) = opened.attempts
    assert attempt.said == "First I will map the whole file with mmap."
    assert attempt.ended == "The mount does not support mmap; I will read ahead instead."
    assert not attempt.failed
    assert [one.line for one in opened.errors] == ["OSError: ENODEV no such device on the mount"]
    assert sum(one.entries for one in opened.ghosts) > 0
    assert [goal.text for goal in opened.instead] == ["Read ahead in a buffer"]


# -- reviews ----------------------------------------------------------------------------------------------------------------


def test_every_review_is_kept_and_none_is_rewritten(workspace: Workspace, row: Abandonment) -> None:
    client = member(workspace, "quill", Role.OPERATOR)
    said = {"state": "follow_up", "comment": "Tell the next session of the mount.", "assignee": "quill", "open": "1"}
    answer = client.post(f"/abandoned/{row.pk}/review", said, headers=HTMX).content.decode()
    assert "Tell the next session of the mount." in answer
    client.post(f"/abandoned/{row.pk}/review", {"state": "accepted"})
    history = reviewing.history_of(row)
    assert [(one.before, one.after, one.comment) for one in history] == [
        ("follow_up", "accepted", ""),
        ("unreviewed", "follow_up", "Tell the next session of the mount."),
    ]
    row.refresh_from_db()
    assert row.review == "accepted"
    assert row.assignee == User.objects.get(username="quill")
    assert Event.objects.filter(what="goal_reviewed").count() == 2
    # What changes nothing is not written down.
    assert reviewing.review(workspace, [row.pk], state="accepted") == []
    with pytest.raises(IntegrityError), transaction.atomic():
        Review.objects.filter(pk=history[0].pk).update(comment="something else")
    User.objects.get(username="quill").delete()  # a person who goes leaves the words
    assert [one.by for one in reviewing.history_of(row)] == [None, None]


def test_a_reader_and_nonsense_are_refused(workspace: Workspace, row: Abandonment) -> None:
    reader, operator = member(workspace, "reed", Role.VIEWER), member(workspace, "quill", Role.OPERATOR)
    assert reader.get(f"/abandoned/{row.pk}").status_code == 200
    assert reader.post(f"/abandoned/{row.pk}/review", {"state": "accepted"}).status_code == 403
    assert reader.post("/abandoned/review", {"n": row.pk, "state": "accepted"}).status_code == 403
    assert operator.post(f"/abandoned/{row.pk}/review", {"state": "lost"}).status_code == 409
    for state, assignee in (("lost", ""), ("accepted", "nobody-here")):
        with pytest.raises(Refused):
            reviewing.review(workspace, [row.pk], state=state, assignee=assignee)
    assert operator.post(f"/abandoned/{row.pk}/review", {"cause": "other"}).status_code == 302
    row.refresh_from_db()
    assert (row.review, row.cause) == ("unreviewed", "other")


def test_many_are_reviewed_at_once(workspace: Workspace, tmp_path: Path) -> None:
    rows = [given_up(given_up_session(workspace, tmp_path, f"Goal {name}", n), "1") for n, name in enumerate("abc", 1)]
    client = member(workspace, "quill", Role.OPERATOR)
    there = "/abandoned?review=unreviewed"
    answer = client.post(
        "/abandoned/review", {"n": [rows[0].pk, rows[1].pk], "state": "accepted", "comment": "seen", "next": there}
    )
    assert answer["Location"] == there
    assert sorted(Abandonment.objects.values_list("review", flat=True)) == ["accepted", "accepted", "unreviewed"]
    assert (
        client.post("/abandoned/review", {"n": rows[2].pk, "state": "accepted", "next": "//evil.example"})["Location"]
        == "/abandoned"
    )
    token = bearer(workspace, Role.OPERATOR)
    body = json.dumps({"goals": [rows[2].pk], "state": "not_abandoned", "comment": "it went on elsewhere"})
    answer = Client().post("/api/abandoned/review", body, content_type="application/json", **token).json()
    assert [one["review"] for one in answer["items"]] == ["not_abandoned"]
    said = Client().get(f"/api/abandoned/{rows[2].pk}/reviews", **token).json()
    assert [one["comment"] for one in said] == ["it went on elsewhere", ""]


# -- who sees what ----------------------------------------------------------------------------------------------------------


def test_an_auditor_sees_sums_and_no_word_anywhere(workspace: Workspace, row: Abandonment) -> None:
    client = member(workspace, "lead", Role.AUDITOR)
    words = (row.text, row.reason, row.session.title, "ENODEV", "mmap", "Document the")

    def silent(body: bytes) -> str:
        text = body.decode()
        assert all(word not in text for word in words if word)
        return text

    page = silent(client.get("/abandoned").content)
    assert row.get_cause_display() in page
    # What is asked in words narrows nothing, so that no word can be guessed.
    assert Wanted.of({"q": ["mmap"]}).q
    for query in ("?q=mmap", "?q=nothing-of-this", f"?session={row.session_id}", "?session=" + "0" * 8):
        body = client.get("/api/abandoned" + query).json()
        assert (body["items"], body["sums"]["goals"]) == ([], 1)
    silent(client.get("/api/abandoned").content)
    for form in ("csv", "json"):
        body = silent(b"".join(client.get(f"/abandoned/export.{form}")))
        assert "claude-code" in body
    assert client.get("/")["Location"] == "/abandoned"
    for address in (
        f"/s/{row.session_id}", f"/s/{row.session_id}/goals", f"/s/{row.session_id}/source", f"/abandoned/{row.pk}", f"/abandoned?open={row.pk}&by=goal",
        "/api/sessions", f"/api/sessions/{row.session_id}/goal-tree", f"/api/abandoned/{row.pk}/reviews", "/runs",
    ):  # fmt: skip
        answer = client.get(address)
        assert answer.status_code == (200 if "open=" in address else 403), address
        silent(answer.content)
    assert client.post(f"/abandoned/{row.pk}/review", {"state": "accepted"}).status_code == 403
    token = bearer(workspace, Role.AUDITOR)
    assert Client().get(f"/api/sessions/{row.session_id}", **token).status_code == 403
    assert Client().get("/api/abandoned", **token).json()["items"] == []


def test_every_address_is_closed_to_auditors_unless_it_is_written_down(workspace: Workspace, row: Abandonment) -> None:
    """So that an address that somebody adds tomorrow is closed too."""
    from django.urls import get_resolver

    from sessions.urls import urlpatterns
    from webapp.workspaces import FOR_AUDITORS

    assert get_resolver() is not None
    client = member(workspace, "lead", Role.AUDITOR)
    open_names = {name.partition(":")[2] for name in FOR_AUDITORS if name.startswith("sessions:")}
    for one in urlpatterns:
        if one.name in open_names or one.name == "list":
            continue
        address = "/" + str(one.pattern).replace("<str:name>", str(row.session_id))
        for kind, value in (("<int:", "1"), ("<str:", "x"), ("<path:", "x")):
            while kind in address:
                start = address.index(kind)
                address = address[:start] + value + address[address.index(">", start) + 1 :]
        assert client.get(address).status_code == 403, one.name


# -- files ------------------------------------------------------------------------------------------------------------------


def test_files_hold_the_rows_that_match_and_no_formula(workspace: Workspace, tmp_path: Path, row: Abandonment) -> None:
    Abandonment.objects.filter(pk=row.pk).update(text="=1+1", reason="\t@SUM(A1)")
    other = given_up(given_up_session(workspace, tmp_path, "Another", 2), "1")
    reviewing.review(workspace, [other.pk], state="accepted", comment="-fine-")
    client = member(workspace, "quill", Role.VIEWER)
    answer = client.get("/abandoned/export.csv?review=")
    assert answer["Content-Disposition"] == 'attachment; filename="abandoned-goals.csv"'
    text = b"".join(answer).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {one["text"] for one in rows} == {"'=1+1", "Another"}
    assert {one["comment"] for one in rows} == {"", "'-fine-"}
    assert {one["reason"][:2] for one in rows if one["text"] == "'=1+1"} == {"'\t"}
    only = json.loads(b"".join(client.get("/abandoned/export.json?review=accepted")))
    assert [(one["text"], one["comment"]) for one in only] == [("Another", "-fine-")]
    # The page's own queue is what the file holds where nothing is said of review states.
    assert len(json.loads(b"".join(client.get("/abandoned/export.json")))) == 1


@given(st.text(max_size=20) | st.integers() | st.none())
def test_no_cell_begins_as_a_formula(value: Any) -> None:
    said = cell(value)
    if isinstance(said, str):
        assert not said.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
        assert said == "" or said.removeprefix("'") == value or said == value
    else:
        assert said == value


# -- attempts at the same goal, saved views -------------------------------------------------------------------------------------


def test_attempts_in_the_same_or_like_words_are_one_family(workspace: Workspace, tmp_path: Path) -> None:
    texts = (
        "Memory-map the ledger file",
        "memory map the ledger files",
        "Memory-map THE ledger file",
        "Rotate the keys",
    )
    rows = [given_up(given_up_session(workspace, tmp_path, text, n), "1") for n, text in enumerate(texts, 1)]
    assert len({one.family for one in rows[:3]}) == 1
    assert rows[3].family != rows[0].family
    assert rows[0].kinship == rows[2].kinship == 1
    assert 0.6 <= rows[1].kinship < 1
    (family,), more = families(found(workspace, Wanted()))
    assert (family.goals, family.sessions, more) == (3, 3, False)
    assert "trigrams" in family.why
    page = member(workspace, "quill", Role.VIEWER).get("/abandoned?review=&by=goal").content.decode()
    assert "trigrams" in page
    assert "Rotate the keys" not in page


def test_views_are_saved_a_persons_own(workspace: Workspace) -> None:
    quill, reed = member(workspace, "quill", Role.VIEWER), member(workspace, "reed", Role.VIEWER)
    said = {"name": " My <b>queue</b> ", "query": "cause=other&evil=1&sort=tokens"}
    assert quill.post("/abandoned/views", said)["Location"] == "/abandoned?cause=other&sort=tokens"
    assert "My &lt;b&gt;queue&lt;/b&gt;" in quill.get("/abandoned").content.decode()
    assert "queue&lt;" not in reed.get("/abandoned").content.decode()
    view = AuditView.objects.get()
    reed.post("/abandoned/views", {"drop": view.pk})
    assert AuditView.objects.count() == 1
    assert quill.post("/abandoned/views", {"name": " ", "query": ""}).status_code == 409
    quill.post("/abandoned/views", {"drop": view.pk})
    assert AuditView.objects.count() == 0


# -- sums -------------------------------------------------------------------------------------------------------------------


def cells(many: list[Cell]) -> dict[tuple[str, str | None, str], tuple[Any, ...]]:
    return {(c.facet, c.value, c.review): (c.goals, c.tokens, c.cost, c.costed, c.seconds, c.timed) for c in many}


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["add", "review", "cost", "hide", "drop", "many", "merge"]),
        st.integers(0, 5),
        st.sampled_from(["unreviewed", "accepted", "follow_up"]),
        st.one_of(st.none(), st.integers(0, 5_000)),
    ),
    max_size=14,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ACTS)
def test_the_kept_sums_are_those_of_the_rows_whatever_happens_to_them(workspace: Workspace, acts: Any) -> None:
    from tests import factories as make

    with transaction.atomic():
        session = make.a_session(workspace, [make.prompt("x")])
        for n, (act, which, review, number) in enumerate(acts):
            rows = Abandonment.objects.filter(session=session)
            one = rows.order_by("pk")[which : which + 1].first()
            if act == "add":
                Abandonment.objects.create(
                    workspace=workspace, session=session, path=str(n), text="x", folded="x", status="dropped", how="vanished",
                    confidence=1, why_found="", cause="other", cause_found="other", review=review, agent="codex", tokens=number or 0,
                    seconds=number, first_seq=0, last_seq=0, stands=which != 5,
                )  # fmt: skip
            elif act == "many":
                rows.update(review=review, project=str(which))
            elif act == "merge":
                merge_all(workspace)
            elif one is not None and act == "drop":
                one.delete()
            elif one is not None:
                change = {"review": {"review": review}, "cost": {"cost": number}, "hide": {"stands": which % 2 == 0}}[
                    act
                ]
                rows.filter(pk=one.pk).update(**change)
        assert cells(tallied(workspace, FACETS)) == cells(counted(found(workspace, Wanted()), FACETS))
        transaction.set_rollback(True)


def merge_all(workspace: Workspace) -> None:
    from sessions import audittally

    kept, audittally.LEFT = audittally.LEFT, -1
    try:
        merge(workspace)
    finally:
        audittally.LEFT = kept


def test_sums_go_with_their_sessions_and_their_workspace(workspace: Workspace, row: Abandonment) -> None:
    assert overview(workspace, Wanted()).sums.goals == 1
    filtered = overview(workspace, replace(Wanted(), chosen={"agent": ("claude-code",)}))
    assert filtered.sums == overview(workspace, Wanted()).sums
    Session.objects.filter(pk=row.session_id).delete()
    assert overview(workspace, Wanted()).sums.goals == 0
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM webapp_workspace WHERE id = %s", [workspace.pk])
    assert AuditTally.objects.count() == 0


# -- the chart --------------------------------------------------------------------------------------------------------------


@given(st.dictionaries(st.integers(0, 80), st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), max_size=40))
def test_bars_lie_within_the_drawing_and_say_every_goal(weeks: dict[int, tuple[int, int]]) -> None:
    from datetime import date, timedelta

    monday = date(2026, 1, 5)
    many = [Spent(monday + timedelta(weeks=n), 1, a + b, b) for n, (a, b) in sorted(weeks.items())]
    drawn = trend(many)
    assert sum(bar.spent.goals for bar in drawn.bars) + drawn.earlier == len(many)
    for bar in drawn.bars:
        assert 0 <= bar.x <= bar.x + bar.width <= 100.001
        assert 19.9 <= bar.top <= drawn.base
        assert abs(bar.waiting[0] + bar.waiting[1] - bar.done[0]) < 0.05


@given(st.integers(0, 10**12))
def test_the_scale_ends_at_a_round_number_not_far_above(value: int) -> None:
    top = rounded(value)
    assert top >= value
    assert top % 3 == 0
    assert value < 3 or top <= value * 2
