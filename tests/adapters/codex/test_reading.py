"""Lines into entries, in the three eras: kinds, turns, requests, and nothing twice."""

from __future__ import annotations

from sessions.adapters.codex import ADAPTER
from sessions.assembly import Reading, read_whole
from sessions.entries import Kind, PartKind, Role
from tests.adapters.codex.build import (
    NAME,
    STAMP,
    THREAD,
    Record,
    call,
    context,
    counts,
    data,
    end,
    event,
    image,
    item,
    line,
    mail,
    message,
    meta,
    numbered,
    output,
    read,
    says,
    start,
    thinks,
    token_count,
    turn_context,
    usage_record,
    user,
)

FLAT: list[Record] = [
    {"id": THREAD, "timestamp": STAMP, "instructions": None, "git": {"commit_hash": "abc", "branch": "main"}},
    {"record_type": "state"},
    {"type": "message", "id": None, "role": "user", "content": [{"type": "input_text", "text": "<environment_context>\n  <cwd>/srv/p</cwd>\n</environment_context>"}]},
    {"record_type": "state"},
    {"type": "message", "id": None, "role": "user", "content": [{"type": "input_text", "text": "list the files"}]},
    {"record_type": "state"},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "look"}], "content": None, "encrypted_content": "SEALED"},
    {"type": "function_call", "id": "fc_1", "name": "shell", "arguments": '{"command": ["ls"]}', "call_id": "c1"},
    {"type": "function_call_output", "call_id": "c1", "output": '{"output":"a.txt\\n","metadata":{"exit_code":2,"duration_seconds":0.5}}'},
    {"type": "function_call", "id": "fc_2", "name": "update_plan", "arguments": '{"plan":[{"step":"one","status":"in_progress"}]}', "call_id": "c2"},
    {"type": "function_call_output", "call_id": "c2", "output": "Plan updated"},
    {"record_type": "state"},
    {"record_type": "state"},
    {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "there is a.txt"}]},
]  # fmt: skip


def steps_of(reading: Reading) -> list[list[int]]:
    """The entries of each request."""
    return [[p.seq for p in reading.placed if p.step == step.n] for step in reading.steps]


def test_flat() -> None:
    reading = read(FLAT)
    assert [p.entry.kind for p in reading.placed if p.entry.sent] == [
        Kind.CONTEXT, Kind.PROMPT, Kind.REASONING, Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.MESSAGE,
    ]  # fmt: skip
    assert steps_of(reading) == [[6, 7, 9], [13]]
    assert all(step.usage is None for step in reading.steps)
    assert [p.seq for p in reading.placed if p.entry.opens_turn] == [4]
    assert reading.facts.native_id == THREAD
    assert reading.facts.cwd == "/srv/p"
    assert reading.facts.branch == "main"
    assert reading.facts.extra["era"] == "flat"
    result = reading.placed[8].entry
    assert result.is_error
    assert result.parts[0].meta == {"exit_code": 2, "seconds": 0.5}
    assert result.parts[0].text.startswith('{"output"'), "the text is what the model was sent"
    assert reading.placed[6].entry.parts[0].signed
    assert [(goal.text, goal.status.value) for goal in reading.goals] == [("one", "in_progress")]


def test_flat_without_lines_between_requests() -> None:
    reading = read([record for record in FLAT if "record_type" not in record])
    assert steps_of(reading) == [[3, 4], [6], [8]], "a result ends a request where nothing else tells"


def test_wrapped_before_turn_marks() -> None:
    first, second = counts(100, 60, 20, 5), counts(300, 200, 30, 5)
    reading = read(
        meta(version="0.36.0"),
        message("user", "<user_instructions>\nbe kind\n</user_instructions>"),
        user("go"),
        turn_context("gpt-5"),
        event("agent_reasoning", text="look"),
        token_count(first, first),
        thinks("look"),
        call("c1"),
        output("c1"),
        call("c2"),
        output("c2"),
        turn_context("gpt-5"),
        event("agent_message", message="done"),
        token_count(counts(400, 260, 50, 10), second),
        says("done"),
    )
    assert steps_of(reading) == [[6, 7, 8, 10], [14, 15]], "usage comes before the items; calls and results in pairs"
    assert [(s.usage.fresh, s.usage.cache_read, s.usage.output) for s in reading.steps if s.usage] == [
        (40, 60, 20),
        (100, 200, 30),
    ]
    assert [p.seq for p in reading.placed if p.entry.opens_turn] == [2]
    assert reading.placed[1].entry.kind is Kind.CONTEXT
    assert reading.facts.models == ["gpt-5"]
    assert {step.model for step in reading.steps} == {"gpt-5"}


