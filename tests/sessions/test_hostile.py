"""What nobody writes in good faith, or only a broken disk does: figures, names and addresses that no database can hold."""

from __future__ import annotations

import gc
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from sessions.ingest import Taken, take, take_file
from sessions.ingesting import ingest_paths
from sessions.models import Session, Source, Version
from sessions.projection import context_items
from sessions.sourcebytes import stored
from sessions.versions import make, roll_back
from tests.claude_lines import ClaudeLines, turns
from webapp.auth import issue_token
from webapp.models import Membership, Role, Scope, User, Workspace

pytestmark = pytest.mark.django_db

NAME = "11111111-2222-4333-8444-555555555555.jsonl"
NUL, SURROGATE = "a\x00b", "a\ud800b"


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


@pytest.fixture
def key(workspace: Workspace) -> dict[str, Any]:
    user = User.objects.create_user("ada")
    Membership.objects.create(workspace=workspace, user=user, role=Role.OPERATOR)
    return {
        "HTTP_AUTHORIZATION": f"Bearer {issue_token(workspace=workspace, user=user, name='t', scope=Scope.WRITE)[1]}"
    }


def session_of(taken: Taken) -> Session:
    return Session.objects.get(pk=taken.session)


def took(workspace: Workspace, folder: Path, data: bytes, name: str = NAME) -> Taken:
    path = folder / name
    path.write_bytes(data)
    return take_file(workspace, path)


