"""The real agents, started on sessions that we wrote, send what the version sends: block for block.

Each recorded session is taken in, compacted by a run's own preview, rolled back or left at the agent's own compaction, written by the
command, and resumed. What an agent's adapter test tolerates is tolerated here, and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from compaction import runs
from sessions import versions, writing
from sessions.contexts import Item
from sessions.models import Session, Version
from sessions.projection import context_items, facts_of
from sessions.versions import make, set_head
from sessions.writers.compare import blocks
from tests.adapters import test_claude_code_resume as claude
from tests.adapters import test_codex_resume as codex
from tests.adapters import test_gemini_cli_resume as gemini
from tests.adapters import test_opencode_resume as opencode
from tests.adapters.resume import Answer, ask, differences, flatten, harness, joined
from tests.adapters.writing import adapter_of, read_back
from tests.sessions.test_commands import run_json
from tests.sessions.test_writing import stored
from webapp.models import Workspace

pytestmark = [pytest.mark.resume, pytest.mark.django_db(transaction=True)]

HARNESS = {"claude-code": "claude-code", "codex": "codex", "gemini-cli": "gemini", "opencode": "opencode"}
SHOWS = {
    "claude-code": ["claude-code/entire-cd-95adddad32-0.jsonl", "claude-code/entire-4f-7199a81bd1-0.jsonl"],
    "codex": [
        "codex/openai-rollout-2025-08-06T18-02-11-05997ac9-0e06-4251-8576-cc16266d3022.jsonl",
        "codex/cli-0.98.0/rollout-2026-11-30T05-35-12-01a22af3-3786-7452-b4cd-e861e3ece0e3.jsonl",
    ],
    "gemini-cli": [
        "gemini/mgemini-session-2025-12-30T18-12-d5169a00.json",
        "gemini/mgemini-session-2025-12-03T08-28-fc2fd534.json",
    ],
    "opencode": ["opencode/gen11833-export-prune.json", "opencode/gen11833-export-auto.json"],
}
WAYS = ("hybrid", "rolled back", "as the agent left it")


@pytest.fixture
def workspace(transactional_db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def hybrid(session: Session) -> None:
    """What a run of `hybrid` leaves, made to fold also where there is little."""
    before = sum(item.sizes.tokens for item in context_items(session))
    made = runs.preview_run(session, strategy="hybrid", params={"aim": before // 3, "keep": before // 5, "free": 0})
    if not made.preview.lands:
        pytest.skip(f"hybrid does nothing here: {made.preview.reason}")
    version = make(
        session, parent=session.current, edits=made.preview.edits, origin=Version.Origin.RUN, kind="compaction", label="hybrid",
        at_seq=session.entries_count - 1,
    )  # fmt: skip
    set_head(session, version, by=None, what="compacted", redo=[])


def changed(session: Session, way: str) -> Session:
    if way == "hybrid":
        hybrid(session)
    elif way == "rolled back":
        turn = max(1, session.turns - 1)
        if session.turns > 1:
            versions.roll_back(session.pk, to_turn=turn)
        else:
            versions.roll_back(session.pk, to_entry=int(session.entries_count * 0.6))
    session.refresh_from_db()
    return session


def written(session: Session, agent: str, folder: Path) -> tuple[Path, list[Item]]:
    """The file that the command wrote, and the context that is to be sent: the version's, with the agent's own frame of a summary."""
    row = run_json("resume", session.pk, "--as", agent, "--out", folder)
    made = writing.make(session, agent=agent)
    facts = facts_of(session) if session.agent == agent else read_back(made.written, agent).reading.facts
    wanted = adapter_of(agent).wire(made.written.expected, facts)
    if session.agent == agent and agent in ("claude-code", "codex"):
        assert blocks(wanted) == blocks(context_items(session))
    return Path(row["paths"][0]), wanted


def left(agent: str, path: Path, wanted: Sequence[Item], answer: Answer) -> list[str]:
    """What the agent sends otherwise."""
    assert answer.verdict == "resumed", answer.reason
    match agent:
        case "claude-code":
            ours = joined(flatten(wanted))
            theirs, _ = claude.resuming(answer.history, ours)
            return differences(ours, theirs, claude.TOLERATED).left
        case "codex":
            ours = flatten(wanted)
            theirs, after = codex.wrapped(answer.history, len(ours))
            more = [f"sent besides: {block.text[:100]!r}" for block in after if not codex.put_in_on_resume(block)]
            return differences(ours, theirs, codex.RULES).left + more
        case "gemini-cli":
            return differences(flatten(wanted), gemini.once(answer.history), gemini.RULES).left
        case _:
            ours = opencode.as_sent_by_the_harness(opencode.read(path.read_bytes()).context())
            return differences(ours, answer.history[1:], opencode.RULES).left


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("agent", "name"), [(agent, name) for agent, names in SHOWS.items() for name in names])
def test_the_agent_sends_what_the_version_sends(
    agent: str, name: str, way: str, shared_data: Path, workspace: Workspace, tmp_path: Path
) -> None:
    harness(shared_data.parent)
    session = changed(stored(workspace, shared_data / name), way)
    path, wanted = written(session, agent, tmp_path / "out")
    assert left(agent, path, wanted, ask(HARNESS[agent], path, shared_data.parent)) == []


def test_from_claude_code_to_codex_and_back(shared_data: Path, workspace: Workspace, tmp_path: Path) -> None:
    harness(shared_data.parent)
    session = changed(stored(workspace, shared_data / SHOWS["claude-code"][0]), "hybrid")
    there, wanted = written(session, "codex", tmp_path / "there")
    assert left("codex", there, wanted, ask("codex", there, shared_data.parent)) == []
    across = stored(workspace, there)
    back, again = written(across, "claude-code", tmp_path / "back")
    assert left("claude-code", back, again, ask("claude-code", back, shared_data.parent)) == []
    # What is said travels both ways unchanged; only tools without an equal became words on the way there.
    assert [block.text for block in blocks(again) if block.kind == "text"] == [
        block.text for block in blocks(wanted) if block.kind == "text"
    ]


@pytest.mark.parametrize("agent", ["gemini-cli", "opencode"])
def test_from_claude_code_to_others(agent: str, shared_data: Path, workspace: Workspace, tmp_path: Path) -> None:
    harness(shared_data.parent)
    session = stored(workspace, shared_data / SHOWS["claude-code"][0])
    path, wanted = written(session, agent, tmp_path / "there")
    assert left(agent, path, wanted, ask(HARNESS[agent], path, shared_data.parent)) == []


def test_the_agent_goes_on_in_what_we_wrote_and_it_is_taken_in_again(
    shared_data: Path, workspace: Workspace, tmp_path: Path
) -> None:
    """A session that we wrote, resumed by hand once more after it grew, is one session with its own history."""
    session = changed(stored(workspace, shared_data / SHOWS["codex"][0]), "hybrid")
    path, wanted = written(session, "codex", tmp_path / "out")
    back = stored(workspace, path)
    line: dict[str, Any] = {
        "timestamp": "2026-11-30T12:00:00.000Z",
        "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And now?"}]},
    }
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")
    grown = stored(workspace, path)
    assert grown.pk == back.pk
    assert [block.text for block in blocks(context_items(grown))] == [*(b.text for b in blocks(wanted)), "And now?"]
