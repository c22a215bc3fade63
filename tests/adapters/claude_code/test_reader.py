"""One record, one entry: whose words, what kind, what it cost, what it did to the goals."""

import json
from pathlib import PurePath

import pytest

from sessions.adapters.base import Line
from sessions.adapters.claude_code import ADAPTER
from sessions.entries import Entry, GoalStatus, Kind, PartKind, Role, Usage
from tests.adapters.claude_code.build import PATH, SESSION, Transcript, call, text, thinking, uid

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8gd29ybGQ="}}


def entries(transcript: Transcript, path: PurePath = PATH) -> list[Entry]:
    return [placed.entry for placed in transcript.read(path).placed]


def test_a_prompt_opens_a_turn_and_an_answer_is_one_step_over_its_lines():
    t = Transcript()
    t.prompt("please look")
    t.answer(thinking("hm"), text("looking"), call("Read", "toolu_1", file_path="/srv/shop/a.py"))
    t.result("toolu_1", "1\tx")
    t.answer(text("there"))
    reading = t.read()
    kinds = [p.entry.kind for p in reading.placed]
    assert kinds == [Kind.PROMPT, Kind.REASONING, Kind.MESSAGE, Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.MESSAGE]
    assert [p.step for p in reading.placed] == [None, 1, 1, 1, None, 2]
    assert [p.turn for p in reading.placed] == [1] * 6
    assert [s.usage.prompt if s.usage else None for s in reading.steps] == [110, 110]
    assert reading.placed[4].entry.role is Role.TOOL
    assert reading.placed[4].entry.tool == "Read"
    assert reading.placed[1].entry.parts[0].signed


@pytest.mark.parametrize(
    ("content", "fields", "kind"),
    [
        ("hello", {}, Kind.PROMPT),
        ([text("hello"), IMAGE], {}, Kind.PROMPT),
        ("<command-name>/clear</command-name>", {}, Kind.COMMAND),
        ("<local-command-stdout>done</local-command-stdout>", {}, Kind.COMMAND),
        ("<bash-input>ls</bash-input>", {}, Kind.COMMAND),
        ("<local-command-caveat>Caveat: The messages below</local-command-caveat>", {}, Kind.CONTEXT),
        ("Caveat: The messages below were generated", {}, Kind.CONTEXT),
        ([text("[Request interrupted by user for tool use]")], {}, Kind.CONTEXT),
        ("<task-notification>\n<task-id>1</task-id>", {}, Kind.CONTEXT),
        ("<system-reminder>\nx\n</system-reminder>", {}, Kind.CONTEXT),
        ("a skill's text", {"isMeta": True}, Kind.CONTEXT),
        ("from a task", {"origin": {"kind": "task-notification"}}, Kind.CONTEXT),
        ("typed", {"origin": {"kind": "human"}}, Kind.PROMPT),
        ("what was done", {"isCompactSummary": True}, Kind.SUMMARY),
    ],
)
def test_only_a_persons_words_open_a_turn(content, fields, kind):
    t = Transcript()
    t.prompt("first")
    t.prompt(content, **fields)
    entry = entries(t)[1]
    assert entry.kind is kind
    assert entry.opens_turn is (kind is Kind.PROMPT)
    assert entry.sent


def test_words_sent_while_the_agent_works_open_a_turn_and_its_queue_record_does_not():
    t = Transcript()
    t.prompt("first")
    t.loose("queue-operation", operation="enqueue", content="and this")
    t.add("attachment", attachment={"type": "queued_command", "prompt": "and this", "commandMode": "prompt"})
    t.add(
        "attachment",
        attachment={"type": "queued_command", "prompt": "<task-notification>x", "commandMode": "task-notification"},
    )
    _, queue, words, notice = entries(t)
    assert (queue.kind, queue.sent, queue.opens_turn) == (Kind.EVENT, False, False)
    assert (words.kind, words.sent, words.opens_turn, words.text) == (Kind.PROMPT, True, True, "and this")
    assert (notice.kind, notice.opens_turn) == (Kind.CONTEXT, False)


