"""Goals that were given up: found in every way there is, with evidence and a reason, and not found where they went on."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from sessions import goalmarks, reviewing
from sessions.abandoned import BadCursor, Wanted, facets, page, sums, weeks
from sessions.abandoning import settle
from sessions.ingest import take_file
from sessions.models import Session
from sessions.models_goals import Abandonment
from sessions.versions import Refused, roll_back
from tests.claude_lines import ClaudeLines
from webapp.models import Membership, Role, User, Workspace

pytestmark = pytest.mark.django_db

ID = "11111111-2222-4333-8444-555555555555"
LATER = datetime(2026, 3, 5, tzinfo=UTC)  # three days behind the sessions: they have ended


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def todos(lines: ClaudeLines, call: str, *rows: tuple[str, str]) -> None:
    given = [{"content": text, "status": status, "activeForm": text} for text, status in rows]
    lines.calls(call, "TodoWrite", {"todos": given})
    lines.result(call, "Todos have been modified successfully.", toolUseResult={"oldTodos": [], "newTodos": given})


def fails(lines: ClaudeLines, call: str, command: str, output: str) -> None:
    lines.calls(call, "Bash", {"command": command})
    lines.result(call, output, is_error=True)


def taken(workspace: Workspace, folder: Path, lines: ClaudeLines) -> Session:
    path = folder / f"{lines.session_id}.jsonl"
    path.write_bytes(bytes(lines))
    found = take_file(workspace, path)
    assert found.session is not None, found.reason
    return Session.objects.get(pk=found.session)


def given_up(session: Session, path: str) -> Abandonment:
    return session.abandonments.get(path=path, stands=True)


def test_what_vanishes_is_dropped_with_the_list_as_evidence_and_the_agents_words_as_reason(
    workspace: Workspace, tmp_path: Path
) -> None:
    lines = ClaudeLines()
    lines.prompt("Make the cache shared")
    todos(lines, "t1", ("Cache sessions in Redis", "in_progress"), ("Document the cache", "pending"))
    lines.calls("e1", "Edit", {"file_path": "/home/ada/ledger/cache.py", "old_string": "a", "new_string": "b"})
    lines.result("e1", "done")
    fails(lines, "b1", "python -m pytest tests/test_cache.py", "ModuleNotFoundError: No module named 'redis'")
    lines.says(
        "The Redis server is not installed here, so the sessions cache cannot use Redis. I will keep them in memory."
    )
    todos(lines, "t2", ("Keep sessions in memory", "in_progress"), ("Document the cache", "pending"))
    session = taken(workspace, tmp_path, lines)

    goal = session.goals.get(path="1")
    assert (goal.status, goal.closed_seq) == ("dropped", 9)
    row = given_up(session, "1")
    assert (row.how, row.status, row.cause) == ("vanished", "dropped", "missing_dependency")
    assert row.reason == "The Redis server is not installed here, so the sessions cache cannot use Redis."
    assert (row.reason_stated, row.confidence > 0.6) == (False, True)
    assert {"seq": 9, "what": "the list without it"} in row.evidence
    assert {"seq": 7, "what": "the words of the reason"} in row.evidence
    assert (row.steps, row.errors, row.tests, row.tests_failed) == (4, 1, 1, 1)
    assert row.files == ["/home/ada/ledger/cache.py"]
    assert row.cost is not None
    assert row.spent == 4 * 135
    assert row.tokens == goal.tokens > 0
    assert (row.project, row.agent, row.model) == ("ledger", "claude-code", "claude-sonnet-4-5")
    assert row.week is not None
    assert row.week.isoformat() == "2026-03-02"


def test_a_person_who_stops_it_is_the_reason(workspace: Workspace, tmp_path: Path) -> None:
    lines = ClaudeLines()
    lines.prompt("Speed the importer up")
    todos(lines, "t1", ("Rewrite the importer in Rust", "in_progress"), ("Measure it", "pending"))
    lines.says("I begin with the parser.")
    lines.prompt("不要用 Rust,算了,先测量吧。")
    todos(lines, "t2", ("Measure it", "in_progress"))
    row = given_up(taken(workspace, tmp_path, lines), "1")
    assert (row.cause, row.reason) == ("changed_mind", "不要用 Rust,算了,先测量吧。")
    assert any(one["seq"] == 4 for one in row.evidence)


def test_a_session_that_ends_leaves_its_open_goals_unless_a_later_one_takes_them_up(
    workspace: Workspace, tmp_path: Path
) -> None:
    first = ClaudeLines()
    first.prompt("Go on")
    todos(
        first,
        "t1",
        ("Port the parser", "completed"),
        ("Write the release notes", "pending"),
        ("Sign the build", "pending"),
    )
    session = taken(workspace, tmp_path, first)
    settle(workspace, now=LATER)
    rows = session.abandonments.filter(stands=True)
    assert {row.path: row.how for row in rows} == {"2": "left_open", "3": "left_open"}
    assert settle(workspace, now=LATER) == 0, "looked at already"

    second = ClaudeLines("99999999-2222-4333-8444-555555555555")
    second._n = 600  # ten minutes later
    second.prompt("Continue")
    todos(second, "t1", ("Write release notes", "in_progress"))
    taken(workspace, tmp_path, second)
    settle(workspace, now=LATER)
    assert [row.path for row in session.abandonments.filter(stands=True)] == ["3"]
    assert "Taken up again" in session.abandonments.get(path="2").why_found


def test_a_live_sessions_open_goals_are_not_left_open(workspace: Workspace, tmp_path: Path) -> None:
    lines = ClaudeLines()
    lines.prompt("Go on")
    todos(lines, "t1", ("Port the parser", "pending"))
    session = taken(workspace, tmp_path, lines)
    session.abandonments.all().delete()
    assert session.last_at is not None
    settle(workspace, now=session.last_at + timedelta(hours=1))
    assert not session.abandonments.exists()


def test_what_a_compaction_lost_is_found_where_nothing_behind_names_it(workspace: Workspace, tmp_path: Path) -> None:
    def made(name: str, summary: str, *, mentions: bool = False) -> Session:
        lines = ClaudeLines(f"{name * 8}-2222-4333-8444-555555555555", cwd=f"/home/ada/{name}")
        lines.prompt("Harden the importer")
        todos(lines, "t1", ("Escape formulas in CSV cells", "pending"), ("Stream the file", "in_progress"))
        lines.says("I read the importer first.")
        lines.compact(summary)
        for n in range(14):
            lines.calls(f"r{n}", "Read", {"file_path": f"/home/ada/{name}/part{n}.py"})
            lines.result(f"r{n}", "text = 1")
        lines.says("Streaming works." + (" Next I escape the formulas in the CSV cells." if mentions else ""))
        session = taken(workspace, tmp_path, lines)
        settle(workspace, now=LATER)
        return session

    lost = made("a", "The person wants the file streamed; reading goes by chunks.")
    row = given_up(lost, "1")
    assert (row.how, row.cause) == ("compacted", "forgotten")
    assert row.confidence == 0.8, "enough came behind it that does not name it"
    assert given_up(made("b", "Still to do: escape formulas in CSV cells."), "1").how == "left_open", (
        "the summary carries it"
    )
    assert given_up(made("c", "The file is streamed.", mentions=True), "1").how == "left_open", "the work names it"


def test_a_rollback_cuts_requests_off_and_taking_it_back_restores_them(workspace: Workspace, tmp_path: Path) -> None:
    lines = ClaudeLines()
    lines.prompt("Count the harbours")
    lines.says("There are six.")
    lines.prompt("Use hash of each row as its key")
    lines.says("Two rows share a hash, so the second is lost.")
    session = taken(workspace, tmp_path, lines)
    assert not session.abandonments.filter(stands=True).exists()
    roll_back(session.pk, to_turn=1)
    session.refresh_from_db()
    goalmarks.refresh(session)
    row = given_up(session, "r2")
    assert (row.how, row.status, row.confidence) == ("cut_off", "dropped", 0.9)
    assert not session.abandonments.filter(path="r1").exists()


def test_marks_are_laid_over_goals_and_outlive_a_new_reading(workspace: Workspace, tmp_path: Path) -> None:
    lines = ClaudeLines()
    lines.prompt("Build it")
    todos(lines, "t1", ("Design", "in_progress"), ("Build", "pending"))
    session = taken(workspace, tmp_path, lines)
    added = goalmarks.add(session.pk, text="Ask the harbour office", focus=True)
    assert (added.goal.path, goalmarks.standing(added.goal)) == ("+1", "in_progress")

    lines.says("The office answers on Mondays.")
    session = taken(workspace, tmp_path, lines)
    assert session.entries.get(seq=3).goal == "+1", "what comes belongs to the goal in focus"
    goal = session.goals.get(path="+1")
    assert (goal.text, goal.entries_count, list(goal.spans)) == ("Ask the harbour office", 1, [3])

    goalmarks.abandon(session.pk, path="+1", reason="The office has no API: 没有接口")
    row = given_up(session, "+1")
    assert (row.how, row.reason, row.reason_stated, row.confidence) == (
        "person",
        "The office has no API: 没有接口",
        True,
        1.0,
    )
    lines.says("Back to the design.")
    session = taken(workspace, tmp_path, lines)
    assert session.entries.get(seq=4).goal == "1"

    from sessions.adapters import by_agent
    from sessions.ingest import reread

    before = list(
        session.goals.order_by("position").values("path", "text", "status", "marked", "entries_count", "spans")
    )
    read = reread(session, by_agent("claude-code"))
    from sessions.derive import derive

    derive(session, getattr(read, "versions", None))
    assert (
        list(session.goals.order_by("position").values("path", "text", "status", "marked", "entries_count", "spans"))
        == before
    )
    goalmarks.reopen(session.pk, path="+1")
    assert not session.abandonments.filter(stands=True, path="+1").exists()


def test_refusals_say_what_is_wrong_and_change_nothing(workspace: Workspace, tmp_path: Path) -> None:
    lines = ClaudeLines()
    lines.prompt("Build it")
    session = taken(workspace, tmp_path, lines)
    for verb, code in (
        (lambda: goalmarks.add(session.pk, text="  "), "no_text"),
        (lambda: goalmarks.add(session.pk, text="x", under="9"), "no_such_goal"),
        (lambda: goalmarks.focus(session.pk, path="r1"), "a_request"),
        (lambda: goalmarks.abandon(session.pk, path="r1", reason=" "), "no_reason"),
        (lambda: goalmarks.complete(session.pk, path="7", summary="x"), "no_such_goal"),
        (lambda: goalmarks.explore(session.pk, question="q", branches=["one"]), "branches"),
        (lambda: goalmarks.reopen(session.pk, path="r1"), "open"),
    ):
        with pytest.raises(Refused) as refusal:
            verb()
        assert refusal.value.code == code
    assert not session.goal_marks.exists()


def test_a_persons_word_on_the_class_outlives_every_new_look(workspace: Workspace, tmp_path: Path) -> None:
    lines = ClaudeLines()
    lines.prompt("Build it")
    todos(lines, "t1", ("Design", "in_progress"), ("Build", "pending"))
    todos(lines, "t2", ("Build", "in_progress"))
    session = taken(workspace, tmp_path, lines)
    row = given_up(session, "1")
    reviewing.correct(row.pk, cause="out_of_time")
    lines.says("Building.")
    session = taken(workspace, tmp_path, lines)
    goalmarks.refresh(session)
    row.refresh_from_db()
    assert (row.cause, row.stands) == ("out_of_time", True)
    todos(lines, "t3", ("Design", "completed"), ("Build", "in_progress"))
    session = taken(workspace, tmp_path, lines)
    row.refresh_from_db()
    assert not row.stands, "it came back; what was said of it stays"


def run(*arguments: Any) -> Any:
    import io

    out = io.StringIO()
    call_command(*arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_the_commands_keep_goals_and_list_what_was_given_up(workspace: Workspace, tmp_path: Path) -> None:
    lines = ClaudeLines()
    lines.prompt("Build it")
    todos(lines, "t1", ("Design", "in_progress"), ("Build", "pending"))
    session = taken(workspace, tmp_path, lines)
    name = str(session.pk)
    assert run("goal", name, "add", "Ask the office", "--under", "1")["path"] == "1.+1"
    run("goal", name, "done", "1.+1", "They answer on Mondays")
    run("goal", name, "abandon", "2", "needs a licence that nobody has, missing access")
    run("goal", name, "explore", "Which harbour?", "North", "South")
    tree = run("goals", name)
    assert [(row["path"], row["status"]) for row in tree["goals"]] == [
        ("1", "dropped"),  # the session ended with it open
        ("1.+1", "completed"),
        ("2", "abandoned"),
        ("+1", "pending"),
        ("+1.+1", "pending"),
        ("+1.+2", "pending"),
    ]
    assert (tree["current"], tree["goals"][0]["stated"]) == (None, "in_progress")
    (question,) = tree["goals"][3]["explorations"]
    assert [branch["text"] for branch in question["branches"]] == ["North", "South"]
    assert tree["entries_of_none"] + sum(row["entries"] for row in tree["goals"]) == session.entries_count
    found = run("abandoned", "--how", "person", "--cause", "missing_dependency")
    assert [(row["path"], row["how"]) for row in found["items"]] == [("2", "person")]
    assert found["sums"]["goals"] == 1
    assert run("abandoned", "--cause", "out_of_time")["items"] == []


def test_a_review_by_command_is_that_of_the_page(workspace: Workspace, tmp_path: Path) -> None:
    lines = ClaudeLines()
    lines.prompt("Build it")
    todos(lines, "t1", ("Design", "completed"), ("Build", "in_progress"))
    todos(lines, "t2", ("Design", "completed"))
    row = given_up(taken(workspace, tmp_path, lines), "2")
    gall = User.objects.create_user("gall")
    Membership.objects.create(workspace=workspace, user=gall, role=Role.VIEWER)
    number = str(row.pk)
    assert run("review", number)["items"][0]["history"] == []
    said = run(
        "review",
        number,
        "--state",
        "follow_up",
        "--comment",
        "ask the office",
        "--assignee",
        "gall",
        "--cause",
        "out_of_time",
    )
    assert (said["changed"], said["items"][0]["review"], said["items"][0]["cause"]) == (1, "follow_up", "out_of_time")
    (told,) = run("review", number)["items"][0]["history"]
    assert (told["before"], told["after"], told["comment"], told["assignee"]) == (
        "unreviewed",
        "follow_up",
        "ask the office",
        "gall",
    )
    for wrong in (
        (str(row.pk + 99), "--state", "accepted"),
        (number, "--comment", "x"),
        (number, "--state", "accepted", "--assignee", "nobody"),
    ):
        with pytest.raises(CommandError):
            run("review", *wrong)
    row.refresh_from_db()
    assert row.review == "follow_up"


def rows(workspace: Workspace, session: Session, count: int) -> None:
    Abandonment.objects.bulk_create(
        Abandonment(
            workspace=workspace, session=session, path=f"x{n}", text=f"goal {n} 🎯", folded=f"goal {n % 7}", status="dropped", how="vanished",
            confidence=0.5, why_found="", cause=("other", "out_of_time", "superseded")[n % 3], cause_found="other", reason=f"because of {n}",
            review=("unreviewed", "accepted")[n % 2], agent=("codex", "claude-code")[n % 2], project=None if n % 5 == 0 else f"p{n % 4}",
            model="m", at=LATER + timedelta(days=n // 3), week=(LATER + timedelta(days=7 * (n // 9))).date(), tokens=n * 37 % 101, cost=None if n % 4 else n,
            seconds=n, attempts=n % 3, first_seq=0, last_seq=0,
        )
        for n in range(count)
    )  # fmt: skip


@pytest.mark.parametrize("sort", ["recent", "tokens", "cost", "time", "attempts"])
def test_pages_in_any_order_show_every_row_once(workspace: Workspace, tmp_path: Path, sort: str) -> None:
    lines = ClaudeLines()
    lines.prompt("x")
    rows(workspace, taken(workspace, tmp_path, lines), 53)
    wanted = Wanted.of({"sort": [sort]})
    seen: list[int] = []
    after = None
    while True:
        found = page(workspace, wanted, after=after, count=9)
        seen += [row.pk for row in found.rows]
        after = found.next
        if after is None:
            break
    assert len(seen) == len(set(seen)) == 53
    with pytest.raises(BadCursor):
        page(workspace, wanted, after="nonsense")


def test_facets_count_what_another_choice_would_give(workspace: Workspace, tmp_path: Path) -> None:
    lines = ClaudeLines()
    lines.prompt("x")
    session = taken(workspace, tmp_path, lines)
    rows(workspace, session, 60)
    wanted = Wanted.of(
        {"agent": ["codex"], "project": ["-", "p1"], "q": ["goal"], "owner": ["evil'"], "how": ["nothing"]}
    )
    assert "owner" not in wanted.chosen
    assert "how" not in wanted.chosen
    counted = facets(workspace, wanted)
    mine = [n for n in range(60) if n % 2 == 0 and (n % 5 == 0 or n % 4 == 1)]
    assert sums(workspace, wanted).goals == len(mine)
    assert {one.value: one.goals for one in counted["agent"]} == {
        "codex": len(mine), "claude-code": len([n for n in range(60) if n % 2 and (n % 5 == 0 or n % 4 == 1)]),
    }  # fmt: skip
    assert sum(one.goals for one in counted["cause"]) == len(mine)
    assert {one.value for one in counted["project"] if one.chosen} == {"-", "p1"}
    assert sum(one.goals for one in counted["project"]) == 30, "all projects of the agent"
    assert sum(week.goals for week in weeks(workspace, wanted)) == len(mine)
