"""Recorded sessions of the real agent: their own figures against ours, and by hand what the flat ones must give."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from sessions.adapters.codex import ADAPTER
from sessions.assembly import Reading, read_whole
from sessions.entries import Kind

# Where the agent's last total is not the sum of a session's own requests, and why. "base": the total goes on from the session that
# this one continues; the figure is what was counted there up to the cut.
CONTINUED = {
    "01a22af4-01c0": (
        16673,
        "a fork that copies its parent: the total goes on from the parent's, whose tokens are not counted again",
    ),
    "01a22ad4-9509": (121000, "a revert: the total goes on from that at the cut"),
    "01a22ad4-95be": (187000, "a fork by reference to the revert"),
}
NOT_COUNTED = {"agentsessions-stage0-small": "a census whose last totals are zeros in place of the real figures"}


def rollouts(folder: Path) -> Iterator[Path]:
    for path in sorted((folder / "codex").rglob("*.jsonl")):
        claim = ADAPTER.claim(path, path.read_bytes()[: 1 << 16])
        if claim is not None and claim.role == "session":
            yield path


def alone(path: Path) -> Reading:
    """The session's own source, without those it continues: their requests are not its own."""
    return read_whole(ADAPTER, path, [(path.read_bytes(), False)])


def last_total(path: Path) -> dict[str, int] | None:
    total: dict[str, int] | None = None
    for raw in path.read_bytes().split(b"\n"):
        try:
            record: Any = orjson.loads(raw)
            info = record["payload"]["info"]
            total = info["total_token_usage"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            continue
    return total


def test_every_recording_is_read_whole(shared_data: Path) -> None:
    paths = list(rollouts(shared_data))
    assert len(paths) >= 30
    for path in paths:
        reading = alone(path)
        assert sum(placed.length for placed in reading.placed) == path.stat().st_size, path.name
        bad = {placed.entry.problem for placed in reading.placed if placed.entry.kind is Kind.MALFORMED}
        assert bad <= {"an empty line"}, path.name


def test_tokens_are_the_agents_own_figures(shared_data: Path) -> None:
    compared = 0
    for path in rollouts(shared_data):
        total = last_total(path)
        if total is None or any(name in path.name for name in NOT_COUNTED):
            continue
        usages = [step.usage for step in alone(path).steps if step.usage is not None and not step.usage.estimated]
        before = next((figure for name, (figure, _) in CONTINUED.items() if name in path.name), 0)
        assert before + sum(usage.prompt or 0 for usage in usages) == total["input_tokens"], path.name
        if not before:
            assert sum(usage.cache_read or 0 for usage in usages) == total["cached_input_tokens"], path.name
            assert sum(usage.output or 0 for usage in usages) == total["output_tokens"], path.name
            assert sum(usage.reasoning or 0 for usage in usages) == total["reasoning_output_tokens"], path.name
        compared += 1
    assert compared >= 17


@pytest.mark.parametrize(
    ("pattern", "turns"),
    [
        ("cli-0.36.0/*acef03a3*.jsonl", 1),
        ("cli-0.98.0/*01a22af3-3786*.jsonl", 5),
        ("cli-0.125.0/*01a22af3-fd5a*.jsonl", 7),
        ("cli-0.171.0/*05-00-46*.jsonl", 4),
        ("cli-0.171.0/*01a22af9-e375*.jsonl", 5),
        ("cli-0.171.0/*01a22af9-f1df*.jsonl", 1),
        ("cli-0.25.0/*535e04ce*.jsonl", 1),
    ],
)
def test_turns_are_what_a_person_said(pattern: str, turns: int, shared_data: Path) -> None:
    (path,) = (shared_data / "codex").glob(pattern)
    assert max(placed.turn or 0 for placed in alone(path).placed) == turns


def test_a_real_flat_file(shared_data: Path) -> None:
    (path,) = (shared_data / "codex").glob("openai-rollout-2025-08-06*.jsonl")
    reading = alone(path)
    kinds = [placed.entry.kind for placed in reading.placed]
    assert len(kinds) == 137
    assert kinds.count(Kind.META) == 56, "the header and 55 lines between requests"
    assert kinds.count(Kind.PROMPT) == 1
    assert kinds.count(Kind.TOOL_CALL) == kinds.count(Kind.TOOL_RESULT) == 26
    assert len(reading.steps) == 27, "each of the calls in a request of its own, and the last answer"
    context = reading.context()
    assert len(context) == 81
    assert str(context[-1].kind) == "message"


def test_the_goal_and_the_refused_plan(shared_data: Path) -> None:
    (path,) = (shared_data / "codex").glob("cli-0.171.0/*05-00-46*.jsonl")
    goals = alone(path).goals
    assert [goal.text for goal in goals] == ["Ship the parser"], (
        "update_plan was not offered there: its call changed nothing"
    )
