"""Layers of memory: which files, of which scope, when they came in, what they weigh, whether the model has them now."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from sessions.contexts import Hide, Insert, InsertKind
from sessions.entries import Part, PartKind, Role
from sessions.ingest import take_file
from sessions.memory import Scope, found_in, is_memory_text, scope_of
from sessions.meters.tokens import count
from sessions.models import Session, Version
from sessions.ranges import Ranges
from sessions.versions import make
from tests.claude_lines import ClaudeLines
from webapp.models import Workspace

CWD = "/home/quill/ledgerd"


def text(words: str, **meta: Any) -> Part:
    return Part(PartKind.TEXT, words, meta=meta)


def told(*parts: Part, kind: str = "context", cwd: str | None = CWD) -> list[tuple[str, str | None, str]]:
    return [(one.scope.value, one.path, one.text) for one in found_in(parts, cwd=cwd, kind=kind)]


# -- the frames of each agent -----------------------------------------------------------------------------------------


def test_a_nested_memory_of_claude_code() -> None:
    part = text(
        f"<system-reminder>\nContents of {CWD}/importer/CLAUDE.md:\n\n# Importer\nNo globals.\n</system-reminder>",
        attachment="nested_memory",
    )
    assert told(part) == [("folder", f"{CWD}/importer/CLAUDE.md", "# Importer\nNo globals.")]


def test_the_reminder_of_claude_code_with_a_person_s_and_a_project_s_file() -> None:
    words = (
        "<system-reminder>\nAs you answer, you can use this context:\n# claudeMd\n"
        "Contents of /home/quill/.claude/CLAUDE.md (user's private global instructions for all projects):\n\nBe brief.\n\n"
        f"Contents of {CWD}/CLAUDE.md (project instructions, checked into the codebase):\n\nUse uv.\n\n"
        f"Contents of {CWD}/CLAUDE.local.md (user's private project instructions, not checked in):\n\nMine.\n"
        "# currentDate\nToday.\n</system-reminder>"
    )
    assert told(text(words)) == [
        ("global", "/home/quill/.claude/CLAUDE.md", "Be brief."),
        ("project", f"{CWD}/CLAUDE.md", "Use uv."),
        ("local", f"{CWD}/CLAUDE.local.md", "Mine."),
    ]
    assert is_memory_text(words[:300])


def test_the_agents_file_of_codex_in_both_layers() -> None:
    words = (
        f"# AGENTS.md instructions for {CWD}\n\n<INSTRUCTIONS>\nBe brief.\n\n--- project-doc ---\n\nUse uv.\n\n"
        "## Skills\nA skill is a set of local instructions to follow.\n- one\n</INSTRUCTIONS>"
    )
    assert told(text(words)) == [
        ("global", "~/.codex/AGENTS.md", "Be brief."),
        ("project", f"{CWD}/AGENTS.md", "Use uv."),
    ]
    alone = f"# AGENTS.md instructions for {CWD}\n\n<INSTRUCTIONS>\nUse uv.\n</INSTRUCTIONS>"
    assert told(text(alone)) == [("unknown", f"{CWD}/AGENTS.md", "Use uv.")]
    assert told(text("<user_instructions>\n\nUse uv.\n\n</user_instructions>")) == [("unknown", "AGENTS.md", "Use uv.")]


def test_a_list_of_skills_alone_is_no_memory() -> None:
    words = f"# AGENTS.md instructions for {CWD}\n\n<INSTRUCTIONS>\n## Skills\nA skill is a set of local instructions.\n</INSTRUCTIONS>"
    assert told(text(words)) == []


def test_what_gemini_appends_to_a_tool_s_output() -> None:
    words = (
        "file text\n\n--- Newly Discovered Project Context ---\n--- Context from: importer/GEMINI.md ---\nNo globals.\n"
        "--- End of Context from: importer/GEMINI.md ---\n--- End Project Context ---"
    )
    part = Part(PartKind.TOOL_RESULT, words, call_id="a")
    assert told(part, kind="tool_result") == [("folder", "importer/GEMINI.md", "No globals.")]


def test_what_opencode_appends_to_a_reading() -> None:
    words = f"<file>\n1| x\n</file>\n\n<system-reminder>\nInstructions from: {CWD}/importer/AGENTS.md\nNo globals.\n</system-reminder>"
    part = Part(PartKind.TOOL_RESULT, words, call_id="a")
    assert told(part, kind="tool_result") == [("folder", f"{CWD}/importer/AGENTS.md", "No globals.")]


def test_who_only_talks_of_such_a_file_has_none() -> None:
    frame = f"Contents of {CWD}/CLAUDE.md:\n\nUse uv."
    assert told(text(frame), kind="prompt") == []
    assert told(Part(PartKind.TOOL_RESULT, frame, call_id="a"), kind="tool_result") == []
    assert told(text("Contents of /tmp/notes.txt:\n\nno memory")) == []
    reminded = "text\n<system-reminder>\nBe quick.\nInstructions from: a/AGENTS.md\nx\n</system-reminder>"
    assert told(Part(PartKind.TOOL_RESULT, reminded, call_id="a"), kind="tool_result") == []
    printed = "--- Context from: GEMINI.md ---\nx\n--- End of Context from: GEMINI.md ---"
    assert told(Part(PartKind.TOOL_RESULT, printed, call_id="a"), kind="tool_result") == []


@pytest.mark.parametrize(
    ("path", "scope"),
    [
        (f"{CWD}/CLAUDE.md", Scope.PROJECT),
        (f"{CWD}/.claude/CLAUDE.md", Scope.PROJECT),
        (f"{CWD}/a/b/CLAUDE.md", Scope.FOLDER),
        ("/home/CLAUDE.md", Scope.PROJECT),
        ("/home/quill/.claude/CLAUDE.md", Scope.GLOBAL),
        ("~/.gemini/GEMINI.md", Scope.GLOBAL),
        ("GEMINI.md", Scope.PROJECT),
        ("importer/GEMINI.md", Scope.FOLDER),
        (f"{CWD}/CLAUDE.local.md", Scope.LOCAL),
    ],
)
def test_the_scope_of_a_path(path: str, scope: Scope) -> None:
    assert scope_of(path, CWD) is scope


# -- of a session -----------------------------------------------------------------------------------------------------

IMPORTER = "# Importer\nNo globals. Every error names its line."
WRITER = "# Writer\nAt most 512 rows may wait."


def attachment(path: str, words: str) -> dict[str, Any]:
    return {"type": "nested_memory", "path": path, "content": {"type": "Project", "path": path, "content": words}}


def remembered(workspace: Workspace, folder: Path) -> Session:
    """A session that came upon two sub-folders' files, one of them twice and changed; the first time was folded since."""
    made = ClaudeLines(session_id="99999999-2222-4333-8444-555555555555", cwd=CWD)
    made.prompt("Read the importer.")
    made.record({"type": "attachment", "attachment": attachment(f"{CWD}/importer/CLAUDE.md", IMPORTER)})
    made.says("It streams.")
    made.prompt("And the writer?")
    made.record({"type": "attachment", "attachment": attachment(f"{CWD}/writer/CLAUDE.md", WRITER)})
    made.says("It waits.")
    made.compact("The importer streams, the writer waits.")
    made.prompt("Again.")
    made.record({"type": "attachment", "attachment": attachment(f"{CWD}/importer/CLAUDE.md", f"{IMPORTER}\nBe kind.")})
    made.says("Done.")
    path = folder / f"{made.session_id}.jsonl"
    path.write_bytes(bytes(made))
    return Session.objects.get(pk=take_file(workspace, path).session)


