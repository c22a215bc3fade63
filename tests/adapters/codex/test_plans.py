"""Goals: the plan as the agent rewrites it, and the thread's own goal; only what happened."""

from __future__ import annotations

import json

from sessions.assembly import Reading
from tests.adapters.codex.build import Record, call, event, meta, output, read, says, user


def plan(call_id: str, *steps: tuple[str, str], answer: str = "Plan updated") -> list[Record]:
    told = {"plan": [{"step": words, "status": status} for words, status in steps]}
    return [*call(call_id, "update_plan", json.dumps(told)), *output(call_id, answer)]


def goal_tool(call_id: str, tool: str, objective: str, status: str) -> list[Record]:
    told = {"goal": {"threadId": "t", "objective": objective, "status": status}, "remainingTokens": None}
    return [*call(call_id, tool, json.dumps({"objective": objective})), *output(call_id, json.dumps(told))]


def tree(reading: Reading) -> list[tuple[str, str, str]]:
    return [(goal.path, goal.text, goal.status.value) for goal in reading.goals]


def test_the_plan_is_rewritten_whole() -> None:
    reading = read(
        meta(), user("go"),
        plan("c1", ("read", "in_progress"), ("write", "pending")),
        plan("c2", ("read", "completed"), ("write it", "in_progress"), ("test", "pending")),
    )  # fmt: skip
    assert tree(reading) == [("1", "read", "completed"), ("2", "write it", "in_progress"), ("3", "test", "pending")]


def test_a_proposal_that_is_accepted_is_a_goal_with_the_steps_that_follow() -> None:
    words = "Here it is.\n<proposed_plan>\n# Stream the rows\n1. read by chunks\n</proposed_plan>"
    refused = read(meta(), user("go"), says(words), user("No, another way."))
    assert tree(refused) == [("r1", "go", "completed"), ("r2", "No, another way.", "in_progress")]
    agreed = [meta(), user("go"), says(words), user("smaller?"), says("It is small."), user("Implement the plan.")]
    assert tree(read(*agreed)) == [
        ("r1", "go", "completed"),
        ("r2", "smaller?", "completed"),
        ("3", "Plan: Stream the rows", "in_progress"),
    ]
    assert tree(read(*agreed, plan("c1", ("read by chunks", "in_progress")))) == [
        ("3", "Plan: Stream the rows", "in_progress"),
        ("3.1", "read by chunks", "in_progress"),
    ]


def test_what_vanishes_from_a_plan_is_dropped() -> None:
    reading = read(
        meta(), user("go"), plan("c1", ("read", "completed"), ("deploy", "pending")), plan("c2", ("read", "completed"))
    )
    assert tree(reading) == [("1", "read", "completed"), ("2", "deploy", "dropped")]


def test_a_call_that_failed_changes_nothing() -> None:
    for answer in ("unsupported call: update_plan", "failed to parse function arguments: x", "aborted"):
        reading = read(
            meta(), user("go"), plan("c1", ("read", "pending")), plan("c2", ("other", "pending"), answer=answer)
        )
        assert tree(reading) == [("1", "read", "pending")]
    reading = read(
        meta(), user("go"), call("c1", "update_plan", json.dumps({"plan": [{"step": "x", "status": "pending"}]}))
    )
    assert [goal.inferred for goal in reading.goals] == [True], "a call without an answer did not happen"


def test_a_plan_that_is_no_json_changes_nothing() -> None:
    reading = read(meta(), user("go"), call("c1", "update_plan", "{oops"), output("c1", "Plan updated"))
    assert [goal.inferred for goal in reading.goals] == [True]


def test_the_threads_goal_stands_above_the_plan() -> None:
    reading = read(
        meta(), user("go"),
        goal_tool("g1", "create_goal", "Ship the parser", "active"),
        plan("c1", ("read", "completed"), ("write", "in_progress")),
        goal_tool("g2", "update_goal", "Ship the parser", "complete"),
    )  # fmt: skip
    assert tree(reading) == [
        ("1", "Ship the parser", "completed"),
        ("1.1", "read", "completed"),
        ("1.2", "write", "in_progress"),
    ]


def test_a_goal_an_event_states() -> None:
    told = {"threadId": "t", "objective": "Ship it", "status": "budgetLimited"}
    reading = read(meta(), user("go"), event("thread_goal_updated", threadId="t", goal=told))
    (goal,) = reading.goals
    assert (goal.text, goal.status.value, goal.note) == ("Ship it", "pending", "stopped by its budget")


def test_another_goal_takes_the_place_of_the_first() -> None:
    reading = read(
        meta(),
        user("go"),
        goal_tool("g1", "create_goal", "First", "active"),
        goal_tool("g2", "create_goal", "Second", "active"),
    )
    assert tree(reading) == [("1", "First", "abandoned"), ("2", "Second", "in_progress")]


def test_a_goal_that_could_not_be_set() -> None:
    reading = read(
        meta(),
        user("go"),
        call("g1", "create_goal", '{"objective": "x"}'),
        output("g1", "unsupported call: create_goal"),
    )
    assert [goal.inferred for goal in reading.goals] == [True]