@pytest.mark.parametrize(
    "figure", ["1" + "0" * 400, "-" + "9" * 30, "1" + "0" * 5000, "NaN", "-Infinity", "1e400", "18446744073709551616"]
)
def test_figures_that_no_json_writer_of_ours_can_write_lose_no_record(
    workspace: Workspace, tmp_path: Path, figure: str
) -> None:
    made = ClaudeLines()
    made.prompt("Weigh it")
    made.calls("c1", "Scales", {"weight": 7}, usage={"input_tokens": 70000, "output_tokens": 7})
    made.result("c1", "done")
    made.record(
        {
            "type": "system",
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "compactMetadata": {"trigger": "auto", "preTokens": 70000, "more": {"depth": [70000]}},
        },
        parent=False,
    )
    data = bytes(made).replace(b"70000", figure.encode()).replace(b'"weight": 7', b'"weight": ' + figure.encode())
    taken = took(workspace, tmp_path, data)
    assert (taken.outcome, taken.entries, taken.malformed) == ("added", 4, 0), taken.reason
    assert b"".join(stored(session_of(taken).source)) == data
    again = took(workspace, tmp_path, data + json.dumps({"type": "mode", "mode": "x"}).encode() + b"\n")
    assert (again.outcome, again.added) == ("grown", 1)
    assert session_of(taken).totals["fresh"] in (None, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes there")
def test_files_whose_names_are_no_text_are_told_apart(workspace: Workspace, tmp_path: Path) -> None:
    for n, name in enumerate((b"\xff.jsonl", b"\xfe.jsonl", b"new\nline.jsonl")):
        (tmp_path / os.fsdecode(name)).write_bytes(bytes(turns(1 + n)))
    taken = ingest_paths(workspace, [tmp_path])
    assert [one.outcome for one in taken] == ["added"] * 3
    assert sorted(Path(path).name for path in Source.objects.values_list("path", flat=True)) == [
        "\\xfe.jsonl",
        "\\xff.jsonl",
        "new\nline.jsonl",
    ]
    assert {one.outcome for one in ingest_paths(workspace, [tmp_path])} == {"unchanged"}


def test_ids_with_a_nul_find_what_is_stored_under_them(workspace: Workspace, tmp_path: Path) -> None:
    main = ClaudeLines(session_id=NUL)
    main.prompt("Begin")
    took(workspace, tmp_path, bytes(main), "main.jsonl")
    child = ClaudeLines(session_id=NUL)
    child.record(
        {"type": "user", "isSidechain": True, "agentId": NUL, "message": {"role": "user", "content": "Look around"}}
    )
    taken = took(workspace, tmp_path, bytes(child), "other.jsonl")
    assert taken.outcome == "added", taken.reason
    assert session_of(taken).native_id == "a\u2400b"


class Overtaken(io.FileIO):
    """An open file that another process takes in, grown, right after its size was asked for the first time."""

    def __init__(self, path: Path, workspace: Workspace, grown: bytes) -> None:
        super().__init__(path)
        self.path, self.workspace, self.grown = path, workspace, grown

    def seek(self, offset: int, whence: int = 0, /) -> int:
        at = super().seek(offset, whence)
        if whence == io.SEEK_END and self.grown:
            self.path.write_bytes(self.grown)
            self.grown = b""
            take_file(self.workspace, self.path)
        return at


def test_a_growing_file_taken_in_by_two_is_not_rewritten(workspace: Workspace, tmp_path: Path) -> None:
    made = turns(1)
    first = took(workspace, tmp_path, bytes(made))
    path = tmp_path / NAME
    short = bytes(made)
    made.prompt("and on")
    with Overtaken(path, workspace, bytes(made)) as file:
        assert file.seek(0) == 0
        second = take(workspace, str(path), file)
    assert short != bytes(made)
    assert (second.outcome, second.session, second.size) == ("unchanged", first.session, len(bytes(made)))
    assert Source.objects.count() == 1


def test_a_thousand_versions_in_a_row_are_let_go_quietly(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaints: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    session = session_of(took(workspace, tmp_path, bytes(turns(1))))
    at: Version | None = session.native_head
    for n in range(1500):
        at = make(session, parent=at, edits=[], origin="native", kind="rewind", label=str(n), at_seq=-1)
    del at
    gc.collect()
    assert complaints == []


@pytest.mark.parametrize("text", ["%00", "a%00b", "%ED%A0%80", "%FF"])
@pytest.mark.parametrize(
    ("address", "statuses"),
    [
        ("/?q={}", {200}),
        ("/?agent={}", {200}),
        ("/?project={}", {200}),
        ("/s/{}", {404}),
        ("/s/{}/compact", {404}),
        ("/api/sessions?agent={}", {200}),
        ("/api/sessions?project={}", {200}),
        ("/api/sessions/{}", {404}),
        ("/api/sessions/{}/context", {404}),
        ("/api/runs?session={}", {404}),
    ],
)
def test_no_address_fails_for_what_no_text_holds(
    client: Client, key: dict[str, Any], address: str, statuses: set[int], text: str
) -> None:
    client.force_login(User.objects.get())
    assert client.get(address.format(text), **(key if "/api/" in address else {})).status_code in statuses


@pytest.mark.parametrize(
    "name", ["%00.jsonl", "a%00b.jsonl", "..%00/x.jsonl", "%ED%A0%80.jsonl", "../../../etc/x.jsonl"]
)
def test_an_upload_comes_in_whatever_its_name(client: Client, key: dict[str, Any], name: str) -> None:
    answer = client.post(f"/api/sources?name={name}", bytes(turns(1)), content_type="application/octet-stream", **key)
    assert answer.status_code == 201, answer.content
    path = Source.objects.get().path
    assert path.startswith("upload:/")
    assert ".." not in path.split("/")


@pytest.mark.parametrize("text", [NUL, SURROGATE])
def test_a_reason_is_kept_as_far_as_it_can_be(workspace: Workspace, tmp_path: Path, text: str) -> None:
    session = session_of(took(workspace, tmp_path, bytes(turns(3))))
    moved = roll_back(session.pk, to_turn=1, reason=text)
    assert moved.now.facts["reason"] in ("a\u2400b", "a?b")


def test_what_is_too_deep_or_in_a_ring_is_read_as_far_as_it_goes(workspace: Workspace, tmp_path: Path) -> None:
    made = turns(1)
    deep: Any = "x"
    for _ in range(900):
        deep = {"a": deep}
    made.calls("d", "Bash", {"deep": deep})
    made.result("d", "ok")
    made.raw(b'{"type":"user","message":{"role":"user","content":' + b"[" * 100_000 + b"]" * 100_000 + b"}}")
    for one, other in (("a", "b"), ("b", "c"), ("c", "a"), ("d", "d")):
        made.record({"type": "user", "uuid": one, "parentUuid": other, "message": {"role": "user", "content": one}})
    made.prompt("and on")
    taken = took(workspace, tmp_path, bytes(made))
    assert (taken.outcome, taken.entries, taken.malformed) == ("added", 12, 1)
    assert context_items(session_of(taken))