def run_json(*args: Any) -> Any:
    out = io.StringIO()
    call_command(*map(str, args), as_json=True, stdout=out)
    return json.loads(out.getvalue())


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def test_each_file_with_every_time_it_came_in_and_whether_the_model_has_it(
    workspace: Workspace, tmp_path: Path
) -> None:
    session = remembered(workspace, tmp_path)
    importer, writer = run_json("memory", session.pk)["layers"]

    assert (importer["path"], importer["scope"], importer["in_context"]) == (
        f"{CWD}/importer/CLAUDE.md",
        "folder",
        True,
    )
    first, again = importer["loads"]
    assert (first["in_context"], first["why_not"], first["turn"]) == (False, "folded, v1", 1)
    assert (again["in_context"], again["changed"], again["turn"]) == (True, True, 3)
    assert first["tokens"] == count([IMPORTER])[0]
    assert importer["tokens"] == again["tokens"] == count([f"{IMPORTER}\nBe kind."])[0]

    assert (writer["path"], writer["in_context"], writer["tokens"]) == (f"{CWD}/writer/CLAUDE.md", False, 0)


def test_at_a_step_and_at_a_version_it_is_what_stood_there_then(workspace: Workspace, tmp_path: Path) -> None:
    session = remembered(workspace, tmp_path)
    at_first = run_json("memory", session.pk, "--step", "1")
    assert [(layer["path"], layer["in_context"]) for layer in at_first["layers"]] == [
        (f"{CWD}/importer/CLAUDE.md", True)
    ]
    before = run_json("memory", session.pk, "--version", "0")
    assert [layer["in_context"] for layer in before["layers"]] == [True, True]