def test_wrapped_with_turn_marks() -> None:
    first, second = counts(100, 60, 20, 5), counts(300, 200, 30, 5)
    reading = read(
        meta(),
        start("t1"),
        context(),
        turn_context("gpt-5.4"),
        user("go"),
        token_count(None, None),
        event("agent_reasoning", text="look"),
        thinks("look"),
        call("c1"),
        call("c2"),
        token_count(first, first),
        output("c1", "Exit code: 3\nWall time: 1.5 seconds\nOutput:\nno"),
        output("c2"),
        token_count(first, first),
        event("agent_message", message="done"),
        says("done"),
        token_count(counts(400, 260, 50, 10), second),
        end("t1"),
    )
    assert steps_of(reading) == [[9, 10, 11, 12], [17, 18]]
    assert [s.usage.output for s in reading.steps if s.usage] == [20, 30], "a repeated token_count counts once"
    assert [(p.seq, p.entry.text) for p in reading.placed if p.entry.opens_turn] == [(5, "go")]
    failed = next(p.entry for p in reading.placed if p.entry.kind is Kind.TOOL_RESULT)
    assert failed.is_error
    assert failed.parts[0].meta == {"exit_code": 3, "seconds": 1.5}


def test_paginated() -> None:
    items = [
        *meta(version="0.171.0", history_mode="paginated"),
        *start("t1"),
        *context(),
        *user("go", shown=False),
        *event("item_completed", item={"type": "UserMessage", "id": "u", "content": [{"type": "text", "text": "go"}]}),
        *event("item_completed", item={"type": "Reasoning", "id": "rs", "summary_text": ["look"], "raw_content": []}),
        *thinks("look"),
        *call("c1"),
        *usage_record("resp_1", counts(100, 60, 20, 5)),
        *event(
            "item_completed",
            item={
                "type": "CommandExecution", "id": "c1", "command": ["ls"], "status": "failed", "aggregated_output": "no",
                "exit_code": 3, "duration": {"secs": 1, "nanos": 500_000_000},
            },
        ),
        *output("c1", "Chunk ID: a\nWall time: 1.5000 seconds\nProcess exited with code 3\nOutput:\nno"),
        *token_count(counts(100, 60, 20, 5), counts(100, 60, 20, 5)),
        *event("item_completed", item={"type": "AgentMessage", "id": "m", "content": [{"type": "Text", "text": "done"}]}),
        *says("done"),
        *usage_record("resp_2", counts(300, 200, 30, 5)),
        *token_count(counts(400, 260, 50, 10), counts(300, 200, 30, 5)),
        *end("t1"),
    ]  # fmt: skip
    reading = read(numbered(items))
    assert [p.entry.text for p in reading.placed if p.entry.opens_turn] == ["go"]
    assert [step.response_id for step in reading.steps] == [f"{THREAD}/resp_1", f"{THREAD}/resp_2"]
    assert [s.usage.output for s in reading.steps if s.usage] == [20, 30]
    assert all(s.usage is not None and s.usage.window == 258400 for s in reading.steps)
    ran = next(p.entry for p in reading.placed if p.entry.link and p.entry.link.get("call") == "c1")
    assert ran.kind is Kind.EVENT
    assert ran.parts[0].meta == {"exit_code": 3, "seconds": 1.5, "status": "failed", "call_id": "c1"}
    assert reading.facts.extra["era"] == "paginated"


def test_no_text_stands_twice() -> None:
    reading = read(
        meta(), start("t1"), user("a prompt"), event("agent_reasoning", text="a thought"), thinks("a thought"),
        event("agent_message", message="an answer"), says("an answer"), end("t1"),
    )  # fmt: skip
    for text in ("a prompt", "a thought", "an answer"):
        assert sum(text in p.entry.text for p in reading.placed) == 1


def test_context_is_not_a_person() -> None:
    put_in = [
        "# AGENTS.md instructions for /srv\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>",
        "<environment_context>\nx\n</environment_context>",
        "<turn_aborted>\nx\n</turn_aborted>",
        "<subagent_notification>\nx\n</subagent_notification>",
        '<codex_internal_context source="goal">\nx\n</codex_internal_context>',
        "<goal_context>\nx\n</goal_context>",
        "<recommended_plugins>\nx\n</recommended_plugins>",
        "<external_notes>\nx\n</external_notes>",
        "<skill>\n<name>a</name>\n</skill>",
        '<hook_prompt hook_run_id="r">x</hook_prompt>',
        "Warning: The maximum number of unified exec processes you can keep open is 60",
    ]
    reading = read(meta(), *(message("user", text) for text in put_in), user("a person"))
    assert [p.entry.kind for p in reading.placed if p.entry.role is Role.USER] == [Kind.CONTEXT] * len(put_in) + [
        Kind.PROMPT
    ]
    assert reading.placed[-1].turn == 1


