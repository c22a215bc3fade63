"""j-cli's transcripts: replay of events, compactions with and without a mark, sub-agents, and files that are none."""

from __future__ import annotations

import json
from pathlib import PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.adapters.jcli import ADAPTER
from sessions.assembly import Assembly, Reading, lines, read_whole
from sessions.contexts import Insert, InsertKind, Replace, project, unpaired
from sessions.entries import GoalStatus, Kind

ID = "63a4f1c2d3e40-1f2e"
PATH = PurePath(f"/home/me/.jdata/agent/data/sessions/{ID}/transcript.jsonl")
SUMMARY = "[Conversation compressed. Transcript: /t/transcript_1.jsonl]\n\n1) **Primary Request**: all of it"
UNDERSTOOD = (
    "Understood. I have the context from the summary and any active skill instructions. Continuing to follow them."
)


def said(role: str, content: str = "", **more: object) -> dict:
    return {"type": "msg", "role": role, "content": content, "timestamp_ms": 1776000000000, **more}


def bare(event: dict) -> dict:
    return {key: value for key, value in event.items() if key not in ("type", "timestamp_ms")}


ASK = said("user", "Look at main.rs")
CALL = said(
    "assistant",
    "",
    reasoning_content="First, read.",
    tool_calls=[{"id": "c1", "name": "Read", "arguments": '{"path":"main.rs"}'}],
)
RESULT = said("tool", "fn main() {}" * 100, tool_call_id="c1")
DONE = said("assistant", "It is a main.")
STORY = [ASK, CALL, RESULT, DONE]


def data(events: list) -> bytes:
    return b"".join(
        (event if isinstance(event, bytes) else json.dumps(event, ensure_ascii=False).encode()) + b"\n"
        for event in events
    )


def read(events: list) -> Reading:
    return read_whole(ADAPTER, PATH, [(data(events), False)])


def texts(reading: Reading) -> list[str]:
    return [item.text for item in reading.context()]


def test_messages_turns_and_steps() -> None:
    reading = read(STORY)
    kinds = [placed.entry.kind for placed in reading.placed]
    assert kinds == [Kind.PROMPT, Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.MESSAGE]
    assert [placed.turn for placed in reading.placed] == [1, 1, 1, 1]
    assert [placed.step for placed in reading.placed] == [None, 1, None, 2]
    assert reading.placed[2].entry.parts[0].tool == "Read"
    assert reading.placed[0].entry.at.year == 2026
    assert all(step.usage is None for step in reading.steps)  # it records none
    assert reading.facts.native_id == ID


def test_a_clear_empties_the_list_and_what_was_stays_readable() -> None:
    reading = read([*STORY, {"type": "clear"}, said("user", "Anew")])
    assert texts(reading) == ["Anew"]
    assert [version.kind for version in reading.versions] == ["cut"]
    assert len(reading.placed) == 6


def test_a_restore_keeps_what_it_repeats_and_brings_back_what_was_cleared() -> None:
    again = [bare(ASK), bare(DONE)]
    reading = read([*STORY, {"type": "clear"}, {"type": "restore", "messages": again}, said("user", "On")])
    assert texts(reading) == ["Look at main.rs", "It is a main.", "On"]
    assert not any(isinstance(edit, Insert) for edit in reading.versions[-1].edits)
    assert [version.kind for version in reading.versions] == ["cut", "replacement"]


def test_a_restore_after_a_micro_compaction_masks_the_result_it_shortened() -> None:
    short = {**bare(RESULT), "content": "[Previous: used Read]"}
    reading = read([*STORY, {"type": "restore", "messages": [bare(ASK), bare(CALL), short, bare(DONE)]}])
    (mask,) = reading.versions[-1].edits
    assert isinstance(mask, Replace)
    assert mask.seq == 2
    assert texts(reading)[2] == "[Previous: used Read]"
    assert unpaired(reading.context()) == ([], [])


def test_a_compaction_written_as_a_restore() -> None:
    new = [bare(ASK), {"role": "user", "content": SUMMARY}, {"role": "assistant", "content": UNDERSTOOD}]
    reading = read([*STORY, {"type": "restore", "messages": new}])
    assert texts(reading) == ["Look at main.rs", SUMMARY, UNDERSTOOD]
    version = reading.versions[-1]
    assert version.kind == "compaction"
    summary = next(edit for edit in version.edits if isinstance(edit, Insert))
    assert summary.kind is InsertKind.SUMMARY
    assert list(summary.stands_for) == [1, 2, 3]


def test_a_compaction_without_a_mark_is_known_by_its_summary() -> None:
    written = [*STORY, ASK, said("user", SUMMARY), said("assistant", UNDERSTOOD), said("user", "Go on")]
    reading = read(written)
    assert texts(reading) == ["Look at main.rs", SUMMARY, UNDERSTOOD, "Go on"]
    assert [version.kind for version in reading.versions] == ["compaction"]
    kinds = [placed.entry.kind for placed in reading.placed[5:7]]
    assert kinds == [Kind.SUMMARY, Kind.CONTEXT]
    assert len(reading.steps) == 2  # what stands for an answer there was none


def test_calls_without_a_result_are_not_sent() -> None:
    assert [item.text for item in read([ASK, CALL]).context()] == ["Look at main.rs"]


