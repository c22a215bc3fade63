"""Gemini CLI's way, by the figures of its rule."""

from typing import Any

import pytest

from compaction.outputs import outputs_of
from compaction.plan import Status, SummaryAsk
from compaction.preview import Preview
from compaction.strategies import by_id
from compaction.strategies.base import settled
from compaction.strategies.gemini import ANSWER, Content, cuts, far, head_and_tail, last_lines, previewed, split_point
from sessions.contexts import InsertKind
from tests.builders import Draft, call, items, native_summary, prompt, result, say, session, snapshot
from tests.compaction.strategies.agents import kinds, output, preset, run, said, turns, windowed

USER, MODEL, CALL = (True, False), (False, True), (False, False)


def contents(*many: tuple[bool, bool], weight: int = 10) -> list[Content]:
    return [Content(weight, splits, answers) for splits, answers in many]


def test_split_point() -> None:
    assert split_point(contents(*[USER, MODEL] * 5), 0.7) == 8
    # The last content is a call, and no message of the person lies late enough: the last of them.
    assert split_point(contents(USER, MODEL, USER, CALL, CALL, CALL, CALL, CALL, CALL, CALL), 0.7) == 2
    # The model's words end it: everything.
    assert split_point(contents(USER, *[MODEL] * 9), 0.7) == 10
    assert split_point(contents(USER, CALL), 0.7) == 0
    assert split_point([], 0.7) == 0


PARAMS = settled(by_id("gemini").params, {})


def test_last_lines() -> None:
    text = "\n".join(f"line {n}" for n in range(100))
    cut = last_lines(text, 30)
    assert cut.split("\n")[1:] == [f"line {n}" for n in range(70, 100)]
    assert "30 of 100 lines" in cut
    assert last_lines("a\nb", 30) == "a\nb"
    assert last_lines("x\n" + "y" * 5_000, 30).endswith("\n" + "y" * 1_000 + "…")
    assert last_lines("z" * 4_000, 30) == "z" * 4_000
    assert last_lines("z" * 4_001, 30).endswith("\n" + "z" * 4_000)


def test_head_and_tail() -> None:
    text = "h" * 100 + "m" * 1_000 + "t" * 400
    cut = head_and_tail(text, 500)
    assert cut.split("\n")[1:] == ["h" * 100, "… 1,000 characters left out …", "t" * 400]
    assert head_and_tail("x" * 500, 500) == "x" * 500


def less(start: Any, **params: Any) -> dict[int, str]:
    """What is left of outputs, by the entry."""
    outputs = outputs_of(start)
    return {outputs[n].n: text for n, text in cuts(outputs, {**PARAMS, **params}).items()}


def test_the_budget_runs_from_the_newest_and_charges_what_is_left() -> None:
    start = session(prompt("go"), *output(2_000), *output(30_000), *output(30_000), *output(15_000), say("done"))
    cut = less(start)
    assert set(cut) == {
        4
    }  # 15,000 and 30,000 stay; 30,000 more are cut to 10,000; 2,000 fit again? no: 57,000 are charged
    assert len(cut[4]) > 40_000
    small = less(start, outputs=60_000)
    assert set(small) == {4}
    assert less(start, old="its last lines", lines=30).keys() == {4}
    later = session(prompt("go"), *output(2_000), *output(60_000), *output(30_000), say("done"))
    assert set(less(later, chars=4_000)) == {4}  # an older, small one fits behind it and stays whole


def test_of_a_small_output_nothing_is_cut() -> None:
    start = session(prompt("go"), *output(9_000), *output(45_000))
    assert less(start) == {}  # 36,000 characters are fewer than 40,000
    assert set(less(start, chars=20_000)) == {2}


def test_masking_takes_what_is_far_where_it_is_enough() -> None:
    start = session(prompt("go"), *output(20_000), *output(9_000), *output(45_000), *output(4_000), say("ok"))
    outputs = outputs_of(start)
    found = far(outputs, start, {}, PARAMS)
    assert found == {}  # 29,000 are less than 30,000
    start = session(prompt("go"), *output(21_000), *output(9_100), *output(45_000), *output(4_000), say("ok"))
    outputs = outputs_of(start)
    assert sorted(outputs[n].n for n in far(outputs, start, {}, PARAMS)) == [2, 4]


def test_the_preview_of_a_masked_output() -> None:
    text = "a" * 300 + "b" * 5_000 + "c" * 300
    start = session(prompt("go"), call("Bash", command="make test"), result(f"Exit code 2\n{text}", error=True))
    shown = previewed(outputs_of(start)[0])
    line, head, gap, tail = shown.split("\n", 1)[0], *shown.split("\n", 1)[1].rsplit("\n…\n", 1)[:1], "…", shown[-250:]
    assert line == "[output left out: Bash make test: 5,612 characters, exit 2, failed]"
    assert head == f"Exit code 2\n{text}"[:250]
    assert (gap, tail) == ("…", "c" * 250)


def test_the_last_part_stays_and_the_model_answers_the_snapshot() -> None:
    start = session(*turns(10))
    made = run("gemini", start)
    assert made.status is Status.COMPLETED, made.reason
    assert kinds(made.items)[:3] == ["summary", "message", "prompt"]
    assert made.items[1].text == ANSWER
    assert said(made.items) == [f"Task {n}: change handler_{n}" for n in (7, 8, 9)]
    assert kinds(run("gemini", start, acknowledge=False).items)[:2] == ["summary", "prompt"]


