"""Recorded sessions of every era: nothing refused, nothing lost, and the agent's own sums."""

from collections import Counter
from pathlib import Path

import pytest

from sessions.adapters.claude_code import ADAPTER
from sessions.assembly import Reading, read_whole
from sessions.entries import Kind


@pytest.fixture
def recorded(shared_data: Path) -> Path:
    folder = shared_data / "claude-code"
    if not folder.is_dir():
        pytest.skip("the recorded sessions of Claude Code are not there")
    return folder


def read(path: Path) -> Reading:
    return read_whole(ADAPTER, path, [(path.read_bytes(), False)])


def test_every_file_is_claimed_for_what_it_is(recorded: Path):
    roles = Counter()
    for path in recorded.rglob("*"):
        if path.is_file():
            found = ADAPTER.claim(path, path.read_bytes()[: 64 * 1024])
            assert found is not None, path
            roles[found.role] += 1
            assert found.native_id or found.owner_id or found.reason
    assert roles["none"] == 1  # the history of prompts
    assert roles["sidecar"] == 5
    assert roles["session"] > 50


def test_every_line_is_one_entry_and_only_broken_ones_are_malformed(recorded: Path):
    malformed = {}
    for path in recorded.rglob("*.jsonl"):
        if path.name == "history.jsonl":
            continue
        reading = read(path)
        lines = path.read_bytes().count(b"\n") + (0 if path.read_bytes().endswith(b"\n") else 1)
        assert len(reading.placed) == lines, path
        assert sum(placed.length for placed in reading.placed) == path.stat().st_size
        broken = sum(placed.entry.kind is Kind.MALFORMED for placed in reading.placed)
        if broken:
            malformed[path.name] = broken
    assert malformed == {"ccl-edge_cases.jsonl": 3}


@pytest.mark.parametrize(
    "name",
    [
        "cli-2.1.332/c781b2f8-0bb6-47e6-a4db-5ca3821d7345.jsonl",
        "cli-2.1.332-overflow/8efda5a4-9210-47d3-a892-752c314b192f.jsonl",
        "cli-2.1.332-tui/c14ddd6e-939c-4273-9b8e-6c15883c02aa.jsonl",
    ],
)
def test_the_sums_over_the_steps_are_the_agents_own(recorded: Path, name: str):
    reading = read(recorded / name)
    (own,) = reading.facts.extra["cost"]["modelUsage"].values()
    used = [step.usage for step in reading.steps if step.usage]
    assert sum(usage.fresh or 0 for usage in used) == own["inputTokens"]
    assert sum(usage.cache_read or 0 for usage in used) == own["cacheReadInputTokens"]
    assert sum(usage.cache_write or 0 for usage in used) == own["cacheCreationInputTokens"]
    assert sum(usage.output or 0 for usage in used) == own["outputTokens"]
    assert not any(usage.estimated for usage in used)


def test_a_sub_agents_file_names_its_parent_and_the_parents_result_names_it(recorded: Path):
    session = "65e79247-f71d-413c-91f7-0af15eac7c6f"
    (child,) = (recorded / "cli-2.1.332" / session / "subagents").glob("*.jsonl")
    facts = read(child).facts
    assert (facts.parent_native_id, facts.parent_kind) == (session, "subagent")
    results = [p for placed in read(recorded / "cli-2.1.332" / f"{session}.jsonl").placed for p in placed.entry.parts]
    assert facts.native_id in {part.meta.get("agent_id") for part in results}


def test_a_compaction_leaves_the_summary_and_every_call_with_its_result(recorded: Path):
    reading = read(recorded / "entire-cd-95adddad32-0.jsonl")
    assert [v.kind for v in reading.versions] == ["compaction"] * 3
    assert [v.facts["preTokens"] for v in reading.versions] == [156699, 155241, 155413]
    context = reading.context()
    assert context[0].kind is Kind.SUMMARY
    calls = [call for item in context for call in item.calls]
    assert sorted(calls) == sorted(result for item in context for result in item.results)
