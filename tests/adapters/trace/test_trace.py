"""Goal-tree traces: whose goal a message is, what a summary hides, how retractions and branches are told."""

from __future__ import annotations

import json
from pathlib import PurePath

from hypothesis import given
from hypothesis import strategies as st

from sessions.adapters.base import Link
from sessions.adapters.trace import ADAPTER
from sessions.assembly import Assembly, lines, read_whole
from sessions.contexts import Hide, Insert
from sessions.entries import GoalStatus, Kind, PartKind
from tests.adapters.trace.build import LOG, Folder, Log, goal

TREE = {
    "mission": "Make the parser fast",
    "current_id": "2'",
    "goals": [
        goal("1", "Read the code", "completed", "It is one loop."),
        goal(
            "2",
            "Use a cache",
            "abandoned",
            "Needs Redis, which is not there",
            goal("2.1", "Set Redis up", "abandoned", "None"),
        ),
        goal("2'", "Use a table", "in_progress"),
        goal("3", "Measure", "pending"),
    ],
}


def story() -> Log:
    log = Log()
    log.add("system", "You are an agent.")
    log.add("user", "Make it fast")
    log.add("assistant", "Reading.", "1", tool_calls=[{"id": "c1", "name": "read", "arguments": {"path": "p.py"}}])
    log.add("tool", "while True: ...", "1", tool_call_id="c1")
    log.add("assistant", "Trying a cache.", "2", usage={"input": 100, "cached_read": 40, "output": 7, "total": 107})
    log.add("assistant", "No Redis.", "2.1")
    log.add("assistant", "A table then.", "2'")
    return log


def texts(reading) -> list[str]:
    return [item.text for item in reading.context()]


def test_each_message_belongs_to_its_goal_and_the_tree_keeps_its_own_numbers() -> None:
    reading = story().read(goals=TREE, meta={"trace_id": "t-1", "format": "trace"})
    assert [(g.path, g.status, g.parent) for g in reading.goals] == [
        ("1", GoalStatus.COMPLETED, None),
        ("2", GoalStatus.ABANDONED, None),
        ("2.1", GoalStatus.ABANDONED, "2"),
        ("2'", GoalStatus.IN_PROGRESS, None),
        ("3", GoalStatus.PENDING, None),
    ]
    assert {g.path: g.note for g in reading.goals}["2"] == "Needs Redis, which is not there"
    by_text = {placed.entry.text: placed.goal for placed in reading.placed}
    assert by_text["while True: ..."] == "1"
    assert by_text["Trying a cache."] == "2"
    assert by_text["No Redis."] == "2.1"
    assert by_text["A table then."] == "2'"
    assert by_text["Make it fast"] is None


def test_usage_is_told_in_disjoint_parts() -> None:
    usage = next(step.usage for step in story().read().steps if step.usage)
    assert (usage.fresh, usage.cache_read, usage.output, usage.prompt, usage.total) == (60, 40, 7, 100, None)


def test_a_summary_of_a_goal_stands_where_the_goal_stood_and_covers_what_is_under_it() -> None:
    log = story()
    log.add("user", "Tried a cache; no Redis here.", "2", kind="summary", replaces={"goal_id": "2"})
    log.add("assistant", "Going on.", "2'")
    reading = log.read()
    assert [version.kind for version in reading.versions] == ["compaction"]
    assert texts(reading)[4:] == ["Tried a cache; no Redis here.", "A table then.", "Going on."]
    (insert,) = [edit for edit in reading.versions[-1].edits if isinstance(edit, Insert)]
    assert list(insert.stands_for) == [4, 5]
    summary = next(placed for placed in reading.placed if placed.entry.kind is Kind.SUMMARY)
    assert not summary.entry.opens_turn
    assert summary.step is None
    # Another goal whose number begins alike stays.
    assert "A table then." in texts(reading)


def test_restoring_a_summary_brings_back_what_it_replaced() -> None:
    log = story()
    before = texts(log.read())
    name = log.add("user", "Summed up.", "1", kind="summary", replaces={"from": "m2", "to": "m5"})
    assert texts(log.read()) == ["You are an agent.", "Make it fast", "Summed up.", "A table then."]
    log.control("restore", name)
    reading = log.read()
    assert texts(reading) == before
    assert [version.kind for version in reading.versions] == ["compaction", "revert"]


def test_retracting_hides_and_restoring_shows_again() -> None:
    log = story()
    log.control("retract", "m5", "m6")
    assert texts(log.read())[-1] == "Trying a cache."
    log.control("restore", "m5")
    assert texts(log.read())[-1] == "No Redis."


def test_a_summary_of_summaries_covers_all_they_covered() -> None:
    log = story()
    first = log.add("user", "One.", None, kind="summary", replaces={"ids": ["m2", "m3"]})
    log.add("user", "Two.", None, kind="summary", replaces={"ids": [first, "m4"]})
    reading = log.read()
    assert texts(reading) == ["You are an agent.", "Make it fast", "Two.", "No Redis.", "A table then."]


def test_a_summary_of_a_summary_stands_where_the_first_began() -> None:
    log = story()
    first = log.add("user", "One.", None, kind="summary", replaces={"ids": ["m2", "m3"]})
    log.add("user", "Two.", None, kind="summary", replaces={"ids": [first, "m5"]})
    reading = log.read()
    assert texts(reading) == ["You are an agent.", "Make it fast", "Two.", "Trying a cache.", "A table then."]
    (insert,) = [edit for edit in reading.versions[-1].edits if isinstance(edit, Insert)]
    assert {2, 3, 5} <= set(insert.stands_for)


def test_a_message_written_twice_holds_its_last_words_at_its_first_place() -> None:
    log = story()
    log.lines.append({**log.lines[1], "seq": 7, "content": "Make it very fast"})
    assert texts(log.read())[1] == "Make it very fast"
    assert texts(log.read())[-1] == "A table then."


