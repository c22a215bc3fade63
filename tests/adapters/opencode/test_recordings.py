"""Recorded sessions, against the agent's own figures where it gives some, and against what was counted by hand where not."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sessions.assembly import Reading
from sessions.contexts import unpaired
from sessions.entries import Kind
from tests.adapters.opencode.build import read


@dataclass(frozen=True)
class Wanted:
    """Entries, turns, steps; goals by status; native versions by kind; items of the context."""

    entries: int
    turns: int
    steps: int
    versions: tuple[str, ...] = ()
    goals: str = ""
    context: int = 0


PLAN = "completed in_progress pending"
RECORDED = {
    "gen11833-export-auto": Wanted(94, 4, 13, ("compaction",), PLAN, 21),
    "gen11833-export-child": Wanted(15, 1, 2, (), "", 7),
    "gen11833-export-partial": Wanted(121, 6, 17, ("compaction", "revert"), "completed completed abandoned", 13),
    "gen11833-export-prune": Wanted(113, 4, 16, ("microcompaction",), "", 60),
    "gen11833-export-reverted": Wanted(129, 6, 18, ("compaction", "revert"), "completed completed abandoned", 10),
    "gen11833-export-sanitized": Wanted(121, 6, 17, ("compaction", "revert"), "", 13),
    "crafted-rewritten-compacted": Wanted(49, 2, 7, ("compaction",), PLAN, 2),
    "nvim-derived-api-abort": Wanted(9, 1, 1, (), "", 4),
    "nvim-derived-api-error": Wanted(9, 1, 1, (), "", 3),
    "nvim-derived-compaction-after-messages": Wanted(10, 1, 2, (), "", 5),
    "nvim-derived-compaction-summary-text": Wanted(7, 0, 1, (), "", 3),
    "nvim-derived-explore.1": Wanted(74, 1, 10, (), "", 42),
    "nvim-derived-mcp-tool": Wanted(10, 1, 1, (), "", 6),
    "nvim-derived-message-removal": Wanted(13, 1, 2, (), "", 9),
    "nvim-derived-planning": Wanted(26, 1, 4, (), "completed in_progress pending pending", 11),
    "nvim-derived-reasoning": Wanted(7, 1, 1, (), "", 3),
    "nvim-derived-redo-all": Wanted(55, 3, 8, ("revert",), "", 15),
    "nvim-derived-simple-session": Wanted(10, 1, 1, (), "", 4),
    "nvim-derived-tool-invalid": Wanted(6, 0, 1, (), "", 2),
}


def recorded(shared: Path, name: str) -> tuple[dict[str, Any], Reading]:
    data = (shared / "opencode" / f"{name}.json").read_bytes()
    return json.loads(data), read(data)


@pytest.mark.parametrize("name", RECORDED)
def test_what_a_recording_holds(name: str, shared_data: Path) -> None:
    _, reading = recorded(shared_data, name)
    found = Wanted(
        len(reading.placed),
        max(one.turn or 0 for one in reading.placed),
        len(reading.steps),
        tuple(version.kind for version in reading.versions),
        " ".join(goal.status.value for goal in reading.goals if not goal.inferred),
        len(reading.context()),
    )
    assert found == RECORDED[name]
    assert all(one.entry.kind is not Kind.MALFORMED for one in reading.placed)
    assert unpaired(reading.context()) == ([], [])


@pytest.mark.parametrize("name", [name for name in RECORDED if name.startswith("gen") and "sanitized" not in name])
def test_the_sums_are_the_agents_own(name: str, shared_data: Path) -> None:
    """`info.tokens` is the agent's sum over all its steps; its output leaves the reasoning out, ours has it in."""
    raw, reading = recorded(shared_data, name)
    known = [step.usage for step in reading.steps if step.usage is not None]
    own = raw["info"]["tokens"]
    assert sum(usage.fresh or 0 for usage in known) == own["input"]
    assert sum(usage.cache_read or 0 for usage in known) == own["cache"]["read"]
    assert sum(usage.cache_write or 0 for usage in known) == own["cache"]["write"]
    assert sum(usage.reasoning or 0 for usage in known) == own["reasoning"]
    assert sum(usage.output or 0 for usage in known) == own["output"] + own["reasoning"]


@pytest.mark.parametrize("name", RECORDED)
def test_every_step_has_the_figures_of_its_record(name: str, shared_data: Path) -> None:
    raw, reading = recorded(shared_data, name)
    finished = [
        part["tokens"] for message in raw["messages"] for part in message["parts"] if part["type"] == "step-finish"
    ]
    counted = [tokens for tokens in finished if any(tokens[key] for key in ("input", "output", "reasoning"))]
    known = [step.usage for step in reading.steps if step.usage is not None]
    if name == "nvim-derived-compaction-summary-text":
        assert len(known) == len(counted) + 1, "a message without steps has its own figures"
        return
    assert [usage.fresh for usage in known] == [tokens["input"] for tokens in counted]
    assert all(usage.total is None for usage in known), "the parts say the whole"


def test_the_agents_total_is_ours(shared_data: Path) -> None:
    raw, reading = recorded(shared_data, "gen11833-export-auto")
    totals = [m["info"]["tokens"]["total"] for m in raw["messages"] if m["info"]["role"] == "assistant"]
    assert [step.usage.context for step in reading.steps if step.usage] == totals


def test_calls_and_results_are_the_tool_parts(shared_data: Path) -> None:
    for name in RECORDED:
        raw, reading = recorded(shared_data, name)
        parts = [part for message in raw["messages"] for part in message["parts"] if part["type"] == "tool"]
        calls = [one.entry for one in reading.placed if one.entry.kind is Kind.TOOL_CALL]
        results = [one.entry for one in reading.placed if one.entry.kind is Kind.TOOL_RESULT]
        assert sorted(e.tool or "" for e in calls) == sorted(part["tool"] for part in parts)
        assert len(calls) == len(results)


def test_a_child_names_its_parent_and_the_parent_its_child(shared_data: Path) -> None:
    raw, child = recorded(shared_data, "gen11833-export-child")
    _, parent = recorded(shared_data, "gen11833-export-reverted")
    assert child.facts.parent_native_id == parent.facts.native_id
    named = [part.meta["session"] for one in parent.placed for part in one.entry.parts if "session" in part.meta]
    assert named == [raw["info"]["id"]]
