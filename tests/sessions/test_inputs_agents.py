"""More of the inputs that broke others: those of one agent's store or of several files. `test_inputs` lists them all."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.db.models.signals import post_init
from django.test.utils import CaptureQueriesContext

from sessions import writing
from sessions.ingest import Taken, take_file
from sessions.ingesting import ingest_paths
from sessions.models import Session, Source
from sessions.projection import context_items
from tests.adapters.gemini_cli import build as gemini
from tests.adapters.opencode import build as opencode
from tests.adapters.opencode.store import Store
from tests.claude_lines import ClaudeLines, turns
from webapp.models import Workspace

pytestmark = pytest.mark.django_db
NAME = "11111111-2222-4333-8444-555555555555"
GEMINI = "session-2026-11-30T02-00-5f0c7c1e"


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "opencode.db")
    yield made
    made.close()


def taken_in(workspace: Workspace, path: Path, data: bytes) -> Session:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    taken = take_file(workspace, path)
    assert taken.session is not None, taken
    return Session.objects.get(pk=taken.session)


def texts(session: Session) -> list[str]:
    return [item.text for item in context_items(session)]


def output_of_all() -> int:
    return sum(session.totals["output"] or 0 for session in Session.objects.filter(superseded_by=None))


def test_copies_of_a_child_among_artefacts_are_not_counted_again(workspace: Workspace, tmp_path: Path) -> None:
    """One to the byte, under another name, is no session; one without its first line is, and counts nothing."""
    child = ClaudeLines()
    for line in turns(2).lines:
        child.raw(json.dumps({**json.loads(line), "isSidechain": True, "agentId": "a1b2c3d4"}).encode())
    one = taken_in(workspace, tmp_path / NAME / "subagents" / "agent-a1b2c3d4.jsonl", bytes(child))
    assert one.totals["output"] == 80
    copy = tmp_path / "artefacts" / "transcript.jsonl"
    copy.parent.mkdir()
    copy.write_bytes(bytes(child))
    assert take_file(workspace, copy).outcome == "same"
    headless = taken_in(workspace, tmp_path / "artefacts" / "rest.jsonl", b"\n".join(child.lines[1:]) + b"\n")
    assert (headless.steps_count, headless.totals["steps"]) == (4, 0)
    assert output_of_all() == 80


def test_a_log_with_patches_rewritten_turns_and_rewinds(workspace: Workspace, tmp_path: Path) -> None:
    """Each turn once, in its last form; what was rewound is a ghost that was counted."""
    call = gemini.call("run__c1", "run_shell_command", {"command": "ls"}, "a b")
    lines = [
        gemini.head(),
        {"$set": {"lastUpdated": "now"}},
        gemini.user("u1", "look"),
        gemini.model("g1", "Looking.", tokens=gemini.tokens(100, 10)),
        gemini.model("g1", "Looking.", tokens=gemini.tokens(100, 10), toolCalls=[call]),
        gemini.user("u1-back", call["result"]),
        gemini.user("u2", "and now?"),
        gemini.model("g2", "Wrong.", tokens=gemini.tokens(200, 20)),
        gemini.rewind("u2"),
        gemini.user("u3", "better"),
        gemini.model("g3", "Right.", tokens=gemini.tokens(210, 30)),
    ]
    session = taken_in(workspace, tmp_path / f"{GEMINI}.jsonl", gemini.data(*lines))
    assert (session.entries_count, session.malformed, session.steps_count) == (11, 0, 3)
    context = context_items(session)
    assert [item.text for item in context if not item.calls] == ["look", "Looking.", "better", "Right."]
    assert [result for item in context for result in item.results] == ["run__c1"]
    assert session.totals["output"] == 60
    assert [version.kind for version in session.versions.filter(origin="native")] == ["rewind"]


def test_an_injected_tree_of_folders_is_no_title_and_names_the_project(workspace: Workspace, tmp_path: Path) -> None:
    lines = [gemini.head(), gemini.environment("/work/quill"), gemini.user("u1", "Make the quill write")]
    session = taken_in(workspace, tmp_path / f"{GEMINI}.jsonl", gemini.data(*lines))
    assert (session.title, session.cwd, session.project) == ("Make the quill write", "/work/quill", "quill")
    assert session.turns == 1


def test_one_more_file_costs_the_same_however_many_there_are(workspace: Workspace, tmp_path: Path) -> None:
    """Files of one size, and sub-agents whose parents never came: neither are read again from the database, one by one."""
    looked = Counter[str]()

    def count(sender: type, **_more: object) -> None:
        looked[sender.__name__] += 1

    costs = []
    post_init.connect(count, sender=Source)
    post_init.connect(count, sender=Session)
    try:
        for n in range(24):
            lines = ClaudeLines(f"{n:08d}-2222-4333-8444-555555555555")
            for line in turns(1).lines:
                lines.raw(json.dumps({**json.loads(line), "isSidechain": True, "agentId": f"a{n:07d}"}).encode())
            path = tmp_path / f"agent-a{n:07d}.jsonl"
            path.write_bytes(bytes(lines))
            looked.clear()
            with CaptureQueriesContext(connection) as asked:
                (taken,) = ingest_paths(workspace, [path])
            assert taken.outcome == "added"
            costs.append((len(asked), looked["Source"], looked["Session"]))
    finally:
        post_init.disconnect(count, sender=Source)
        post_init.disconnect(count, sender=Session)
    assert costs[23] == costs[2]


def made(count: int, **info: object) -> opencode.Session:
    out = opencode.Session(**info)  # type: ignore[arg-type]
    for n in range(count):
        out.user(opencode.text(f"question {n}"))
        out.assistant(opencode.start(), opencode.text(f"answer {n}"), opencode.finish(10 + n, 5))
    return out


def outcomes(taken: list[Taken]) -> list[str]:
    return [one.outcome for one in taken]


def test_a_row_edited_within_the_same_millisecond_is_found(workspace: Workspace, store: Store) -> None:
    """The second edit leaves every count and every time in the database as they were."""
    said = made(12)
    store.now = int(time.time() * 1000) + 3_600_000  # as if just now, however slow this is
    store.write(said)
    assert outcomes(ingest_paths(workspace, [store.path])) == ["added"]
    said.messages[1]["parts"][1]["text"] = "ANSWER 0"
    store.now -= 1000
    store.write(said)
    assert outcomes(ingest_paths(workspace, [store.path])) == ["grown"]
    (session,) = Session.objects.filter(superseded_by=None)
    assert texts(session)[1] == "ANSWER 0"
    assert session.totals["output"] == 60


def test_a_database_in_the_place_of_another_is_the_same_session_as_far_as_it_is(
    workspace: Workspace, store: Store, tmp_path: Path
) -> None:
    store.write(made(12))
    ingest_paths(workspace, [store.path])
    store.close()
    for path in tmp_path.glob("opencode.db*"):
        path.unlink()
    other = Store(store.path)
    other.write(made(14))
    assert outcomes(ingest_paths(workspace, [store.path])) == ["grown"]
    other.close()
    (session,) = Session.objects.all()
    assert (session.turns, session.totals["output"]) == (14, 70)


@pytest.mark.parametrize("first", ["less", "more"])
def test_two_exports_of_which_one_is_less_complete(workspace: Workspace, tmp_path: Path, first: str) -> None:
    """Each is whole to look at; every answer counts once, whichever was read first."""
    files = {"less": made(2), "more": made(5)}
    found = {}
    for name in sorted(files, reverse=first == "more"):
        found[name] = taken_in(workspace, tmp_path / f"{name}.json", files[name].data())
    for name, session in found.items():
        assert texts(session) == [item.text for item in opencode.read(files[name].data()).context()]
    assert output_of_all() == 25


def test_what_was_done_before_a_compaction_calls_it_pending_stays_done(workspace: Workspace, tmp_path: Path) -> None:
    lines = ClaudeLines()
    lines.prompt("Fix the parser")
    for n, status in enumerate(("in_progress", "completed")):
        todos = [{"content": "Fix the parser", "status": status, "activeForm": "Fixing"}]
        lines.calls(f"toolu_{n}", "TodoWrite", {"todos": todos})
        lines.result(f"toolu_{n}", "Todos have been modified", toolUseResult={"oldTodos": [], "newTodos": todos})
    lines.compact("Pending tasks: Fix the parser. Current work: Fix the parser.")
    lines.says("On we go.")
    session = taken_in(workspace, tmp_path / f"{NAME}.jsonl", bytes(lines))
    ingest_paths(workspace, [tmp_path])  # what was given up is looked for at its end
    said = session.goals.filter(inferred=False).values_list("text", "status")
    assert list(said) == [("Fix the parser", "completed")]
    assert not session.abandonments.exists()


def test_a_written_session_of_gemini_has_no_namesake_by_its_end(workspace: Workspace, tmp_path: Path) -> None:
    """Its start deletes every file whose name ends as a stub's does: in the first eight letters of the session's id."""
    session = taken_in(workspace, tmp_path / f"{NAME}.jsonl", bytes(turns(2)))
    written = writing.make(session, agent="gemini-cli").written
    (file,) = written.files
    assert Path(file.name).name.startswith("session-")
    assert Path(file.name).stem[-8:] != written.native_id[:8]
