"""What holds for every log: nothing raises, and what is read in pieces is what is read at once."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sessions.adapters.base import Link
from sessions.adapters.codex import ADAPTER
from sessions.adapters.codex.segments import NO_BASE, Mark, Segments
from sessions.assembly import Assembly, lines, read_whole
from sessions.contexts import Hide, project
from sessions.entries import Facts, Kind, Part, PartKind, Role, digest_of
from tests.adapters.codex.build import (
    NAME,
    Record,
    call,
    compacted,
    context,
    counts,
    data,
    end,
    event,
    message,
    meta,
    output,
    rollback,
    says,
    start,
    summary,
    thinks,
    token_count,
    turn_context,
    usage_record,
    user,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
TYPES = st.sampled_from(
    [
        "session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state", "token_usage_record",
        "inter_agent_communication", "inter_agent_communication_metadata", "message", "function_call", "function_call_output",
        "reasoning", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_output", "image_generation_call",
        "agent_message", "ghost_snapshot", "compaction", "context_compaction", "task_started", "task_complete", "turn_aborted",
        "token_count", "thread_rolled_back", "thread_goal_updated", "item_completed", "exec_command_end", "user_message", "new",
    ]
)  # fmt: skip
KEYS = st.sampled_from(
    [
        "id", "role", "content", "output", "arguments", "call_id", "name", "input", "action", "summary", "encrypted_content", "item",
        "info", "turn_id", "num_turns", "goal", "usage", "response_id", "replacement_history", "message", "history_base", "source",
        "git", "cwd", "model", "replacement_history_metadata", "duration", "changes", "tools", "plan", "author", "timestamp",
    ]
)  # fmt: skip
PAYLOADS = st.builds(lambda kind, rest: {**rest, "type": kind}, TYPES, st.dictionaries(KEYS, JSON, max_size=5))
HISTORIES = st.builds(
    lambda items, rest: {"message": "S", "replacement_history": items, **rest},
    st.lists(PAYLOADS | JSON, max_size=3),
    st.dictionaries(KEYS, JSON, max_size=1),
)
RECORDS = st.builds(
    lambda kind, payload, rest: {**rest, "type": kind, "payload": payload},
    TYPES,
    PAYLOADS | HISTORIES | JSON,
    st.dictionaries(st.sampled_from(["timestamp", "ordinal", "metadata"]), JSON, max_size=3),
)
LINES = st.one_of(
    st.binary(max_size=40).map(lambda raw: raw.replace(b"\n", b" ")),
    (RECORDS | PAYLOADS | JSON).map(lambda record: json.dumps(record).encode()),
)


@given(st.lists(LINES, max_size=12))
@example([b'{"type": ["message"], "name": "shell"}'])  # a type that is no word
@settings(max_examples=100, deadline=None)
def test_every_line_is_one_entry(raw: list[bytes]) -> None:
    whole = b"\n".join(raw)
    reading = read_whole(ADAPTER, NAME, [(whole, False)])
    assert len(reading.placed) == len(list(lines(whole)))
    assert sum(placed.length for placed in reading.placed) == len(whole)
    reading.context()


def exchanges(seed: int) -> list[Record]:
    """A log of many turns, with compactions, rollbacks, plans and usage in it."""
    chance = random.Random(seed)
    records = [*meta(), *turn_context("gpt-5")]
    total = 0
    for n in range(12):
        records += [
            *start(f"t{n}"),
            *(context() if chance.random() < 0.3 else []),
            *user(f"u{n}"),
            *thinks(f"think {n}"),
        ]
        records += [*call(f"c{n}", "update_plan", json.dumps({"plan": [{"step": f"s{n}", "status": "pending"}]}))]
        total += 100
        usage = counts(total, 0, n, 0)
        if chance.random() < 0.5:
            records += token_count(usage, counts(100, 0, n, 0))
        else:
            records += usage_record(f"r{n}", counts(100, 0, n, 0))
        records += [*output(f"c{n}", "Plan updated"), *says(f"a{n}"), *end(f"t{n}")]
        if chance.random() < 0.3:
            records += compacted(
                f"S{n}", [*message("user", f"u{n}"), *summary(f"S{n}")] if chance.random() < 0.6 else None
            )
            records += event("context_compacted")
        if chance.random() < 0.3:
            records += rollback(chance.randint(1, 4))
    return records


@pytest.mark.parametrize("seed", range(6))
def test_reading_in_pieces_is_reading_at_once(seed: int) -> None:
    source = list(lines(data(exchanges(seed))))
    whole = ADAPTER.reader(NAME)
    expected = [whole.read(one) for one in source]
    for stop in range(0, len(source), 3):
        first = ADAPTER.reader(NAME)
        got = [first.read(one) for one in source[:stop]]
        state = json.loads(json.dumps(first.state()))
        second = ADAPTER.reader(NAME, state)
        got += [second.read(one) for one in source[stop:]]
        assert got == expected
        assert second.facts == whole.facts
        assert second.state() == whole.state()


@given(st.lists(LINES, max_size=8), st.integers(0, 8))
@settings(max_examples=60, deadline=None)
def test_odd_lines_in_pieces(raw: list[bytes], stop: int) -> None:
    source = list(lines(b"\n".join(raw)))
    whole = ADAPTER.reader(NAME)
    expected = [whole.read(one) for one in source]
    first = ADAPTER.reader(NAME)
    got = [first.read(one) for one in source[:stop]]
    second = ADAPTER.reader(NAME, json.loads(json.dumps(first.state())))
    assert got + [second.read(one) for one in source[stop:]] == expected


FACTS = st.fixed_dictionaries(
    {},
    optional={
        "mark": st.sampled_from(["start", "end", "abort", "context", "user", "compaction", "rollback", "meta", "other"])
        | JSON,
        "turn": st.sampled_from(["a", "b", "c"]) | JSON,
        "n": st.integers(-2, 5) | JSON,
        "whole": st.booleans(),
        "user": st.booleans(),
        "trim": st.booleans(),
        "mail": st.booleans(),
        "src": st.booleans(),
        "ord": st.integers(0, 20) | JSON,
        "cut": st.dictionaries(st.sampled_from(["ordinal", "offset"]), st.integers(0, 200) | JSON) | JSON,
    },
)
PARTS = st.lists(
    st.builds(
        Part,
        kind=st.sampled_from(PartKind),
        text=st.sampled_from(["a", "b", "x…3 tokens truncated…y", ""]),
        call_id=st.sampled_from([None, "c"]),
        role=st.sampled_from([None, *Role]),
        meta=st.dictionaries(st.sampled_from(["item", "kind", "id", "user", "trim"]), JSON, max_size=4),
    ),
    max_size=4,
).map(tuple)


@given(
    st.lists(st.tuples(FACTS, PARTS, st.sampled_from(Kind), st.sampled_from([None, *Role]), st.booleans()), max_size=25)
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_history_never_raises(drawn: list[tuple[dict[str, Any], tuple[Part, ...], Kind, Role | None, bool]]) -> None:
    links = [
        link_of(seq, kind, role, parts, sent=sent, facts=facts)
        for seq, (facts, parts, kind, role, sent) in enumerate(drawn)
    ]
    parts_of = [parts for _, parts, _, _, _ in drawn]
    versions = ADAPTER.history(links, lambda seq: parts_of[seq], Facts(agent_version="0.125.0"))
    assert [version.at_seq for version in versions] == sorted(version.at_seq for version in versions)
    again = ADAPTER.history(links, lambda seq: parts_of[seq], Facts(agent_version="0.125.0"))
    assert versions == again
    for version in versions:
        assert all(
            span[1] <= version.at_seq + 1
            for edit in version.edits
            if isinstance(edit, Hide)
            for span in edit.ranges.spans
        )


def link_of(
    seq: int, kind: Kind, role: Role | None, parts: tuple[Part, ...], *, sent: bool, facts: dict[str, Any]
) -> Link:
    return Link(
        seq, kind, role, None, None, sent, "", None, None, None, (), opens_turn=False, copied=False,
        digest=digest_of(role, parts), length=10, facts=facts,
    )  # fmt: skip


LOOSE = st.tuples(
    st.sampled_from(["start", "context", "user", "whole", "rollback"]),
    st.sampled_from([None, "a", "b"]),
    st.integers(0, 3),
).map(lambda one: [one])
TURN = st.tuples(st.sampled_from("abc"), st.booleans(), st.booleans(), st.booleans()).map(
    lambda one: [
        ("start", one[0], 0),
        *([("user", None, 0)] if one[1] else []),
        *([("whole", None, 0)] if one[2] else []),
        *([("context", one[0], 0)] if one[3] else []),
    ]
)
BACK = st.integers(1, 3).map(lambda turns: [("rollback", None, turns)])


@given(st.lists(TURN | BACK | LOOSE, max_size=14).map(lambda groups: [mark for group in groups for mark in group]))
@settings(max_examples=250, deadline=None)
def test_the_walk_back_may_stop_where_an_earlier_one_ended(drawn: list[tuple[str, str | None, int]]) -> None:
    """The remembered bases give what a walk to the very beginning gives."""
    segments = Segments()
    for at, (name, turn, turns) in enumerate(drawn):
        segments.add(Mark(name, at, turn, turns))
        assert segments.base() == walked(drawn[: at + 1])


def walked(drawn: list[tuple[str, str | None, int]]) -> int:
    """The rule without any shortcut."""
    pending = 0
    found: int | None = None
    turn: str | None = None
    counts_, base, open_ = False, NO_BASE, False
    for at in range(len(drawn) - 1, -1, -1):
        name, its, turns = drawn[at]
        if name == "rollback":
            pending += turns
            continue
        if name == "start":
            if open_ and (turn is None or its is None or turn == its):
                if pending:
                    pending -= counts_
                elif base != NO_BASE:
                    found = base
                    break
                turn, counts_, base, open_ = None, False, NO_BASE, False
            continue
        open_ = True
        if name == "context":
            turn = turn or its
        counts_ = counts_ or name == "user"
        if name == "whole" and base == NO_BASE:
            base = at
    if found is not None:
        return found
    return base if open_ and not pending else NO_BASE


def test_a_long_history_takes_little() -> None:
    """50,000 entries with 96 compactions and 60 rollbacks: the time is the processor's, so that a busy machine does not count."""
    links: list[Link] = []
    bodies: list[tuple[Part, ...]] = []

    def add(kind: Kind, role: Role | None, parts: tuple[Part, ...], **facts: Any) -> None:
        links.append(link_of(len(links), kind, role, parts, sent=role is not None, facts=facts))
        bodies.append(parts)

    for n in range(10_000):
        words = (Part(PartKind.TEXT, f"u{n}"),)
        add(Kind.EVENT, None, (), mark="start", turn=f"t{n}")
        add(Kind.PROMPT, Role.USER, words, user=True)
        add(Kind.MESSAGE, Role.ASSISTANT, (Part(PartKind.TEXT, f"a{n}"),))
        add(Kind.MESSAGE, Role.ASSISTANT, (Part(PartKind.TEXT, f"b{n}"),))
        add(Kind.EVENT, None, (), mark="end", turn=f"t{n}")
        if n % 104 == 103:
            kept = [
                Part(PartKind.TEXT, f"u{n - k}", role=Role.USER, meta={"item": k, "kind": "prompt", "user": True})
                for k in range(60, -1, -1)
            ]
            add(
                Kind.COMPACTION,
                None,
                (*kept, Part(PartKind.TEXT, "S", role=Role.USER, meta={"item": 99, "kind": "summary"})),
                mark="compaction",
                whole=True,
            )
        if n % 165 == 164:
            add(Kind.ROLLBACK, None, (), mark="rollback", n=1 + n % 3)
    begun = time.process_time()
    versions = ADAPTER.history(links, lambda seq: bodies[seq], Facts())
    took = time.process_time() - begun
    assert len(versions) == 96 + 60
    assert took < 2.0, "about 0.5 s where nothing is wrong; a walk that is not linear takes minutes"


def test_projecting_what_history_says_gives_the_same_twice() -> None:
    raw = data(exchanges(3))
    one, other = (read_whole(ADAPTER, NAME, [(raw, False)]) for _ in range(2))
    assert [item.digest for item in one.context()] == [item.digest for item in other.context()]
    assembly = Assembly()
    reader = ADAPTER.reader(NAME)
    placed = [assembly.place(reader.read(line), line) for line in lines(raw)]
    parts = {p.seq: p.entry.parts for p in placed}
    versions = ADAPTER.history([p.link() for p in placed], lambda seq: parts[seq], reader.facts)
    assert project(one.items(), versions[-1].edits) == project(one.items(), one.versions[-1].edits)
