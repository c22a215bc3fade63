"""Telemetry: the conversation out of requests that repeat it, each token once, and what was made anew in between."""

from __future__ import annotations

import json
from pathlib import Path, PurePath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.adapters.generic.genai import request_of
from sessions.adapters.generic.otel import ADAPTER
from sessions.adapters.generic.otlp import Record, attributes_of, telemetry
from sessions.adapters.generic.owncounts import ANSWERED, with_own_counts
from sessions.assembly import Reading, read_whole
from sessions.contexts import unpaired
from sessions.entries import Kind, PartKind, Usage

FILE = PurePath("traces.json")


def value(held: Any) -> dict[str, Any]:
    if isinstance(held, bool):
        return {"boolValue": held}
    if isinstance(held, int):
        return {"intValue": str(held)}
    if isinstance(held, list):
        return {"arrayValue": {"values": [value(item) for item in held]}}
    if isinstance(held, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": value(item)} for key, item in held.items()]}}
    return {"stringValue": held}


def span(name: str, at: int, n: str, parent: str = "", **said: Any) -> dict[str, Any]:
    attributes = [{"key": key.replace("__", "."), "value": value(held)} for key, held in said.items()]
    begin = 1_776_000_000_000_000_000 + at * 1_000_000_000
    return {
        "traceId": "t",
        "spanId": n,
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": str(begin),
        "endTimeUnixNano": str(begin + 5),
        "attributes": attributes,
    }


def export(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}]}]}


def text(role: str, words: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": words}]}


def chat(at: int, n: str, given: Any, answer: Any, **more: Any) -> dict[str, Any]:
    said = {
        "gen_ai__operation__name": "chat",
        "gen_ai__request__model": "m",
        "gen_ai__conversation__id": "conv",
        "gen_ai__input__messages": given,
        "gen_ai__output__messages": answer,
    }
    return span("chat m", at, n, **{**said, **more})


ASK, YES, MORE = text("user", "Go"), text("assistant", "Yes"), text("user", "More")
CALL = {
    "role": "assistant",
    "parts": [
        {"type": "reasoning", "content": "Hm"},
        {"type": "tool_call", "id": "c1", "name": "ls", "arguments": {"p": "."}},
    ],
}
TOLD = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "a b"}]}


def read(*exports: Any, join: str = "\n") -> Reading:
    data = join.join(json.dumps(one) for one in exports).encode()
    assert ADAPTER.claim(FILE, data).whole
    return read_whole(ADAPTER, FILE, [(data, False)])


def texts(reading: Reading) -> list[str]:
    return [item.text for item in reading.context()]


def test_each_message_comes_once_and_each_request_counts() -> None:
    usage = {
        "gen_ai__usage__input_tokens": 100,
        "gen_ai__usage__output_tokens": 7,
        "gen_ai__usage__cache_read__input_tokens": 60,
        "gen_ai__usage__reasoning__output_tokens": 3,
    }
    reading = read(export(chat(2, "b", [ASK, CALL, TOLD], [YES], **usage), chat(1, "a", [ASK], [CALL], **usage)))
    assert texts(reading) == ["Go", 'Hm\n{"p":"."}', "a b", "Yes"]
    assert [step.usage for step in reading.steps] == [Usage(fresh=40, cache_read=60, output=7, reasoning=3)] * 2
    assert unpaired(reading.context()) == ([], [])
    assert reading.facts.native_id == "conv"
    assert reading.placed[-1].turn == 1


@pytest.mark.parametrize(
    "encode", [lambda m: m, json.dumps, lambda m: [json.dumps(one) for one in m]], ids=["values", "text", "texts"]
)
def test_messages_as_values_as_text_and_as_lists_of_texts(encode: Any) -> None:
    assert texts(read(export(chat(1, "a", encode([ASK]), encode([YES]))))) == ["Go", "Yes"]


