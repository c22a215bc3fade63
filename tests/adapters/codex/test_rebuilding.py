"""What the model sees after compactions and rollbacks. Every expectation is what Codex 0.171 sent when it was given the same log."""

from __future__ import annotations

import pytest

from sessions.contexts import Hide, Insert, Replace, project
from sessions.entries import PartKind
from tests.adapters.codex.build import (
    Record,
    call,
    compacted,
    context,
    end,
    event,
    image,
    item,
    mail,
    message,
    meta,
    output,
    read,
    rollback,
    says,
    start,
    summary,
    thinks,
    turn,
    turn_context,
    user,
    words,
)

ONE = turn("t1", user("u1"), says("a1"))
TWO = turn("t2", user("u2"), says("a2"))
FOUR = turn("t4", user("u4"), says("a4"))
KEPT = [*message("user", "u1"), *message("user", "u2"), *summary("S")]
COMPACTION = turn("tc", compacted("S", KEPT))
LOOSE = [*user("u1"), *says("a1"), *user("u2"), *says("a2")]  # no turn marks: one single segment
LONG = " ".join(f"w{n}" for n in range(30000))

REPLACED = ["u:u1", "u:u2", "u:SUM S"]

TABLE: dict[str, tuple[list[Record], list[str]]] = {
    "rollback after a compaction": ([*ONE, *TWO, *COMPACTION, *FOUR, *rollback(1)], REPLACED),
    "rollback across a compaction": ([*ONE, *TWO, *COMPACTION, *FOUR, *rollback(2)], ["u:u1", "a:a1"]),
    "rollback of a compaction turn": ([*ONE, *TWO, *COMPACTION, *rollback(1)], ["u:u1", "a:a1"]),
    "compaction inside the turn rolled back": (
        [*ONE, *turn("t2", user("u2"), compacted("S", KEPT), says("more")), *rollback(1)],
        ["u:u1", "a:a1"],
    ),
    "compaction inside the turn before": (
        [*ONE, *turn("t2", user("u2"), compacted("S", KEPT), says("more")), *FOUR, *rollback(1)],
        [*REPLACED, "a:more"],
    ),
    "a turn that only compacts is no turn of the person's": (
        [
            *ONE,
            *turn("ta", compacted("A", [*summary("A")])),
            *turn("tb", compacted("B", [*message("user", "kept"), *summary("B")])),
            *rollback(1),
        ],
        [],
    ),
    "turn marks that do not fit": (
        [
            *turn("ty", user("uy"), compacted("S", KEPT)),
            *start("ta"),
            *user("ua"),
            *start("tb"),
            *user("ub"),
            *end("tb"),
            *end("ta"),
            *rollback(2),
        ],
        REPLACED,
    ),
    "settings that name another turn": (
        [
            *turn("ty", user("uy"), compacted("S", KEPT)),
            *start("ta"),
            *user("ua"),
            *start("tb"),
            *user("ub"),
            *turn_context("gpt-5.4", turn_id="ta"),
            *rollback(2),
        ],
        ["u:uy"],
    ),
    "no turn marks, a rollback before the compaction": (
        [*LOOSE, *rollback(1), *user("u3"), *compacted("S", KEPT), *user("u4")],
        ["u:u1", "a:a1", "u:u3", "u:u4"],
    ),
    "no turn marks, one turn": (
        [*LOOSE, *compacted("S", KEPT), *user("u4"), *says("a4"), *rollback(1)],
        ["u:u1", "a:a1", "u:u2", "a:a2"],
    ),
    "no turn marks, two turns": (
        [*LOOSE, *compacted("S", KEPT), *user("u4"), *says("a4"), *rollback(2)],
        ["u:u1", "a:a1"],
    ),
    "context before the first turn stays": (
        [*turn("t1", context(), user("u1"), says("a1")), *rollback(1)],
        ["d:permissions", "u:environment"],
    ),
    "context before a turn goes with it": (
        [*ONE, *turn("t2", context(), user("u2"), says("a2")), *rollback(1)],
        ["u:u1", "a:a1"],
    ),
    "other developer words stay": (
        [*ONE, *turn("t2", message("developer", "free"), user("u2"), says("a2")), *rollback(1)],
        ["u:u1", "a:a1", "d:free"],
    ),
    "a second message in one turn is a turn": (
        [*ONE, *turn("t2", user("u2"), says("a2"), user("steer"), says("a3")), *rollback(1)],
        ["u:u1", "a:a1", "u:u2", "a:a2"],
    ),
    "more turns than there are": ([*ONE, *rollback(5), *TWO], ["u:u2", "a:a2"]),
    "two rollbacks": (
        [*ONE, *TWO, *rollback(1), *turn("t3", user("u3"), says("a3")), *rollback(1), *FOUR],
        ["u:u1", "a:a1", "u:u4", "a:a4"],
    ),
    "rollbacks around a compaction": (
        [
            *ONE,
            *TWO,
            *rollback(1),
            *turn("tc", compacted("S", [*message("user", "u1"), *summary("S")])),
            *turn("t3", user("u3"), says("a3")),
            *rollback(1),
            *FOUR,
            *rollback(2),
        ],
        [],
    ),
    "a notice after the turn goes with it": (
        [*ONE, *TWO, *message("user", "<subagent_notification>\ny\n</subagent_notification>"), *rollback(1)],
        ["u:u1", "a:a1"],
    ),
    "mail is a turn": ([*ONE, *turn("t2", mail("do it"), says("a2")), *rollback(1)], ["u:u1", "a:a1"]),
    "a message that begins like context but does not end like it is a person's": (
        [*ONE, *turn("t2", message("user", "<environment_context> is what?"), says("a2")), *rollback(1)],
        ["u:u1", "a:a1"],
    ),
    "one text of context makes a message context": (
        [
            *ONE,
            *turn("t2", message("user", "hi", "<environment_context>\nE</environment_context>"), says("a2")),
            *rollback(1),
        ],
        [],
    ),
    "compaction without a history": ([*ONE, *TWO, *turn("tc", compacted("S")), *FOUR, *rollback(1)], REPLACED),
    "compaction without a history, rolled back": (
        [*ONE, *TWO, *turn("tc", compacted("S")), *FOUR, *rollback(2)],
        ["u:u1"],
    ),
    "compaction without a history, all rolled back": (
        [*ONE, *TWO, *turn("tc", compacted("S")), *FOUR, *rollback(3)],
        [],
    ),
    "compaction without a history inside a turn": (
        [*ONE, *turn("t2", user("u2"), says("a2"), compacted("S"), says("b")), *rollback(1)],
        ["u:u1"],
    ),
    "of two summaries the newer": (
        [*ONE, *turn("tc", compacted("S")), *TWO, *turn("td", compacted("T")), *FOUR],
        ["u:u1", "u:u2", "u:SUM T", "u:u4", "a:a4"],
    ),
    "no summary": (
        [*ONE, *start("tc"), {**compacted("")[0], "payload": {"message": ""}}, *end("tc"), *FOUR],
        ["u:u1", "u:(no summary available)", "u:u4", "a:a4"],
    ),
    "an empty history": ([*ONE, *turn("tc", compacted("S", [])), *FOUR], ["u:u4", "a:a4"]),
    "a history whose metadata does not fit is no compaction": (
        [*ONE, *turn("tc", compacted("S", message("user", "k"), replacement_history_metadata=[])), *FOUR],
        ["u:u1", "a:a1", "u:u4", "a:a4"],
    ),
    "images do not outlive a compaction without a history": (
        [*turn("t1", image("see"), says("a1")), *turn("tc", compacted("S"))],
        ["u:see", "u:SUM S"],
    ),
    "mail does not outlive it": (
        [*ONE, *turn("t2", mail("do it"), says("a2")), *turn("tc", compacted("S"))],
        ["u:u1", "u:SUM S"],
    ),
    "missing results and stray ones": (
        [
            *turn(
                "t1",
                user("u1"),
                call("c1"),
                call("c2"),
                output("c2"),
                output("stray"),
                says("a1"),
                call("c3"),
                says("end"),
            )
        ],
        ["u:u1", "a:{}", "t:aborted", "a:{}", "t:ok", "a:a1", "a:{}", "t:aborted", "a:end"],
    ),
    "a result without an id is no result of a call": (
        [
            *turn(
                "t1",
                user("u1"),
                item("function_call_output", name="goal_objective", namespace="agent", output="G"),
                says("a1"),
            )
        ],
        ["u:u1", "t:G", "a:a1"],
    ),
    "what the agent cannot read is not sent": (
        [
            *turn(
                "t1",
                user("u1"),
                item("function_call", name="x", arguments={"a": 1}, call_id="c1"),
                output("c1"),
                says("a1"),
            ),
            *message("system", "not sent"),
            *item("ghost_snapshot", ghost_commit={"id": "abc"}),
            *item("whatever", x=1),
            {"type": "response_item", "payload": message("user", "without a time")[0]["payload"]},
        ],
        ["u:u1", "a:a1"],
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_rebuilt_as_the_agent_does(name: str) -> None:
    records, expected = TABLE[name]
    assert words(read(meta(), records).context()) == expected


def test_long_messages_keep_their_ends_within_the_budget() -> None:
    reading = read(
        meta(),
        turn("t1", user("Y " + LONG), says("a1")),
        turn("t2", user("X " + LONG[:60000]), says("a2")),
        turn("t3", user("Z " + LONG[:30001]), says("a3")),
        turn("tc", compacted("S")),
        turn("t4", user("u4")),
    )
    context = reading.context()
    assert [len(one.text.encode()) for one in context][1:] == [30003, len(context[2].text.encode()), 2]
    assert [len(part.text.encode()) for part in context[0].parts] == [24998, 27, 24998]
    assert context[0].parts[1].text == "…2502 tokens truncated…"
    assert context[0].masked


def test_characters_are_not_cut_in_half() -> None:
    reading = read(meta(), turn("t1", user("日本語" * 40000), says("a1")), turn("tc", compacted("S")))
    assert [len(part.text.encode()) for part in reading.context()[0].parts] == [39999, 28, 39999]


def test_a_compaction_keeps_the_entries_that_its_history_repeats() -> None:
    reading = read(
        meta(),
        turn("t1", context(), user("u1"), says("a1")),
        turn("t2", image("u2"), says("a2")),
        turn("tc", compacted("S", [*message("user", "u1"), *message("user", "u2"), *context(), *summary("S")])),
        FOUR,
    )
    (version,) = reading.versions
    assert version.kind == "compaction"
    kept = [one.seq for one in reading.context() if one.seq is not None]
    first, second = (p.seq for p in reading.placed if p.entry.opens_turn and p.entry.text.startswith(("u1", "u2")))
    assert kept[:2] == [first, second]
    replaced = [edit for edit in version.edits if isinstance(edit, Replace)]
    assert [edit.seq for edit in replaced] == [second]
    assert [part.kind for part in replaced[0].parts] == [PartKind.TEXT]
    inserted = [edit for edit in version.edits if isinstance(edit, Insert)]
    assert [str(edit.kind) for edit in inserted] == ["message", "message", "summary"]
    assert inserted[-1].stands_for
    assert all(edit.after == version.at_seq for edit in inserted)


def test_a_persons_words_are_kept_before_the_agents_context() -> None:
    history = [*message("user", "u1"), *context(), *summary("S")]
    reading = read(meta(), turn("t1", context(), user("u1"), says("a1")), turn("tc", compacted("S", history)))
    prompt = next(p.seq for p in reading.placed if p.entry.opens_turn)
    assert [one.seq for one in reading.context()] == [prompt, None, None, None]


def test_a_history_that_repeats_what_an_earlier_one_dropped_brings_the_entries_back() -> None:
    whole = [*message("user", "u1"), *says("a1"), *message("user", "u2"), *says("a2")]
    reading = read(
        meta(), ONE, TWO, COMPACTION, FOUR, turn("tu", compacted("back", [*whole, *message("user", "u4"), *says("a4")]))
    )
    assert words(reading.context()) == ["u:u1", "a:a1", "u:u2", "a:a2", "u:u4", "a:a4"]
    assert all(one.seq is not None for one in reading.context())
    assert not any(isinstance(edit, Insert) for edit in reading.versions[-1].edits)


def test_every_version_shows_what_the_model_saw_then() -> None:
    reading = read(meta(), ONE, TWO, COMPACTION, FOUR, rollback(2), turn("t5", user("u5"), says("a5")))
    seen = [
        words(reading.adapter.wire(project(reading.items(until_seq=version.at_seq), version.edits), reading.facts))
        for version in reading.versions
    ]
    assert [version.kind for version in reading.versions] == ["compaction", "rollback"]
    assert seen == [REPLACED, ["u:u1", "a:a1"]]
    assert words(reading.context()) == ["u:u1", "a:a1", "u:u5", "a:a5"]


@pytest.mark.parametrize(("version", "warns"), [("0.125.0", True), ("0.148.0", True), ("0.171.0", False)])
def test_old_versions_lose_history_where_a_rollback_crosses_a_compaction(version: str, warns: bool) -> None:
    crossing = read(meta(version=version), ONE, TWO, COMPACTION, FOUR, rollback(2)).versions[-1]
    assert crossing.facts["undid_compaction"] is True
    assert ("warning" in crossing.facts) is warns
    within = read(meta(version=version), ONE, TWO, COMPACTION, FOUR, rollback(1)).versions[-1]
    assert "warning" not in within.facts


def test_a_summary_of_the_provider_is_a_sealed_ghost() -> None:
    reading = read(
        meta(),
        ONE,
        turn(
            "tc",
            [
                {
                    **compacted("")[0],
                    "payload": {
                        "message": "",
                        "replacement_history": [
                            message("user", "u1")[0]["payload"],
                            {"type": "compaction", "encrypted_content": "x" * 120},
                        ],
                    },
                }
            ],
        ),
    )
    (version,) = reading.versions
    (inserted,) = [edit for edit in version.edits if isinstance(edit, Insert)]
    assert inserted.parts[0].kind is PartKind.MARKER
    assert inserted.parts[0].signed
    assert "120" in inserted.text
    assert version.facts["sealed"] is True
    assert version.label == "Compacted by the provider"


def test_hidden_entries_are_few_spans() -> None:
    turns = [
        record
        for n in range(50)
        for record in turn(f"t{n}", user(f"u{n}"), thinks("x"), call(f"c{n}"), output(f"c{n}"), says(f"a{n}"))
    ]
    reading = read(meta(), turns, turn("tc", compacted("S", [*message("user", "u49"), *summary("S")])))
    (hide,) = [edit for edit in reading.versions[-1].edits if isinstance(edit, Hide)]
    assert len(hide.ranges.spans) == 2
    assert words(reading.context()) == ["u:u49", "u:SUM S"]


def test_an_aborted_turn_without_marks_of_its_end_counts() -> None:
    aborted = [*start("t2"), *user("u2"), *says("a2"), *event("turn_aborted", turn_id="t2", reason="interrupted")]
    assert words(read(meta(), ONE, aborted, rollback(1)).context()) == ["u:u1", "a:a1"]
