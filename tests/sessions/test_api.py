"""The API of sessions: the same answers as the command line, for members of the workspace alone."""

from __future__ import annotations

import io
import json
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from sessions.ingest import take_file
from sessions.models import Event, Session
from sessions.sample import SAMPLE, SESSION_ID
from tests.claude_lines import turns
from webapp.auth import issue_token
from webapp.models import Membership, Role, Scope, User, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def bearer(workspace: Workspace, role: Role, scope: Scope = Scope.WRITE) -> dict[str, str]:
    user = User.objects.create_user(f"{role}-{scope}-{uuid4().hex[:6]}")
    Membership.objects.create(workspace=workspace, user=user, role=role)
    _, text = issue_token(workspace=workspace, user=user, name="test", scope=scope)
    return {"HTTP_AUTHORIZATION": f"Bearer {text}"}


@pytest.fixture
def operator(workspace: Workspace) -> dict[str, str]:
    return bearer(workspace, Role.OPERATOR)


@pytest.fixture
def sample(workspace: Workspace) -> Session:
    return Session.objects.get(pk=take_file(workspace, SAMPLE).session)


def get(client: Client, address: str, key: dict[str, str], status: int = 200, **query: Any) -> Any:
    response = client.get(f"/api{address}", query, **key)
    assert response.status_code == status, response.content
    return json.loads(response.content)


def post(client: Client, address: str, key: dict[str, str], body: Any = None, status: int = 200) -> Any:
    response = client.post(f"/api{address}", json.dumps(body or {}), content_type="application/json", **key)
    assert response.status_code == status, response.content
    return json.loads(response.content)


def command(*args: Any, **options: Any) -> Any:
    out = io.StringIO()
    call_command(*args, as_json=True, stdout=out, **options)
    return json.loads(out.getvalue())


@pytest.mark.parametrize(
    ("address", "args"),
    [
        ("/sessions/{id}/versions", ("versions",)),
        ("/sessions/{id}/context", ("context",)),
        ("/sessions/{id}/context?version=0", ("context", "--version", "0")),
        ("/sessions/{id}/context?step=9", ("context", "--step", "9")),
    ],
)
def test_the_api_answers_what_the_command_prints(client, operator, sample, address, args):
    name, *options = args
    answered = client.get("/api" + address.format(id=sample.pk), **operator)
    assert json.loads(answered.content) == command(name, str(sample.pk), *options)


def test_the_list_is_the_commands_and_goes_on_by_keyset(client, workspace, operator, sample, tmp_path):
    for n in range(4):
        path = tmp_path / f"{uuid4()}.jsonl"
        path.write_bytes(bytes(turns(1 + n)))
        take_file(workspace, path)
    whole = get(client, "/sessions", operator)
    assert whole["next"] is None
    assert whole == command("sessions")
    paged: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = get(client, "/sessions", operator, limit=2, **({"after": cursor} if cursor else {}))
        paged += [row["id"] for row in page["items"]]
        cursor = page["next"]
    assert paged == [row["id"] for row in whole["items"]]
    assert len(set(paged)) == 5
    assert get(client, "/sessions", operator, agent="codex")["items"] == []
    assert get(client, "/sessions", operator, status=422, after="!!")["error"]["message"].startswith(
        "This cursor is none"
    )


def test_the_list_asks_as_much_for_many_sessions_as_for_one(client, workspace, operator, sample, tmp_path):
    with CaptureQueriesContext(connection) as one:
        get(client, "/sessions", operator)
    for n in range(5):
        path = tmp_path / f"{uuid4()}.jsonl"
        path.write_bytes(bytes(turns(1 + n)))
        take_file(workspace, path)
    with CaptureQueriesContext(connection) as many:
        assert len(get(client, "/sessions", operator)["items"]) == 6
    assert len(many) <= len(one)


def test_a_session_with_its_gauge_and_sources(client, operator, sample):
    found = get(client, f"/sessions/{SESSION_ID}", operator)
    assert (found["id"], found["agent"], found["turns"], found["entries"]) == (str(sample.pk), "claude-code", 5, 113)
    assert found["started_at"] == "2026-05-04T08:02:00Z"
    assert [row["own"] for row in found["sources"]] == [True]
    assert found["sources"][0]["size"] == SAMPLE.stat().st_size
    assert found["gauge"]["rule"] == "claude-code-2.1"
    assert found["gauge"]["forecast"]["state"] == "sent"


