"""Sources that come from elsewhere: any cut into pieces is the same source; nothing that is stored is lost to a shorter copy."""

from __future__ import annotations

import base64
import hashlib
import io
from datetime import timedelta
from itertools import count, pairwise
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings as django_settings
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions import uploads
from sessions.ingest import take
from sessions.models import Intake, Session, Source, Upload, UploadChunk
from sessions.packing import compress
from sessions.sourcebytes import stored
from tests.adapters.gemini_cli import build
from tests.claude_lines import ClaudeLines, turns
from webapp.auth import issue_token
from webapp.models import Membership, Role, Scope, User, Workspace

pytestmark = pytest.mark.django_db

NAME = "laptop/home/ada/.claude/projects/-home-ada-ledger/11111111-2222-4333-8444-555555555555.jsonl"
DOCUMENT = "laptop/home/ada/.gemini/tmp/ledger/chats/session-2026-11-30T02-00-5f0c7c1e.json"
_NUMBERS = count()


def a_workspace() -> Workspace:
    n = next(_NUMBERS)
    return Workspace.objects.create(name=f"Scriptorium {n}", slug=f"scriptorium-{n}")


def bearer(workspace: Workspace, role: Role = Role.OPERATOR, scope: Scope = Scope.WRITE) -> dict[str, str]:
    user = User.objects.create_user(f"{role}-{uuid4().hex[:8]}")
    Membership.objects.create(workspace=workspace, user=user, role=role)
    return {"HTTP_AUTHORIZATION": f"Bearer {issue_token(workspace=workspace, user=user, name='test', scope=scope)[1]}"}


@pytest.fixture
def workspace(db: None) -> Workspace:
    return a_workspace()


@pytest.fixture
def key(workspace: Workspace) -> dict[str, str]:
    return bearer(workspace)


def whole(client: Client, key: dict[str, str], data: bytes, name: str = NAME, more: str = "") -> Any:
    return client.post(f"/api/sources?name={name}{more}", data, content_type="application/octet-stream", **key)


def piece(client: Client, key: dict[str, str], offset: int, data: bytes, *, name: str = NAME, **more: Any) -> Any:
    query = "&".join(f"{word}={value}" for word, value in {"name": name, "offset": offset, **more}.items())
    return client.patch(f"/api/sources?{query}", data, content_type="application/octet-stream", **key)


def standing(client: Client, key: dict[str, str], name: str = NAME, status: int = 200, **more: Any) -> Any:
    response = client.get("/api/sources", {"path": name, **more}, **key)
    assert response.status_code == status, response.content
    return response.json()


def session_in(workspace: Workspace) -> Session:
    return Session.objects.get(workspace=workspace, superseded_by=None)


def looks(session: Session) -> tuple[Any, ...]:
    names = ("seq", "turn", "step", "goal", "kind", "role", "native_id", "sent", "digest", "tokens")
    places = ("byte_offset", "byte_length", "problem")
    entries = [
        tuple(bytes(value) if isinstance(value, memoryview) else value for value in row)
        for row in session.entries.order_by("seq").values_list(*names, *places)
    ]
    versions = list(session.versions.order_by("n").values_list("n", "kind", "content_hash", "tokens"))
    return entries, versions, session.turns, session.steps_count, session.totals, b"".join(stored(session.source))


def at_once(data: bytes, name: str) -> tuple[Any, ...]:
    workspace = a_workspace()
    taken = take(workspace, uploads.label(name), io.BytesIO(data), patient=False)
    return looks(Session.objects.get(pk=taken.session))


def a_log() -> bytes:
    lines = ClaudeLines()
    for n in range(3):
        lines.prompt(f"request {n}, with “quotes” and \U0001f58b")
        lines.calls(f"c{n}", "Bash", {"command": "ls"})
        lines.result(f"c{n}", "a\nb")
        lines.says(f"done {n}")
    lines.raw(b'{"torn": ')
    lines.compact("what was said")
    lines.prompt("and on")
    return bytes(lines)


LOG = a_log()
GEMINI = build.document(
    *[build.user(f"u{n}", f"q {n}", n) if n % 2 == 0 else build.model(f"g{n}", f"a {n}", n) for n in range(12)]
)
SOURCES = {"log": (NAME, LOG), "zstd": (f"{NAME}.zst", compress(LOG)), "document": (DOCUMENT, GEMINI)}


