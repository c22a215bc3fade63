"""Messages in every dialect: what their blocks become, how documents are taken apart, whose format a file is in."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.adapters import adapters
from sessions.adapters.base import Documents
from sessions.adapters.generic.blocks import parts_of
from sessions.adapters.generic.forms import shape_of
from sessions.adapters.generic.partial import first_value
from sessions.adapters.generic.usage import usage_of
from sessions.adapters.generic.values import moment
from sessions.assembly import Reading, lines, read_whole
from sessions.contexts import unpaired
from sessions.entries import GoalStatus, Kind, PartKind, Role, Usage

FILE = PurePath("chat.json")


def read(agent: str, value: Any, path: PurePath = FILE) -> Reading:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    adapter = adapters()[agent]
    claim = adapter.claim(path, data[: 1 << 16])
    assert claim is not None
    assert claim.role == "session"
    return read_whole(adapter, path, [(data, False)])


def kinds(reading: Reading) -> list[str]:
    return [placed.entry.kind.value for placed in reading.placed]


OPENAI = [
    {"role": "developer", "content": "Be brief."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is in it?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
        ],
    },
    {
        "role": "assistant",
        "content": None,
        "reasoning_content": "Look.",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"x": 1'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "A cat"},
    {"role": "assistant", "content": "A cat.", "refusal": None},
]


def test_openai_chat() -> None:
    reading = read("openai", {"model": "gpt-x", "messages": OPENAI})
    assert kinds(reading) == ["meta", "context", "prompt", "tool_call", "tool_result", "message"]
    image = reading.placed[2].entry.parts[1]
    assert (image.kind, image.media_type, image.media_bytes) == (PartKind.MEDIA, "image/png", 8)
    call = reading.placed[3].entry.parts[1]
    assert (call.text, call.tool, call.call_id) == ('{"x": 1', "look", "c1")  # kept as it was, though no valid JSON
    result = reading.placed[4].entry
    assert (result.role, result.parts[0].tool) == (Role.TOOL, "look")
    assert [step.model for step in reading.steps] == ["gpt-x", "gpt-x"]
    assert reading.placed[-1].turn == 1
    assert unpaired(reading.context()) == ([], [])


def test_a_response_beside_its_request_says_what_the_answer_cost() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    said = {
        "messages": OPENAI[:2],
        "model": "gpt-x",
        "response": {"choices": [{"index": 0, "message": OPENAI[4]}], "usage": usage},
    }
    reading = read("openai", said)
    assert [step.usage for step in reading.steps] == [Usage(fresh=40, cache_read=60, output=20, reasoning=5)]
    assert reading.placed[-1].step == 1


def test_openai_items_of_one_answer_are_one_request() -> None:
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "Go"}]},
        {
            "type": "reasoning",
            "id": "r1",
            "summary": [{"type": "summary_text", "text": "Think"}],
            "encrypted_content": "x",
        },
        {"type": "function_call", "call_id": "c1", "name": "run", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "done"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
    ]
    reading = read("openai", {"model": "gpt-x", "input": items})
    assert kinds(reading) == ["meta", "prompt", "reasoning", "tool_call", "tool_result", "message"]
    assert [placed.step for placed in reading.placed] == [None, None, 1, 1, None, 2]
    assert reading.placed[2].entry.parts[0].signed


def test_anthropic() -> None:
    said = {
        "model": "claude-x",
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": "Hello"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm", "signature": "s"},
                    {"type": "redacted_thinking", "data": "x"},
                    {"type": "tool_use", "id": "t1", "name": "ls", "input": {"path": "."}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t1",
                        "is_error": True,
                        "content": [
                            {"type": "text", "text": "no"},
                            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                        ],
                    },
                    {"type": "text", "text": "Look again"},
                ],
            },
        ],
    }
    reading = read("anthropic", said)
    assert kinds(reading) == ["meta", "context", "prompt", "tool_call", "tool_result"]
    assert reading.placed[1].entry.text == "Be brief."
    thought, redacted, call = reading.placed[3].entry.parts
    assert thought.signed
    assert redacted.signed
    assert call.text == '{"path":"."}'
    result, image, more = reading.placed[4].entry.parts
    assert (result.is_error, result.text, result.tool) == (True, "no", "ls")
    assert (image.media_bytes, image.call_id) == (3, "t1")
    assert more.role is Role.USER
    assert reading.placed[4].turn == 1


@pytest.mark.parametrize(
    ("raw", "usage"),
    [
        (
            {"input_tokens": 5, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 30, "output_tokens": 9},
            Usage(5, 70, 30, 9),
        ),
        ({"prompt_tokens": 50, "completion_tokens": 9}, Usage(fresh=50, output=9)),
        (
            {
                "input_tokens": 50,
                "input_tokens_details": {"cached_tokens": 10},
                "output_tokens": 9,
                "output_tokens_details": {"reasoning_tokens": 2},
            },
            Usage(40, 10, None, 9, 2),
        ),
        (
            {"inputTokens": 50, "cachedInputTokens": 10, "outputTokens": 9, "reasoningTokens": 1},
            Usage(40, 10, None, 9, 1),
        ),
        ({"promptTokens": 50, "completionTokens": 9}, Usage(fresh=50, output=9)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
        ({"prompt_tokens": float("1e400")}, None),
        ("no", None),
    ],
)
def test_usage_in_disjoint_parts(raw: Any, usage: Usage | None) -> None:
    assert usage_of(raw) == usage


def test_ui_messages_of_version_4() -> None:
    said = [
        {
            "id": "u",
            "role": "user",
            "content": "Hi",
            "createdAt": "2025-01-02T03:04:05Z",
            "experimental_attachments": [{"name": "a.png", "contentType": "image/png", "url": "https://x/a.png"}],
        },
        {
            "id": "a",
            "role": "assistant",
            "content": "Done",
            "toolInvocations": [
                {"state": "result", "toolCallId": "c1", "toolName": "ls", "args": {}, "result": ["a"]},
                {"state": "call", "toolCallId": "c2", "toolName": "ls", "args": {}},
            ],
        },
    ]
    reading = read("ai-sdk", said)
    assert kinds(reading) == ["meta", "prompt", "tool_call", "tool_result"]
    assert [part.kind.value for part in reading.placed[1].entry.parts] == ["text", "media"]
    assert reading.placed[1].entry.at.year == 2025
    assert unpaired(reading.context()) == (["c2"], [])


def test_ui_messages_are_split_where_requests_begin() -> None:
    call = {"type": "tool-ls", "toolCallId": "c1", "state": "output-available", "input": {}, "output": {"a": 1}}
    denied = {
        "type": "dynamic-tool",
        "toolName": "rm",
        "toolCallId": "c2",
        "state": "output-denied",
        "input": {},
        "approval": {"reason": "never"},
    }
    parts = [
        {"type": "step-start"},
        call,
        denied,
        {"type": "step-start"},
        {"type": "text", "text": "Done"},
        {"type": "data-x", "data": 1},
    ]
    reading = read(
        "ai-sdk",
        {
            "id": "chat-1",
            "messages": [
                {
                    "id": "a",
                    "role": "assistant",
                    "parts": parts,
                    "metadata": {"usage": {"inputTokens": 9, "outputTokens": 2}},
                }
            ],
        },
    )
    assert kinds(reading) == ["meta", "tool_call", "tool_result", "message"]
    assert [part.is_error for part in reading.placed[2].entry.parts] == [False, True]
    assert [step.usage for step in reading.steps] == [None, Usage(fresh=9, output=2)]
    assert reading.facts.native_id == "chat-1"


@pytest.mark.parametrize(
    "held",
    [
        "iVBORw0KGgo=",
        {"type": "Buffer", "data": [1] * 8},
        {str(n): n for n in range(8)},
        "data:image/png;base64,iVBORw0KGgo=",
    ],
)
def test_media_in_every_mangled_form(held: Any) -> None:
    (part,) = parts_of([{"type": "image", "image": held, "mimeType": "image/png"}])
    assert (part.kind, part.media_bytes, part.media_type) == (PartKind.MEDIA, 8, "image/png")
    assert "iVBOR" not in part.text


def test_addresses_of_media_are_kept_and_not_counted() -> None:
    (part,) = parts_of([{"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}])
    assert (part.media_bytes, part.meta) == (None, {"url": "https://example.org/cat.png"})


def test_a_log_with_one_message_a_line_is_read_line_by_line() -> None:
    data = b"".join(json.dumps(message).encode() + b"\n" for message in OPENAI) + b'{"role": "user", "con'
    reading = read("openai", data, PurePath("chat.jsonl"))
    assert kinds(reading) == ["context", "prompt", "tool_call", "tool_result", "message", "malformed"]
    assert sum(placed.length for placed in reading.placed) == len(data)


def test_many_conversations_in_one_file_are_refused_with_the_reason() -> None:
    data = b"".join(json.dumps({"messages": OPENAI}).encode() + b"\n" for _ in range(3))
    claim = adapters()["openai"].claim(PurePath("train.jsonl"), data)
    assert claim.role == "none"
    assert "many conversations" in claim.reason


def test_plans_in_chats_are_goals() -> None:
    plan = {"plan": [{"step": "Read", "status": "completed"}, {"step": "Write", "status": "in_progress"}]}
    call = {"id": "c", "type": "function", "function": {"name": "update_plan", "arguments": json.dumps(plan)}}
    reading = read("openai", [{"role": "user", "content": "Go"}, {"role": "assistant", "tool_calls": [call]}])
    assert [(goal.text, goal.status) for goal in reading.goals] == [
        ("Read", GoalStatus.COMPLETED),
        ("Write", GoalStatus.IN_PROGRESS),
    ]


def test_a_document_that_breaks_off_gives_what_is_whole() -> None:
    data = json.dumps(OPENAI).encode()
    reading = read("openai", data[: len(data) - 20])
    assert kinds(reading) == ["meta", "context", "prompt", "tool_call", "tool_result", "malformed"]


def test_bytes_of_messages_are_their_own() -> None:
    data = json.dumps({"model": "é", "messages": OPENAI}, ensure_ascii=False, indent=1).encode()
    reading = read("openai", data)
    for placed, message in zip(reading.placed[1:], OPENAI, strict=True):
        assert json.loads(data[placed.offset : placed.offset + placed.length]) == message


def test_the_first_whole_of_what_is_cut_off() -> None:
    text = b'{"a": [1, {"b": "x\\"}"}, {"c": [2, "cut'
    assert first_value(text) == ({"a": [1, {"b": 'x"}'}, {"c": [2]}]}, None)
    assert first_value(b'{"a": 1} {"b": 2}') == ({"a": 1}, 8)
    assert first_value(b'{"a"]') == (None, None)


def test_times_are_told_apart_by_their_size() -> None:
    seconds = 1_776_000_000
    assert {moment(seconds * scale) for scale in (1, 10**3, 10**6, 10**9)} == {moment("2026-04-12T13:20:00Z")}
    assert moment(0) is None
    assert moment(True) is None


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "content", "id", "x", "role", "output"]), inner, max_size=4)
    ),
    max_leaves=8,
)
WORDS = st.sampled_from(
    [
        "text", "image", "image_url", "file", "thinking", "reasoning", "tool_use", "tool_result", "tool-call", "tool-result", "tool-x", "dynamic-tool",
        "step-start", "tool-invocation", "function_call", "function_call_output", "message", "user", "assistant", "tool", "system", "restore", "agent",
    ]
)  # fmt: skip
KEYS = st.sampled_from(
    [
        "type", "role", "content", "parts", "toolInvocations", "toolInvocation", "tool_calls", "tool_call_id", "input", "args", "output", "result", "state",
        "source", "image", "data", "usage", "metadata", "id", "text", "summary", "function", "arguments", "source", "message", "observation", "results", "metrics",
        "step_id", "lane", "$document", "$said", "$list", "$record",
    ]
)  # fmt: skip
MESSAGE = st.dictionaries(
    KEYS,
    st.one_of(WORDS, JSON, st.lists(st.dictionaries(KEYS, st.one_of(WORDS, JSON), max_size=5), max_size=3)),
    max_size=7,
)
NAMES = ["openai", "anthropic", "ai-sdk", "universal", "otel", "atif", "j-cli", "trace"]


@given(
    st.sampled_from(NAMES),
    st.lists(MESSAGE, max_size=5),
    st.sampled_from(["{}", "[{}]", '{{"messages": {}}}', '{{"steps": {}}}', '{{"resourceSpans": {}}}']),
)
def test_nothing_raises_whatever_a_document_holds(agent: str, messages: list, around: str) -> None:
    adapter = adapters()[agent]
    data = around.format(json.dumps(messages)).encode()
    adapter.claim(FILE, data)
    assert isinstance(adapter, Documents)
    reader = adapter.reader(FILE)
    for line in adapter.documents(FILE, data):
        assert 0 <= line.offset <= len(data)
        assert line.offset + line.length <= len(data) + 1
        reader.read(line)
        reader = adapter.reader(FILE, json.loads(json.dumps(reader.state())))


@given(
    st.sampled_from(NAMES),
    st.lists(st.one_of(MESSAGE.map(lambda m: json.dumps(m).encode()), st.binary(max_size=20)), max_size=5),
)
def test_nothing_raises_whatever_a_line_holds(agent: str, raw: list[bytes]) -> None:
    adapter = adapters()[agent]
    data = b"\n".join(raw)
    adapter.claim(FILE, data)
    reader = adapter.reader(FILE)
    for line in lines(data):
        entry = reader.read(line)
        assert entry.kind is not Kind.MALFORMED or entry.problem
    for cut in (data, data[: len(data) // 2]):
        list(adapter.documents(FILE, cut))


@given(st.binary(max_size=60), st.sampled_from(["a.json", "messages.jsonl", "chat_history.json", "goal.json"]))
def test_claims_take_anything(data: bytes, name: str) -> None:
    for agent in NAMES:
        adapters()[agent].claim(PurePath("x") / name, data)


@given(st.lists(MESSAGE, min_size=1, max_size=4), st.booleans())
def test_one_claim_at_most(messages: list, lined: bool) -> None:
    data = b"\n".join(json.dumps(m).encode() for m in messages) if lined else json.dumps(messages).encode()
    claims = [agent for agent in NAMES if adapters()[agent].claim(FILE, data) is not None]
    assert len(claims) <= 1
    if claims and claims[0] in NAMES[:4]:
        assert shape_of(FILE, data).form == claims[0]


def test_recorded_messages(shared_data) -> None:
    table = {
        "aisdk4-coremessages.json": ("ai-sdk", 6, 1, 2, 0),
        "aisdk6-modelmessages.json": ("ai-sdk", 6, 1, 2, 1),
        "aisdk6-uimessages.json": ("ai-sdk", 5, 1, 2, 1),
        "anthropic-request-by-opencode11833.json": ("anthropic", 11, 4, 4, 0),
        "openai-chat-request-by-opencode11833.json": ("openai", 7, 1, 2, 0),
    }
    for name, (agent, entries, turns, steps, errors) in table.items():
        reading = read(agent, (shared_data / "other" / name).read_bytes(), shared_data / "other" / name)
        found = (
            len(reading.placed),
            reading.placed[-1].turn,
            len(reading.steps),
            sum(p.entry.is_error for p in reading.placed),
        )
        assert found == (entries, turns, steps, errors), name
        assert unpaired(reading.context()) == ([], []), name
    usage = [
        step.usage for step in read("ai-sdk", (shared_data / "other" / "aisdk6-uimessages.json").read_bytes()).steps
    ]
    assert usage == [None, Usage(fresh=40, cache_read=0, cache_write=0, output=13, reasoning=0)]