def test_memory_fills_the_context_as_memory(workspace: Workspace, tmp_path: Path) -> None:
    session = remembered(workspace, tmp_path)
    kinds = {
        row["kind"]: row["entries"] for row in run_json("context", session.pk, "--by-kind", "--version", "0")["by_kind"]
    }
    assert kinds["memory"] == 3


def test_what_a_version_puts_back_is_in_the_context(workspace: Workspace, tmp_path: Path) -> None:
    session = remembered(workspace, tmp_path)
    words = (Part(PartKind.TEXT, WRITER),)
    version = make(
        session,
        parent=session.current,
        edits=[
            Hide(Ranges.of([(0, 3)])),
            Insert(3, Role.USER, InsertKind.MEMORY, words, label=f"{CWD}/writer/CLAUDE.md"),
        ],
        origin=Version.Origin.RUN,
        kind="run",
        label="Hybrid",
        at_seq=session.entries_count - 1,
    )
    found = {layer["path"]: layer for layer in run_json("memory", session.pk, "--version", version.n)["layers"]}
    assert found[f"{CWD}/writer/CLAUDE.md"]["loads"][0]["position"] == 0
    assert found[f"{CWD}/writer/CLAUDE.md"]["in_context"]


def test_codex_records_its_own_instructions_and_the_agents_file(workspace: Workspace, tmp_path: Path) -> None:
    def line(kind: str, payload: dict[str, Any]) -> str:
        return json.dumps({"timestamp": "2026-03-02T09:00:00.000Z", "type": kind, "payload": payload})

    def said(role: str, words: str) -> str:
        kind = "output_text" if role == "assistant" else "input_text"
        return line("response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": words}]})

    name = "01a22af3-3786-7452-b4cd-e861e3ece0e3"
    own = "You are a coding agent. Work in small steps."
    lines = [
        line("session_meta", {
            "id": name, "timestamp": "2026-03-02T09:00:00.000Z", "cwd": CWD, "originator": "codex_cli_rs", "cli_version": "0.98.0",
            "base_instructions": {"text": own},
        }),
        said("user", f"# AGENTS.md instructions for {CWD}\n\n<INSTRUCTIONS>\nBe brief.\n\n--- project-doc ---\n\nUse uv.\n</INSTRUCTIONS>"),
        said("user", "Read the importer."),
        said("assistant", "It streams."),
    ]  # fmt: skip
    path = tmp_path / f"rollout-2026-03-02T09-00-00-{name}.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    session = Session.objects.get(pk=take_file(workspace, path).session)

    answer = run_json("memory", session.pk)
    found = answer["layers"]
    assert answer["tokens"] == sum(count(["Be brief.", "Use uv."]))
    assert [(layer["scope"], layer["path"], layer["in_context"]) for layer in found] == [
        ("base", None, True),
        ("global", "~/.codex/AGENTS.md", True),
        ("project", f"{CWD}/AGENTS.md", True),
    ]
    assert found[0]["tokens"] == count([own])[0]
