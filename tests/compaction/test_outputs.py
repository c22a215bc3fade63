"""Outputs one by one, what is left of entries, and entries that are sent in pieces."""

from dataclasses import replace

from compaction.blocks import blocks
from compaction.masks import in_pieces, masks_at
from compaction.outputs import CLEARED, left, outputs_of, replaced
from compaction.plan import Budget, Snapshot
from sessions.entries import Kind, Part, PartKind, Role
from sessions.meters.tokens import count
from tests.builders import call, prompt, result, say, session, think

BUDGET = Budget("o200k", count)
LONG = "word " * 300


def in_two_pieces() -> Snapshot:
    """A session whose entry 2 is sent as results and, beside them, the person's words."""
    start = session(prompt("go"), call("Bash", "c1", command="ls"), result(LONG, "c1"), say("ok"))
    words = replace(
        start.items[2],
        key="e2:words",
        role=Role.USER,
        kind=Kind.PROMPT,
        parts=(Part(PartKind.TEXT, "stop, do it otherwise"),),
    )
    return replace(
        start, items=(*start.items[:3], words, start.items[3]), tokens=(*start.tokens[:3], 5, start.tokens[3])
    )


def test_the_newest_output_comes_first_and_knows_its_call() -> None:
    start = session(prompt("go"), call("Bash", command="ls"), result("a"), call("Read", file_path="x"), result("b"))
    assert [(o.n, o.tool, o.part.text, o.free) for o in outputs_of(start)] == [
        (4, "Read", "b", True),
        (2, "Bash", "a", True),
    ]


def test_what_may_not_be_left_with_less() -> None:
    start = session(
        prompt("go"),
        call("TodoWrite", todos=[]),
        result(LONG),
        call("Bash", command="ls"),
        result(LONG),
        pins=[4],
    )
    assert [output.free for output in outputs_of(start)] == [False, False]
    less = left(start, BUDGET, [(output, "x") for output in outputs_of(start)])
    assert (less.bodies, less.items, less.tokens) == ({}, start.items, start.tokens)


def test_several_outputs_of_one_entry_one_by_one() -> None:
    start = session(
        prompt("go"),
        call("Bash", "a", command="x"),
        call("Bash", "b", command="y"),
        result(LONG, "a"),
        result("?", "b"),
    )
    both = replace(start.items[3], parts=(*start.items[3].parts, Part(PartKind.TOOL_RESULT, LONG, call_id="b")))
    size = start.tokens[3]
    start = replace(start, items=(*start.items[:3], both), tokens=(*start.tokens[:3], 2 * size))
    older = outputs_of(start)[1]
    less = left(start, BUDGET, [(older, CLEARED)])
    assert [part.text for part in less.bodies[3]] == [CLEARED, LONG]
    assert [part.call_id for part in less.bodies[3]] == ["a", "b"]
    assert size < less.tokens[3] < 2 * size
    assert less.items[3].masked


def test_pictures_go_with_all_outputs_beside_them_and_else_the_entry_stays() -> None:
    start = session(prompt("go"), call("Read", file_path="a.png"), result(LONG, images=2))
    less = left(start, BUDGET, [(outputs_of(start)[0], CLEARED)])
    assert [part.kind for part in less.bodies[2]] == [PartKind.TOOL_RESULT]
    kept = replaced(start, BUDGET, {2: start.items[2].parts})
    assert kept.bodies == {}


def test_what_would_save_nothing_stays() -> None:
    start = session(prompt("go"), call("Bash", command="ls"), result("a.py"))
    assert left(start, BUDGET, [(outputs_of(start)[0], CLEARED)]).bodies == {}


def test_an_answer_with_signed_reasoning_is_not_touched() -> None:
    start = session(prompt("go"), think("signed"), call("Bash", "c1", command="ls"), result(LONG, "c1"))
    both = replace(
        start.items[2], parts=(*start.items[2].parts, *start.items[3].parts)
    )  # call and result in one record
    start = replace(start, items=(*start.items[:2], both), tokens=(*start.tokens[:2], sum(start.tokens[2:])))
    assert [output.free for output in outputs_of(start)] == [False]


def test_an_entry_in_pieces_is_not_masked_and_not_parted() -> None:
    start = in_two_pieces()
    assert in_pieces(start) == {2}
    assert [output.free for output in outputs_of(start)] == [False]
    assert masks_at(start, BUDGET, [2]) == ({}, {})
    of = blocks(start.items).of
    assert of[1] == of[2] == of[3]
    assert of[3] != of[4]
