"""The goal trees of recorded sessions, each checked by hand once.

How the table was made: a script of a few lines, which shares nothing with the readers, printed every call of a plan or todo tool in the
recordings with its lists, its result, and the requests around it. From that print, item by item, it was written down here what stands at
the end, what vanished and at which entry, and what was worded anew. Only then was it compared with what is read.

A tree is written with one letter for each goal (c completed, i in progress, p pending, a abandoned, d dropped), those under a plan in
brackets behind it. `LISTS` are read a second time by plain JSON: the last list that went through is what stands.
"""

import json
import re
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sessions.adapters import claims
from sessions.adapters.base import HEAD
from sessions.assembly import Reading, read_whole
from sessions.goals import Goal
from sessions.ingesting import ingest_paths
from sessions.models import Goal as GoalRow
from webapp.models import Workspace

LETTER = {"completed": "c", "in_progress": "i", "pending": "p", "abandoned": "a", "dropped": "d"}

# Claude Code's TodoWrite: the list is rewritten whole
LISTS: dict[str, str] = {
    "claude-code/ccl-todowrite_examples.jsonl": "ccippp",
    "claude-code/cli-1.0.100/0bc147fd-1136-4437-8771-89dcf3070dc2.jsonl": "ip",
    "claude-code/cli-1.0.100/3b56a1bc-f01d-48b7-b65d-b0310d187d35.jsonl": "ip",
    # the second list has the first item completed; the TaskCreate beside it was refused
    "claude-code/cli-1.0.100/4358cd69-a672-450f-a560-adbe49225272.jsonl": "ci",
    "claude-code/cli-1.0.100/435ebb80-9e4a-4279-bcd9-8a666771a696.jsonl": "ci",
    "claude-code/cli-2.0.30/29e971bc-cd0b-4d32-a1dd-c2e31ad33289.jsonl": "ci",
    "claude-code/cli-2.1.50/62d3b34c-5e7c-4dfb-b749-37cc1002a138.jsonl": "ci",
    # a plan agreed on in plan mode with eight items in the same turn; later two lists more, for other requests
    "claude-code/entire-1e-0baf6917ea-0.jsonl": "c(cccccccc)ccccccccc",
    "claude-code/entire-cd-95adddad32-0.jsonl": "c(cccccccc)ccccccccc",
    "claude-code/entire-4f-7199a81bd1-0.jsonl": "ccccc",
    "claude-code/entire-68-60e2316a8a-0.jsonl": "ccccc",
    # two plans, each handed over as a request; the second names a step that was completed under the first: it is another
    "claude-code/entire-8c-fa910f8ef9-5.jsonl": "c(cccccc)c(cccccc)",
    "retention/04cd0da1-dee3-4738-8139-524dfe55de83.jsonl": "cccccc",
    # three plans one after the other, the person turning to a pull request in between: what was left of each is gone
    "retention/0cd9edf7-459c-4900-af40-cf2c64dea525.jsonl": "cddddcdddcc",
    "retention/15b634ab-64a9-41da-92d3-685a0e4f2960.jsonl": "cccc",
    "retention/1664f311-d1df-4ba1-98ff-1d7be8252c72.jsonl": "cccccc",
    "retention/19abe528-a510-4c89-a1f8-138956474766.jsonl": "cccc",
    "retention/847ff7d2-4a55-44d7-a3f5-a3afd89f1ee1.jsonl": "ccccccc",
    "retention/85cc202e-0e74-46ce-a485-e5fcd11f7a8c.jsonl": "ccccc",
    "retention/94e68429-3fb7-4f6c-9915-65ada4c33908.jsonl": "cccc",
    "retention/9ff9c26d-319d-4a47-843a-3d60f73295c9.jsonl": "ccc",
    # a helper and two unit tests taken off the list without a word; the rest completed
    "retention/b50aaf5c-3ef3-472b-8d5e-75bb89ac3fe1.jsonl": "cccccdddc",
    # refused in plan mode, then handed over as a request
    "retention/b4dcf65c-8a8f-4be8-80c2-fcebbda55946.jsonl": "c(ccccccc)",
    "retention/cef3602b-e191-46fd-aa56-68c030df67e5.jsonl": "cccc",
}

