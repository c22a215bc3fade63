"""ATIF: a step is a request, its observation the results; what was carried over counts for nothing; sub-agents stand in lanes."""

from __future__ import annotations

import json
from pathlib import Path, PurePath
from typing import Any

import pytest

from sessions.adapters.generic.atif import ADAPTER
from sessions.assembly import Reading, read_whole
from sessions.contexts import unpaired
from sessions.entries import Kind, Role, Usage

FILE = PurePath("trajectory.json")


def trajectory(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    numbered = [{"step_id": n, "timestamp": f"2026-01-01T00:00:{n:02}Z", **step} for n, step in enumerate(steps, 1)]
    return {
        "schema_version": "ATIF-v1.7",
        "session_id": "s-1",
        "agent": {"name": "x", "version": "9", "model_name": "m"},
        "steps": numbered,
        **more,
    }


CALLS = {
    "source": "agent",
    "message": "",
    "reasoning_content": "Hm",
    "tool_calls": [
        {"tool_call_id": "c1", "function_name": "ls", "arguments": {"p": "."}},
        {"tool_call_id": "c2", "function_name": "ls", "arguments": {}},
    ],
    "observation": {
        "results": [
            {"source_call_id": "c1", "content": "a"},
            {
                "source_call_id": "c2",
                "content": [
                    {"type": "text", "text": "b"},
                    {"type": "image", "source": {"media_type": "image/png", "path": "i.png"}},
                ],
            },
        ]
    },
    "metrics": {"prompt_tokens": 100, "completion_tokens": 9, "cached_tokens": 40, "extra": {"thoughts_tokens": 4}},
}


def read(said: Any) -> Reading:
    data = json.dumps(said, indent=1).encode()
    assert ADAPTER.claim(FILE, data).whole
    return read_whole(ADAPTER, FILE, [(data, False)])


def test_a_step_and_its_observation() -> None:
    reading = read(
        trajectory(
            {"source": "system", "message": "Be brief"},
            {"source": "user", "message": "Go"},
            CALLS,
            {"source": "agent", "message": "Done"},
        )
    )
    kinds = [placed.entry.kind for placed in reading.placed]
    assert kinds == [Kind.META, Kind.CONTEXT, Kind.PROMPT, Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.MESSAGE]
    results = reading.placed[4].entry
    assert results.role is Role.TOOL
    assert [(part.call_id, part.text, part.tool) for part in results.parts[:2]] == [
        ("c1", "a", "ls"),
        ("c2", "b", "ls"),
    ]
    assert results.parts[2].media_type == "image/png"
    assert [step.usage for step in reading.steps] == [Usage(fresh=60, cache_read=40, output=9, reasoning=4), None]
    assert [step.model for step in reading.steps] == ["m", "m"]
    assert unpaired(reading.context()) == ([], [])
    assert (reading.facts.native_id, reading.facts.agent_version) == ("s-1", "9")


def test_what_was_carried_over_is_sent_and_not_counted_again() -> None:
    reading = read(
        trajectory(
            {"source": "user", "message": "Go", "is_copied_context": True},
            {**CALLS, "is_copied_context": True},
            {"source": "user", "message": "On"},
        )
    )
    assert reading.steps == []
    assert next(item.text for item in reading.context()) == "Go"
    assert reading.placed[-1].turn == 1


def test_steps_without_a_model_are_no_requests() -> None:
    reading = read(trajectory({"source": "agent", "message": "canned", "llm_call_count": 0}))
    assert reading.steps == []
    assert reading.facts.models == []


def test_embedded_trajectories_stand_in_lanes() -> None:
    inner = trajectory(
        {"source": "user", "message": "Look"},
        {"source": "agent", "message": "Seen", "metrics": {"prompt_tokens": 5, "completion_tokens": 1}},
        trajectory_id="t-2",
    )
    ref = {
        "source": "agent",
        "message": "",
        "tool_calls": [{"tool_call_id": "c1", "function_name": "task", "arguments": {}}],
    }
    ref["observation"] = {
        "results": [{"source_call_id": "c1", "content": "Seen", "subagent_trajectory_ref": [{"trajectory_id": "t-2"}]}]
    }
    reading = read(trajectory({"source": "user", "message": "Go"}, ref, subagent_trajectories=[inner]))
    assert [item.text for item in reading.context()] == ["Go", "{}", "Seen"]
    assert [
        placed.entry.text for placed in reading.placed if placed.entry.lane and placed.entry.kind is not Kind.META
    ] == ["Look", "Seen"]
    assert reading.placed[3].entry.parts[0].meta == {"session": "t-2"}
    assert [step.usage.fresh for step in reading.steps if step.usage] == [5]
    assert reading.facts.native_id == "s-1"
    assert reading.placed[-1].turn == 1


def test_a_trajectory_that_breaks_off() -> None:
    data = json.dumps(trajectory({"source": "user", "message": "Go"}, CALLS)).encode()
    reading = read_whole(ADAPTER, FILE, [(data[: data.index(b'"observation"')], False)])
    assert [placed.entry.kind for placed in reading.placed] == [Kind.META, Kind.PROMPT, Kind.MALFORMED]


@pytest.mark.parametrize(
    ("name", "users", "requests"),
    [("atif-harbor026-from-mgemini-36e8d28f.json", 4, 30), ("atif-harbor026-from-mgemini-fb690db5.json", 6, 33)],
)
def test_recorded_trajectories_have_their_own_totals(shared_data: Path, name: str, users: int, requests: int) -> None:
    data = (shared_data / "other" / name).read_bytes()
    total = json.loads(data)["final_metrics"]
    reading = read_whole(ADAPTER, FILE, [(data, False)])
    usages = [step.usage for step in reading.steps if step.usage]
    assert sum(usage.prompt for usage in usages) == total["total_prompt_tokens"]
    assert sum(usage.output for usage in usages) == total["total_completion_tokens"]
    assert sum(usage.cache_read or 0 for usage in usages) == total["total_cached_tokens"]
    assert len(reading.steps) == requests
    assert reading.placed[-1].turn == users
    assert unpaired(reading.context()) == ([], [])