def cut(data: bytes, places: list[int]) -> list[bytes]:
    marks = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[first:last] for first, last in pairwise(marks)]


_ANYHOW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("kind", SOURCES)
@_ANYHOW
@given(places=st.lists(st.integers(0, 1 << 16), max_size=5))
def test_any_cut_into_pieces_is_the_same_source(db: None, client: Client, kind: str, places: list[int]) -> None:
    name, data = SOURCES[kind]
    workspace = a_workspace()
    key = bearer(workspace)
    pieces = cut(data, places)
    at = 0
    for n, part in enumerate(pieces):
        last = n == len(pieces) - 1
        response = piece(client, key, at, part, name=name, complete=str(last).lower())
        assert response.status_code == (201 if last else 202), response.content
        at += len(part)
        assert response.json()["stored"] == at
        if at:
            assert standing(client, key, name)["sha256"] == hashlib.sha256(data[:at]).hexdigest()
    assert looks(session_in(workspace)) == at_once(data, name)
    assert (Source.objects.filter(workspace=workspace).count(), Upload.objects.count()) == (1, 0)


@_ANYHOW
@given(places=st.lists(st.integers(0, 1 << 16), max_size=5))
def test_a_log_may_end_anywhere_for_now(db: None, client: Client, places: list[int]) -> None:
    """Every piece completes the file: what makes no session yet waits for the next."""
    workspace = a_workspace()
    key = bearer(workspace)
    at = 0
    for part in cut(LOG, places):
        response = piece(client, key, at, part)
        at += len(part)
        assert response.json()["stored"] == at
    assert looks(session_in(workspace)) == at_once(LOG, NAME)
    assert (Source.objects.filter(workspace=workspace).count(), Upload.objects.count()) == (1, 0)


def test_what_is_stored_is_said_with_its_digest(client, workspace, key):
    assert standing(client, key, status=404)["error"]["code"] == "not_found"
    taken = whole(client, key, LOG).json()
    found = standing(client, key)
    assert found == {
        "path": f"upload:/{NAME}",
        "stored": len(LOG),
        "sha256": hashlib.sha256(LOG).hexdigest(),
        "complete": True,
        "agent": "claude-code",
        "session": taken["session"],
        "revision": 1,
    }
    assert standing(client, key, agent="claude-code") == found
    standing(client, key, agent="codex", status=404)
    assert standing(client, key, "elsewhere.jsonl", sha256=found["sha256"]) == found
    standing(client, key, "elsewhere.jsonl", status=404, sha256="0" * 64)
    assert client.get("/api/sources?path=x&sha256=zz", **key).status_code == 422
    head = client.head(f"/api/sources?path={NAME}", **key)
    assert (head.status_code, head.content) == (200, b"")
    digest = base64.b64encode(hashlib.sha256(LOG).digest()).decode()
    assert (head["Upload-Offset"], head["Upload-Complete"]) == (str(len(LOG)), "?1")
    assert head["Repr-Digest"] == f"sha-256=:{digest}:"


def test_a_piece_from_another_place_is_refused_with_the_right_one(client, workspace, key):
    half = len(LOG) // 2
    assert piece(client, key, 0, LOG[:half], complete="false").status_code == 202
    for offset in (0, half - 1, half + 1, len(LOG)):
        refused = piece(client, key, offset, LOG[offset:])
        assert refused.status_code == 409
        assert (refused.json()["error"]["code"], refused.json()["error"]["stored"]) == ("offset", half)
    assert standing(client, key)["stored"] == half
    assert piece(client, key, half, LOG[half:]).json()["outcome"] == "added"
    again = piece(client, key, len(LOG), b"")
    assert (again.status_code, again.json()["outcome"], again.json()["stored"]) == (200, "unchanged", len(LOG))
    assert looks(session_in(workspace)) == at_once(LOG, NAME)