def test_a_summary_without_its_flag_is_told_by_its_place_and_not_by_its_words_alone():
    t = Transcript()
    t.prompt("first")
    t.prompt("This session is being continued from a previous conversation that ran out of context. S", parent=None)
    t.prompt("This session is being continued from a previous conversation, says the log I pasted")
    assert [e.kind for e in entries(t)] == [Kind.PROMPT, Kind.SUMMARY, Kind.PROMPT]


def test_a_rendered_attachment_is_what_was_sent_and_a_snapshot_is_not():
    t = Transcript()
    t.prompt("first")
    t.add(
        "attachment",
        attachment={"type": "date"},
        rendered=[{"content": "<system-reminder>\nD\n</system-reminder>"}],
        renderedRole="system",
    )
    t.add("attachment", attachment={"type": "prompt_snapshot", "systemPrompt": ["abc", "de"]})
    t.add(
        "attachment", attachment={"type": "nested_memory", "path": "/srv/CLAUDE.md", "content": {"content": "be kind"}}
    )
    t.add("attachment", attachment={"type": "never_seen_before", "x": 1})
    _, date, snapshot, memory, unknown = entries(t)
    assert (date.role, date.sent, date.text) == (Role.SYSTEM, True, "<system-reminder>\nD\n</system-reminder>")
    assert (snapshot.sent, snapshot.parts[0].meta) == (False, {"characters": 5})
    assert memory.text == "<system-reminder>\nContents of /srv/CLAUDE.md:\n\nbe kind\n</system-reminder>"
    assert not unknown.sent
    assert "never_seen_before" in (unknown.problem or "")


def test_usage_is_taken_once_and_a_placeholder_is_marked():
    t = Transcript(version="2.1.7")
    t.prompt("first")
    base = {"input_tokens": 3, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100}
    for tokens in (9, 9, 159):
        t.answer(text("x"), response="msg_same", usage={**base, "output_tokens": tokens}, message={"stop_reason": None})
    t.version = "2.1.332"
    t.answer(
        text("y"),
        usage={**base, "output_tokens": 7, "output_tokens_details": {"thinking_tokens": 5}, "iterations": [base]},
    )
    reading = t.read()
    assert [s.usage for s in reading.steps] == [
        Usage(3, 100, 20, 159, estimated=True),
        Usage(3, 100, 20, 7, reasoning=5),
    ]