OTHERS: dict[str, str] = {
    # Claude Code, tasks one by one. Here TodoWrite was refused twice, and TaskCreate went through
    "claude-code/cli-2.1.150/462bdfea-6b4c-4297-bf3a-66a939e65114.jsonl": "p",
    # sub-agents completed the second and third; then the session's own call for the second finds them cleared away
    "claude-code/entire-00-c9e2351016-0.jsonl": "ccc",
    "claude-code/entire-26-dcd5518fea-0.jsonl": "ccccc",
    "retention/056d2eda-6037-4f4f-a98d-f2f78f650be4.jsonl": "cccc",
    "retention/062a8bdd-4322-4ffa-bc38-3e8b8bfb5a56.jsonl": "ccccc",
    "retention/15a48867-a078-4afc-afaa-c00798fc36e8.jsonl": "c",
    "retention/1a289c77-a9da-491d-954a-2df7f0dd6a17.jsonl": "cccccc",
    # and under a plan that was handed over as the first request
    "retention/545b45d4-729e-4d0b-8e6b-45cb65d43f00.jsonl": "c(ccccc)",
    "retention/69847031-200c-4c30-baad-1ab1aab0c8ab.jsonl": "c(cccccc)",
    "retention/7505c804-ef06-4be0-a866-480597e6bbc1.jsonl": "c(ccccc)",
    "retention/7a3cf82d-9284-4b61-9e6b-d409226efa84.jsonl": "c(cccccc)",
    "retention/8dab6c26-fc6b-4cc5-8263-6150b598af24.jsonl": "c(ccccc)",
    "retention/9e44573d-4eb8-4de0-8659-418f3c68706d.jsonl": "c(cccccc)",
    "retention/a1d04b39-c7d2-47c4-aec6-d0118b0f71c6.jsonl": "c(ccccccc)",
    "retention/ae68c513-db90-451f-940d-804a1d3d0986.jsonl": "c(cccc)",
    "retention/ca8cc13b-d3df-4615-8f3f-f48a96b1a6f9.jsonl": "c(cccccc)",
    # Codex: a goal (its update_plan was answered "unsupported call"), and plans that end with their second step open
    "codex/cli-0.171.0/rollout-2026-11-30T05-00-46-01a22ad3-b28f-7fd0-85d1-293746753d40.jsonl": "i",
    "codex/cli-0.125.0/rollout-2026-11-30T05-35-26-01a22af3-6e68-7e91-82ea-aa39615e6ad2.jsonl": "cp",
    "codex/cli-0.98.0/rollout-2026-11-30T05-35-12-01a22af3-3786-7452-b4cd-e861e3ece0e3.jsonl": "cp",
    "codex/cli-0.36.0/rollout-2026-11-30T05-35-06-acef03a3-5b03-4e44-af11-21cbd284ebe1.jsonl": "ip",
    "codex/cli-0.25.0/rollout-2026-11-30T05-35-05-4a5afa99-bf93-44f9-9254-5cc6f8f529bf.jsonl": "ip",
    "codex/cli-0.25.0/rollout-2026-11-30T05-35-05-535e04ce-dd43-40b8-aa0e-c3c43099c423.jsonl": "cp",
    "codex/cli-0.25.0/rollout-2026-11-30T05-35-05-77e62edf-8a99-42d0-9271-c2451b44719f.jsonl": "cp",
    "codex/cli-0.25.0/rollout-2026-11-30T05-35-05-89ef4ee6-cdda-4095-8299-5d9a4eea36a2.jsonl": "cp",
    "codex/cli-0.25.0/rollout-2026-11-30T05-35-05-a1d26a2a-2016-450d-86ac-2b6c4c24632d.jsonl": "cp",
    # Gemini CLI: a cancelled one (abandoned) and a blocked one (pending), a topic, two lists one after the other
    "gemini/gen061-main-resumed-3x-compacted-2x.jsonl": "ccap",
    "gemini/gen061-main-resumed-once-same-minute.jsonl": "cip",
    "gemini/gen061-interactive-chatsave-compress-rewind.jsonl": "cip",
    "gemini/gen061-checkpoint-mytag.json": "cip",
    "gemini/gen061-image-and-topic.jsonl": "i",
    "gemini/mgemini-session-2025-12-03T08-28-fc2fd534.json": "ccccipp",
    "gemini/mgemini-session-2025-12-24T06-27-36e8d28f.json": "cccccc",
    # OpenCode: the last list of two has one cancelled
    "opencode/nvim-derived-planning.json": "cipp",
    "opencode/gen11833-export-auto.json": "cip",
    "opencode/gen11833-export-reverted.json": "cca",
    "opencode/gen11833-export-partial.json": "cca",
    "opencode/crafted-rewritten-compacted.json": "cip",
    # the same sessions as other programs wrote them down
    "other/anthropic-request-by-opencode11833.json": "cca",
    "other/openai-chat-request-by-opencode11833.json": "cip",
    "other/otlp-gemini061-logs.json": "cip",
    "other/otlp-gemini061-traces.json": "cip",
    "other/gemini061-telemetry-outfile.log": "cip",
    "other/atif-harbor026-from-mgemini-36e8d28f.json": "cccccc",
}