def test_entries_steps_and_goals_come_in_pages(client, operator, sample):
    first = get(client, f"/sessions/{sample.pk}/entries", operator, n=50)
    second = get(client, f"/sessions/{sample.pk}/entries", operator, n=500, after=first["next"])
    assert [row["seq"] for row in first["items"] + second["items"]] == list(range(113))
    assert second["next"] is None
    assert first["items"][0]["parts"][0]["text"].startswith("Print the next high water")
    steps = get(client, f"/sessions/{sample.pk}/steps", operator)
    assert [row["n"] for row in steps["items"]] == list(range(1, sample.steps_count + 1))
    assert (
        steps["items"][0]["prompt"]
        == steps["items"][0]["fresh"] + steps["items"][0]["cache_read"] + steps["items"][0]["cache_write"]
    )
    goals = get(client, f"/sessions/{sample.pk}/goals", operator)
    assert [(row["path"], row["status"]) for row in goals if row["status"] == "dropped"] == [("3", "dropped")]


def test_the_source_comes_back_byte_for_byte_and_as_nothing_to_render(client, operator, sample):
    response = client.get(f"/api/sessions/{sample.pk}/source", **operator)
    assert b"".join(response.streaming_content) == SAMPLE.read_bytes()
    assert response["Content-Length"] == str(SAMPLE.stat().st_size)
    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"].startswith("attachment")
    assert get(client, f"/sessions/{sample.pk}/source", operator, status=422, file=7)["error"]["code"] == "no_such_file"


def test_roll_back_undo_redo_and_head(client, operator, sample):
    address = f"/sessions/{sample.pk}"
    before = get(client, f"{address}/context", operator)
    moved = post(client, f"{address}/rollback", operator, {"to_turn": 4, "reason": "try again"})
    assert (moved["was"], moved["head"], moved["native_head"]) == (2, 3, 2)
    rolled = get(client, f"{address}/context", operator)
    assert len(rolled["items"]) < len(before["items"])
    undone = post(client, f"{address}/undo", operator)
    assert (undone["was"], undone["head"]) == (3, 2)
    assert get(client, f"{address}/context", operator) == before
    assert post(client, f"{address}/redo", operator)["head"] == 3
    assert get(client, f"{address}/context", operator)["content_hash"] == rolled["content_hash"]
    assert post(client, f"{address}/head", operator, {"version": 0})["head"] == 0
    refused = post(client, f"{address}/redo", operator, status=409)
    assert refused["error"] == {
        "code": "nothing_to_redo",
        "message": "There is nothing to redo: no undo since the last new version.",
    }
    assert list(Event.objects.order_by("pk").values_list("what", "who__username")) == [
        (what, Event.objects.first().who.username) for what in ("rolled_back", "undone", "redone", "head_moved")
    ]


def test_a_head_that_was_meant_to_be_another_does_not_move(client, operator, sample):
    address = f"/sessions/{sample.pk}"
    for verb, body in (("undo", {}), ("redo", {}), ("head", {"version": 0})):
        refused = post(client, f"{address}/{verb}?base=1", operator, body, status=409)["error"]
        assert (refused["code"], "The head is v2 by now" in refused["message"]) == ("head_moved", True)
    assert post(client, f"{address}/undo?base=2", operator)["head"] == 1
    assert post(client, f"{address}/undo?base=2", operator, status=409)["error"]["code"] == "head_moved"  # sent twice
    assert post(client, f"{address}/redo?base=1", operator)["head"] == 2
    assert post(client, f"{address}/head?base=2", operator, {"version": 0})["head"] == 0


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"to_turn": 1, "to_entry": 3}, 422),
        ({"to_turn": 99}, 422),
        ({"to_entry": 112}, 409),
        ({"to_turn": "x"}, 422),
    ],
)
def test_a_roll_back_that_makes_no_sense_is_refused_and_moves_nothing(client, operator, sample, body, status):
    answer = post(client, f"/sessions/{sample.pk}/rollback", operator, body, status=status)
    assert answer["error"]["message"]
    sample.refresh_from_db()
    assert (sample.head, sample.versions.count()) == (None, 3)


ADDRESSES = ("", "/entries", "/steps", "/goals", "/versions", "/context", "/source", "/sources")
VERBS = (("/undo", {}), ("/redo", {}), ("/rollback", {"to_turn": 1}), ("/head", {"version": 0}))


