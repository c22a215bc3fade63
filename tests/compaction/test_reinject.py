"""Skills, plan and goals, as they are found in a transcript and cut to their budgets."""

import pytest

from compaction.plan import GoalsAsk, PlanAsk, SkillsAsk
from compaction.reinject.cutting import head_of
from compaction.reinject.goals import answer_goals
from compaction.reinject.plans import answer_plan, newest_plan
from compaction.reinject.skills import answer_skills, invoked
from sessions.contexts import InsertKind
from sessions.entries import GoalStatus
from sessions.goals import Goal
from sessions.meters.tokens import count
from sessions.ranges import Ranges
from tests.builders import CWD, call, context, prompt, result, say, session

STEPS = "# Steps\n" + "do this, then that. " * 20


def test_how_each_agent_tells_of_a_skill() -> None:
    log = session(
        prompt("go"),
        call("Skill", skill="release"),
        result("Launching skill: release"),
        context(f"Base directory for this skill: {CWD}/.claude/skills/release\n\n{STEPS}"),
        call("activate_skill", name="review"),
        result(STEPS),
        context(f"<skill>\n<name>deploy</name>\n<path>x</path>\n{STEPS}</skill>"),
        call("LoadSkill", name="broken"),
        result("no such skill " * 30, error=True),
    ).items
    assert [(skill.name, skill.seqs) for skill in invoked(log)] == [
        ("deploy", (6,)),
        ("review", (5,)),
        ("release", (3,)),
    ]


def test_a_skill_loaded_twice_is_as_it_was_loaded_last() -> None:
    log = session(
        prompt("go"),
        call("skill", name="a"),
        result(STEPS),
        call("skill", name="b"),
        result(STEPS),
        call("skill", name="a"),
        result(STEPS + "new"),
    ).items
    found = invoked(log)
    assert [skill.name for skill in found] == ["a", "b"]
    assert found[0].text.endswith("new")


def test_six_skills_of_six_thousand() -> None:
    drafts = [d for n in range(6) for d in (call("skill", name=f"s{n}"), result("step by step " * 2_000))]
    log = session(prompt("go"), *drafts).items
    answer = answer_skills(SkillsAsk("skills", 5_000, 25_000), log, count)
    assert [one.label for one in answer.given] == ["s5", "s4", "s3", "s2", "s1"]
    assert all(4_950 < one.tokens <= 5_000 and one.cut > 900 for one in answer.given)
    assert [name for name, _ in answer.left_out] == ["s0"]
    # What is left of the budget is used, as long as it says something.
    part = answer_skills(SkillsAsk("skills", 5_000, 7_000), log, count)
    assert [one.label for one in part.given] == ["s5", "s4"]
    assert sum(one.tokens for one in part.given) <= 7_000


def test_a_skill_that_stays_is_not_repeated() -> None:
    log = session(prompt("go"), call("skill", name="a"), result(STEPS)).items
    kept = Ranges.from_numbers([2])
    assert answer_skills(SkillsAsk("skills", 5_000, 25_000, kept), log, count).given == ()


def plan_file(text: str) -> tuple[object, object]:
    return call("Write", file_path=f"{CWD}/.claude/plans/quiet-river.md", content=text), result("File created")


def test_the_newest_plan_wins_wherever_it_stands() -> None:
    proposed = (call("ExitPlanMode", plan="1. Read\n2. Write"), result("Approved"))
    written = plan_file("# Plan\n\n1. Look")
    edited = (
        call("Edit", file_path=f"{CWD}/.claude/plans/quiet-river.md", old_string="1. Look", new_string="1. Look twice"),
        result("ok"),
    )
    first = newest_plan(session(prompt("go"), *written, *proposed).items, CWD)
    assert first is not None
    assert (first.text, first.path) == ("1. Read\n2. Write", "")
    second = newest_plan(session(prompt("go"), *proposed, *written, *edited).items, CWD)
    assert second is not None
    assert second.text == "# Plan\n\n1. Look twice"
    assert second.path.endswith(".claude/plans/quiet-river.md")
    assert newest_plan(session(prompt("plan it in notes.md"), say("no")).items, CWD) is None


def test_a_plan_within_its_budget() -> None:
    log = session(prompt("go"), call("ExitPlanMode", plan="step by step " * 2_000), result("Approved")).items
    answer = answer_plan(PlanAsk("plan", 1_000), log, CWD, count)
    assert [one.kind for one in answer.given] == [InsertKind.PLAN]
    assert 950 < answer.given[0].tokens <= 1_000
    assert "cut here" in answer.given[0].text
    none = answer_plan(PlanAsk("plan", 10), log, CWD, count)
    assert (none.given, len(none.left_out)) == ((), 1)
    assert answer_plan(PlanAsk("plan", 1_000, Ranges.from_numbers([1])), log, CWD, count).given == ()


def goal(path: str, status: GoalStatus, **more: bool) -> Goal:
    return Goal(path, f"goal {path} of this work", status, **more)


def test_open_goals_only_and_as_many_as_fit() -> None:
    goals = [
        goal("1", GoalStatus.COMPLETED),
        goal("2", GoalStatus.IN_PROGRESS),
        goal("2.1", GoalStatus.PENDING),
        goal("3", GoalStatus.ABANDONED),
        goal("4", GoalStatus.PENDING, inferred=True),
    ]
    answer = answer_goals(GoalsAsk("goals", 500), goals, count)
    assert answer.given[0].text.split("\n")[1:] == [
        "- 2 (in progress) goal 2 of this work",
        "- 2.1 goal 2.1 of this work",
    ]
    assert answer.given[0].kind is InsertKind.GOALS
    little = answer_goals(GoalsAsk("goals", 24), goals, count)
    assert little.given[0].tokens <= 24
    assert little.left_out == (("open goals", "no room for 1 of 2"),)
    assert answer_goals(GoalsAsk("goals", 500), [], count).given == ()


@pytest.mark.parametrize("budget", [20, 100, 333, 5_000])
def test_a_text_cut_to_its_head_never_exceeds_its_budget(budget: int) -> None:
    text = "a line of words\n" * 500 + "漢字" * 2_000
    head, cut = head_of(text, budget, count)
    assert count([head])[0] <= budget
    if head:
        assert text.startswith(head[: head.index("\n\n[cut here")] if cut else head)
    assert head_of("short", 50, count) == ("short", 0)