def test_synthetic_words_and_provider_errors_are_no_steps_and_only_the_first_are_sent():
    t = Transcript()
    t.prompt("first")
    synthetic = {
        "id": "x",
        "role": "assistant",
        "model": "<synthetic>",
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
    t.add("assistant", message={**synthetic, "content": [text("No response requested.")]})
    t.add("assistant", isApiErrorMessage=True, message={**synthetic, "content": [text("API Error: 529")]})
    reading = t.read()
    assert reading.steps == []
    assert [p.entry.sent for p in reading.placed] == [True, True, False]
    assert reading.facts.models == []


def test_titles_the_persons_beats_the_generated_one_and_an_old_title_counts_only_for_its_own_file():
    t = Transcript()
    t.loose("summary", summary="of another file", leafUuid=uid("elsewhere"))
    t.loose("summary", summary="of this file", leafUuid=uid("r1"))
    t.prompt("first")
    assert t.read().facts.title == "of this file"
    t.loose("ai-title", aiTitle="made")
    t.loose("ai-title", aiTitle="made again")
    assert t.read().facts.title == "made again"
    t.loose("custom-title", customTitle="mine")
    t.loose("ai-title", aiTitle="later")
    assert t.read().facts.title == "mine"


def test_a_todo_list_changes_the_goals_with_its_result_and_not_when_it_failed():
    t = Transcript(version="2.0.30")
    t.prompt("first")
    todos = [
        {"content": "build", "status": "in_progress", "activeForm": "Building"},
        {"content": "test", "status": "pending"},
    ]
    t.answer(call("TodoWrite", "toolu_1", todos=todos))
    reading = t.read()
    assert all(goal.inferred for goal in reading.goals)
    t.result("toolu_1", "Todos have been modified", toolUseResult={"oldTodos": [], "newTodos": todos})
    t.answer(call("TodoWrite", "toolu_2", todos=[{"content": "nothing", "status": "completed"}]))
    t.result("toolu_2", "<tool_use_error>no</tool_use_error>", is_error=True)
    assert [(g.path, g.text, g.status) for g in t.read().goals] == [
        ("1", "build", GoalStatus.IN_PROGRESS),
        ("2", "test", GoalStatus.PENDING),
    ]


def test_a_plan_agreed_on_in_plan_mode_is_worked_on_until_the_next_request():
    t = Transcript(version="2.1.29")
    t.prompt("make it faster")
    t.answer(call("ExitPlanMode", "toolu_1", plan="# Stream the rows\n\n1. read by chunks\n2. test"))
    t.result("toolu_1", "The user doesn't want to proceed", is_error=True)
    assert [goal.text for goal in t.read().goals] == ["make it faster"]
    t.answer(call("ExitPlanMode", "toolu_2", plan="# Stream the rows\n\n1. read by chunks\n2. test"))
    t.result("toolu_2", "User has approved your plan. You can now start coding.")
    t.answer(call("ExitPlanMode", "toolu_3"))
    t.result("toolu_3", "User has approved your plan.", toolUseResult={"plan": "Write it down"})
    goals = t.read().goals
    assert [(goal.path, goal.text, goal.status, goal.inferred) for goal in goals] == [
        ("r1", "make it faster", GoalStatus.COMPLETED, True),
        ("2", "Plan: Stream the rows", GoalStatus.COMPLETED, True),
        ("3", "Plan: Write it down", GoalStatus.IN_PROGRESS, True),
    ]
    assert "read by chunks" in (goals[1].note or "")
    t.prompt("thanks")
    assert [goal.status for goal in t.read().goals][2:] == [GoalStatus.COMPLETED, GoalStatus.IN_PROGRESS]


def test_a_list_stands_under_the_plan_that_was_handed_over_with_the_request():
    t = Transcript(version="2.1.29")
    t.prompt("Implement the following plan:\n\n# Plan: Stream the rows\n\n1. read by chunks")
    t.answer(call("TodoWrite", "toolu_1", todos=[{"content": "read by chunks", "status": "in_progress"}]))
    t.result(
        "toolu_1",
        "Todos have been modified",
        toolUseResult={"oldTodos": [], "newTodos": [{"content": "read by chunks", "status": "in_progress"}]},
    )
    goals = t.read().goals
    assert [(goal.path, goal.text, goal.status, goal.inferred) for goal in goals] == [
        ("1", "Plan: Stream the rows", GoalStatus.IN_PROGRESS, False),
        ("1.1", "read by chunks", GoalStatus.IN_PROGRESS, False),
    ]
    assert goals[0].tally.entries == 2, "what was read before the list belongs to the plan"


def test_a_sub_agent_that_is_told_as_progress_works_on_the_same_tasks():
    def told(role: str, block: dict) -> dict:
        message = {"type": role, "message": {"role": role, "content": [block]}}
        return {"type": "agent_progress", "agentId": "a1", "message": message}

    t = Transcript(version="2.1.29")
    t.prompt("go")
    t.answer(call("TaskCreate", "toolu_1", subject="build", description="x"))
    t.result("toolu_1", "Task #1 created successfully: build", toolUseResult={"task": {"id": "1", "subject": "build"}})
    t.add("progress", data=told("assistant", call("TaskUpdate", "toolu_2", taskId="1", status="completed")))
    assert [goal.status for goal in t.read().goals] == [GoalStatus.PENDING], "asked for, not done"
    t.add(
        "progress",
        data=told("user", {"type": "tool_result", "tool_use_id": "toolu_2", "content": "Updated task #1 status"}),
    )
    t.add("progress", data=told("assistant", call("TodoWrite", "toolu_3", todos=[])))
    t.add("progress", data=told("user", {"type": "tool_result", "tool_use_id": "toolu_3", "content": "ok"}))
    t.add("progress", data={"type": "agent_progress", "message": {"message": {"content": ["x", None]}}})
    assert [goal.status for goal in t.read().goals] == [GoalStatus.COMPLETED]


def test_tasks_get_their_id_from_the_result_and_are_patched():
    t = Transcript(version="2.1.29")
    t.prompt("first")
    t.answer(call("TaskCreate", "toolu_1", subject="build", description="it"))
    t.result("toolu_1", "Task #7 created successfully: build")
    t.answer(call("TaskCreate", "toolu_2", subject="test"))
    t.result("toolu_2", "ok", toolUseResult={"task": {"id": "8", "subject": "test"}})
    t.answer(call("TaskUpdate", "toolu_3", taskId="7", status="in_progress"))
    t.result("toolu_3", "Updated", toolUseResult={"success": True, "taskId": "7"})
    t.answer(call("TaskUpdate", "toolu_4", taskId="7", subject="build all of it"))
    t.result("toolu_4", "Updated", toolUseResult={"success": True, "taskId": "7"})
    t.answer(call("TaskUpdate", "toolu_5", taskId="8", status="deleted"))
    t.result("toolu_5", "Updated", toolUseResult={"success": True, "taskId": "8"})
    t.answer(call("TaskUpdate", "toolu_6", taskId="7", status="completed"))
    t.result("toolu_6", "no such task", toolUseResult={"success": False})
    assert [(g.key, g.text, g.status, g.note) for g in t.read().goals] == [
        ("7", "build all of it", GoalStatus.IN_PROGRESS, None),
        ("8", "test", GoalStatus.ABANDONED, "deleted by the agent"),
    ]


def test_facts_of_tool_results_are_kept_small_and_media_are_described():
    t = Transcript()
    t.prompt("first")
    t.answer(call("Bash", "toolu_1", command="ls"))
    t.result("toolu_1", "a", toolUseResult={"stdout": "a", "stderr": "", "interrupted": False})
    t.answer(call("Bash", "toolu_2", command="false"))
    t.result("toolu_2", "Exit code 3\nno", is_error=True, toolUseResult="Error: Exit code 3")
    t.answer(call("Edit", "toolu_3", file_path="/srv/a"))
    hunk = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 500, "lines": ["-a", *["+" + "b" * 999] * 500]}
    t.result(
        "toolu_3",
        "edited",
        toolUseResult={"filePath": "/srv/a", "structuredPatch": [hunk], "originalFile": "z" * 100_000},
    )
    t.answer(call("Read", "toolu_4", file_path="/srv/b"))
    t.result("toolu_4", [IMAGE], toolUseResult={"type": "image", "file": {"filePath": "/srv/b"}})
    t.answer(call("Bash", "toolu_5", command="seq"))
    saved = (
        "<persisted-output>\nOutput too large (341KB). Full output saved to: /home/x/tool-results/b12.txt\n\nPreview"
    )
    t.result("toolu_5", saved)
    results = [e for e in entries(t) if e.kind is Kind.TOOL_RESULT]
    ok, failed, edit, image, overflow = (e.parts for e in results)
    assert ok[0].meta == {"exit_code": 0}
    assert (failed[0].is_error, failed[0].meta) == (True, {"exit_code": 3})
    assert (edit[0].meta["added"], edit[0].meta["removed"], edit[0].meta["hunks_cut"]) == (500, 1, True)
    assert len(json.dumps(edit[0].meta)) < 20_000
    assert [(p.kind, p.call_id, p.media_type, p.media_bytes) for p in image] == [
        (PartKind.TOOL_RESULT, "toolu_4", None, None),
        (PartKind.MEDIA, "toolu_4", "image/png", 11),
    ]
    assert overflow[0].text == saved
    assert overflow[0].meta == {"overflow": "tool-results/b12.txt"}


