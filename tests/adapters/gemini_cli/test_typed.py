"""What people typed, in `logs.json`: commands that left no trace in the session of their time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sessions.adapters.gemini_cli.typed import commands
from sessions.ingesting import ingest_paths
from sessions.models import Session
from tests.adapters.gemini_cli import build
from webapp.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def row(message: str, at: str = "2026-11-30T06:07:00.000Z", session: str = build.SESSION) -> dict[str, Any]:
    return {"sessionId": session, "messageId": 0, "type": "user", "message": message, "timestamp": at}


def problems(workspace: Workspace, folder: Path, session: bytes) -> list[str]:
    (folder / "chats").mkdir(parents=True)
    (folder / "chats" / "session-2026-11-30T02-00-5f0c7c1e.jsonl").write_bytes(session)
    (folder / "logs.json").write_text(json.dumps([row("hello"), row("/compress"), row("/help"), row("/compress", "x")]))
    ingest_paths(workspace, [folder])
    again = ingest_paths(workspace, [folder])
    assert {one.outcome for one in again} == {"unchanged"}
    said: list[str] = Session.objects.get(native_id=build.SESSION).problems
    return said


def test_a_compaction_that_left_no_trace_is_said_once(workspace: Workspace, tmp_path: Path) -> None:
    said = problems(workspace, tmp_path, build.data(build.head(), build.user("u1", "hello"), build.model("g1", "hi")))
    assert said == [
        "a compaction was asked for at 2026-11-30 06:07 UTC; the file has no trace of one, and goes on as it was"
    ]


def test_one_that_is_in_the_session_is_not_said(workspace: Workspace, tmp_path: Path) -> None:
    log = [build.head(), build.user("u1", "hello"), build.model("g1", "hi"), build.compacted("s", "what was")]
    assert problems(workspace, tmp_path, build.data(*log)) == []


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[1, null]", b'[{"message": 3}]', b'[{"message": "/compress"}]', b"\xff"]
)
def test_a_file_in_another_form_says_nothing(data: bytes) -> None:
    assert not commands(data)
