"""The goal trees of recorded sessions: final statuses, what vanished and where, each read by hand once from the recording itself.

A row is: statuses in order (one letter each: c completed, i in progress, p pending, a abandoned, d dropped), reworded items, and the
entries at which items vanished. Where a session keeps no plan, the number of its requests.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from sessions.adapters import claims
from sessions.adapters.base import HEAD
from sessions.assembly import Reading, read_whole
from sessions.goals import Goal

LETTER = {"completed": "c", "in_progress": "i", "pending": "p", "abandoned": "a", "dropped": "d"}

PLANS: dict[str, tuple[str, Sequence[str], Sequence[int]]] = {
    # Claude Code, TodoWrite
    "claude-code/ccl-todowrite_examples.jsonl": ("ccippp", [], []),
    "claude-code/entire-1e-0baf6917ea-0.jsonl": ("c" * 17, [], []),
    "claude-code/entire-68-60e2316a8a-0.jsonl": ("ccccc", [], []),
    "claude-code/entire-8c-fa910f8ef9-5.jsonl": ("c" * 11, [], []),
    "claude-code/cli-1.0.100/435ebb80-9e4a-4279-bcd9-8a666771a696.jsonl": ("ci", [], []),
    # three plans one after the other, the person turning to a pull request in between: what was left of each is gone
    "retention/0cd9edf7-459c-4900-af40-cf2c64dea525.jsonl": (
        "cddddcdddcc",
        ["4", "10"],
        [147, 155, 155, 155, 196, 196, 196],
    ),
    # unit tests and a helper taken off the list without a word; the rest completed
    "retention/b50aaf5c-3ef3-472b-8d5e-75bb89ac3fe1.jsonl": ("cccccdddc", [], [108, 210, 210]),
    "retention/85cc202e-0e74-46ce-a485-e5fcd11f7a8c.jsonl": ("ccccc", ["2"], []),
    "retention/847ff7d2-4a55-44d7-a3f5-a3afd89f1ee1.jsonl": ("ccccccc", ["4"], []),
    # Claude Code, tasks one by one
    "claude-code/entire-00-c9e2351016-0.jsonl": ("cip", [], []),
    "claude-code/entire-26-dcd5518fea-0.jsonl": ("ccccc", [], []),
    # Codex: a goal, plans; the last two end with their second step open
    "codex/cli-0.171.0/rollout-2026-11-30T05-00-46-01a22ad3-b28f-7fd0-85d1-293746753d40.jsonl": ("i", [], []),
    "codex/cli-0.98.0/rollout-2026-11-30T05-35-12-01a22af3-3786-7452-b4cd-e861e3ece0e3.jsonl": ("cp", [], []),
    "codex/cli-0.36.0/rollout-2026-11-30T05-35-06-acef03a3-5b03-4e44-af11-21cbd284ebe1.jsonl": ("ip", [], []),
    # Gemini CLI: todos with a cancelled one, a topic
    "gemini/gen061-main-resumed-3x-compacted-2x.jsonl": ("ccap", [], []),
    "gemini/gen061-image-and-topic.jsonl": ("i", [], []),
    "gemini/mgemini-session-2025-12-03T08-28-fc2fd534.json": ("ccccipp", ["5"], []),
    "gemini/mgemini-session-2025-12-24T06-27-36e8d28f.json": ("cccccc", [], []),
    # OpenCode
    "opencode/nvim-derived-planning.json": ("cipp", [], []),
    "opencode/gen11833-export-reverted.json": ("cca", [], []),
}

REQUESTS = {
    "claude-code/entire-37-995ebed6e4-3.jsonl": 3,  # four plans in plan mode, and no list
    "opencode/nvim-derived-explore.1.json": 1,  # the list stands in a sub-agent's words alone
}


def read(path: Path) -> Reading:
    data = path.read_bytes()
    found = claims(path, data[:HEAD])
    assert found is not None
    return read_whole(found[0], path, [(data, False)])


def letters(goals: Sequence[Goal]) -> str:
    return "".join(LETTER[goal.status.value] for goal in goals)


@pytest.mark.parametrize("name", PLANS)
def test_the_tree_of_a_recorded_plan(shared_data: Path, name: str) -> None:
    reading = read(shared_data / name)
    statuses, reworded, vanished = PLANS[name]
    assert letters(reading.goals) == statuses
    assert [goal.path for goal in reading.goals if goal.was is not None] == list(reworded)
    assert sorted(goal.closed_seq or 0 for goal in reading.goals if goal.status.value == "dropped") == list(vanished)
    belonging = [placed.goal for placed in reading.placed if placed.goal in {goal.path for goal in reading.goals}]
    assert sum(goal.tally.entries for goal in reading.goals) == len(belonging)


@pytest.mark.parametrize("name", REQUESTS)
def test_without_a_plan_each_request_is_a_goal(shared_data: Path, name: str) -> None:
    reading = read(shared_data / name)
    assert all(goal.inferred for goal in reading.goals)
    assert len(reading.goals) == REQUESTS[name]


def test_the_work_on_a_recorded_goal(shared_data: Path) -> None:
    """Goal 5 of this session, by hand: eight runs of its test from entry 91 on, five of which failed, and one file touched."""
    reading = read(shared_data / "retention/85cc202e-0e74-46ce-a485-e5fcd11f7a8c.jsonl")
    goal = reading.goals[4]
    assert goal.text == "Run tests to verify"
    assert (goal.tally.spans, goal.tally.entries) == ([[90, 309]], 220)
    assert (goal.tally.tests, goal.tally.failed, goal.tally.errors, len(goal.tally.files)) == (8, 5, 7, 1)