def test_pieces_that_wait_give_way_to_what_came_faster(client, workspace, key):
    """While the rest of a piece is awaited, the whole file comes in by another way."""
    third = LOG.index(b"\n", len(LOG) // 3) + 1
    whole(client, key, LOG[:third])
    assert piece(client, key, third, LOG[third : third + 50], complete="false").json()["stored"] == third + 50
    take(workspace, uploads.label(NAME), io.BytesIO(LOG), patient=False)
    assert (standing(client, key)["stored"], standing(client, key)["complete"]) == (len(LOG), True)
    refused = piece(client, key, third + 50, LOG[third + 50 :])
    assert (refused.status_code, refused.json()["error"]["stored"]) == (409, len(LOG))
    assert piece(client, key, len(LOG), b"").json()["outcome"] == "unchanged"
    assert looks(session_in(workspace)) == at_once(LOG, NAME)


def test_a_shorter_copy_is_refused_and_what_is_stored_stays(client, workspace, key):
    session = whole(client, key, LOG).json()["session"]
    before = looks(session_in(workspace))
    short = bytes(turns(1))
    assert len(short) < len(LOG)
    refused = whole(client, key, short)
    assert refused.status_code == 409
    error = refused.json()["error"]
    assert (error["code"], error["stored"], error["session"]) == ("shorter", len(LOG), session)
    assert f"{len(LOG):,} are stored" in error["message"]
    form = client.post(f"/api/sources?name={NAME}", {"file": io.BytesIO(short)}, **key)
    assert form.status_code == 409
    assert looks(session_in(workspace)) == before
    assert Intake.objects.get(outcome="refused").reason == error["message"]

    said = whole(client, key, short, more="&rewrite=true")
    assert (said.status_code, said.json()["outcome"]) == (200, "rewritten")
    assert session_in(workspace).source.revision == 2
    # The longer one is still there, for whoever wants it back.
    old = Session.objects.get(pk=session)
    assert b"".join(stored(old.source)) == LOG
    assert old.superseded_by == session_in(workspace)


def test_a_rewrite_comes_in_pieces_and_takes_over_at_its_end(client, workspace, key):
    first = whole(client, key, LOG).json()["session"]
    short = bytes(turns(2))
    assert piece(client, key, 0, short[:10]).status_code == 409
    assert piece(client, key, 0, short[:10], rewrite="true", complete="false").json()["stored"] == 10
    assert session_in(workspace).pk == Session.objects.get(pk=first).pk
    assert standing(client, key)["complete"] is False
    done = piece(client, key, 10, short[10:], rewrite="true")
    assert (done.status_code, done.json()["outcome"], done.json()["stored"]) == (200, "rewritten", len(short))
    assert looks(session_in(workspace))[-1] == short


def test_a_document_read_whole_grows_by_a_rewrite(client, workspace, key):
    def document(many: int) -> bytes:
        return build.document(*[build.user(f"u{n}", f"question {n}", n) for n in range(many)])

    first = whole(client, key, document(9), DOCUMENT).json()
    grown = piece(client, key, 0, document(12), name=DOCUMENT, rewrite="true")
    assert (grown.status_code, grown.json()["outcome"], grown.json()["session"]) == (200, "grown", first["session"])
    assert looks(session_in(workspace))[-1] == document(12)


def test_an_append_that_makes_a_document_another_keeps_every_byte(client, workspace, key):
    """What is stored of a document is written anew whole: it must not be read from where it is being deleted."""
    whole(client, key, GEMINI, DOCUMENT)
    grown = piece(client, key, len(GEMINI), b"\n\n", name=DOCUMENT)
    assert grown.status_code == 200, grown.content
    assert looks(session_in(workspace))[-1] == GEMINI + b"\n\n"


def test_what_a_beginning_was_taken_for_gives_way(client, workspace, key):
    """The first bytes may be enough for one agent and the whole for another: the first guess does not stay beside the second."""
    path = uploads.label(NAME)
    guessed = take(workspace, path, io.BytesIO(LOG[: len(LOG) // 2]), patient=False)
    Source.objects.filter(session=guessed.session).update(agent="guess")
    Session.objects.filter(pk=guessed.session).update(agent="guess")
    done = piece(client, key, len(LOG) // 2, LOG[len(LOG) // 2 :])
    assert (done.status_code, done.json()["agent"]) == (201, "claude-code")
    assert looks(session_in(workspace)) == at_once(LOG, NAME)


def test_two_sessions_with_one_name_are_two(client, workspace, key):
    """A browser sends a file's name without its folders."""
    other = bytes(turns(4, ClaudeLines("99999999-2222-4333-8444-555555555555")))
    first = whole(client, key, LOG, "session.jsonl").json()
    second = whole(client, key, other, "session.jsonl").json()
    assert (first["outcome"], second["outcome"]) == ("added", "added")
    assert second["path"] == "upload:/99999999-2222-4333-8444-555555555555/session.jsonl"
    assert whole(client, key, other, "session.jsonl").json()["outcome"] == "unchanged"
    assert Session.objects.filter(workspace=workspace, superseded_by=None).count() == 2


def test_bytes_that_are_no_session_wait_and_then_are_forgotten(client, workspace, key):
    said = piece(client, key, 0, b"hello\n")
    assert (said.status_code, said.json()["outcome"], said.json()["stored"]) == (422, "skipped", 6)
    assert "no records" in said.json()["reason"]
    assert Upload.objects.count() == 1
    Upload.objects.update(touched_at=timezone.now() - uploads.ABANDONED - timedelta(seconds=1))
    piece(client, key, 0, LOG, name="other.jsonl")
    assert (Upload.objects.count(), UploadChunk.objects.count()) == (0, 0)
    standing(client, key, status=404)


def test_a_source_has_a_largest_size(client, workspace, key, settings):
    settings.UPLOAD_LIMIT = len(LOG) - 1
    for answer in (whole(client, key, LOG), piece(client, key, 0, LOG)):
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    half = len(LOG) // 2
    assert piece(client, key, 0, LOG[:half], complete="false").status_code == 202
    assert piece(client, key, half, LOG[half:]).status_code == 413
    assert standing(client, key)["stored"] == half
    assert not Session.objects.exists()


def test_who_may_only_read_sends_nothing_and_strangers_see_nothing(client, workspace, key):
    whole(client, key, LOG)
    for weak in (bearer(workspace, Role.VIEWER, Scope.ADMIN), bearer(workspace, Role.ADMIN, Scope.READ)):
        assert whole(client, weak, LOG + LOG).status_code == 403
        assert piece(client, weak, len(LOG), b"x").status_code == 403
        assert standing(client, weak)["stored"] == len(LOG)
    stranger = bearer(a_workspace(), Role.ADMIN, Scope.ADMIN)
    standing(client, stranger, status=404)
    standing(client, stranger, "x", status=404, sha256=hashlib.sha256(LOG).hexdigest())
    assert client.get(f"/api/sources?path={NAME}").status_code == 401
    assert piece(client, {}, len(LOG), b"x").status_code == 401
    assert piece(client, {"HTTP_AUTHORIZATION": "Bearer plm_no"}, len(LOG), b"x").status_code == 401
    assert looks(session_in(workspace))[-1] == LOG


def test_a_browser_needs_its_csrf_token(workspace):
    user = User.objects.create_user("quill")
    Membership.objects.create(workspace=workspace, user=user, role=Role.OPERATOR)
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    assert whole(client, {}, LOG).status_code == 403
    assert not Session.objects.exists()


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "..\\..\\etc\\passwd", "a/../../etc/passwd"])
def test_a_name_is_a_label_and_leads_nowhere(client, workspace, key, name):
    answer = whole(client, key, LOG, name.replace("\\", "%5C"))
    assert answer.json()["path"].endswith("etc/passwd")
    assert answer.json()["path"].startswith("upload:/")
    assert ".." not in answer.json()["path"]


def test_an_append_does_not_read_what_is_stored_to_compare_it(client, workspace, key, monkeypatch):
    whole(client, key, LOG)
    source = Source.objects.get()
    joined = uploads._joined(source, None, io.BytesIO(b"more"))
    assert joined.is_of(source)
    assert not uploads._joined(None, None, io.BytesIO(LOG)).is_of(source)
    joined.seek(len(LOG) - 3)
    assert joined.read() == LOG[-3:] + b"more"
    joined.seek(0)
    assert (joined.read(5), joined.tell(), joined.read(0)) == (LOG[:5], 5, b"")


def test_the_limit_has_a_setting():
    assert django_settings.UPLOAD_LIMIT == 2 << 30