def test_todos_are_goals() -> None:
    def todos(arguments: dict) -> dict:
        return said("assistant", "", tool_calls=[{"id": "t", "name": "TodoWrite", "arguments": json.dumps(arguments)}])

    first = {
        "todos": [
            {"id": "1", "content": "Read", "status": "in_progress"},
            {"id": "2", "content": "Write", "status": "pending"},
        ]
    }
    then = {"todos": [{"id": "1", "content": "Read", "status": "completed"}], "merge": True}
    reading = read([ASK, todos(first), todos(then)])
    assert [(g.text, g.status) for g in reading.goals] == [
        ("Read", GoalStatus.COMPLETED),
        ("Write", GoalStatus.PENDING),
    ]
    last = {"todos": [{"id": "2", "content": "Write", "status": "cancelled"}], "merge": False}
    assert read([ASK, todos(first), todos(last)]).goals[-1].status is GoalStatus.ABANDONED


def test_what_another_agent_says_opens_no_turn() -> None:
    reading = read([ASK, said("user", "<Teammate@B>done</Teammate@B>", sender_name="Teammate@B")])
    assert reading.placed[-1].turn == 1
    assert reading.placed[-1].entry.sent


def test_bad_lines_are_said_and_the_rest_goes_on() -> None:
    reading = read([ASK, b'{"type":"msg","role":', DONE, {"type": "new", "x": 1}])
    assert [placed.entry.kind for placed in reading.placed] == [Kind.PROMPT, Kind.MALFORMED, Kind.MESSAGE, Kind.OTHER]


@pytest.mark.parametrize("kind", ["subagents", "teammates"])
def test_sub_agents_name_their_session(kind: str) -> None:
    path = PATH.parent / kind / "sub-1" / "transcript.jsonl"
    claim = ADAPTER.claim(path, data(STORY))
    assert claim.native_id == f"{ID}/sub-1"
    facts = ADAPTER.reader(path).facts
    assert (facts.native_id, facts.parent_native_id, facts.parent_kind) == (f"{ID}/sub-1", ID, "subagent")


def test_claims() -> None:
    assert ADAPTER.claim(PATH, data(STORY)).native_id == ID
    assert ADAPTER.claim(PurePath("sessions") / f"{ID}.jsonl", data(STORY)).native_id == ID
    for name in ("session.json", "todos.json", "ops.jsonl", "display.jsonl"):
        assert ADAPTER.claim(PATH.with_name(name), b"{}").owner_id == ID
    copy = PATH.parent / ".transcripts" / "transcript_1776000000.jsonl"
    assert ADAPTER.claim(copy, data([bare(ASK)])).role == "sidecar"
    assert ADAPTER.claim(PurePath("agent_config.json"), b"{}").role == "none"
    old = json.dumps({"messages": [bare(event) for event in STORY]}).encode()
    assert ADAPTER.claim(PurePath("chat_history.json"), old).whole
    assert ADAPTER.claim(PurePath("x/y.jsonl"), data([bare(ASK)])) is None
    assert ADAPTER.claim(PurePath("x/y.jsonl"), b'{"type":"clear","other":1}\n') is None
    long = data([said("user", "x" * 100_000)])[: 1 << 16]
    assert ADAPTER.claim(PATH, long).role == "session"


def test_the_first_generation_is_one_document() -> None:
    path = PurePath("chat_history.json")
    reading = read_whole(ADAPTER, path, [(json.dumps({"messages": [bare(event) for event in STORY]}).encode(), False)])
    assert [item.text for item in reading.context()] == [item.text for item in read(STORY).context()]


EVENTS = st.sampled_from(
    [
        *STORY,
        {"type": "clear"},
        said("user", SUMMARY),
        said("assistant", UNDERSTOOD),
        b"{",
        b"",
        {"type": "restore", "messages": [3, bare(CALL)]},
    ]
)
RESTORES = st.lists(st.sampled_from([bare(event) for event in STORY]), max_size=5).map(
    lambda m: {"type": "restore", "messages": m}
)


@given(st.lists(st.one_of(EVENTS, RESTORES), max_size=16))
def test_the_context_is_what_a_replay_gives(events: list) -> None:
    """The whole of the program's own reading: append, empty, replace; and pieces are the whole."""
    reading = read(events)
    assert [version.at_seq for version in reading.versions] == sorted(version.at_seq for version in reading.versions)
    assembly, reader, placed = Assembly(), ADAPTER.reader(PATH), []
    for line in lines(data(events)):
        placed.append(assembly.place(reader.read(line), line))
        reader = ADAPTER.reader(PATH, json.loads(json.dumps(reader.state())))
    assert placed == reading.placed
    if any(event == said("user", SUMMARY) for event in events):
        return
    replayed: list[dict] = []
    for event in events:
        if isinstance(event, bytes):
            continue
        if event["type"] == "msg":
            replayed.append(event)
        elif event["type"] == "clear":
            replayed = []
        else:
            replayed = [message for message in event["messages"] if isinstance(message, dict)]
    edits = reading.versions[-1].edits if reading.versions else ()
    projected = [item for item in project(reading.items(), edits) if item.parts and item.parts[0].kind != "other"]
    assert [item.parts[-1].text for item in projected] == [
        message["tool_calls"][-1]["arguments"] if message.get("tool_calls") else message["content"]
        for message in replayed
    ]
