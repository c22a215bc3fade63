"""The laws of a session's memory, over made-up histories: budgets, the same twice, and a person's lines."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.notes.asking import ask_for
from compaction.notes.due import Since, due
from compaction.notes.editing import TooLong, compare, edited
from compaction.notes.sections import (
    ALL,
    EACH,
    ERRORS,
    STATE,
    TITLES,
    WORKLOG,
    BadText,
    Line,
    Notes,
    over,
    parse,
    render,
    section_text,
)
from compaction.notes.updating import update
from compaction.summarisers.writing import Capacity, Reply
from sessions.contexts import Item
from sessions.meters.tokens import count
from sessions.ranges import Ranges
from tests.builders import Draft, call, items, prompt, result, say
from tests.compaction.histories import turns

HISTORIES = st.lists(turns(), max_size=7).map(lambda drawn: items([draft for turn in drawn for draft in turn]))


def in_pieces(log: list[Item], size: int, start: Notes | None = None) -> Notes:
    notes = Notes() if start is None else start
    for end in range(0, len(log) + size, size):
        notes = update(notes, log[:end], count)
    return notes


@settings(max_examples=40, deadline=None)
@given(HISTORIES, st.integers(1, 9))
def test_an_update_twice_is_the_same_and_its_text_reads_back(log: list[Item], size: int) -> None:
    notes = in_pieces(log, size)
    assert update(notes, log, count) == notes
    assert Notes.from_json(notes.to_json()) == notes
    assert parse(render(notes)) == tuple(tuple(line.text for line in lines) for lines in notes.sections)
    known = {item.seq for item in log}
    assert {seq for line in notes.lines for seq in line.seqs} <= known


@settings(max_examples=15, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=900), min_size=1, max_size=60), st.integers(1, 40))
def test_budgets_hold_whatever_was_said(said: list[str], times: int) -> None:
    long = [prompt(f"{n} {text}" * times) for n, text in enumerate(said)]
    log = items(
        [
            one
            for n, ask in enumerate(long)
            for one in (
                ask,
                call("Bash", command=f"make {n} {said[n]}"),
                result(said[n], error=n % 2 == 0),
                say(said[n] * times),
            )
        ]
    )
    notes = update(Notes(), log, count)
    assert over([[line.text for line in lines] for lines in notes.sections], count) == ""
    assert count([render(notes)])[0] <= ALL
    assert all(
        tokens <= EACH
        for tokens in count([section_text(n, [one.text for one in lines]) for n, lines in enumerate(notes.sections)])
    )


@settings(max_examples=40, deadline=None)
@given(HISTORIES, HISTORIES, st.sampled_from(range(len(TITLES))), st.text("ab c", min_size=1).filter(str.strip))
def test_a_persons_line_survives_any_update_and_a_line_taken_out_stays_out(
    first: list[Item], then: list[Item], section: int, words: str
) -> None:
    notes = update(Notes(), first, count)
    mine = f"mine: {words.strip()}"
    text = render(notes).replace(f"# {TITLES[section]}", f"# {TITLES[section]}\n- {mine}")
    out = next((line for line in notes.lines if line.key.startswith(("asked:", "file:", "run:"))), None)
    if out is not None:
        text = "\n".join(row for row in text.split("\n") if row != f"- {out.text}")
    after = edited(notes, notes, text, count)
    assert any(line.own and line.text == mine for line in after.sections[section])
    moved = [
        Item(f"e{n}", n, one.role, one.kind, one.parts)
        for n, one in enumerate(then, (first[-1].seq or 0) + 1 if first else 0)
    ]
    again = in_pieces([*first, *moved], 7, after)
    assert any(line.own and line.text == mine for line in again.sections[section])
    if out is not None:
        assert all(line.key != out.key for line in again.lines)
    assert over([[line.text for line in lines] for lines in again.sections], count) == ""


def test_what_came_while_a_person_wrote_stays() -> None:
    log = items(
        [prompt("Stream it."), call("Bash", command="make a"), result("ok"), prompt("Test it."), say("It passes.")]
    )
    seen = update(Notes(), log[:3], count)
    newest = update(seen, log, count)
    text = render(seen).replace("# Learnings\n- (nothing yet)", "# Learnings\n- the cache is cold on Mondays")
    both = edited(seen, newest, text, count)
    assert [line.text for line in both.sections[7]] == ["the cache is cold on Mondays"]
    assert both.sections[WORKLOG] == newest.sections[WORKLOG]
    assert both.until == newest.until
    assert [(one.title, one.new) for one in compare(newest, both) if one.new] == [
        ("Learnings", ("the cache is cold on Mondays",))
    ]


def test_an_error_that_passes_later_is_said_to_have_passed_also_across_updates() -> None:
    log = items(
        [
            prompt("Fix."),
            call("Bash", command="make t"),
            result("error: boom", error=True),
            call("Bash", command="make t"),
            result("fine"),
        ]
    )
    open_ = update(Notes(), log[:3], count)
    assert "not seen to pass" in open_.sections[ERRORS][0].text
    assert "passed later" in update(open_, log, count).sections[ERRORS][0].text


def test_a_call_without_its_result_waits_and_a_dead_one_holds_nothing_up() -> None:
    log = items([prompt("Go."), say("Yes."), call("Bash", command="sleep")])
    assert update(Notes(), log, count).until == 1
    assert update(Notes(), items([prompt("Never mind.")], log), count).until == 3


def test_what_was_rolled_back_goes_and_a_persons_line_does_not() -> None:
    log = items([prompt("Port it."), say("Done."), prompt("Now paint it blue."), say("It is blue.")])
    notes = update(Notes(), log, count)
    mine = edited(notes, notes, render(notes).replace("# Learnings\n", "# Learnings\n- blue is wrong\n"), count)
    after = update(mine, log, count, gone=Ranges.of([(2, 4)]))
    assert "paint it blue" not in render(after)
    assert "blue is wrong" in render(after)
    assert any("It is blue" in line.text for line in notes.sections[STATE])


def made(number: int) -> list[Draft]:
    return [one for n in range(number) for one in (call("Bash", command=f"make {n}"), result("ok"))]


def worklog(notes: Notes) -> list[str]:
    return [line.text for line in notes.sections[WORKLOG] if not line.own]


def test_a_turn_whose_line_was_taken_out_goes_on_without_one() -> None:
    log = items([prompt("Build it."), *made(2)])
    notes = update(Notes(), log, count)
    assert worklog(notes) == ["“Build it.”: 2 calls"]
    mine = edited(notes, notes, render(notes).replace("- “Build it.”: 2 calls", "- built twice"), count)
    then = items([*made(3), prompt("Test it."), *made(1)], log)
    assert worklog(in_pieces(then, 1, mine)) == ["“Test it.”: 1 call"]


def test_a_turn_is_counted_on_while_the_worklog_has_no_room_for_its_line() -> None:
    log = items([prompt("Build it.")])
    long = "# Worklog\n- " + "many words " * 995
    notes = update(Notes(), log, count)
    full = edited(notes, notes, render(notes).replace("# Worklog", long), count)
    assert worklog(full) == []
    log = items(made(3), log)
    full = Notes.from_json(update(full, log, count).to_json())
    assert worklog(full) == []
    after = edited(full, full, render(full).replace(long.rstrip(), "# Worklog"), count)
    assert worklog(in_pieces(items(made(2), log), 3, after)) == ["“Build it.”: 5 calls"]


def test_of_a_turn_that_was_rolled_back_or_that_a_model_wrote_of_nothing_is_counted() -> None:
    log = items([prompt("Build it."), say("Yes."), *made(2)])
    back = update(update(Notes(), log[:2], count), log, count, gone=Ranges.of([(0, 2)]))
    text = "\n".join(f"# {title}\n- a line of {title}" for title in TITLES)
    written = ask_for(update(Notes(), log[:2], count), log, Capacity(), count, lambda request: Reply(text))
    for notes in (back, written):
        kept = worklog(notes)
        assert not any("call" in line for line in kept)
        then = in_pieces(items([*made(1), prompt("Test it."), *made(1)], log), 1, notes)
        assert worklog(then) == [*kept, "“Test it.”: 1 call"]


@pytest.mark.parametrize(("there", "lines"), [(True, ["“Build it.”: 3 calls"]), (False, [])])
def test_versions_of_before_the_open_turn_was_kept(there: bool, lines: list[str]) -> None:
    log = items([prompt("Build it."), *made(2)])
    notes = update(Notes(), log, count)
    if not there:
        notes = replace(notes, sections=(*notes.sections[:WORKLOG], ()))
    old = {key: value for key, value in notes.to_json().items() if key != "open"} | {"turn": "turn:0"}
    read = Notes.from_json(old)
    assert worklog(update(read, items(made(1), log), count)) == lines
    assert Notes.from_json(Notes().to_json() | {"turn": ""}) == Notes()


def test_a_text_that_lacks_a_heading_or_is_too_long_is_refused() -> None:
    notes = Notes()
    with pytest.raises(BadText, match="“Worklog” is missing"):
        edited(notes, notes, render(notes).replace("# Worklog", ""), count)
    with pytest.raises(TooLong, match="a section has room for 2,000"):
        edited(notes, notes, render(notes).replace("# Worklog", "# Worklog\n- " + "so much to say " * 900), count)
    assert Line("x", own=True).name == "x"


@pytest.mark.parametrize(
    ("since", "words"),
    [
        (Since(9_999, 40, 14, False, begun=False), ""),
        (Since(10_000, 0, 0, False, begun=False), "has reached 10,000"),
        (Since(4_999, 9, 9, True, begun=True), ""),
        (Since(5_000, 2, 2, False, begun=True), ""),
        (Since(5_000, 3, 3, False, begun=True), "3 calls"),
        (Since(5_000, 0, 0, True, begun=True), "come to a pause"),
        (Since(100, 15, 15, False, begun=True), "3 results that clearing would take"),
        (Since(100, 15, 15, False, begun=False), "3 results that clearing would take"),
    ],
)
def test_when_it_is_time(since: Since, words: str) -> None:
    assert (words in due(since)) if words else due(since) == ""