# Worded anew: the first wording and the last. Phase 4 of the first, then its run of the tests; a pty helper renamed; "todos" made "summary".
REWORDED: dict[str, list[tuple[str, str]]] = {
    "retention/0cd9edf7-459c-4900-af40-cf2c64dea525.jsonl": [
        ("Phase 4: Implement fix with failing", "Phase 4: Implement fix - add missing"),
        ("Run tests to verify fix", "Run tests to verify PR#68 fix"),
    ],
    "retention/847ff7d2-4a55-44d7-a3f5-a3afd89f1ee1.jsonl": [
        ("Synthesize findings and create todos", "Synthesize findings and create summary")
    ],
    "retention/85cc202e-0e74-46ce-a485-e5fcd11f7a8c.jsonl": [
        ("Create RunResumeWithInput helper", "Create RunResumeInteractive helper")
    ],
    "gemini/mgemini-session-2025-12-03T08-28-fc2fd534.json": [
        ("Install Python via Chocolatey if it is not installed.", "Install Python via Chocolatey.")
    ],
}

# Gone from a list while open: the entry that showed it (the list's result), and what it was.
VANISHED: dict[str, list[tuple[int, str]]] = {
    "retention/0cd9edf7-459c-4900-af40-cf2c64dea525.jsonl": [
        (147, "Phase 2: Pattern analysis"),
        (155, "Phase 3: Form hypothesis"),
        (155, "Phase 4: Implement fix"),
        (155, "Verify session.State struct"),
        (196, "Add missing fields to session.State"),
        (196, "Update sessionStateFromStrategy"),
        (196, "Update sessionStateToStrategy"),
    ],
    "retention/b50aaf5c-3ef3-472b-8d5e-75bb89ac3fe1.jsonl": [
        (108, "Add helper functions for task metadata"),
        (210, "Write unit tests for task-complete"),
        (210, "Write unit tests for task-start"),
    ],
}

# No list that went through: as many goals as there are requests, accepted plans among them.
REQUESTS: dict[str, int] = {
    "claude-code/ccl-edge_cases.jsonl": 4,  # a call with a broken item that nothing answered
    "claude-code/cli-2.1.332/65e79247-f71d-413c-91f7-0af15eac7c6f.jsonl": 3,  # every plan tool refused
    "claude-code/cli-2.1.332-tui/44b37b18-5069-4907-9b9a-2730f06613c8.jsonl": 8,  # as above
    "claude-code/entire-00-c9e2351016-2.jsonl": 4,  # a plan handed over, another refused
    "claude-code/entire-37-995ebed6e4-3.jsonl": 3,  # four plans refused in plan mode, the last handed over
    "retention/13da966e-44f7-4a36-8060-ca40451e4561.jsonl": 2,
    "retention/38917d7d-9f69-4210-a3b0-eed0a9e97575.jsonl": 10,
    "retention/45f2ccfd-0915-42eb-9164-09d13a9dd8ee.jsonl": 11,  # ten requests and the plan that was agreed on
    "retention/5a69ca08-eee5-4626-ac94-c23483e262cb.jsonl": 8,
    "retention/60b38d1e-f048-428b-89da-e5dca96614d4.jsonl": 9,
    "retention/75a1a0f1-e0f8-4f3a-bca5-50167cdf0a53.jsonl": 5,
    "retention/8c816805-24e2-4871-ac94-e97ce23993c1.jsonl": 1,
    "opencode/gen11833-export-sanitized.json": 6,  # the lists are redacted
    "opencode/nvim-derived-explore.1.json": 1,  # the list stands in a sub-agent's words alone
}

# Byte for byte another of the table, or a database (below).
SAME = {
    "retention/0a93878f-dc30-4a5d-882f-3cd81cd3d499.jsonl",
    "retention/2a8af1a8-f8cc-4816-a463-12df7a999930.jsonl",
    "retention/48f428f9-72d8-40b2-9594-953019809473.jsonl",
    "opencode/gen11833-opencode.db",
}

_CALL = re.compile(
    rb'"(?:name|tool)": ?"(?:TodoWrite|TaskCreate|TaskUpdate|update_plan|create_goal|update_goal|write_todos|todowrite|update_topic|ExitPlanMode)"'
    rb"|Implement the following plan:"
)


def read(path: Path) -> Reading:
    data = path.read_bytes()
    found = claims(path, data[:HEAD])
    assert found is not None
    return read_whole(found[0], path, [(data, False)])


def drawn(goals: Sequence[Goal]) -> str:
    under: dict[str | None, list[Goal]] = {}
    for goal in goals:
        under.setdefault(goal.parent, []).append(goal)

    def level(parent: str | None) -> str:
        parts = (
            LETTER[goal.status.value] + (f"({inner})" if (inner := level(goal.path)) else "")
            for goal in under.get(parent, ())
        )
        return "".join(parts)

    return level(None)