@pytest.mark.parametrize("join", ["\n", "", ",\n"])
def test_exports_in_a_row_are_one_session(join: str) -> None:
    one, two = export(chat(1, "a", [ASK], [YES])), export(chat(2, "b", [ASK, YES, MORE], [text("assistant", "Done")]))
    if join.startswith(","):
        reading = read([one, two])
    else:
        reading = read(one, two, join=join)
    assert texts(reading) == ["Go", "Yes", "More", "Done"]
    assert reading.placed[-1].turn == 2


def test_a_shorter_list_is_a_compaction_whose_ghosts_stay_readable() -> None:
    summary = text("user", "Summary: all of it")
    reading = read(
        export(
            chat(1, "a", [ASK], [YES]),
            chat(2, "b", [ASK, YES, MORE], [YES]),
            chat(3, "c", [summary, text("user", "Next")], [YES]),
        )
    )
    assert [version.kind for version in reading.versions] == ["compaction"]
    assert texts(reading) == ["Summary: all of it", "Next", "Yes"]
    assert [placed.entry.text for placed in reading.placed if placed.entry.kind is Kind.PROMPT] == [
        "Go",
        "More",
        "Next",
    ]


def test_going_back_is_a_rollback() -> None:
    other = text("user", "Otherwise")
    reading = read(
        export(
            chat(1, "a", [ASK], [YES]), chat(2, "b", [ASK, YES, MORE], [YES]), chat(3, "c", [ASK, YES, other], [YES])
        )
    )
    assert [version.kind for version in reading.versions] == ["rollback"]
    assert texts(reading) == ["Go", "Yes", "Otherwise", "Yes"]


def test_a_wrapper_does_not_count_again() -> None:
    usage = {"gen_ai__usage__input_tokens": 10, "gen_ai__usage__output_tokens": 2, "ai__usage__inputTokens": 10}
    outer = span("ai.streamText", 1, "o", ai__operationId="ai.streamText", **usage)
    inner = span(
        "ai.streamText.doStream",
        1,
        "i",
        "o",
        ai__operationId="ai.streamText.doStream",
        ai__prompt__messages=json.dumps([{"role": "user", "content": "Go"}]),
        ai__response__text="Yes",
        **usage,
    )
    reading = read(export(outer, inner))
    assert [step.usage.output for step in reading.steps] == [2]
    assert texts(reading) == ["Go", "Yes"]


def test_another_agent_of_the_conversation_stands_beside() -> None:
    sub = {"gen_ai__agent__name": "explore"}
    reading = read(
        export(
            chat(1, "a", [ASK], [CALL]),
            chat(2, "s", [text("user", "Look")], [text("assistant", "Seen")], **sub),
            chat(3, "b", [ASK, CALL, TOLD], [YES]),
        )
    )
    assert texts(reading) == ["Go", 'Hm\n{"p":"."}', "a b", "Yes"]
    assert {
        placed.entry.text for placed in reading.placed if placed.entry.lane and placed.entry.kind is not Kind.EVENT
    } == {"Look", "Seen"}
    assert len(reading.steps) == 3


def test_gemini_contents_without_ids_are_paired_in_order() -> None:
    calls = {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {"n": n}}} for n in (1, 2)]}
    told = {
        "role": "user",
        "parts": [{"functionResponse": {"name": "ls", "response": {"output": f"{n}"}}} for n in (1, 2)],
    }
    ask = {"role": "user", "parts": [{"text": "Go"}]}
    thought = {"role": "model", "parts": [{"text": "Hm", "thought": True}]}
    reading = read(export(chat(1, "a", [ask], [thought, calls]), chat(2, "b", [ask, calls, told], [YES])))
    assert unpaired(reading.context()) == ([], [])
    results = [part for item in reading.context() for part in item.parts if part.kind is PartKind.TOOL_RESULT]
    assert [(part.call_id, part.text) for part in results] == [("a-1", "1"), ("a-2", "2")]
    assert reading.versions == []


