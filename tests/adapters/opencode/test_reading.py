"""What each record becomes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from sessions.assembly import Placed, Reading
from sessions.entries import GoalStatus, Kind, PartKind, Role, Usage
from tests.adapters.opencode.build import (
    PNG,
    SESSION,
    START,
    Record,
    Session,
    finish,
    read,
    start,
    text,
    thought,
    tokens,
    tool,
)


def one_user(*parts: Record, **info: Any) -> list[Placed]:
    out = Session()
    out.user(*parts, **info)
    return read(out.data()).placed[2:]


def one_answer(*parts: Record, **info: Any) -> list[Placed]:
    out = Session()
    out.user(text("do it"))
    out.assistant(*parts, **info)
    return read(out.data()).placed[3:]


def kinds(placed: list[Placed]) -> list[tuple[Kind, bool]]:
    return [(one.entry.kind, one.entry.sent) for one in placed]


def test_the_session_says_what_it_is() -> None:
    out = Session(title="Fix it", parentID="ses_parent", agent="general")
    out.user(text("do it"))
    out.assistant(start(), text("done"), finish())
    reading = read(out.data())
    facts = reading.facts
    assert (facts.native_id, facts.title, facts.cwd, facts.agent_version) == (
        SESSION,
        "Fix it",
        "/srv/project",
        "1.18.33",
    )
    assert (facts.parent_native_id, facts.parent_kind) == ("ses_parent", "subagent")
    assert facts.models == ["large"]
    assert facts.extra["agent"] == "general"


@pytest.mark.parametrize(
    ("title", "kind"), [("Fix it (fork #2)", "fork"), ("Fix (fork #2) it", None), ("Fix it", None)]
)
def test_a_fork_says_so_in_its_title_alone(title: str, kind: str | None) -> None:
    facts = read(Session(title=title).data()).facts
    assert (facts.parent_kind, facts.parent_native_id) == (kind, None)


def test_a_person_speaks_and_the_program_adds() -> None:
    placed = one_user(
        text("look at @a.txt"),
        text("Called the Read tool", synthetic=True),
        text("not for the model", ignored=True),
        text(""),
        text("and more"),
        {"type": "file", "mime": "text/plain", "url": "file:///a.txt"},
        {"type": "file", "mime": "image/png", "filename": "dot.png", "url": PNG},
        {"type": "agent", "name": "general"},
        {"type": "subtask", "prompt": "survey", "description": "a survey", "agent": "general"},
    )
    assert kinds(placed) == [
        (Kind.PROMPT, True),
        (Kind.CONTEXT, True),
        (Kind.CONTEXT, False),
        (Kind.PROMPT, False),
        (Kind.PROMPT, True),
        (Kind.MEDIA, False),
        (Kind.MEDIA, True),
        (Kind.META, False),
        (Kind.COMMAND, True),
    ]
    assert [one.seq for one in placed if one.entry.opens_turn] == [2]
    picture = placed[6].entry.parts[0]
    assert (picture.media_type, picture.text) == ("image/png", "dot.png")
    assert picture.media_bytes is not None
    assert 50 < picture.media_bytes < 100, "the picture's own bytes, not those of its base64"
    assert "base64" not in str(picture)
    assert placed[8].entry.parts[0].meta["prompt"] == "survey"


def test_a_picture_alone_opens_a_turn() -> None:
    (placed,) = one_user({"type": "file", "mime": "image/png", "url": PNG})
    assert placed.entry.opens_turn


def test_what_only_the_program_says_opens_none() -> None:
    (placed,) = one_user(
        text("Continue if you have next steps", synthetic=True, metadata={"compaction_continue": True})
    )
    assert not placed.entry.opens_turn


def test_an_answer_in_its_parts() -> None:
    placed = one_answer(
        start(),
        thought("hm", metadata={"anthropic": {"signature": "abc"}}),
        text("I do"),
        tool("call_1", "ok", "write", {"filePath": "a"}, metadata={"exit": 1}, title="a"),
        {"type": "patch", "hash": "f00", "files": ["/srv/project/a"]},
        {"type": "retry", "attempt": 1, "error": {"name": "APIError", "data": {"message": "busy"}}},
        {"type": "novelty", "new": 1},
        finish(100, 20, reasoning=5, read=900, write=50),
    )
    assert kinds(placed) == [
        (Kind.META, False),
        (Kind.META, False),
        (Kind.REASONING, True),
        (Kind.MESSAGE, True),
        (Kind.TOOL_CALL, True),
        (Kind.TOOL_RESULT, True),
        (Kind.META, False),
        (Kind.EVENT, False),
        (Kind.OTHER, False),
        (Kind.EVENT, False),
    ]
    reasoning, call, result = placed[2].entry, placed[4].entry, placed[5].entry
    assert reasoning.parts[0].signed
    assert (call.role, call.tool, call.call_ids, call.parts[0].text) == (
        Role.ASSISTANT,
        "write",
        ("call_1",),
        '{"filePath":"a"}',
    )
    assert (result.role, result.text, result.is_error, result.parts[0].meta["exit"]) == (Role.TOOL, "ok", False, 1)
    assert result.native_id == f"{call.native_id}/result"
    assert {one.step for one in placed} == {None, 1}
    assert placed[1].step == placed[9].step == 1
    assert placed[3].entry.at == datetime.fromtimestamp((START + 1000) / 1000, UTC)


def test_figures_are_disjoint() -> None:
    out = Session()
    out.assistant(start(), text("one"), finish(100, 20, reasoning=5, read=900, write=50), start(), finish(7, 3))
    assert [step.usage for step in read(out.data()).steps] == [
        Usage(fresh=100, cache_read=900, cache_write=50, output=25, reasoning=5),
        Usage(fresh=7, cache_read=0, cache_write=0, output=3, reasoning=0),
    ]


def test_a_total_that_its_parts_do_not_say_is_kept() -> None:
    part = finish(100, 20)
    part["tokens"]["total"] = 120
    out = Session()
    out.assistant(start(), part)
    assert [s.usage.total for s in read(out.data()).steps if s.usage] == [None]
    part["tokens"]["total"] = 150
    out = Session()
    out.assistant(start(), part)
    assert [s.usage.total for s in read(out.data()).steps if s.usage] == [150]


def test_zeros_are_no_figures() -> None:
    out = Session()
    out.assistant(start(), text("hm"), finish(0, 0))
    assert [step.usage for step in read(out.data()).steps] == [None]


@pytest.mark.parametrize(
    ("state", "said", "is_error"),
    [
        ({"status": "error", "error": "no such file"}, "no such file", True),
        ({"status": "error", "error": "aborted", "metadata": {"interrupted": True, "output": "half"}}, "half", False),
        ({"status": "error", "error": "aborted", "metadata": {"interrupted": True}}, "aborted", True),
        ({"status": "running"}, "[Tool execution was interrupted]", True),
        ({"status": "pending", "raw": '{"comm'}, "[Tool execution was interrupted]", True),
        ({"status": "dreaming"}, "[Tool execution was interrupted]", True),
    ],
)
def test_what_became_of_a_call(state: Record, said: str, is_error: bool) -> None:
    placed = one_answer(start(), tool("call_1", **state))
    result = placed[-1].entry
    assert (result.kind, result.text, result.is_error) == (Kind.TOOL_RESULT, said, is_error)
    assert (result.problem is not None) is (state["status"] == "dreaming")


def test_an_unfinished_input_is_kept_as_it_is() -> None:
    part = tool("call_1", status="pending", raw='{"comm')
    part["state"]["input"] = {}
    placed = one_answer(start(), part)
    assert placed[-2].entry.text == '{"comm'


def test_files_of_a_result_go_with_it() -> None:
    attached = {"type": "file", "mime": "image/png", "url": PNG}
    result = one_answer(start(), tool("call_1", "see", attachments=[attached]))[-1].entry
    assert [(part.kind, part.call_id) for part in result.parts] == [
        (PartKind.TOOL_RESULT, "call_1"),
        (PartKind.MEDIA, "call_1"),
    ]


@pytest.mark.parametrize(
    ("name", "sent"), [("UnknownError", False), ("APIError", False), ("MessageAbortedError", True)]
)
def test_a_failed_answer_is_not_sent_unless_a_person_stopped_it(name: str, sent: bool) -> None:
    error = {
        "name": name,
        "data": {"message": "no", "responseHeaders": {"x-key": "hunter2"}, "responseBody": "hunter2"},
    }
    placed = one_answer(text("half"), error=error)
    assert kinds(placed) == [(Kind.EVENT, False), (Kind.MESSAGE, sent)]
    assert placed[0].entry.text == f"{name}: no"
    assert placed[0].entry.is_error
    assert "hunter2" not in str(placed)


def plan(*todos: tuple[str, str], **more: Any) -> Record:
    given = {"todos": [{"content": content, "status": status, "priority": "high"} for content, status in todos]}
    return tool(f"call_{len(todos)}", "[]", "todowrite", given, **more)


def goals(reading: Reading) -> list[tuple[str, str]]:
    return [(goal.text, goal.status.value) for goal in reading.goals if not goal.inferred]


def test_the_plan_is_followed() -> None:
    out = Session()
    out.user(text("go"))
    out.assistant(start(), plan(("read", "in_progress"), ("fix", "pending")))
    out.assistant(start(), plan(("read", "completed"), ("fix", "cancelled"), ("test", "in_progress")))
    reading = read(out.data())
    assert goals(reading) == [("read", "completed"), ("fix", "abandoned"), ("test", "in_progress")]
    assert reading.goals[1].status is GoalStatus.ABANDONED


def test_a_plan_that_was_refused_changes_nothing() -> None:
    out = Session()
    out.assistant(start(), plan(("read", "pending"), status="error", error="todos must be an array"))
    assert goals(read(out.data())) == []


def test_a_plan_in_a_string_is_read() -> None:
    todos = json.dumps([{"content": "read", "status": "completed", "id": "1"}])
    out = Session()
    out.assistant(start(), tool("call_1", "[]", "todowrite", {"todos": todos}))
    reading = read(out.data())
    assert goals(reading) == [("read", "completed")]
    assert reading.goals[0].key == "1"


def test_the_last_list_of_a_database_stands_where_no_call_made_it() -> None:
    raw = json.loads(Session().data())
    raw["todos"] = [{"content": "read", "status": "pending", "priority": "low"}]
    assert goals(read(json.dumps(raw).encode())) == [("read", "pending")]


def test_a_part_of_a_message_that_is_gone_is_kept_and_not_sent() -> None:
    raw = json.loads(Session().data())
    raw["orphans"] = [{"type": "text", "text": "lost", "id": "prt_1", "messageID": "msg_gone"}]
    raw["messages"] = json.loads(one_message())
    placed = read(json.dumps(raw).encode()).placed
    assert (placed[-1].entry.text, placed[-1].entry.sent, placed[-1].entry.opens_turn) == ("lost", False, False)
    assert placed[-1].entry.problem is not None


def one_message() -> str:
    out = Session()
    out.user(text("hello"))
    return json.dumps(out.messages)


def test_no_record_of_another_shape_is_lost() -> None:
    raw = json.loads(Session().data())
    raw["messages"] = [7, {"info": "x", "parts": ["y", {"z": 1}]}, {"parts": [{"type": 5}]}]
    raw["strange"] = {"a": 1}
    entries = [one.entry for one in read(json.dumps(raw).encode()).placed]
    assert [entry.kind for entry in entries] == [
        Kind.META,
        Kind.MALFORMED,
        Kind.MALFORMED,
        Kind.MALFORMED,
        Kind.OTHER,
        Kind.OTHER,
        Kind.OTHER,
    ]
    assert all(entry.problem for entry in entries if entry.kind is Kind.MALFORMED)


def test_the_coming_store() -> None:
    raw = json.loads(Session().data())
    made = {"created": START, "completed": START + 500}
    answer = {
        "id": "msg_2",
        "type": "assistant",
        "agent": "build",
        "model": {"id": "large", "providerID": "acme"},
        "content": [
            {"type": "reasoning", "id": "r1", "text": "hm", "providerMetadata": {"acme": {"sig": "x"}}},
            {"type": "text", "id": "t1", "text": "I look"},
            {
                "type": "tool",
                "id": "call_1",
                "name": "read",
                "state": {"status": "completed", "input": {"a": 1}, "structured": {}, "content": [{"type": "text", "text": "found"}]},
                "time": {"created": START},
            },
            {"type": "tool", "id": "call_2", "name": "bash", "state": {"status": "pending", "input": '{"b"'}, "time": {"created": START}},
        ],
        "tokens": tokens(10, 5),
        "time": made,
    }  # fmt: skip
    raw["session_messages"] = [
        {"id": "msg_0", "type": "model-switched", "model": {"id": "large", "providerID": "acme"}, "time": {"created": START}},
        {"id": "msg_1", "type": "user", "text": "look", "files": [{"uri": PNG, "mime": "image/png", "name": "dot.png"}], "time": made},
        answer,
        {"id": "msg_3", "type": "compaction", "reason": "auto", "summary": "SUM", "recent": "REC", "time": made},
        {"id": "msg_4", "type": "synthetic", "sessionID": SESSION, "text": "mind this", "time": made},
        {"id": "msg_5", "type": "shell", "callID": "c", "command": "ls", "output": "a.txt", "time": made},
        {"id": "msg_6", "type": "system", "text": "be brief", "time": made},
    ]  # fmt: skip
    reading = read(json.dumps(raw).encode())
    assert [(one.entry.kind, one.entry.role, one.entry.sent) for one in reading.placed[1:]] == [
        (Kind.META, None, False),
        (Kind.PROMPT, Role.USER, True),
        (Kind.META, None, False),
        (Kind.EVENT, None, False),
        (Kind.REASONING, Role.ASSISTANT, True),
        (Kind.MESSAGE, Role.ASSISTANT, True),
        (Kind.TOOL_CALL, Role.ASSISTANT, True),
        (Kind.TOOL_RESULT, Role.TOOL, True),
        (Kind.TOOL_CALL, Role.ASSISTANT, True),
        (Kind.TOOL_RESULT, Role.TOOL, True),
        (Kind.SUMMARY, Role.USER, True),
        (Kind.CONTEXT, Role.USER, True),
        (Kind.COMMAND, Role.USER, True),
        (Kind.CONTEXT, Role.SYSTEM, True),
    ]
    assert reading.facts.models == ["large"]
    assert reading.placed[5].entry.parts[0].signed
    assert (reading.placed[7].entry.tool, reading.placed[8].entry.text) == ("read", "found")
    assert [step.usage.output for step in reading.steps if step.usage] == [5]
    assert [version.kind for version in reading.versions] == ["compaction"]
    assert [item.text.split("\n")[0] for item in reading.context()] == [
        "<conversation-checkpoint>",
        "mind this",
        "Shell command: ls",
        "be brief",
    ]