def begins(goals: Sequence[tuple[Any, str]], wanted: Sequence[tuple[Any, str]]) -> bool:
    return len(goals) == len(wanted) and all(
        one[0] == other[0] and one[1].startswith(other[1]) for one, other in zip(goals, wanted, strict=True)
    )


@pytest.mark.parametrize("name", [*LISTS, *OTHERS])
def test_the_tree_of_a_recorded_plan(shared_data: Path, name: str) -> None:
    reading = read(shared_data / name)
    goals = reading.goals
    assert drawn(goals) == (LISTS | OTHERS)[name]
    reworded = [(goal.was, goal.text) for goal in goals if goal.was is not None]
    wanted = REWORDED.get(name, [])
    assert len(reworded) == len(wanted)
    for (was, text), (first, last) in zip(reworded, wanted, strict=True):
        assert was.startswith(first)
        assert text.startswith(last)
    vanished = sorted((goal.closed_seq or 0, goal.text) for goal in goals if goal.status.value == "dropped")
    assert begins(vanished, VANISHED.get(name, []))
    belonging = [placed.goal for placed in reading.placed if placed.goal in {goal.path for goal in goals}]
    assert sum(goal.tally.entries for goal in goals) == len(belonging)


@pytest.mark.parametrize("name", LISTS)
def test_what_stands_is_the_last_list_that_went_through(shared_data: Path, name: str) -> None:
    last = last_list(shared_data / name)
    standing = [(goal.text, goal.status.value) for goal in read(shared_data / name).goals if goal.listed]
    assert sorted(standing) == sorted(last)


def last_list(path: Path) -> list[tuple[str, str]]:
    """By plain JSON: the todos of the last TodoWrite whose result is no error."""
    calls: dict[str, list[tuple[str, str]]] = {}
    last: list[tuple[str, str]] = []
    for line in path.read_text().split("\n"):
        record = json.loads(line) if "todos" in line or "tool_use_id" in line else {}
        message = record.get("message") if isinstance(record, Mapping) else None
        for block in message.get("content", []) if isinstance(message, Mapping) else []:
            if not isinstance(block, Mapping):
                continue
            if block.get("name") == "TodoWrite":
                calls[block["id"]] = [(todo["content"], todo["status"]) for todo in block["input"]["todos"]]
            elif block.get("type") == "tool_result" and not block.get("is_error"):
                last = calls.get(block["tool_use_id"], last)
    return last


@pytest.mark.parametrize("name", REQUESTS)
def test_without_a_list_each_request_is_a_goal(shared_data: Path, name: str) -> None:
    reading = read(shared_data / name)
    assert all(goal.inferred for goal in reading.goals)
    assert len(reading.goals) == REQUESTS[name]


def test_no_recording_with_a_plan_is_missing_here(shared_data: Path) -> None:
    """Whatever has a call of a plan tool, or a plan handed over, stands in one of the tables."""
    found = {
        str(path.relative_to(shared_data))
        for folder in ("claude-code", "codex", "gemini", "opencode", "other", "retention")
        for path in (shared_data / folder).rglob("*")
        if path.suffix in (".json", ".jsonl", ".db") and _CALL.search(path.read_bytes())
    }
    assert found - SAME <= {*LISTS, *OTHERS, *REQUESTS}


@pytest.mark.django_db
def test_a_database_of_sessions_has_the_lists_that_its_own_table_has(shared_data: Path) -> None:
    path = shared_data / "opencode/gen11833-opencode.db"
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    wanted: dict[str, list[tuple[str, str]]] = {}
    for session, text, status in connection.execute(
        "SELECT session_id, content, status FROM todo ORDER BY 1, position"
    ):
        wanted.setdefault(session, []).append((text, {"cancelled": "abandoned"}.get(status, status)))
    connection.close()
    ingest_paths(Workspace.objects.create(name="Scriptorium", slug="scriptorium"), [path])
    found: dict[str, list[tuple[str, str]]] = {}
    rows = GoalRow.objects.filter(session__native_id__in=wanted, inferred=False).order_by("position")
    for session, text, status in rows.values_list("session__native_id", "text", "status"):
        found.setdefault(session, []).append((text, status))
    assert found == wanted
    assert len(wanted) == 3


def test_the_work_on_a_recorded_goal(shared_data: Path) -> None:
    """Goal 5 of this session, by hand: eight runs of its test from entry 91 on, five of which failed, and one file touched."""
    reading = read(shared_data / "retention/85cc202e-0e74-46ce-a485-e5fcd11f7a8c.jsonl")
    goal = reading.goals[4]
    assert goal.text == "Run tests to verify"
    assert (goal.tally.spans, goal.tally.entries) == ([[90, 309]], 220)
    assert (goal.tally.tests, goal.tally.failed, goal.tally.errors, len(goal.tally.files)) == (8, 5, 7, 1)