def test_numbered_attributes_and_events() -> None:
    numbered = {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "Go",
        "gen_ai.completion.0.content": "Yes",
        "gen_ai.request.model": "m",
    }
    assert texts(
        read(export(span("openai.chat", 1, "a", **{key.replace(".", "__"): held for key, held in numbered.items()})))
    ) == ["Go", "Yes"]
    traced = {
        "llm.model_name": "m",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "Go",
        "llm.output_messages.0.message.content": "Yes",
    }
    assert texts(
        read(export(span("ChatCompletion", 1, "a", **{key.replace(".", "__"): held for key, held in traced.items()})))
    ) == ["Go", "Yes"]
    old = span("chat m", 1, "a", gen_ai__operation__name="chat", gen_ai__request__model="m")
    old["events"] = [
        {"name": "gen_ai.user.message", "attributes": [{"key": "content", "value": value("Go")}]},
        {
            "name": "gen_ai.choice",
            "attributes": [{"key": "message", "value": value({"role": "assistant", "content": "Yes"})}],
        },
    ]
    assert texts(read(export(old))) == ["Go", "Yes"]


@pytest.mark.parametrize("with_span", [True, False])
def test_messages_as_log_records(with_span: bool) -> None:
    def log(n: int, name: str, body: Any) -> dict[str, Any]:
        time = str(1_776_000_000_000_000_000 + n)
        named = [{"key": "event.name", "value": value(name)}]
        return {"timeUnixNano": time, "traceId": "t", "spanId": "a", "attributes": named, "body": value(body)}

    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    logs = [
        log(1, "gen_ai.system.message", {"content": "Brief"}),
        log(2, "gen_ai.user.message", {"content": "Go"}),
        log(3, "gen_ai.assistant.message", {"tool_calls": [call]}),
        log(4, "gen_ai.tool.message", {"id": "c1", "content": "a b"}),
        log(
            5,
            "gen_ai.choice",
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Yes"}},
        ),
    ]
    told = {"resourceLogs": [{"scopeLogs": [{"logRecords": logs}]}]}
    usage = {"gen_ai__usage__input_tokens": 9, "gen_ai__usage__output_tokens": 1}
    spans = export(span("chat m", 0, "a", gen_ai__operation__name="chat", gen_ai__request__model="m", **usage))
    reading = read(spans, told) if with_span else read(told)
    assert texts(reading) == ["Brief", "Go", "{}", "a b", "Yes"]
    assert unpaired(reading.context()) == ([], [])
    assert [step.usage for step in reading.steps] == [Usage(fresh=9, output=1) if with_span else None]
    assert len(reading.placed) == 1 + 5 + (6 if with_span else 5)


def test_without_content_there_are_still_requests_and_tokens() -> None:
    said = {
        "gen_ai__operation__name": "chat",
        "gen_ai__request__model": "m",
        "gen_ai__usage__input_tokens": 9,
        "gen_ai__usage__output_tokens": 1,
    }
    reading = read(
        export(
            span("chat m", 1, "a", **said),
            span("execute_tool ls", 2, "b", gen_ai__operation__name="execute_tool", gen_ai__tool__name="ls"),
        )
    )
    assert [step.usage for step in reading.steps] == [Usage(fresh=9, output=1)]
    assert texts(reading) == []


def test_numbers_as_text_and_as_numbers() -> None:
    raw = [
        {"key": "a", "value": {"intValue": "7"}},
        {"key": "b", "value": {"intValue": 7}},
        {"key": "c", "value": {"arrayValue": {}}},
        {"key": "d", "value": {}},
    ]
    assert attributes_of(raw) == {"a": 7, "b": 7, "c": [], "d": None}


