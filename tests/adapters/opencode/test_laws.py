"""What holds for every document: nothing raises, nothing sent is lost or doubled, and a session that grows keeps what it said."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sessions.adapters.base import Link
from sessions.adapters.opencode import ADAPTER
from sessions.assembly import Assembly
from sessions.contexts import Hide, Replace, unpaired
from sessions.entries import Facts, Kind, Part, PartKind, Role
from tests.adapters.opencode.build import NAME, START, Record, Session, finish, read, start, text, thought, tool

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [
        "id", "role", "type", "text", "time", "tokens", "state", "tool", "callID", "messageID", "sessionID", "parentID", "summary",
        "error", "finish", "model", "modelID", "mime", "url", "auto", "tail_start_id", "revert", "title", "directory", "version",
        "content", "created", "status", "input", "output", "cache", "metadata", "synthetic", "files", "reason", "recent", "compacted",
    ]
)  # fmt: skip
WORDS = st.sampled_from(
    [
        "ses_1", "msg_1", "msg_2", "prt_1", "user", "assistant", "text", "tool", "reasoning", "compaction", "step-start", "step-finish",
        "file", "completed", "error", "pending", "todowrite", "MessageAbortedError", "stop", "synthetic", "shell", "system", "subtask",
    ]
)  # fmt: skip
RECORDS = st.recursive(
    JSON | WORDS | st.just(START),
    lambda inner: st.dictionaries(KEYS, inner, max_size=8) | st.lists(inner, max_size=3),
    max_leaves=25,
)
DOCUMENTS = st.fixed_dictionaries(
    {"info": RECORDS, "messages": st.lists(st.fixed_dictionaries({"info": RECORDS, "parts": st.lists(RECORDS, max_size=3)}) | RECORDS)},
    optional={"todos": RECORDS, "session_messages": st.lists(RECORDS, max_size=3), "orphans": RECORDS, "other": RECORDS},
)  # fmt: skip


@given(DOCUMENTS | RECORDS, st.integers(0, 2000))
@settings(max_examples=150, deadline=None)
def test_no_document_is_too_strange(document: Any, cut: int) -> None:
    data = json.dumps(document).encode()
    for piece in (data, data[:cut], data[cut:]):
        reading = read(piece)
        reading.context()
        for one in reading.placed:
            assert piece[one.offset : one.offset + one.length]
            assert one.entry.kind is not Kind.MALFORMED or one.entry.problem


@given(st.binary(max_size=60))
def test_no_bytes_are_too_strange(data: bytes) -> None:
    read(b'{"info":' + data)
    read(data).context()
    ADAPTER.claim(NAME, data)
    ADAPTER.expands(NAME, data)


PARTS = st.lists(
    st.sampled_from(["text", "thought", "call", "failed", "running", "pruned", "step"]), min_size=1, max_size=5
)
EVENTS = st.lists(
    st.one_of(
        st.just(("user",)),
        PARTS.map(lambda parts: ("answer", *parts)),
        st.integers(0, 8).map(lambda back: ("compact", back)),
        st.just(("fail",)),
    ),
    max_size=14,
)


def session(events: list[tuple[Any, ...]]) -> Session:
    out = Session()
    made = {
        "text": lambda n: text(f"word {n}"),
        "thought": lambda n: thought(f"thought {n}"),
        "call": lambda n: tool(f"call_{n}", f"result {n}"),
        "failed": lambda n: tool(f"call_{n}", status="error", error=f"error {n}"),
        "running": lambda n: tool(f"call_{n}", status="running"),
        "pruned": lambda n: tool(f"call_{n}", f"result {n}", time={"compacted": START + 1000 * n}),
        "step": lambda n: start(),
    }
    number = 0
    for what, *rest in events:
        number += 10
        if what == "user":
            out.user(text(f"question {number}"))
        elif what == "answer":
            parts: list[Record] = [made[kind](number + n) for n, kind in enumerate(rest)]
            out.assistant(start(), *parts, finish())
        elif what == "compact":
            tail = out.messages[-rest[0]]["info"]["id"] if 0 < rest[0] <= len(out.messages) else None
            out.compacted(f"summary {number}", tail=tail)
        else:
            out.compacted("half", error={"name": "UnknownError", "data": {}})
    return out


@given(EVENTS)
@settings(max_examples=150, deadline=None)
def test_every_context_is_paired_and_has_nothing_twice(events: list[tuple[Any, ...]]) -> None:
    reading = read(session(events).data())
    context = reading.context()
    assert unpaired(context) == ([], [])
    seqs = [item.seq for item in context if item.seq is not None]
    assert len(seqs) == len(set(seqs))
    texts = [
        item.text
        for item in context
        if item.kind != Kind.COMPACTION and item.text.split()[0] in ("word", "question", "summary")
    ]
    assert len(texts) == len(set(texts))
    for version in reading.versions:
        assert version.at_seq <= reading.placed[-1].seq
        hidden = [seq for edit in version.edits if isinstance(edit, Hide) for seq in edit.ranges]
        assert all(seq <= version.at_seq for seq in hidden)
        assert all(edit.seq not in hidden for edit in version.edits if isinstance(edit, Replace))


@given(EVENTS, st.integers(0, 14))
@settings(max_examples=100, deadline=None)
def test_a_session_that_grew_says_again_what_it_said(events: list[tuple[Any, ...]], count: int) -> None:
    before, after = read(session(events[:count]).data()), read(session(events).data())
    assert [one.entry for one in after.placed[: len(before.placed)]] == [one.entry for one in before.placed]


@given(EVENTS, st.integers(0, 60))
@settings(max_examples=100, deadline=None)
def test_read_in_two_goes_is_read_in_one(events: list[tuple[Any, ...]], cut: int) -> None:
    data = session(events).data()
    lines = list(ADAPTER.documents(NAME, data))
    reader, assembly = ADAPTER.reader(NAME), Assembly()
    placed = [assembly.place(reader.read(line), line, copied=False) for line in lines[:cut]]
    state = json.loads(json.dumps([reader.state(), assembly.state()]))
    reader, assembly = ADAPTER.reader(NAME, state[0]), Assembly.from_state(state[1])
    placed += [assembly.place(reader.read(line), line, copied=False) for line in lines[cut:]]
    whole = read(data)
    assert placed == whole.placed
    assert reader.facts == whole.facts


LINKS = st.lists(
    st.builds(
        Link,
        seq=st.just(0),
        kind=st.sampled_from(list(Kind)),
        role=st.sampled_from([None, *Role]),
        native_id=st.sampled_from([None, "a", "b", "c"]),
        native_parent=st.sampled_from([None, "a", "b", "c"]),
        sent=st.booleans(),
        lane=st.sampled_from(["", "x"]),
        turn=st.none(),
        step=st.none(),
        response_id=st.none(),
        call_ids=st.just(()),
        opens_turn=st.booleans(),
        copied=st.booleans(),
        digest=st.just(b""),
        length=st.just(1),
        facts=st.dictionaries(
            st.sampled_from(["is", "created", "summary", "counts", "tail", "cleared", "revert", "checkpoint", "auto"]),
            st.sampled_from(["session", "message", "compaction", "a", "b", True, False, None, 3, START, ["a", "b"], ["b", None], [], {}]),
        ),
    ),
    max_size=25,
)  # fmt: skip


@given(LINKS)
@settings(max_examples=300, deadline=None)
def test_no_history_is_too_strange(links: list[Link]) -> None:
    placed = [replace(link, seq=n) for n, link in enumerate(links)]
    result = (Part(PartKind.TOOL_RESULT, "x", call_id="c"),)
    once = ADAPTER.history(placed, lambda seq: result, Facts())
    assert list(once) == list(ADAPTER.history(placed, lambda seq: result, Facts()))