@pytest.mark.parametrize(
    ("which", "shape", "critique", "anchored"),
    [
        ("gemini-0.56", "state-snapshot", True, True),
        ("gemini-seed", "state-snapshot-2025", True, False),
        ("gemini-0.7", "state-snapshot-2025", False, False),
    ],
)
def test_what_it_asks_for(which: str, shape: str, critique: bool, anchored: bool) -> None:
    ask = preset("gemini", which, session(native_summary("Earlier words."), *turns(10))).plan.asks[0]
    assert isinstance(ask, SummaryAsk)
    assert (ask.template, ask.critique, bool(ask.previous)) == (shape, critique, anchored)


def test_the_summariser_reads_the_whole_where_it_fits_and_the_cut_where_not() -> None:
    start = session(prompt("go"), *output(30_000), *output(45_000), say("ok"), prompt("next"), say("done"))
    for window, longest in ((1_000_000, 180_000), (60_000, 45_000)):
        made = run("gemini", start, windowed(window), old="its head and tail", mask=False, outputs=40_000)
        ask = made.plan.asks[0]
        assert isinstance(ask, SummaryAsk)
        assert max(len(item.text) for item in ask.items) <= longest
        assert (max(len(item.text) for item in ask.items) > 45_000) is (window > 100_000)


@pytest.mark.parametrize(("at", "fires"), [(0.2, True), (0.5, True), (0.7, False)])
def test_at_the_threshold(at: float, fires: bool) -> None:
    start = session(*turns(10))
    made = run("gemini", start, windowed(int(start.total / 0.6)), compact="at the threshold", at=at)
    assert made.lands is fires
    if not fires:
        assert made.status is Status.NOOP_BELOW_THRESHOLD


def test_outputs_alone() -> None:
    start = session(prompt("go"), *output(60_000), *output(45_000), say("ok"))
    made = preset("gemini", "outputs only", start)
    assert made.status is Status.PRUNED_ONLY
    assert made.counts["folded"] == 0
    again = preset("gemini", "outputs only", snapshot(start.log(), made.edits))
    assert again.status is Status.NOOP_NOTHING_TO_DO


def shown(text: str, command: str = "") -> list[Draft]:
    return [call("Bash", command=command or "make"), result(text)]


DENSE = "".join(chr(0x4E00 + n * 37) for n in range(250))  # a token a character and more


def again(start: Any, **params: Any) -> tuple[dict[int | None, str], Preview]:
    """What a first run leaves of the outputs, by the entry, and a second run, behind it."""
    first = run("gemini", start, compact="never", **params)
    left = {item.seq: item.parts[0].text for item in first.items if item.masked}
    return left, run("gemini", snapshot(start.log(), first.edits), compact="never", **params)


def test_a_preview_that_is_longer_than_what_a_cut_leaves_takes_nothing_of_the_budget() -> None:
    """Put in the cut's place it would be charged more the second time, and the oldest output would be cut too."""
    new = "new " * 1_000
    start = session(prompt("go"), *shown("old " * 100), *shown(new), *shown(new), say("ok"))
    assert len(head_and_tail(new, 100)) // 4 == 40
    assert len(previewed(outputs_of(start)[1])) // 4 > 100
    # Twice 40 and the oldest, whole, are within the budget; the newest alone is within what is not masked.
    left, second = again(start, chars=100, outputs=190, protect=45, free=0)
    assert second.status is Status.NOOP_NOTHING_TO_DO, second.plan.facts
    assert left == {4: head_and_tail(new, 100), 6: head_and_tail(new, 100)}


def test_an_output_that_less_would_not_shorten_is_charged_whole() -> None:
    """Charged as if it were cut, the oldest would fit behind it the first time, and the second not, when the newest is a preview."""
    old, gaps, new = "old\n" * 100, " " * 1_700 + "\nok", ("new " * 6 + "\n") * 100
    cut, charged = last_lines(new, 30), len(last_lines(gaps, 30)) // 4
    budget = len(cut) // 4 + len(gaps) // 4 - 1
    assert len(cut) // 4 + charged + len(old) // 4 <= budget
    start = session(prompt("go"), *shown(old), *shown(gaps), *shown(new), say("ok"))
    left, second = again(start, old="its last lines", outputs=budget, protect=0, free=500)
    assert second.status is Status.NOOP_NOTHING_TO_DO, second.plan.facts
    assert left == {6: cut, 2: last_lines(old, 30)}


def test_an_output_that_a_preview_would_not_shorten_is_cut_where_that_does() -> None:
    """Else it would be cut the second time, when what was left with less counts no more among the newest, which are not masked."""
    gaps = " " * 120 + DENSE[:130] + " " * 2_000 + DENSE
    new = "new " * 1_000
    start = session(prompt("go"), *shown(gaps), *shown(new), *shown(new), say("ok"))
    left, second = again(start, chars=700, outputs=0, protect=200, free=0)
    assert second.status is Status.NOOP_NOTHING_TO_DO, second.plan.facts
    assert left == {6: head_and_tail(new, 700), 4: previewed(outputs_of(start)[1]), 2: head_and_tail(gaps, 700)}


def test_three_times_in_a_row() -> None:
    start = session(*turns(10))
    for round_ in range(3):
        made = run("gemini", start)
        assert made.status is Status.COMPLETED, made.reason
        assert sum(item.kind is InsertKind.SUMMARY for item in made.items) == 1
        assert sum(item.text == ANSWER for item in made.items) == 1
        then = snapshot(start.log(), made.edits)
        assert run("gemini", then).status is Status.NOOP_NOTHING_TO_DO
        start = snapshot(items([d for n in range(6) for d in turns(1)], start.log()), made.edits)
        assert round_ < 3


def test_nothing_to_split_at() -> None:
    made = run("gemini", session(prompt("go"), *output(5_000)))
    assert made.status is Status.NOOP_NOTHING_TO_DO