def test_a_persons_shell_command() -> None:
    reading = read(meta(), message("user", "<user_shell_command>\nls\n</user_shell_command>"))
    assert reading.placed[1].entry.kind is Kind.COMMAND
    assert not reading.placed[1].entry.opens_turn


def test_media_by_what_it_is() -> None:
    parts = read(meta(), image("look")).placed[1].entry.parts
    assert [(p.kind, p.media_type, p.media_bytes) for p in parts if p.kind is PartKind.MEDIA] == [
        (PartKind.MEDIA, "image/png", 70)
    ]
    assert "base64" not in "".join(p.text for p in parts)


def test_images_in_results_belong_to_their_call() -> None:
    reading = read(
        meta(), user("x"), call("c1", "view_image"),
        item("function_call_output", call_id="c1", output=[{"type": "input_text", "text": "here"}, {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]),
    )  # fmt: skip
    entry = reading.placed[-1].entry
    assert [(p.kind, p.call_id) for p in entry.parts] == [(PartKind.TOOL_RESULT, "c1"), (PartKind.MEDIA, "c1")]


def test_mail_between_agents() -> None:
    sealed = item("agent_message", author="/root", recipient="/root/c", content=[{"type": "input_text", "text": "Task:"}, {"type": "encrypted_content", "encrypted_content": "x" * 40}])  # fmt: skip
    entry = read(meta(), mail("hello"), sealed).placed[2].entry
    assert entry.sent
    assert not entry.opens_turn
    assert [p.kind for p in entry.parts] == [PartKind.TEXT, PartKind.MARKER]
    assert entry.parts[1].signed


def test_mail_as_a_line_of_its_own() -> None:
    told = line(
        "inter_agent_communication",
        {"id": "x", "author": "/root", "recipient": "/root/c", "content": "mail", "trigger_turn": True},
    )
    entry = read(meta(), [told]).placed[1].entry
    assert (entry.kind, entry.sent, entry.text) == (Kind.CONTEXT, True, "mail")


def test_bad_lines_are_kept_and_the_rest_goes_on() -> None:
    good = data([*meta(), *user("before")])
    bad = [
        b"",
        b"\x00" * 9000,
        b"[1, 2]",
        b"null",
        b'{"timestamp":"x","type":"response_item","payl',
        b'{"a": 1}',
        b"\xff\xfe{}",
    ]
    raw = good + b"\n".join(bad) + b"\n" + data([*user("after\u2028same line"), *says("nul \x00 in text")])
    reading = read_whole(ADAPTER, NAME, [(raw, False)])
    assert len(reading.placed) == 1 + 2 + len(bad) + 2 + 1
    assert [p.entry.kind for p in reading.placed].count(Kind.MALFORMED) == 6
    assert all(p.entry.problem for p in reading.placed if p.entry.kind is Kind.MALFORMED)
    assert [p.entry.text for p in reading.placed if p.entry.opens_turn] == ["before", "after\u2028same line"]
    assert sum(p.length for p in reading.placed) == len(raw)


def test_a_line_that_is_no_unicode_is_shown_and_not_sent() -> None:
    raw = data(meta()) + b'{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"\\ud800 half"}]}}\n'  # fmt: skip
    entry = read_whole(ADAPTER, NAME, [(raw, False)]).placed[1].entry
    assert entry.text == "\ufffd half"
    assert not entry.sent
    assert entry.problem


def test_unknown_types_are_kept() -> None:
    reading = read(meta(), [line("new_thing", {"x": 1})], item("new_item", x=1), event("new_event", x=1))
    assert [p.entry.kind for p in reading.placed[1:]] == [Kind.OTHER, Kind.OTHER, Kind.EVENT]
    assert not any(p.entry.sent for p in reading.placed)


def test_a_bare_transcript() -> None:
    records: list[Record] = [
        {"timestamp": "2025-09-10T12:00:00Z", "role": "user", "content": "which branch?", "model": "o4-mini"},
        {"timestamp": "2025-09-10T12:00:01Z", "type": "tool_call", "function": {"name": "git"}, "arguments": "status"},
        {"timestamp": "2025-09-10T12:00:01Z", "type": "tool_result", "name": "git", "result": "main"},
        {"timestamp": "2025-09-10T12:00:02Z", "role": "assistant", "content": "main"},
    ]
    reading = read(records)
    assert [p.entry.kind for p in reading.placed] == [Kind.PROMPT, Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.MESSAGE]
    assert reading.facts.models == ["o4-mini"]
    assert reading.placed[1].entry.tool == "git"
