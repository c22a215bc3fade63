"""The formats of no one agent through the whole of the ingest: into the database, again, grown, and their bytes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sessions.ingesting import ingest_paths
from sessions.models import Session
from sessions.projection import context_items
from sessions.sourcebytes import content, stored
from tests.adapters.test_registry import OTHERS
from tests.adapters.trace.build import Log, goal
from webapp.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def test_every_recording_comes_in_once_and_its_bytes_come_back(workspace: Workspace, shared_data: Path) -> None:
    taken = {Path(one.path).name: one for one in ingest_paths(workspace, [shared_data / "other"])}
    assert {name: one.agent for name, one in taken.items()} == OTHERS
    assert {one.outcome for one in taken.values()} == {"added"}
    assert not any(one.malformed for one in taken.values())
    again = ingest_paths(workspace, [shared_data / "other"])
    assert {one.outcome for one in again} == {"unchanged"}
    assert sum(one.added for one in again) == 0
    for session in Session.objects.filter(workspace=workspace):
        assert b"".join(stored(session.source)) == Path(session.source.path).read_bytes()
        assert context_items(session)


TREE: dict[str, Any] = {
    "mission": "Fast",
    "current_id": "1",
    "goals": [goal("1", "Read", "in_progress"), goal("2", "Write", "pending")],
}


def write(folder: Path, log: Log, meta: dict[str, Any], tree: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "messages.jsonl").write_bytes(log.data())
    (folder / "meta.json").write_text(json.dumps({"format": "trace", "version": 1, **meta}, indent=1))
    (folder / "goal.json").write_text(json.dumps(tree, indent=1))


def test_a_trace_with_its_branches(workspace: Workspace, tmp_path: Path) -> None:
    log, branch = Log(), Log()
    log.add("user", "Make it fast")
    log.add("assistant", "Looking.", "1")
    branch.add("assistant", "By a table it is fast.", "1")
    write(tmp_path / ".trace" / "main", log, {"trace_id": "main", "title": "Parser"}, TREE)
    write(
        tmp_path / ".trace" / "main-a",
        branch,
        {"trace_id": "main-a", "parent_trace_id": "main", "branch": "by a table"},
        {**TREE, "mission": "Is a table fast?"},
    )
    taken = ingest_paths(workspace, [tmp_path])
    assert sorted(one.outcome for one in taken) == ["added", "added", "kept", "kept", "kept", "kept"]
    main, sub = (Session.objects.get(native_id=name) for name in ("main", "main-a"))
    assert (main.title, sub.title, sub.parent, sub.parent_kind) == ("Parser", "by a table", main, "branch")
    assert sub.facts["conclusion"] == "By a table it is fast."
    assert list(main.goals.values_list("path", "status").order_by("path")) == [("1", "in_progress"), ("2", "pending")]
    assert list(main.entries.filter(goal="1").values_list("text", flat=True)) == ["Looking."]
    assert b"".join(content(main.source)).endswith(log.data())


def test_a_trace_that_goes_on_keeps_its_session(workspace: Workspace, tmp_path: Path) -> None:
    folder, log = tmp_path / ".trace" / "live", Log()
    for n in range(12):
        log.add("user" if n % 2 == 0 else "assistant", f"words {n}", "1")
    write(folder, log, {"trace_id": "live"}, TREE)
    ingest_paths(workspace, [folder])
    session = Session.objects.get(native_id="live")
    log.add("assistant", "Now writing.", "2")
    log.add("user", "Read it.", "1", kind="summary", replaces={"goal_id": "1"})
    tree = {**TREE, "goals": [goal("1", "Read", "completed", "It is a loop."), goal("2", "Write", "in_progress")]}
    write(folder, log, {"trace_id": "live", "status": "running"}, tree)
    ingest_paths(workspace, [folder])
    assert Session.objects.filter(native_id="live").count() == 1
    session.refresh_from_db()
    assert session.superseded_by is None
    assert [item.text for item in context_items(session)] == ["Read it.", "Now writing."]
    found = list(session.goals.values_list("path", "status", "note").order_by("path"))
    assert found == [("1", "completed", "It is a loop."), ("2", "in_progress", None)]


def test_a_mapping_beside_the_files(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "palimpsest.toml").write_text(
        '[[mapping]]\nfiles = ["*.jsonl"]\n[mapping.entry]\nrole = "$.who"\ntext = "$.what"\n[mapping.roles]\nme = "user"\nit = "assistant"\n'
    )
    path = tmp_path / "room.jsonl"
    path.write_text('{"who": "me", "what": "Hi"}\n{"who": "it", "what": "Yes"}\n')
    (taken,) = ingest_paths(workspace, [tmp_path])
    assert (taken.agent, taken.outcome, taken.entries, taken.turns) == ("mapped", "added", 2, 1)
    with path.open("a") as file:
        file.write('{"who": "me", "what": "More"}\n')
    (grown,) = ingest_paths(workspace, [tmp_path])
    assert (grown.outcome, grown.added) == ("grown", 1)