def test_inline_sub_agents_are_in_a_lane_of_their_own_and_name_their_call():
    t = Transcript(version="1.0.100")
    t.prompt("first")
    t.answer(call("Task", "toolu_1", prompt="child work", description="d"))
    t.add("user", parent=None, name="s1", isSidechain=True, message={"role": "user", "content": "child work"})
    answer = {
        "id": "ms",
        "role": "assistant",
        "model": "m",
        "content": [text("done")],
        "usage": {"input_tokens": 5, "output_tokens": 2},
    }
    t.add("assistant", parent=uid("s1"), name="s2", isSidechain=True, message=answer)
    t.result("toolu_1", "done")
    root, child = entries(t)[2:4]
    assert root.lane == child.lane == uid("s1")
    assert not (root.sent)
    assert not (child.sent)
    assert not (root.opens_turn)
    assert (root.link or {})["call"] == "toolu_1"
    assert [s.usage.output for s in t.read().steps if s.usage] == [7, 2]


def test_a_sub_agents_own_file_is_a_session_whose_parent_is_named():
    t = Transcript(version="2.1.150")
    t.prompt("child work", isSidechain=True, agentId="a123")
    t.last = uid("r1")
    t.answer(text("done"), isSidechain=True, agentId="a123")
    reading = t.read(PATH.parent / SESSION / "subagents" / "agent-a123.jsonl")
    assert (reading.facts.native_id, reading.facts.parent_native_id, reading.facts.parent_kind) == (
        "a123",
        SESSION,
        "subagent",
    )
    assert [(p.entry.lane, p.entry.sent, p.entry.opens_turn) for p in reading.placed] == [
        ("", True, False),
        ("", True, False),
    ]