RECORDED = {
    "otlp-gemini061-traces.json": (
        3,
        1,
        [(3198, 41), (3322, 41), (3486, 41)],
        ("context", "prompt", "tool_call", "tool_result", "tool_call", "tool_result", "message"),
    ),
    "otlp-gemini061-logs.json": (
        3,
        1,
        [(3198, 58), (3322, 58), (3486, 58)],
        ("context", "prompt", "tool_call", "tool_result", "tool_call", "tool_result", "message"),
    ),
    "gemini061-telemetry-outfile.log": (
        3,
        1,
        [(3198, 58), (3322, 58), (3486, 58)],
        ("context", "prompt", "tool_call", "tool_result", "tool_call", "tool_result", "message"),
    ),
    "otlp-opencode11833-ai-sdk-spans.json": (1, 1, [(7727, 57)], ("context", "prompt", "tool_call", "tool_result")),
}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_telemetry(shared_data: Path, name: str) -> None:
    steps, turns, tokens, kinds = RECORDED[name]
    path = shared_data / "other" / name
    data = path.read_bytes()
    assert ADAPTER.claim(path, data[: 1 << 16]).role == "session"
    reading = read_whole(ADAPTER, path, [(data, False)])
    assert len(reading.steps) == steps
    assert [(step.usage.prompt, step.usage.output) for step in reading.steps if step.usage] == tokens
    assert max(placed.turn or 0 for placed in reading.placed) == turns
    assert tuple(item.kind.value for item in reading.context()) == kinds
    assert unpaired(reading.context()) == ([], [])
    assert reading.versions == []
    # Every span and log record is there, at its place.
    starts = {placed.offset for placed in reading.placed}
    own = [record.start for record in telemetry(data).records]
    dumped = data.count(b'"_spanContext"') + data.count(b'"hrTime"')
    assert len(own) == (dumped or _count(json.loads(data)))
    assert starts >= set(own)


def _count(export: Any) -> int:
    resources = export.get("resourceSpans") or export.get("resourceLogs")
    scopes = [scope for resource in resources for scope in resource.get("scopeSpans") or resource.get("scopeLogs")]
    return sum(len(scope.get("spans") or scope.get("logRecords")) for scope in scopes)


def test_what_only_grew_gives_the_same_records_and_then_more() -> None:
    one, two = export(chat(1, "a", [ASK], [CALL])), export(chat(2, "b", [ASK, CALL, TOLD], [YES]))
    short = json.dumps(one).encode()
    before = [line.raw for line in ADAPTER.documents(FILE, short)]
    after = [line.raw for line in ADAPTER.documents(FILE, short + b"\n" + json.dumps(two).encode())]
    assert after[: len(before)] == before


def test_what_gemini_counts_beside_the_conventions_is_of_the_answer_it_fits() -> None:
    def request(at: int, prompt: int, output: int) -> dict[str, Any]:
        said = {"gen_ai__usage__input_tokens": prompt, "gen_ai__usage__output_tokens": output}
        return span("llm_call", at, f"{at}", gen_ai__request__model="m", gen_ai__operation__name="llm_call", **said)

    def told(prompt: int, output: int, cached: int, thoughts: int) -> Record:
        counts = {"input_token_count": prompt, "output_token_count": output}
        more = {"cached_content_token_count": cached, "thoughts_token_count": thoughts}
        return Record(0, 1, span=False, name=ANSWERED, attributes={**counts, **more})

    asked = telemetry(json.dumps(export(request(1, 100, 9), request(2, 100, 9), request(3, 200, 9))).encode()).records
    requests = {n: request_of(record) for n, record in enumerate(asked)}
    found = with_own_counts(requests, [told(100, 9, 40, 5), told(200, 8, 1, 1), told(100, 9, 60, 0)])
    assert [one.usage for one in found.values()] == [
        Usage(fresh=60, cache_read=40, output=14, reasoning=5),
        Usage(fresh=40, cache_read=60, output=9, reasoning=0),
        Usage(fresh=200, output=9),
    ]


@given(st.binary(max_size=40), st.integers(0, 400))
def test_nothing_raises_on_what_is_torn_or_dirty(dirt: bytes, cut: int) -> None:
    data = json.dumps(export(chat(1, "a", [ASK], [CALL]), chat(2, "b", "x", 3))).encode()
    for spoiled in (data[:cut], data[:cut] + dirt, data + dirt, dirt):
        reader = ADAPTER.reader(FILE)
        for line in ADAPTER.documents(FILE, spoiled):
            reader.read(line)
