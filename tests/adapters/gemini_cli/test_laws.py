"""Laws that hold for any log: a second, plain telling of the replay agrees; reading in two goes is reading in one; nothing raises."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import PurePath
from typing import Any

from hypothesis import given, note, settings
from hypothesis import strategies as st

from sessions.adapters.gemini_cli import ADAPTER
from sessions.assembly import Assembly, Placed, lines, read_whole, records
from tests.adapters.gemini_cli import build, replay
from tests.adapters.resume import Sent, differences, flatten
from tests.adapters.test_gemini_cli_resume import RULES

PATH = PurePath("/home/quill/.gemini/tmp/quill/chats") / build.NAME
_IDS = ["a", "b", "c", "d", "e", "f"]
_WORDS = ["go on", "look at the parser", " padded ", "/help", "?what", "", "<hook_context>x</hook_context>", "yes"]


def _answers(name: str) -> st.SearchStrategy[build.Record]:
    """A model's message in one of its two shapes, with up to two calls."""

    def made(text: str, thoughts: bool, count: int, results: list[bool], laid_out: bool) -> build.Record:
        ids = [f"write__{name}{n}" for n in range(count)]
        if laid_out:
            parts: list[Any] = [{"text": "a thought", "thought": True}] if thoughts else []
            parts += [{"text": text}] if text else []
            parts += [build.asked(call, "write", {"n": n}) for n, call in enumerate(ids)]
            return build.model(name, parts or [{"text": "laid out"}])
        calls = [
            build.call(call, "write", {"n": n}, f"done {call}" if results[n] else None) for n, call in enumerate(ids)
        ]
        more: dict[str, Any] = {"toolCalls": calls} if calls else {}
        if thoughts:
            more["thoughts"] = [build.thought("On", "and on")]
        return build.model(name, text, tokens=build.tokens(10, 3, 2, 1), **more)

    return st.builds(
        made,
        st.sampled_from(["", "answer", "another answer"]),
        st.booleans(),
        st.integers(0, 2),
        st.lists(st.booleans(), min_size=2, max_size=2),
        st.booleans(),
    )


def _responses(name: str) -> st.SearchStrategy[build.Record]:
    return st.sampled_from(_IDS[:3]).map(
        lambda other: build.user(name, [build.response(f"write__{other}0", "write", f"done write__{other}0")])
    )


# An id is a user's or the model's for good.
MESSAGES = st.one_of(
    st.sampled_from(_IDS[:3]).flatmap(_answers),
    st.sampled_from(_IDS[3:]).flatmap(
        lambda name: st.one_of(
            st.sampled_from(_WORDS).map(lambda text: build.user(name, text)),
            st.sampled_from(_WORDS).map(lambda text: build.user(name, text)),
            _responses(name),
            st.just(build.note(name, "a note")),
        )
    ),
)
LISTS = st.lists(MESSAGES, max_size=6, unique_by=lambda m: m["id"])
RECORDS = st.one_of(
    MESSAGES,
    MESSAGES,
    MESSAGES,
    LISTS.map(lambda found: build.relisted(*found)),
    LISTS.map(lambda found: build.compacted("s", "what was", *found)),
    st.sampled_from([*_IDS, "nobody"]).map(build.rewind),
    st.just({"$set": {"lastUpdated": "now"}}),
)
LOGS = st.lists(RECORDS, max_size=12)


@st.composite
def plausible(draw: st.DrawFn) -> list[build.Record]:
    """A log as the agent may write it: under one id always the same message, the model's first without its calls."""
    said = {name: draw(_answers(name)) for name in _IDS[:3]}
    said |= {name: build.user(name, draw(st.sampled_from(_WORDS))) for name in _IDS[3:]}
    echoes = [
        build.user(f"{name}-back", [part for call in message.get("toolCalls", []) for part in call.get("result", [])])
        for name, message in said.items()
    ]
    whole = [*said.values(), *(echo for echo in echoes if echo["content"])]
    first = [{key: value for key, value in m.items() if key != "toolCalls"} for m in whole]
    lines = st.sampled_from([*first, *whole, *whole])
    lists = st.lists(st.sampled_from(whole), max_size=6, unique_by=lambda m: m["id"])
    records_ = st.one_of(
        lines,
        lines,
        lines,
        lists.map(lambda found: build.relisted(*found)),
        lists.map(lambda found: build.compacted("s", "what was", *found)),
        st.sampled_from([*said, "nobody"]).map(build.rewind),
    )
    log: list[build.Record] = []
    full: set[str] = set()
    for record in draw(st.lists(records_, max_size=12)):
        if "id" in record:
            if record["id"] in full and record in first and record not in whole:
                continue  # calls once written are not taken back
            if record in whole:
                full.add(record["id"])
        for message in record.get("$set", {}).get("messages", []):
            full.add(message["id"])
        log.append(record)
    return log