@pytest.mark.parametrize("address", ADDRESSES)
def test_strangers_find_nothing(client, sample, address):
    elsewhere = bearer(Workspace.objects.create(name="Elsewhere", slug="elsewhere"), Role.ADMIN, Scope.ADMIN)
    assert get(client, f"/sessions/{sample.pk}{address}", elsewhere, status=404)["error"]["code"] == "not_found"
    assert get(client, f"/sessions/{sample.pk}{address}", {}, status=401)["error"]["code"] == "not_signed_in"
    assert get(client, "/sessions", elsewhere) == {"items": [], "next": None}


@pytest.mark.parametrize(("address", "body"), VERBS)
def test_who_may_only_read_changes_nothing(client, workspace, sample, address, body):
    keys = (
        bearer(workspace, Role.VIEWER, Scope.ADMIN),  # the role limits the token
        bearer(workspace, Role.ADMIN, Scope.READ),  # the scope limits the role
    )
    for key in keys:
        assert post(client, f"/sessions/{sample.pk}{address}", key, body, status=403)["error"]["code"] == "not_allowed"
    elsewhere = bearer(Workspace.objects.create(name="Elsewhere", slug="elsewhere"), Role.ADMIN, Scope.ADMIN)
    post(client, f"/sessions/{sample.pk}{address}", elsewhere, body, status=404)
    sample.refresh_from_db()
    assert (sample.head, sample.versions.count(), Event.objects.count()) == (None, 3, 0)


def test_an_ambiguous_name_names_the_candidates(client, workspace, operator, tmp_path):
    ids = []
    for n in range(2):
        path = tmp_path / f"aaaaaaaa-0000-4000-8000-00000000000{n}.jsonl"
        path.write_bytes(bytes(turns(1 + n)))
        ids.append(take_file(workspace, path).session)
    said = get(client, "/sessions/aaaaaaaa", operator, status=409)["error"]["message"]
    assert all(str(one) in said for one in ids)


def upload(client: Client, key: dict[str, str], data: bytes, name: str) -> Any:
    return client.post("/api/sources", {"file": SimpleUploadedFile(name, data)}, **key)


def test_a_file_is_taken_in_by_form_and_by_raw_body_and_grows_under_its_name(client, workspace, operator):
    data = bytes(turns(3))
    half = data[: data.index(b"\n", len(data) // 2) + 1]
    name = "11111111-2222-4333-8444-555555555555.jsonl"
    first = upload(client, operator, half, name)
    assert first.status_code == 201
    session = first.json()["session"]
    raw = client.post(f"/api/sources?name={name}", data, content_type="application/octet-stream", **operator)
    assert (raw.status_code, raw.json()["outcome"], raw.json()["session"]) == (200, "grown", session)
    again = upload(client, operator, data, name)
    assert (again.status_code, again.json()["outcome"], again.json()["added"]) == (200, "unchanged", 0)
    owner = Session.objects.get().owner
    assert owner is not None
    assert b"".join(client.get(f"/api/sessions/{session}/source", **operator).streaming_content) == data


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"", "an empty file"), (b"hello\n", "no records of an agent known here"), (b"\x00" * 5000, "no records")],
)
def test_an_upload_that_is_no_session_is_refused_with_the_reason(client, workspace, operator, data, reason):
    answer = client.post("/api/sources?name=x.jsonl", data, content_type="application/octet-stream", **operator)
    assert answer.status_code == 422
    assert reason in answer.json()["reason"]
    assert not Session.objects.exists()


def test_an_upload_needs_a_name_and_a_right(client, workspace, operator):
    assert client.post("/api/sources", b"x", content_type="application/octet-stream", **operator).status_code == 422
    viewer = bearer(workspace, Role.VIEWER)
    assert upload(client, viewer, bytes(turns(1)), "a.jsonl").status_code == 403
    assert not Session.objects.exists()


def test_an_uploads_name_cannot_point_into_the_machine(client, workspace, operator):
    response = client.post(
        "/api/sources?name=../../etc/x.jsonl", bytes(turns(1)), content_type="application/octet-stream", **operator
    )
    assert response.json()["path"] == "upload:/etc/x.jsonl"


def test_every_operation_is_described(client, operator):
    described = client.get("/api/openapi.json", **operator).json()
    for path in ("/api/sessions", "/api/sessions/{session}/context", "/api/sources"):
        assert path in described["paths"]
    for path, operations in described["paths"].items():
        for verb, operation in operations.items():
            assert operation["summary"], f"{verb} {path}"
