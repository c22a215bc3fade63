"""What records become: kinds, parts, usage, goals, facts."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Any

import pytest

from sessions.adapters.gemini_cli import ADAPTER
from sessions.assembly import Reading, read_whole
from sessions.entries import GoalStatus, Kind, Part, PartKind, Role, Usage
from sessions.meters.tokens import sizes
from tests.adapters.gemini_cli import build
from tests.adapters.gemini_cli.build import (
    call,
    data,
    document,
    environment,
    head,
    model,
    note,
    relisted,
    thought,
    tokens,
    user,
)

CHATS = PurePath("/home/quill/.gemini/tmp/quill/chats")
PATH = CHATS / build.NAME


def read(*records: Any, path: PurePath = PATH) -> Reading:
    return read_whole(ADAPTER, path, [(data(head(), *records), False)])


def whole(*messages: Any, **more: Any) -> Reading:
    return read_whole(ADAPTER, CHATS / "session-x.json", [(document(*messages, **more), False)])


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (tokens(100, 10), Usage(fresh=100, cache_read=0, output=10, reasoning=0)),
        (tokens(100, 10, cached=60, thoughts=7), Usage(fresh=40, cache_read=60, output=17, reasoning=7)),
        (tokens(100, 10, tool=30), Usage(fresh=130, cache_read=0, output=10, reasoning=0)),
        ({"input": 100, "output": 10, "total": 150}, Usage(fresh=100, output=10, total=150)),
        ({"input": 10, "output": 1, "cached": 20}, Usage(fresh=0, cache_read=20, output=1)),
        (tokens(0, 0), None),
        (None, None),
        ("many", None),
    ],
)
def test_usage_in_disjoint_parts(said: Any, expected: Usage | None) -> None:
    reading = whole(user("u1", "x"), model("g1", "y", tokens=said))
    (step,) = reading.steps
    assert step.usage == expected
    assert step.model == "gemini-2.5-pro"


def test_what_messages_become() -> None:
    reading = read(
        relisted(environment()),
        user("u1", "hello"),
        user("u2", "/help"),
        user("u3", "?why"),
        note("n1", "saved"),
        model("g1", "hi"),
        model("g2", "", toolCalls=[call("ls__c1", "ls", {"path": "."}, "a")]),
        model("g3", "", thoughts=[thought("Hm", "why")]),
        {"id": "x1", "type": "dream", "content": "z"},
        {"no": "id"},
        {"$set": {"summary": "A talk"}},
    )
    assert [(p.entry.kind, p.entry.role, p.entry.sent) for p in reading.placed] == [
        (Kind.META, None, False),
        (Kind.CONTEXT, Role.USER, True),
        (Kind.PROMPT, Role.USER, True),
        (Kind.COMMAND, Role.USER, False),
        (Kind.PROMPT, Role.USER, False),
        (Kind.EVENT, None, False),
        (Kind.MESSAGE, Role.ASSISTANT, True),
        (Kind.TOOL_CALL, Role.ASSISTANT, True),
        (Kind.REASONING, Role.ASSISTANT, True),
        (Kind.OTHER, None, False),
        (Kind.OTHER, None, False),
        (Kind.META, None, False),
    ]
    assert reading.facts.title == "A talk"
    assert reading.facts.cwd == "/work/quill"
    assert reading.facts.native_id == build.SESSION


def test_a_call_and_its_result_stand_together_under_the_id_that_is_sent() -> None:
    made = call("write_file__call_1", "write_file", {"file_path": "a"}, "Exit Code: 3", status="error",
                resultDisplay={"diffStat": {"model_added_lines": 2, "user_added_lines": 1, "model_removed_lines": 4}})  # fmt: skip
    entry = whole(user("u1", "x"), model("g1", "On it.", toolCalls=[made])).placed[2].entry
    assert [part.kind for part in entry.parts] == [PartKind.TEXT, PartKind.TOOL_CALL, PartKind.TOOL_RESULT]
    asked, result = entry.parts[1:]
    assert (asked.call_id, asked.tool, json.loads(asked.text)) == ("call_1", "write_file", {"file_path": "a"})
    assert (result.call_id, result.text, result.is_error, result.role) == ("call_1", "Exit Code: 3", True, Role.TOOL)
    assert result.meta == {"exit_code": 3, "added": 3, "removed": 4}
    assert entry.call_ids == ("call_1",)


def test_an_image_is_told_by_its_kind_and_size_alone() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "QUJDRA=="}}
    reading = whole(
        user("u1", [{"text": "see"}, image]),
        model("g1", "", toolCalls=[call("c", "read_file", {}, [build.response("c", "read_file", "here"), image])]),
    )
    for placed in reading.placed[1:]:
        (found,) = (part for part in placed.entry.parts if part.kind is PartKind.MEDIA)
        assert (found.media_type, found.media_bytes) == ("image/png", 4)
        assert "QUJDRA" not in json.dumps([part.to_json() for part in placed.entry.parts])
    assert reading.placed[2].entry.parts[-1].call_id == "c"


def test_thoughts_that_are_not_sent_back_count_for_nothing() -> None:
    entry = whole(model("g1", "yes", thoughts=[thought("Hm", "a long thought about it")])).placed[1].entry
    assert sizes([entry.parts]) == sizes([(Part(PartKind.TEXT, "yes"),)])


def test_signatures_are_marked_and_not_kept() -> None:
    part = {"functionCall": {"id": "c", "name": "ls", "args": {}}, "thoughtSignature": "c2ln"}
    entry = whole(model("g1", [part])).placed[1].entry
    assert entry.parts[0].meta == {"signature": True}


def test_a_prompt_that_was_blown_up_is_sent_whole_and_shown_as_typed() -> None:
    entry = (
        whole(user("u1", "@a.py\n--- content of a.py ---\nx = 1", displayContent=[{"text": "@a.py"}])).placed[1].entry
    )
    assert "x = 1" in entry.text
    assert entry.parts[0].meta["typed"] == "@a.py"


def todos(*items: tuple[str, str]) -> Any:
    return {"todos": [{"description": text, "status": status} for text, status in items]}


def test_todos_are_the_goals() -> None:
    reading = read(
        user("u1", "do it"),
        model(
            "g1",
            "",
            toolCalls=[
                call(
                    "c1",
                    "write_todos",
                    todos(("Read", "in_progress"), ("Write", "pending"), ("Upload", "pending")),
                    "ok",
                )
            ],
        ),
        model(
            "g2",
            "",
            toolCalls=[
                call(
                    "c2",
                    "write_todos",
                    todos(("Read", "completed"), ("Write", "cancelled"), ("Upload", "blocked")),
                    "ok",
                )
            ],
        ),
        model(
            "g3",
            "",
            toolCalls=[
                call(
                    "c3",
                    "write_todos",
                    todos(("Nothing", "pending")),
                    [build.response("c3", "write_todos", "no", key="error")],
                )
            ],
        ),
    )
    assert [(goal.path, goal.text, goal.status, goal.note) for goal in reading.goals] == [
        ("1", "Read", GoalStatus.COMPLETED, None),
        ("2", "Write", GoalStatus.ABANDONED, "cancelled"),
        ("3", "Upload", GoalStatus.PENDING, "blocked"),
    ]


def test_a_topic_stands_above_the_todos_under_it() -> None:
    def topic(name: str, title: str) -> Any:
        return model(
            f"g-{name}", "", toolCalls=[call(name, "update_topic", {"title": title, "summary": f"about {title}"}, "ok")]
        )

    reading = read(
        user("u1", "do it"),
        topic("t1", "Reading"),
        model("g1", "", toolCalls=[call("c1", "write_todos", todos(("Open", "completed")), "ok")]),
        topic("t2", "Writing"),
    )
    assert [(goal.path, goal.text, goal.status) for goal in reading.goals] == [
        ("1", "Reading", GoalStatus.COMPLETED),
        ("1.1", "Open", GoalStatus.COMPLETED),
        ("2", "Writing", GoalStatus.IN_PROGRESS),
    ]


def test_tasks_of_the_tracker_are_a_tree() -> None:
    def tracker(name: str, tool: str, asked: Any, said: str) -> Any:
        return model(f"g-{name}", "", toolCalls=[call(name, tool, asked, said)])

    reading = read(
        user("u1", "do it"),
        tracker("1", "tracker_create_task", {"title": "All", "type": "epic"}, "Created task aaaaaa: All"),
        tracker("2", "tracker_create_task", {"title": "One", "parentId": "aaaaaa"}, "Created task bbbbbb: One"),
        tracker(
            "3", "tracker_update_task", {"id": "bbbbbb", "status": "closed"}, "Updated task bbbbbb. Status: closed"
        ),
        tracker(
            "4",
            "tracker_update_task",
            {"id": "aaaaaa", "status": "in_progress"},
            "Updated task aaaaaa. Status: in_progress",
        ),
    )
    assert [(goal.path, goal.text, goal.status) for goal in reading.goals] == [
        ("1", "All", GoalStatus.IN_PROGRESS),
        ("1.1", "One", GoalStatus.COMPLETED),
    ]


def test_a_sub_agent_names_its_parent_and_has_no_turns() -> None:
    path = CHATS / build.SESSION / "child.jsonl"
    records = [head("child", kind="subagent", directories=["/work/quill"]), user("u1", "find it"), model("g1", "found")]
    reading = read_whole(ADAPTER, path, [(data(*records), False)])
    facts = reading.facts
    assert (facts.native_id, facts.parent_native_id, facts.parent_kind, facts.cwd) == (
        "child",
        build.SESSION,
        "subagent",
        "/work/quill",
    )
    assert all(placed.turn is None for placed in reading.placed)


def test_the_call_of_a_sub_agent_says_which_it_was() -> None:
    entry = whole(model("g1", "", toolCalls=[call("c", "invoke_agent", {}, "done", agentId="child")])).placed[1].entry
    assert entry.parts[0].meta["agent_id"] == "child"


def test_answers_are_known_across_copies_only_by_ids_that_are_unique() -> None:
    name = "e208d804-3fdb-4baa-aebf-5b106ca0e5c0"
    reading = whole(model("m2", "a"), model(name, "b"))
    assert [placed.entry.response_id for placed in reading.placed[1:]] == [None, name]


def test_a_checkpoint_is_turns_of_the_api() -> None:
    history = [
        {"role": "user", "parts": [{"text": "<session_context>\n</session_context>"}, {"text": "go"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "a"}}}]},
        {"role": "model", "parts": [{"text": "one"}]},
    ]
    reading = read_whole(
        ADAPTER, CHATS.parent / "checkpoint-mine.json", [(json.dumps({"history": history}).encode(), False)]
    )
    assert [item.kind for item in reading.context()] == ["prompt", "tool_call", "tool_result", "message"]
    assert reading.context()[1].calls == reading.context()[2].results
    assert max(placed.turn or 0 for placed in reading.placed) == 1
