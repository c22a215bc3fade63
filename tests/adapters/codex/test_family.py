"""Sessions that begin with others: forks, sub-agents, reverts; whose tokens and turns are whose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sessions.adapters.codex import ADAPTER
from sessions.assembly import lines
from sessions.entries import Kind
from tests.adapters.codex.build import (
    NAME,
    STAMP,
    THREAD,
    Record,
    call,
    chain,
    context,
    counts,
    data,
    end,
    event,
    line,
    mail,
    message,
    meta,
    numbered,
    output,
    read,
    rollback,
    says,
    start,
    token_count,
    turn,
    usage_record,
    user,
    words,
)

CHILD = "01a22af4-01c0-70e3-8cce-5252ad85f752"
OLD_TURN = "01a22af3-fd6c-7240-adcb-02dff2b6304a"  # before CHILD was made
NEW_TURN = "01a22af4-0200-7661-b454-b1482220d256"  # after
FIRST, SECOND = counts(100, 60, 20, 5), counts(50, 40, 10, 0)
BOTH = counts(150, 100, 30, 5)


def exchange(name: str, asked: str, total: Record, last: Record) -> list[Record]:
    return turn(name, user(asked), says(f"to {asked}"), token_count(total, last))


def test_a_fork_that_copies() -> None:
    reading = read(
        meta(CHILD, forked_from_id=THREAD),
        meta(THREAD),
        exchange(OLD_TURN, "old", FIRST, FIRST),
        [
            *start(NEW_TURN),
            *user("new"),
            *token_count(FIRST, FIRST),
            *says("to new"),
            *token_count(BOTH, SECOND),
            *end(NEW_TURN),
        ],
    )
    assert reading.facts.native_id == CHILD, "the second session_meta is the parent's"
    assert (reading.facts.parent_kind, reading.facts.parent_native_id) == ("fork", THREAD)
    assert [(s.usage.prompt, s.usage.output) for s in reading.steps if s.usage] == [(50, 10)], (
        "the parent's tokens are not counted"
    )
    copied = [p.seq for p in reading.placed if p.entry.link and p.entry.link.get("copied")]
    assert copied == list(range(1, 8))
    assert words(reading.context()) == ["u:old", "a:to old", "u:new", "a:to new"]


def test_a_fork_without_turn_ids_ends_its_copies_at_a_pause() -> None:
    def at(second: float, records: list[Record]) -> list[Record]:
        return [{**record, "timestamp": f"2026-11-30T05:36:{second:06.3f}Z"} for record in records]

    reading = read(
        at(4.0, meta(CHILD, forked_from_id=THREAD)),
        at(4.001, meta(THREAD)),
        at(4.002, [*user("old"), *says("to old"), *token_count(FIRST, FIRST)]),
        at(9.5, [*user("new"), *says("to new"), *token_count(BOTH, SECOND)]),
    )
    assert [(s.usage.prompt, s.usage.output) for s in reading.steps if s.usage] == [(50, 10)]


def test_a_child_that_inherits() -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": THREAD, "depth": 1, "agent_path": "/root/child"}}}
    records = [
        *meta(CHILD, version="0.171.0", history_mode="paginated", forked_from_id=THREAD, source=source, subagent_history_start_ordinal=9),
        *meta(THREAD, version="0.171.0", history_mode="paginated"),
        *start(OLD_TURN),
        *context(),
        *user("the parent's prompt", shown=False),
        *call("c1", "update_plan", '{"plan":[{"step":"the parent\'s","status":"pending"}]}'),
        *output("c1", "Plan updated"),
        *event("turn_aborted", turn_id=OLD_TURN, reason="interrupted"),
        *start(NEW_TURN),
        line("inter_agent_communication_metadata", {"trigger_turn": True}),
        *mail("Task: say hi"),
        *says("hi"),
        *usage_record("resp_1", FIRST),
        line("inter_agent_communication_metadata", {"trigger_turn": False}),
        *mail("by the way"),
    ]  # fmt: skip
    reading = read(numbered(records))
    assert (reading.facts.parent_kind, reading.facts.parent_native_id) == ("subagent", THREAD)
    assert [p.entry.text for p in reading.placed if p.entry.opens_turn] == ["Task: say hi"]
    assert [goal.text for goal in reading.goals] == ["Task: say hi"], "the parent's plan is not the child's"
    assert words(reading.context())[:3] == ["d:permissions", "u:environment", "u:the parent's prompt"]
    assert [(s.usage.prompt, s.usage.output) for s in reading.steps if s.usage] == [(100, 20)]


def test_a_child_is_read_in_pieces() -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": THREAD}}}
    asked = line("inter_agent_communication_metadata", {"trigger_turn": True})
    first, second = lines(data([*meta(CHILD, source=source), asked])), list(lines(data([*mail("task"), *mail("more")])))
    reader = ADAPTER.reader(NAME)
    for record in first:
        reader.read(record)
    later = ADAPTER.reader(NAME, reader.state())
    assert [later.read(replace(record, offset=900)).opens_turn for record in second] == [True, False]


def test_a_child_with_its_own_history_only() -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": THREAD, "depth": 1, "agent_nickname": "Kant"}}}
    reading = read(meta(CHILD, source=source), turn("t1", user("task"), says("done")))
    assert (reading.facts.parent_kind, reading.facts.parent_native_id) == ("subagent", THREAD)
    assert reading.placed[2].entry.opens_turn


def test_a_review() -> None:
    facts = read(meta(CHILD, source={"subagent": "review"}, session_id=THREAD)).facts
    assert (facts.parent_kind, facts.parent_native_id, facts.extra["source"]) == ("subagent", THREAD, "review")


def base_of(records: list[Record], first: list[Record], native_id: str = THREAD) -> dict[str, Any]:
    """A `history_base` that cuts `records` after `first`."""
    return {
        "thread_id": native_id,
        "end_ordinal_exclusive": len(first),
        "end_byte_offset": len(data(records[: len(first)])),
    }


def pages(native_id: str, *parts: list[Record], first: int = 0, **more: Any) -> list[Record]:
    records = [
        *meta(native_id, version="0.171.0", history_mode="paginated", **more),
        *(one for part in parts for one in part),
    ]
    return numbered(records, first)


def one(n: int) -> list[Record]:
    return turn(f"t{n}", user(f"u{n}", shown=False), says(f"a{n}"), usage_record(f"r{n}", FIRST))


def test_a_revert_hides_what_lies_beyond_the_cut() -> None:
    old = pages(THREAD, one(1), one(2), one(3))
    kept = old[: 1 + 5]
    new = pages(THREAD, one(4), first=len(kept), history_base=base_of(old, kept))
    reading = chain(old, new)
    assert (reading.facts.native_id, reading.facts.parent_kind) == (THREAD, "revert")
    assert words(reading.context()) == ["u:u1", "a:a1", "u:u4", "a:a4"]
    (version,) = reading.versions
    assert (version.kind, version.at_seq, version.facts["entries"]) == ("revert", len(old), 4)
    assert [p.entry.text for p in reading.placed if p.entry.opens_turn] == ["u1", "u2", "u3", "u4"], (
        "the rest stays readable"
    )


def test_a_revert_in_the_middle_of_a_turn() -> None:
    old = pages(THREAD, one(1), one(2))
    kept = old[: 1 + 5 + 2]  # up to the second prompt; the answer to it comes next
    new = pages(THREAD, one(3), first=len(kept), history_base=base_of(old, kept))
    assert words(chain(old, new).context()) == ["u:u1", "a:a1", "u:u2", "u:u3", "a:a3"]


def test_a_revert_is_told_by_ordinals_where_bytes_are_not_given() -> None:
    old = pages(THREAD, one(1), one(2))
    new = pages(THREAD, one(4), first=6, history_base={"thread_id": THREAD, "end_ordinal_exclusive": 6})
    assert words(chain(old, new).context()) == ["u:u1", "a:a1", "u:u4", "a:a4"]


def test_a_revert_takes_back_a_compaction_and_a_rollback() -> None:
    compaction = turn(
        "tc", [line("compacted", {"message": "", "replacement_history": [message("user", "S")[0]["payload"]]})]
    )
    old = pages(THREAD, one(1), one(2), compaction, one(3), rollback(1))
    kept = old[: 1 + 5 + 5]
    new = pages(THREAD, one(4), first=len(kept), history_base=base_of(old, kept))
    reading = chain(old, new)
    assert [version.kind for version in reading.versions] == ["compaction", "rollback", "revert"]
    assert words(reading.context()) == ["u:u1", "a:a1", "u:u2", "a:a2", "u:u4", "a:a4"]


def test_a_revert_of_a_revert() -> None:
    old = pages(THREAD, one(1), one(2), one(3))
    kept = old[:6]
    middle = pages(THREAD, one(4), one(5), first=6, history_base=base_of(old, kept))
    shorter = middle[:6]
    new = pages(
        THREAD,
        one(6),
        first=12,
        history_base={"thread_id": "x", "end_ordinal_exclusive": 12, "end_byte_offset": len(data(shorter))},
    )
    reading = chain(old, middle, new)
    assert words(reading.context()) == ["u:u1", "a:a1", "u:u4", "a:a4", "u:u6", "a:a6"]
    assert [version.facts["entries"] for version in reading.versions] == [4, 2]


def test_a_page_turned_is_no_revert() -> None:
    old = pages(THREAD, one(1))
    new = pages(THREAD, one(2), first=6, history_base=base_of(old, old))
    reading = chain(old, new)
    assert reading.versions == []
    assert words(reading.context()) == ["u:u1", "a:a1", "u:u2", "a:a2"]


def test_a_fork_by_reference() -> None:
    old = pages(THREAD, one(1), one(2))
    prefix = old[:6]
    new = pages(CHILD, one(3), first=6, forked_from_id=THREAD, history_base=base_of(old, prefix))
    reading = chain(prefix, new)
    assert (reading.facts.native_id, reading.facts.parent_kind, reading.facts.parent_native_id) == (
        CHILD,
        "fork",
        THREAD,
    )
    assert reading.versions == []
    assert words(reading.context()) == ["u:u1", "a:a1", "u:u3", "a:a3"]
    assert [step.copied for step in reading.steps] == [True, False]


def test_a_session_resumed_with_a_lasting_name() -> None:
    reading = read(meta(), event("thread_name_updated", thread_id=THREAD, thread_name="The parser"), user("go"))
    assert reading.facts.title == "The parser"
    assert reading.placed[1].entry.kind is Kind.META
    assert str(reading.placed[0].entry.at).startswith(STAMP[:10])