def context_of(data: bytes) -> list[Sent]:
    return flatten(read_whole(ADAPTER, PATH, [(data, False)]).context())


def without_results(blocks: list[Sent]) -> list[Sent]:
    return [block for block in blocks if block.kind != "tool_result" and block.text != replay.CLOSED]


@settings(max_examples=150, deadline=None)
@given(found=plausible())
def test_the_context_is_what_a_plain_replay_sends(found: list[build.Record]) -> None:
    """Results apart: one that the log has stays with its call, also where a list leaves it out (its message then follows)."""
    whole = [build.head(), *found]
    note(json.dumps(found))
    expected = replay.blocks(replay.live(whole))
    ours = context_of(build.data(*whole))
    assert differences(without_results(ours), without_results(expected), RULES).left == []
    answered = {(block.call_id, block.text) for block in ours if block.kind == "tool_result"}
    assert {(block.call_id, block.text) for block in expected if block.kind == "tool_result"} <= answered


def read_in(data: bytes, cuts: list[int]) -> tuple[list[Placed], Assembly, Any]:
    """Read to each cut with a reader made from the state of the one before."""
    assembly = Assembly()
    reader = ADAPTER.reader(PATH)
    placed: list[Placed] = []
    for n, line in enumerate(lines(data)):
        if n in cuts:
            assembly = Assembly.from_state(json.loads(json.dumps(assembly.state())))
            reader = ADAPTER.reader(PATH, json.loads(json.dumps(reader.state())))
        placed.append(assembly.place(reader.read(line), line))
    return placed, assembly, reader.facts


@settings(max_examples=60, deadline=None)
@given(found=LOGS, cuts=st.lists(st.integers(1, 12), max_size=4))
def test_reading_in_several_goes_is_reading_in_one(found: list[build.Record], cuts: list[int]) -> None:
    data = build.data(build.head(), *found)
    once_, assembly, facts = read_in(data, [])
    again, other, facts_again = read_in(data, cuts)
    assert again == once_
    assert other.state() == assembly.state()
    assert facts_again == facts


@settings(max_examples=60, deadline=None)
@given(found=LOGS)
def test_every_line_is_one_entry_and_versions_are_written_in_order(found: list[build.Record]) -> None:
    data = build.data(build.head(), *found)
    reading = read_whole(ADAPTER, PATH, [(data, False)])
    assert len(reading.placed) == len(found) + 1
    assert sum(placed.length for placed in reading.placed) == len(data)
    seqs = [version.at_seq for version in reading.versions]
    assert seqs == sorted(set(seqs))
    for item in reading.context():
        assert item.parts


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["id", "type", "content", "toolCalls", "thoughts", "tokens", "result", "name", "args", "text", "functionCall",
         "functionResponse", "inlineData", "messages", "$set", "$rewindTo", "sessionId", "projectHash", "response", "role", "parts"]
    ), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
_ODD = st.dictionaries(
    st.sampled_from(["id", "type", "content", "toolCalls", "thoughts", "tokens", "$set", "$rewindTo", "sessionId", "projectHash", "messages"]),
    _JSON | st.sampled_from(["user", "gemini", "info", "x"]),
    max_size=6,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(found=st.lists(st.one_of(_ODD, RECORDS), max_size=10))
def test_nothing_raises_whatever_the_records(found: list[Any]) -> None:
    reading = read_whole(ADAPTER, PATH, [(build.data(build.head(), *found), False)])
    assert len(reading.placed) == len(found) + 1
    reading.context()


@settings(max_examples=80, deadline=None)
@given(
    found=st.lists(st.one_of(_ODD, MESSAGES), max_size=8), cut=st.integers(0, 4000), indent=st.sampled_from([None, 2])
)
def test_a_document_gives_each_message_and_what_it_gives_is_in_it(
    found: list[Any], cut: int, indent: int | None
) -> None:
    data = build.document(*found, indent=indent)
    given_ = list(records(ADAPTER, PATH, data))
    assert [json.loads(line.raw) for line in given_[1:]] == found
    assert all(data[line.offset : line.offset + line.length] == line.raw for line in given_[1:])
    reading = read_whole(ADAPTER, PATH, [(data, False)])
    assert len(reading.placed) == len(found) + 1
    torn = data[: max(1, len(data) - cut)]
    for line in ADAPTER.documents(PATH, torn):
        assert line.offset + line.length <= len(torn)
    read_whole(ADAPTER, PATH, [(torn, False)])


@settings(max_examples=80, deadline=None)
@given(found=LOGS)
def test_no_result_stands_twice(found: list[build.Record]) -> None:
    reading = read_whole(ADAPTER, PATH, [(build.data(build.head(), *found), False)])
    items = reading.context()
    calls = Counter(call for item in items for call in item.calls)
    answered = Counter(call for item in items for call in item.results)
    assert [call for call, count in answered.items() if count > calls[call] + 1] == []