def test_forks_and_copies_are_told():
    fork = Transcript()
    fork.prompt("first", forkedFrom={"sessionId": "parent", "messageUuid": uid("x")})
    assert (fork.read().facts.parent_native_id, fork.read().facts.parent_kind) == ("parent", "fork")
    copy = Transcript(version="1.0.100")
    copy.prompt([text("first")])
    copy.add("assistant", message={"id": "m1", "role": "assistant", "model": "m", "content": [text("x")]})
    copy.prompt("second")
    copy.answer(text("y"))
    assert copy.read().facts.parent_kind == "continued"
    plain = Transcript(version="1.0.100")
    plain.prompt("first")
    plain.answer(text("x"))
    assert plain.read().facts.parent_kind is None


def test_whatever_stands_in_a_line_becomes_an_entry_that_says_what_is_wrong():
    t = Transcript()
    t.prompt("a\u0000b\u2028c")
    for raw in (
        b"",
        b"\x00" * 9000,
        b"[1, 2]",
        b"null",
        b"{broken",
        b'{"type": "user", "message": 7, "uuid": ["x"]}',
        b'{"no": "type"}',
    ):
        t.raw(raw)
    t.loose("brand-new-record", value=1)
    t.raw(b'{"type":"user","uuid":"u","message":{"role":"user","content":"\\ud83d alone"}}')
    t.raw(b'{"type":"user","uuid":"v","message":{"role":"user","content":"caf\xe9"}}')
    t.lines[-1] += b"\r"
    found = t.read().placed
    assert [p.entry.kind for p in found] == [
        Kind.PROMPT,
        *[Kind.MALFORMED] * 5,
        Kind.CONTEXT,
        Kind.OTHER,
        Kind.OTHER,
        Kind.PROMPT,
        Kind.PROMPT,
    ]
    assert found[0].entry.text == "a\x00b\u2028c"
    assert "NUL" in (found[2].entry.problem or "")
    assert "line 4" in (found[3].entry.problem or "")
    assert found[-2].entry.text == "\ufffd alone"
    assert found[-1].entry.text == "caf\ufffd"


def test_a_last_line_without_its_end_is_read_as_far_as_it_goes():
    reader = ADAPTER.reader(PATH)
    entry = reader.read(Line(0, b'{"type":"user","mess', ended=False, number=1))
    assert entry.kind is Kind.MALFORMED
    assert "no end yet" in (entry.problem or "")


def test_every_record_that_is_not_sent_is_kept_as_an_entry():
    t = Transcript()
    t.prompt("first")
    for kind in (
        "mode",
        "permission-mode",
        "file-history-snapshot",
        "pr-link",
        "atis-latch",
        "cost-state",
        "api-request",
        "tag",
    ):
        t.loose(kind, value="x")
    t.add("system", subtype="api_error", error={"status": 529}, retryInMs=500.5, retryAttempt=1, maxRetries=10)
    t.add(
        "progress",
        data={"type": "agent_progress", "agentId": "a9", "message": {"usage": {"output_tokens": 99}}},
        parentToolUseID="toolu_1",
    )
    found = entries(t)
    assert [e.kind for e in found[1:9]] == [Kind.META] * 8
    assert [e.kind for e in found[9:]] == [Kind.EVENT] * 2
    assert found[9].parts[0].meta == {"retryInMs": 500.5, "retryAttempt": 1, "maxRetries": 10}
    assert found[10].parts[0].meta == {"agent_id": "a9", "for_call": "toolu_1"}
    assert not any(e.sent or e.usage for e in found[1:])
