"""What our own strategies promise beyond the laws: what goes, what stands for it, and that a range can be taken back alone."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from compaction.handwork import Unfold, by_hand
from compaction.plan import Budget, Snapshot, Status
from compaction.preview import Preview, preview
from compaction.strategies import by_id
from compaction.strategies.base import BadParam, settled
from sessions.contexts import InsertKind, project
from sessions.entries import GoalStatus
from sessions.goals import Goal
from sessions.meters.tokens import count
from tests.builders import Draft, call, prompt, read, result, say, session, snapshot

BUDGET = Budget("o200k", count)


def run(name: str, start: Snapshot, **params: Any) -> Preview:
    strategy = by_id(name)
    return preview(strategy, start, BUDGET, settled(strategy.params, params))


def work(name: str, times: int) -> list[Draft]:
    """Calls of one goal and their results."""
    return [d for n in range(times) for d in (call("Bash", command=f"{name} {n}"), result(f"{name} says {n}\n" * 40))]


def with_goals(start: Snapshot, owned: dict[range, str], *goals: Goal) -> Snapshot:
    places = {seq: path for seqs, path in owned.items() for seq in seqs}
    items = tuple(replace(item, goal=places.get(item.seq or 0)) for item in start.items)
    return replace(start, items=items, log=lambda: items, goals=lambda: goals)


def test_a_goal_given_up_becomes_one_note_with_its_reason() -> None:
    last = [say("No such device."), call("Bash", command="mmap 14"), result("no")]
    start = session(prompt("make it fast"), work("look", 10), work("mmap", 14), last, work("chunks", 4))
    tree = with_goals(
        start,
        {range(1, 21): "1", range(21, 52): "2", range(52, 60): "2'"},
        Goal("1", "analyse", GoalStatus.IN_PROGRESS),
        Goal("2", "map the file", GoalStatus.ABANDONED, note="the mount has no mmap"),
        Goal("2'", "read in chunks", GoalStatus.IN_PROGRESS),
    )
    made = run("goal-tree", tree)
    assert made.status is Status.COMPLETED
    assert [item.seq for item in made.items] == [*range(21), None, *range(52, 60)]
    note = made.items[21]
    assert note.kind is InsertKind.SUMMARY
    assert note.text.startswith("[Goal 2, given up: map the file]\nReason: the mount has no mmap\n")
    assert "last said: No such device." in note.text
    assert "$ mmap 14 → exit 0" in note.text
    assert [*note.stands_for] == [*range(21, 52)]


def test_only_the_goals_that_are_named_are_folded() -> None:
    start = session(prompt("go"), work("one", 6), work("two", 6), work("three", 6))
    owned = {range(1, 13): "1", range(13, 25): "2", range(25, 37): "2.1"}
    closed = [Goal("1", "first", GoalStatus.COMPLETED), Goal("2", "second", GoalStatus.COMPLETED)]
    tree = with_goals(start, owned, *closed, Goal("2.1", "its part", GoalStatus.COMPLETED, parent="2"))

    def notes(paths: str) -> list[str]:
        return [item.label.partition(",")[0] for item in run("goal-tree", tree, goals=paths).items if item.inserted]

    assert notes("1") == ["Goal 1"]
    assert notes("2") == ["Goal 2"], "with what is under it"
    assert notes("2.1") == ["Goal 2.1"], "a branch may begin below one that is closed too"
    assert notes("1, 2.1") == ["Goal 1", "Goal 2.1"]
    assert notes("auto") == ["Goal 1", "Goal 2"]
    unknown = run("goal-tree", tree, goals="7")
    assert not unknown.lands
    assert "no goal 7" in unknown.reason


def test_a_closed_branch_takes_the_notes_below_it_and_an_open_goal_keeps_all_above() -> None:
    start = session(prompt("go"), work("one", 6), work("two", 6), work("three", 6))
    owned = {range(1, 13): "1.1", range(13, 25): "1", range(25, 37): "2.1"}
    below = [Goal("1.1", "part", GoalStatus.COMPLETED, parent="1"), Goal("2.1", "open", GoalStatus.PENDING, parent="2")]
    first = run("goal-tree", with_goals(start, owned, Goal("1", "all", GoalStatus.IN_PROGRESS), *below))
    assert [item.label for item in first.items if item.inserted] == ["Goal 1.1, made at entry 36"]
    closed = [Goal("1", "all", GoalStatus.COMPLETED), Goal("2", "top", GoalStatus.COMPLETED)]
    tree = with_goals(start, owned, *closed, *below)
    then = replace(snapshot(tree.log(), first.edits), goals=tree.goals)
    second = run("goal-tree", then)
    assert [item.label for item in second.items if item.inserted] == ["Goal 1, made at entry 36"]
    assert [item.seq for item in second.items if item.seq is not None] == [0, *range(25, 37)]
    assert "(earlier)" in second.items[1].text


def test_where_closed_goals_leave_too_much_a_full_strategy_goes_over_the_rest_and_leaves_their_notes() -> None:
    start = session(prompt("go"), work("one", 30), prompt("more"), work("two", 30), prompt("on"), work("three", 3))
    owned = {range(1, 61): "1", range(62, 122): "2"}
    tree = with_goals(
        start,
        owned,
        Goal("1", "first", GoalStatus.ABANDONED, note="no mmap there"),
        Goal("2", "second", GoalStatus.IN_PROGRESS),
    )
    alone = run("goal-tree", tree)
    assert len([item for item in alone.items if item.inserted]) == 1
    made = run("goal-tree", tree, threshold=3_000)
    assert made.status is Status.COMPLETED, made.reason
    assert made.tokens_after < 3_000 < alone.tokens_after
    labels = [item.label for item in made.items if item.inserted]
    assert labels == ["Summary, made at entry 128", "Goal 1, made at entry 128", "open goals"]
    summary, note, _ = (item for item in made.items if item.inserted)
    assert "Reason: no mmap there" in note.text
    assert set(note.stands_for) == set(range(1, 61))
    assert not set(summary.stands_for) & set(note.stands_for)
    goals = replace(snapshot(tree.log(), made.edits), goals=tree.goals)
    assert not run("goal-tree", goals, threshold=3_000).lands
    assert run("goal-tree", tree, threshold=3_000, full="nothing").tokens_after == alone.tokens_after


def test_each_range_is_a_fold_of_its_own_and_comes_back_alone() -> None:
    start = session(prompt("go"), work("one", 6), work("two", 6), say("done"))
    made = run("range", start, ranges="2-6,15-18")
    notes = [item for item in made.items if item.inserted]
    assert [[*note.stands_for] for note in notes] == [[*range(1, 7)], [*range(15, 19)]]  # widened to whole answers
    held = snapshot(start.log(), made.edits)
    back = by_hand(held, Unfold(0))
    assert [item.seq for item in project(start.log(), back.edits)] == [*range(15), None, *range(19, 26)]


def test_ranges_are_read_as_they_are_written() -> None:
    assert settled(by_id("range").params, {"ranges": " 12–40, 55 "})["ranges"] == "12-40,55"
    for wrong in ("4-2", "a", "1--2"):
        with pytest.raises(BadParam):
            settled(by_id("range").params, {"ranges": wrong})


def test_what_stands_there_twice_stands_there_once() -> None:
    text = "\n".join(f"line {n} of the file" for n in range(60))
    start = session(
        prompt("one"),
        read("/home/ada/app/a.py", text),
        read("/home/ada/app/a.py", text, start=10, limit=20),
        read("/home/ada/app/b.py", text),
        call("Write", file_path="/home/ada/app/c.py", content="x = 1\n" * 200),
        result("Permission denied", error=True),
        read("/home/ada/app/a.py", text),
        prompt("two"),
    )
    made = run("dedupe", start, failed_after=1)
    assert made.status is Status.PRUNED_ONLY
    masked = {item.seq: item for item in made.items if item.masked}
    assert sorted(masked) == [2, 4, 7]
    assert masked[2].text.endswith("read again at entry 10]")
    args = json.loads(masked[7].parts[0].text)
    assert args == {"file_path": "/home/ada/app/c.py", "content": "[input left out: 1,200 characters; the call failed]"}


def test_the_newest_results_stay_whole() -> None:
    start = session(prompt("go"), work("one", 14), say("done"))
    made = run("mask", start)
    assert [item.seq for item in made.items if item.masked] == [2, 4, 6, 8]


def test_a_turn_that_is_cut_through_has_a_summary_of_its_own() -> None:
    start = session(prompt("first"), work("one", 12), prompt("second"), work("two", 30))
    made = run("pi", start, keep=900)
    assert [item.label.partition(",")[0] for item in made.items if item.inserted] == ["Summary", "Start of the turn"]
    assert "The turn that goes on below began like this." in made.items[1].text or made.items[2].text


def test_a_handoff_leads_with_its_goal() -> None:
    start = session(prompt("never push"), work("one", 12), prompt("thanks"))
    made = run("handoff", start, goal="mend parse_ledger", files=0)
    assert made.status is Status.COMPLETED
    assert any(item.text == "Goal of the new session: mend parse_ledger" for item in made.items)
    assert "never push" in made.items[0].text


def test_the_window_slides_by_turns() -> None:
    start = session(*(d for n in range(6) for d in (prompt(f"task {n}"), *work(f"t{n}", 4))))
    made = run("sliding", start, turns=2, summary=0)
    assert [item.seq for item in made.items] == [None, *range(36, 54)]
    assert made.items[0].text == "[36 earlier entries of this session are left out here]"
