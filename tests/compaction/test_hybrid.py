"""Hybrid on invented sessions: what is masked, what is folded, what comes back, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from compaction.budget import budget_for, meter_for
from compaction.plan import Budget, Snapshot, Status
from compaction.preview import Fate, Preview, preview
from compaction.strategies import by_id
from compaction.strategies.base import BadParam, settled
from sessions.contexts import Hide, Insert, InsertKind, Replace, content_hash, project
from sessions.entries import Kind, Part, PartKind, Role
from sessions.meters import by_id as meter
from sessions.meters.tokens import count
from sessions.ranges import Ranges
from tests.builders import (
    Draft,
    call,
    context,
    items,
    native_summary,
    prompt,
    read,
    result,
    say,
    session,
    snapshot,
    think,
)

HYBRID = by_id("hybrid")
BUDGET = Budget("o200k", count)

SMALL: dict[str, Any] = {
    "protect": 300,
    "free": 100,
    "keep": 500,
    "aim": 900,
    "summary": 400,
    "file_each": 120,
    "file_total": 300,
}


def run(
    start: Snapshot, budget: Budget = BUDGET, *, pins: tuple[int, ...] = (), edited: str | None = None, **params: Any
) -> Preview:
    return preview(HYBRID, start, budget, settled(HYBRID.params, params), pins=pins, edited_summary=edited)


def after(start: Snapshot, made: Preview, *more: Draft) -> Snapshot:
    """The session with the preview applied and gone on."""
    return snapshot(items(more, start.log()), made.edits, pins=start.pinned, cwd=start.cwd)


def work(n: int, size: int = 60) -> list[Draft]:
    """One turn: a message, a search, an edit, an answer."""
    return [
        prompt(f"Task {n}: change handler_{n}"),
        think(f"thinking about handler_{n}"),
        call("Grep", pattern=f"handler_{n}", path="/home/ada/app/src"),
        result("\n".join(f"src/mod_{n}.py:{line}: handler_{n}(x{line})" for line in range(size))),
        call(
            "Edit",
            file_path=f"/home/ada/app/src/mod_{n}.py",
            old_string="",
            new_string=f"def handler_{n}():\n    return {n}\n",
        ),
        result("ok"),
        say(f"handler_{n} is changed, because it returned the wrong value."),
    ]


def long_session(turns: int = 10, **more: Any) -> Snapshot:
    return session(*(draft for n in range(turns) for draft in work(n)), **more)


def test_masks_alone_where_they_suffice() -> None:
    start = long_session()
    made = run(start, protect=1_000, free=500, keep=1_000, aim=6_000)
    assert made.status is Status.PRUNED_ONLY
    assert made.lands
    assert made.tokens_after < made.tokens_before
    assert {edit.__class__ for edit in made.edits} == {Replace}
    masked = [item for item in made.items if item.masked]
    assert len(masked) == made.counts["masked"] > 3
    assert masked[0].text == "[output left out: Grep handler_0 in /home/ada/app/src: 60 lines]"
    newest_results = [item for item in made.items if item.results][-2:]
    assert not any(item.masked for item in newest_results)


def test_masks_keep_exit_code_and_error() -> None:
    lines = "\n".join(f"test {n} ok" for n in range(300))
    start = session(
        prompt("Run the tests"),
        call("Bash", command="make test"),
        result(f"Exit code 2\n{lines}\nerror[E0502]: cannot borrow `buf` as mutable\n{lines}", error=True),
        *(draft for n in range(4) for draft in work(n)),
    )
    made = run(start, protect=500, free=100, keep=500, aim=5_000)
    text = made.plan.masks[2]
    assert text.startswith(
        "[output left out: Bash make test: 602 lines, exit 2; error[E0502]: cannot borrow `buf` as mutable"
    )
    assert "\n" not in text


def test_not_masked_where_it_frees_too_little() -> None:
    made = run(long_session(), protect=1_000, free=500_000, keep=1_000, aim=50_000)
    assert made.status is Status.NOOP_BELOW_THRESHOLD
    assert made.plan.facts["masks_not_worth"] > 1_000
    assert made.edits == ()
    assert made.tokens_after == made.tokens_before


def test_results_of_plans_answers_and_agents_are_never_masked() -> None:
    big = "word " * 400
    start = session(
        prompt("Go"),
        call("Task", prompt="explore", description="Explore"),
        result(big),
        call("AskUserQuestion", questions=[]),
        result(big),
        call("Read", file_path="a.py"),
        result(big),
        *(draft for n in range(3) for draft in work(n)),
    )
    made = run(start, protect=200, free=100, keep=600, aim=9_000)
    assert set(made.plan.masks) & {2, 4} == set()
    assert 6 in made.plan.masks


def test_fold_summary_files_and_their_places() -> None:
    start = long_session()
    made = run(start, **{**SMALL, "keep": 1_500, "aim": 2_600})
    assert made.status is Status.COMPLETED, made.reason
    summary = next(item for item in made.items if item.kind is InsertKind.SUMMARY)
    assert made.items[0] is summary
    assert summary.role is Role.USER
    files = [item for item in made.items if item.kind is InsertKind.FILE]
    assert 0 < len(files) <= 5
    assert sum(count([item.text for item in files])) <= 300
    assert not {"mod_8.py", "mod_9.py"} & {item.label.rpartition("/")[2] for item in files}  # they stay word for word
    tail = [item for item in made.items if item.seq is not None]
    assert [item.seq for item in tail] == [item.seq for item in start.items[-len(tail) :]]
    assert tail[0].kind is Kind.PROMPT
    assert tail[-7:] == list(start.items[-7:])
    assert made.counts["folded"] + made.counts["kept"] + made.counts["masked"] == len(start.items)
    assert sum(change.tokens for change in made.changes) == made.tokens_after - made.tokens_before
    assert summary.stands_for == made.plan.fold


def test_the_new_context_is_what_its_edits_project_to() -> None:
    start = long_session()
    made = run(start, **SMALL)
    assert content_hash(project(start.log(), made.edits)) == content_hash(made.items)
    assert [item.key for item in project(start.log(), made.edits)] == [item.key for item in made.items]


def test_defaults_scale_so_that_a_small_session_can_be_compacted() -> None:
    start = long_session(40)
    assert 20_000 < start.total < 45_000
    made = run(start)
    assert made.lands
    assert made.tokens_after <= start.total * 0.45
    used = made.plan.facts["used"]
    assert used["aim"] == int(start.total * 0.4)
    assert used["keep"] == used["aim"] * 7 // 20
    assert (used["protect"], used["free"]) == (used["aim"] * 5 // 12, used["aim"] // 4)
    windowed = run(start, Budget("o200k", count, window=10_000))
    assert windowed.plan.facts["used"]["aim"] == 5_000


def test_a_second_application_without_new_entries_does_nothing() -> None:
    for params in ({}, SMALL, {"protect": 1_000, "free": 500, "keep": 1_000, "aim": 6_000}):
        start = long_session()
        made = run(start, **params)
        assert made.lands
        again = run(after(start, made), **params)
        assert again.status in (Status.NOOP_BELOW_THRESHOLD, Status.NOOP_NOTHING_TO_DO)
        assert again.edits == made.edits


def test_chained_only_one_summary_stays_and_it_stands_for_all() -> None:
    start = long_session()
    rule = "Never rename handler_3, whatever happens."
    start = session(prompt(rule), *(draft for n in range(10) for draft in work(n)))
    made = run(start, **SMALL)
    for round_ in range(3):
        start = after(start, made, *(draft for n in range(10) for draft in work(100 * round_ + n)))
        before = [edit for edit in start.edits if isinstance(edit, Insert) and edit.kind is InsertKind.SUMMARY]
        made = run(start, **SMALL)
        assert made.status is Status.COMPLETED, made.reason
        summaries = [item for item in made.items if item.kind is InsertKind.SUMMARY]
        assert len(summaries) == 1
        assert before[0].stands_for - summaries[0].stands_for == Ranges()
        assert rule in summaries[0].text
        files = [item.label for item in made.items if item.kind is InsertKind.FILE]
        assert len(files) == len(set(files))
        hides = [edit for edit in made.edits if isinstance(edit, Hide)]
        assert len(hides) == 1
        assert not any(isinstance(edit, Replace) and edit.seq in hides[0].ranges for edit in made.edits)


def test_the_earlier_summary_may_be_left_alone() -> None:
    start = long_session()
    first = run(start, **SMALL)
    start = after(start, first, *(draft for n in range(10, 20) for draft in work(n)))
    made = run(start, **SMALL, anchor=False)
    texts = [item.text for item in made.items if item.kind is InsertKind.SUMMARY]
    assert len(texts) == 2
    assert texts[0] == first.summary.text  # type: ignore[union-attr]


def test_an_agents_own_summary_is_folded_into_ours() -> None:
    start = session(
        native_summary("The user wants a parser.\n\nWe chose lexer_two."), *(d for n in range(10) for d in work(n))
    )
    made = run(start, **SMALL)
    assert made.status is Status.COMPLETED
    assert 0 in made.plan.fold
    assert "We chose lexer_two. (earlier)" in made.summary.text  # type: ignore[union-attr]


def test_pins_stay_in_place_with_their_answer() -> None:
    start = long_session()
    made = run(start, pins=(3, 7), **SMALL)
    assert made.status is Status.COMPLETED, made.reason
    kept = [item.seq for item in made.items if item.seq is not None]
    # The result of entry 3 belongs to the answer of entries 1 and 2, which holds signed reasoning.
    assert kept[:4] == [1, 2, 3, 7]
    assert made.counts["pinned"] == 2
    assert [fate for first, _, fate in made.fates if first in (3, 7)] == [Fate.PINNED, Fate.PINNED]
    assert made.items[0].kind is InsertKind.SUMMARY


def test_the_newest_message_stays_however_long_its_turn() -> None:
    start = session(prompt("The one and only rule_of_all"), *(draft for n in range(20) for draft in work(n)[1:]))
    made = run(start, **SMALL)
    assert made.status is Status.COMPLETED
    assert [item.text for item in made.items if item.kind is Kind.PROMPT] == ["The one and only rule_of_all"]


def test_memory_files_and_system_text_stay() -> None:
    memory = "<system-reminder>\nContents of /home/ada/app/CLAUDE.md:\nNever push.\n</system-reminder>"
    start = session(
        context("You are an agent.", Role.DEVELOPER),
        context("<environment_context>cwd /home/ada/app</environment_context>"),
        *work(0),
        context("<system-reminder>You have 3 open todos</system-reminder>"),
        context(memory),
        *(draft for n in range(1, 10) for draft in work(n)),
    )
    made = run(start, **SMALL)
    assert made.status is Status.COMPLETED
    texts = [item.text for item in made.items if item.kind is Kind.CONTEXT]
    assert texts == ["You are an agent.", "<environment_context>cwd /home/ada/app</environment_context>", memory]


def test_an_interrupted_call_at_the_end_stays_with_its_answer() -> None:
    start = session(
        *(draft for n in range(10) for draft in work(n)), prompt("one more"), call("Bash", command="sleep 1000")
    )
    made = run(start, **SMALL)
    assert made.status is Status.COMPLETED
    assert made.items[-1].calls == start.items[-1].calls


def test_an_agents_repair_of_a_call_goes_with_its_call() -> None:
    start = session(
        prompt("go"), call("Bash", "open-1", command="sleep"), *(draft for n in range(10) for draft in work(n))
    )
    part = Part(PartKind.TOOL_RESULT, "[interrupted]", call_id="open-1", is_error=True)
    repair = replace(start.items[0], key="repair", seq=None, role=Role.TOOL, kind=Kind.TOOL_RESULT, parts=(part,))
    wired = replace(
        start, items=(*start.items[:2], repair, *start.items[2:]), tokens=(*start.tokens[:2], 5, *start.tokens[2:])
    )
    made = run(wired, **SMALL)
    assert made.status is Status.COMPLETED, made.reason
    assert not any(item.key == "repair" for item in made.items)


def test_too_small_to_fold() -> None:
    made = run(session(prompt("hello"), say("hi")))
    assert made.status is Status.NOOP_NOTHING_TO_DO
    assert run(session()).status is Status.NOOP_NOTHING_TO_DO


def test_one_message_larger_than_the_window() -> None:
    made = run(session(prompt("word " * 3_000), say("ok")), Budget("o200k", count, window=2_000), aim=100)
    assert made.status is Status.FAILED_CONTEXT_OVERFLOW
    assert "3,00" in made.reason
    assert made.edits == ()


def test_a_context_many_times_over_the_window() -> None:
    start = long_session(60)
    made = run(start, Budget("o200k", count, window=start.total // 5))
    assert made.status is Status.COMPLETED
    assert made.tokens_after <= start.total // 5


def test_an_edited_summary_takes_the_place_of_the_written_one() -> None:
    start = long_session()
    text = run(start, **SMALL).summary.text.replace("Task 0: change handler_0", "Do as I say")  # type: ignore[union-attr]
    made = run(start, edited=text, **SMALL)
    assert made.status is Status.COMPLETED
    assert made.summary is not None
    assert made.summary.summariser == "edited"
    assert "Do as I say" in made.items[0].text
    assert made.digest != run(start, **SMALL).digest
    broken = run(start, edited="## 1. Primary Request and Intent\n- x", **SMALL)
    assert broken.status is Status.FAILED_BAD_TEMPLATE
    assert not broken.lands
    assert run(start, edited=" ", **SMALL).status is Status.FAILED_EMPTY_SUMMARY


def test_larger_than_before_is_refused() -> None:
    start = long_session()
    text = run(start, **SMALL).summary.text + "\n- and more words" * 3_000  # type: ignore[union-attr]
    made = run(start, edited=text, **SMALL)
    assert made.status is Status.FAILED_INFLATED
    assert not made.lands
    assert "smaller than before" in made.reason


def test_the_same_preview_twice() -> None:
    one, two = run(long_session(), **SMALL), run(long_session(), **SMALL)
    assert one.digest == two.digest
    assert one.to_json() == two.to_json()


def test_files_can_be_turned_off_and_are_not_brought_back_twice() -> None:
    start = long_session()
    assert run(start, **SMALL, files=0).files is None
    text = "value = 1\n" * 30
    start = session(
        *(d for n in range(10) for d in work(n)), prompt("look"), *read("/home/ada/app/src/seen.py", text), say("Seen.")
    )
    made = run(start, **{**SMALL, "aim": 1_300})
    assert made.files is not None
    assert "/home/ada/app/src/seen.py" not in [state.path for state in made.files.files]


def functions(name: str, of: int = 40) -> str:
    return "".join(
        f"def {name}_{n}(rows):\n    total = {n}\n    for row in rows:\n        total += row.{name}_{n}\n    return total\n\n"
        for n in range(of)
    )


def test_pieces_are_what_the_newest_part_does_not_show() -> None:
    """Of a file whose output is cut short the middle comes back, not the head that stands there."""
    start = session(
        *(d for n in range(12) for d in work(n)),
        prompt("Look at the ledger."),
        *read("/home/ada/app/src/ledger.py", functions("ledger")),
        say("It sums ledger_20 wrongly."),
    )
    made = run(start, aim=2_400)
    [cut] = [body for body in made.plan.bodies.values() if "ledger_0" in body[0].text]
    assert made.files is not None
    [state] = [state for state in made.files.files if state.path.endswith("ledger.py")]
    assert "def ledger_0(" in cut[0].text
    assert "def ledger_20(" not in cut[0].text
    assert "def ledger_20(" in state.text
    assert "def ledger_0(" not in state.text


def test_a_long_newest_message_leaves_room_for_every_part() -> None:
    """What stays in any case is taken off before the aim is parted, so that no part goes without."""
    plan = "".join(f"Step {n}: make module_{n} return what module_{n + 1} takes.\n" for n in range(140))
    told = "\n".join(f"ledger_{m} sums its own rows, whatever handler_{m} gave it." for m in range(60))
    turns = [
        draft
        for n in range(12)
        for draft in (*work(n), *read(f"/home/ada/app/src/part_{n}.py", functions(f"part_{n}", 20)), say(told))
    ]
    start = session(*turns, prompt(plan), say("I begin."))
    made = run(start, aim=8_000)
    assert made.plan.facts["files_max"] >= 1_000
    assert made.plan.facts["summary_max"] >= 1_500
    assert made.tokens_after <= 8_000


def test_params_are_checked_and_auto_is_the_default() -> None:
    assert settled(HYBRID.params, {"aim": "auto", "keep": ""})["aim"] is None
    assert settled(HYBRID.params, {"aim": "90,000"})["aim"] == 90_000
    with pytest.raises(BadParam, match="no number"):
        settled(HYBRID.params, {"aim": "much"})
    for preset in HYBRID.presets.values():
        settled(HYBRID.params, preset)


def test_counted_by_another_meter() -> None:
    budget = budget_for(meter_for("opencode"), window=200_000)
    start = long_session()
    rule = meter("opencode-chars4")
    start = replace(start, tokens=tuple(rule.of(item.sizes) for item in start.items))
    made = run(start, budget, **SMALL)
    assert made.meter == "opencode-chars4"
    assert made.status is Status.COMPLETED
    summary = next(n for n, item in enumerate(made.items) if item.kind is InsertKind.SUMMARY)
    assert made.tokens[summary] == rule.of(items_size(made.items[summary].text))


def items_size(text: str) -> Any:
    from sessions.meters.tokens import text_sizes

    return text_sizes([text])[0]