def test_a_branch_names_its_parent_and_its_last_words_are_its_conclusion() -> None:
    log = story()
    meta = {"trace_id": "t-1", "parent_trace_id": "t-0", "branch": "by a table", "context_limit": {"context": 200000}}
    facts = log.read(goals=TREE, meta=meta).facts
    assert (facts.parent_native_id, facts.parent_kind, facts.title) == ("t-0", "branch", "by a table")
    assert facts.extra["conclusion"] == "A table then."
    assert facts.window == 200000


def test_the_call_that_explored_points_to_its_branch() -> None:
    log = story()
    log.add(
        "assistant",
        None,
        "2'",
        tool_calls=[{"id": "c9", "name": "explore", "arguments": {"question": "?", "branches": ["a"]}}],
    )
    log.add("tool", "a: yes", "2'", tool_call_id="c9", sub_trace_id="t-1-a")
    entry = log.read().placed[-1].entry
    assert entry.parts[0].meta["session"] == "t-1-a"
    assert entry.parts[0].kind is PartKind.TOOL_RESULT


def test_goals_are_followed_without_the_tree_too() -> None:
    log = Log()
    log.add("user", "Go")
    call = {"id": "c", "name": "goal", "arguments": {"abandon": "no Redis", "add": "another way"}}
    log.add("assistant", "Stop.", "1.1", tool_calls=[call])
    reading = log.read()
    assert [(g.path, g.status, g.note) for g in reading.goals] == [
        ("1", GoalStatus.IN_PROGRESS, None),
        ("1.1", GoalStatus.ABANDONED, "no Redis"),
    ]


def test_the_tree_may_change_while_the_log_grows() -> None:
    """What `reading.continues` relies on: the first record is of no account but for what it says."""
    first = story().read(goals=TREE, meta={}).placed[0].entry
    assert first.kind is Kind.META
    assert first.goals is None
    assert not first.sent
    assert first.step_key is None


def test_claims() -> None:
    data = story().data()
    assert ADAPTER.claim(LOG, data).native_id == "t-1"
    assert ADAPTER.expands(LOG, data) == "folder"
    assert ADAPTER.claim(LOG.with_name("goal.json"), json.dumps(TREE, indent=1).encode()).owner_id == "t-1"
    assert ADAPTER.claim(LOG.with_name("meta.json"), b'{"format": "trace", "version": 1}').role == "sidecar"
    assert ADAPTER.claim(LOG.with_name("goal.json"), b'{"goals": 3}') is None
    assert ADAPTER.claim(PurePath("x.jsonl"), b'{"role":"user","content":"hi"}\n') is None
    torn = data + b'{"id":"m9","seq"'
    assert ADAPTER.claim(LOG, torn).role == "session"


def test_the_document_is_the_log_unchanged_behind_its_head() -> None:
    data = story().data()
    (member,) = ADAPTER.of_folder(LOG, Folder({LOG: data, LOG.with_name("goal.json"): b"{torn"}))
    assert member.document().endswith(b"\n" + data)
    assert ADAPTER.claim(LOG, member.document()).whole


OPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.sampled_from(["1", "2", "2.1", None])),
        st.tuples(st.sampled_from(["retract", "restore"]), st.lists(st.integers(0, 12), max_size=3)),
        st.tuples(st.just("sum"), st.lists(st.integers(0, 12), max_size=3)),
        st.tuples(st.just("goal"), st.sampled_from(["1", "2"])),
        st.tuples(st.just("raw"), st.binary(max_size=12)),
    ),
    max_size=14,
)


def built(ops) -> bytes:
    log, out = Log(), []
    for op, with_ in ops:
        if op == "raw":
            out.append(with_.replace(b"\n", b""))
            continue
        if op == "say":
            log.add("user", f"words {len(log.lines)}", with_)
        elif op in ("retract", "restore"):
            log.control(op, *[f"m{n}" for n in with_])
        elif op == "sum":
            log.add("user", "sum", None, kind="summary", replaces={"ids": [f"m{n}" for n in with_]})
        else:
            log.add("user", "sum", with_, kind="summary", replaces={"goal_id": with_})
        out.append(json.dumps(log.lines[-1]).encode())
    return b"\n".join(out)


@given(OPS)
def test_nothing_raises_and_pieces_are_the_whole(ops) -> None:
    data = built(ops)
    whole = read_whole(ADAPTER, LOG, [(data, False)])
    assembly, reader, placed = Assembly(), ADAPTER.reader(LOG), []
    for line in lines(data):
        placed.append(assembly.place(reader.read(line), line))
        reader = ADAPTER.reader(LOG, json.loads(json.dumps(reader.state())))
        assembly = Assembly.from_state(json.loads(json.dumps(assembly.state())))
    assert placed == whole.placed
    for version in whole.versions:
        hidden = [edit for edit in version.edits if isinstance(edit, Hide)]
        assert all(seq <= version.at_seq for edit in hidden for seq in edit.ranges)


@given(
    st.lists(
        st.builds(
            dict, kind=st.sampled_from(["retract", "restore", "summary", 3]), ids=st.sampled_from([None, 3, ["a"], [2]])
        ),
        max_size=5,
    )
)
def test_history_takes_any_facts(found) -> None:
    links = [
        Link(
            n,
            Kind.OTHER,
            None,
            "a",
            None,
            True,
            "",
            None,
            None,
            None,
            (),
            False,
            False,
            b"",
            0,
            {"is": f["kind"], "ids": f["ids"], "replaces": f["ids"]},
        )
        for n, f in enumerate(found)
    ]
    ADAPTER.history(links, lambda seq: (), ADAPTER.reader(LOG).facts)
