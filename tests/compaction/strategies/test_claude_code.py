"""Claude Code's way, by the figures that are told of it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from compaction.outputs import CLEARED
from compaction.plan import Budget, FilesAsk, KeptMemory, Snapshot, Status, SummaryAsk
from compaction.strategies import by_id
from compaction.strategies.base import settled
from compaction.strategies.claude_code import cleared, cold, fitting, pictureless
from sessions.contexts import InsertKind
from sessions.entries import GoalStatus, Role
from sessions.goals import Goal
from sessions.meters.tokens import count
from tests.builders import call, context, items, media, prompt, result, say, session, snapshot
from tests.compaction.strategies.agents import kinds, output, preset, run, said, seqs, turns, windowed

PARAMS = settled(by_id("claude-code").params, {})
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


def old(start: Snapshot, **params: Any) -> list[int]:
    return sorted(output.n for output in cleared(start, {**PARAMS, **params}))


def spoke_at(start: Snapshot, *, minutes_ago: int, now: datetime | None = NOON) -> Snapshot:
    return replace(
        start, items=tuple(replace(item, at=NOON - timedelta(minutes=minutes_ago)) for item in start.items), now=now
    )


def many(number: int, size: int = 400) -> Snapshot:
    return session(prompt("go"), *(draft for _ in range(number) for draft in output(size)))


def test_cleared_by_count() -> None:
    start = many(15)
    assert old(start, micro="by count") == [2, 4, 6]
    assert old(start, micro="by count", results=10) == [2, 4, 6, 8, 10]
    assert old(start, micro="nothing") == []
    made = preset("claude-code", "clear only", start)
    assert made.status is Status.PRUNED_ONLY
    assert [item.text for item in made.items if item.masked] == [CLEARED] * 3
    again = preset("claude-code", "clear only", snapshot(start.log(), made.edits))
    assert again.status is Status.NOOP_NOTHING_TO_DO


@pytest.mark.parametrize(("minutes", "is_cold"), [(59, False), (60, True), (600, True)])
def test_a_cache_goes_cold_with_time(minutes: int, is_cold: bool) -> None:
    start = spoke_at(many(8), minutes_ago=minutes)
    assert cold(start, 60) is is_cold
    assert old(start) == ([2, 4, 6] if is_cold else [])
    assert old(start, micro="by count") == []
    assert not cold(spoke_at(many(8), minutes_ago=minutes, now=None), 60)  # by the entries alone no time has passed


def test_a_cache_is_cold_for_a_message_that_came_late() -> None:
    start = session(prompt("go"), *output(400), say("done"), prompt("next morning"))
    late = replace(
        start,
        items=(
            *(replace(i, at=NOON) for i in start.items[:-1]),
            replace(start.items[-1], at=NOON + timedelta(hours=9)),
        ),
    )
    assert cold(late, 60)
    assert not cold(start, 60)  # no times are recorded


def test_only_results_that_can_be_had_again() -> None:
    start = session(
        prompt("go"),
        *output(400, "TodoWrite"),
        *output(400, "mcp__x__y"),
        *(
            draft
            for tool in ("Read", "Edit", "Write", "Bash", "Grep", "Glob", "WebFetch", "WebSearch")
            for draft in output(400, tool)
        ),
    )
    assert old(start, micro="by count", results=0) == [6, 8, 10, 12, 14, 16, 18, 20]


def test_everything_becomes_nine_sections_and_the_newest_message_stays() -> None:
    start = session(*turns(10))
    made = run("claude-code", start, files=0)
    assert made.status is Status.COMPLETED, made.reason
    assert kinds(made.items) == ["prompt", "summary"]
    waiting = run("claude-code", session(*turns(10), prompt("and now this")), files=0)
    assert kinds(waiting.items) == ["summary", "prompt"]
    ask = made.plan.asks[0]
    assert isinstance(ask, SummaryAsk)
    assert ask.template == "nine-sections"


def test_files_come_back_at_the_end() -> None:
    start = session(*turns(12), prompt("next"))
    made = run("claude-code", start, skill_total=0, plan=0)
    assert kinds(made.items) == ["summary", "prompt", *["file"] * 5]
    assert [item.label for item in made.items[2:]] == [f"/home/ada/app/src/mod_{n}.py" for n in range(7, 12)]
    assert made.counts["re-injected"] == 5
    assert sum(change.tokens for change in made.changes) == made.tokens_after - made.tokens_before


def test_files_come_back_by_their_own_budget_whatever_was_cleared() -> None:
    """Old results are cleared first and leave little to fold: where the window is known that takes nothing from the files."""
    edits = [
        draft
        for n in range(6)
        for draft in (
            call("Write", file_path=f"/home/ada/app/src/big_{n}.py", content=f"value_{n} = {n}\n" * 700),
            result("ok"),
        )
    ]
    runs = [draft for _ in range(60) for draft in output(2_000)]
    start = session(prompt("go"), *edits, *runs, *turns(1), prompt("next"))
    asked = {window: asks_for_files(start, window) for window in (None, 200_000, 20_000)}
    assert asked[200_000] == (5_000, 50_000)
    assert asked[None] < asked[200_000]
    assert asked[20_000] == asked[None]
    made = run("claude-code", start, windowed(200_000), skill_total=0, plan=0, goals=0)
    assert made.counts["re-injected"] == 5
    assert max(change.tokens for change in made.changes) > 15_000  # four of them are cut at 5,000
    assert made.tokens_after < made.tokens_before


def asks_for_files(start: Snapshot, window: int | None) -> tuple[int, int]:
    budget = Budget("o200k", count, window)
    given = settled(
        by_id("claude-code").params, {"skill_total": 0, "plan": 0, "goals": 0, "layer_total": 0, "learned": 0}
    )
    plan = by_id("claude-code").plan(start, budget, given)
    return next((ask.each, ask.total) for ask in plan.asks if isinstance(ask, FilesAsk))


def test_skills_plan_and_goals_come_back_each_as_its_own() -> None:
    base = "Base directory for this skill: /home/ada/.claude/skills/release\n\n# Release\nTag, then push."
    start = session(
        prompt("Prepare the release"),
        call("Skill", skill="release"),
        result("Launching skill: release"),
        context(base),
        call("ExitPlanMode", plan="1. Bump the version\n2. Tag it"),
        result("Approved"),
        *turns(10),
    )
    goals = (
        Goal("1", "Bump", GoalStatus.COMPLETED, last_seq=3),
        Goal("2", "Tag it", GoalStatus.IN_PROGRESS, last_seq=9),
        Goal("3", "Push", GoalStatus.PENDING, last_seq=4),
    )
    made = run("claude-code", replace(start, goals=lambda: goals), files=0)
    assert made.status is Status.COMPLETED, made.reason
    by_kind = {item.kind: item for item in made.items}
    assert by_kind[InsertKind.SKILL].label == "release"
    assert "Tag, then push." in by_kind[InsertKind.SKILL].text
    assert "2. Tag it" in by_kind[InsertKind.PLAN].text
    assert by_kind[InsertKind.GOALS].text.split("\n")[1:] == ["- 2 (in progress) Tag it", "- 3 Push"]
    assert {change.what for change in made.changes} >= {"summary", "skills", "plan", "goals"}
    assert [one["kind"] for one in made.to_json()["given"]] == ["skill", "plan", "goals"]
    # Again, after more work: each once, and the newer in the place of the older.
    then = snapshot(items(turns(8), start.log()), made.edits)
    second = run("claude-code", then, files=0)
    assert second.status is Status.COMPLETED
    assert sorted(kinds(second.items)) == sorted(["prompt", "summary", "skill", "plan"])


def remembering(number: int = 40, until: int = 200, text: str = "# Session Title\nhandlers", **more: Any) -> Snapshot:
    return replace(session(*turns(number, **more)), memory=KeptMemory(text, until))


def test_a_kept_memory_takes_the_place_of_what_it_covers() -> None:
    start = remembering()
    made = run("claude-code", start, files=0, memory_least=1_000, memory_messages=5)
    assert made.status is Status.COMPLETED, made.reason
    assert made.summary is None
    assert made.plan.facts["session_memory"] is True
    assert kinds(made.items)[0] == "memory"
    assert made.items[0].text == "# Session Title\nhandlers"
    assert made.items[0].stands_for == made.plan.fold
    tail = seqs(made.items)
    assert tail == list(range(tail[0], 280))
    assert tail[0] <= 201
    # Without one, or with one that nobody filled, nine sections.
    for empty in (replace(start, memory=None), replace(start, memory=KeptMemory(" ", 200))):
        full = run("claude-code", empty, files=0)
        assert full.summary is not None
        assert full.plan.facts["session_memory"] is False
    assert run("claude-code", start, files=0, memory=False).summary is not None


def test_how_much_stays_behind_a_memory() -> None:
    start = remembering(until=279)
    each = start.total // 40
    least = run("claude-code", start, files=0, memory_least=3 * each, memory_messages=0)
    kept = sum(start.tokens[n] for n in seqs(least.items))
    assert 3 * each <= kept < 5 * each
    most = run("claude-code", start, files=0, memory_least=30 * each, memory_most=4 * each)
    assert sum(start.tokens[n] for n in seqs(most.items)) <= 4 * each
    five = run("claude-code", start, files=0, memory_least=0, memory_messages=6)
    assert len(said(five.items)) == 3  # a turn has two messages with words


def test_a_memory_gives_way_where_too_much_would_be_left() -> None:
    start = remembering(until=20)
    made = run("claude-code", start, windowed(200_000), files=0, threshold=5_000)
    assert made.summary is not None
    assert made.tokens_after < 5_000


def test_a_memory_replaces_the_one_before() -> None:
    start = remembering(until=200)
    first = run("claude-code", start, files=0, memory_least=500)
    log = items(turns(20), start.log())
    then = replace(snapshot(log, first.edits), memory=KeptMemory("# Session Title\nmore handlers", 380))
    second = run("claude-code", then, files=0, memory_least=500)
    assert [item.text for item in second.items if item.kind is InsertKind.MEMORY] == ["# Session Title\nmore handlers"]
    assert first.plan.fold - second.items[0].stands_for == first.plan.fold - first.plan.fold
    assert second.status is Status.COMPLETED


def test_a_long_memory_is_cut_to_its_head() -> None:
    start = remembering(text="# Session Title\n" + "handlers and more " * 4_000, number=60, size=200)
    made = run("claude-code", start, files=0, memory_tokens=2_000)
    assert made.items[0].kind is InsertKind.MEMORY
    assert made.tokens[0] <= 2_000
    assert "cut here" in made.items[0].text


def test_the_summariser_sees_no_pictures_and_what_fits() -> None:
    start = session(prompt("go"), media(2), call("Read", file_path="a.png"), result("a picture", images=1), say("seen"))
    shown = pictureless(start.items)
    assert [item.seq for item in shown] == [0, 2, 3, 4]
    assert len(shown[2].parts) == 1
    rounds = session(prompt("a"), *output(500), *output(500), say("between"), prompt("b"), *output(500))
    room = sum(rounds.tokens[3:])
    assert [item.seq for item in fitting(rounds.items, rounds, room)] == [3, 4, 5, 6, 7, 8]
    assert [item.seq for item in fitting(rounds.items, rounds, 1)][-1] == 8
    assert fitting(rounds.items, rounds, None) == rounds.items


def test_due_by_each_rule() -> None:
    start = session(*turns(10))
    budget = windowed(200_000)
    for which, at in (("claude-2.1", 167_000), ("claude-2.1-predictive", 145_000), ("claude-seed-200k", 187_000)):
        params = by_id("claude-code").presets[which] | {"compact": "at the threshold", "micro": "nothing"}
        made = run("claude-code", start, budget, **params)
        assert made.status is Status.NOOP_BELOW_THRESHOLD
        assert f"{at:,}" in made.reason
    assert start.items[0].role is Role.USER
