"""j-cli's way, by the figures of its rule."""

import pytest

from compaction.outputs import outputs_of
from compaction.plan import Snapshot, Status, SummaryAsk
from compaction.strategies.jcli import ANSWER, newest, said
from sessions.contexts import InsertKind
from tests.builders import Draft, call, items, prompt, result, say, session, snapshot
from tests.compaction.strategies.agents import kinds, preset, run, turns, windowed
from tests.compaction.strategies.agents import said as spoken


def lines(start: Snapshot, **params: object) -> dict[int, str]:
    made = run("j-cli", start, compact="never", **params)
    return {item.seq: item.text for item in made.items if item.masked and item.seq is not None}


def of_length(number: int, characters: int, tool: str = "Bash") -> Snapshot:
    made: list[Draft] = [prompt("go")]
    for n in range(number):
        made += [call(tool, command=f"run {n}"), result(("a b " * characters)[:characters])]
    return session(*made)


def test_all_but_the_newest_ten_where_longer_than_800_characters() -> None:
    assert lines(of_length(12, 801), line="the tool's name") == {2: "[Previous: used Bash]", 4: "[Previous: used Bash]"}
    assert lines(of_length(12, 800)) == {}
    assert lines(of_length(10, 5_000)) == {}
    assert set(lines(of_length(12, 801), results=11)) == {2}
    assert set(lines(of_length(12, 500), longer=499)) == {2, 4}


@pytest.mark.parametrize("tool", ["LoadSkill", "TodoWrite", "Task", "send_message", "CreateTeammate", "ExitPlanMode"])
def test_exempt_tools_are_left_whole(tool: str) -> None:
    assert lines(of_length(12, 2_000, tool)) == {}


def test_a_persons_own_exemptions() -> None:
    assert lines(of_length(12, 2_000), exempt="bash") == {}


@pytest.mark.parametrize(
    ("made", "line"),
    [
        (
            [call("Read", file_path="src/main.rs"), result("fn main() {\n    run();\n}")],
            "[Previous: Read src/main.rs — 3 lines: fn main() { run(); }]",
        ),
        (
            [call("Grep", pattern="fn handle_", path="src"), result("a:1\nb:2\nc:3\n")],
            "[Previous: Grep fn handle_ in src — 3 hits]",
        ),
        (
            [call("Bash", command="cargo test"), result("Exit code 101\nrunning\nFAILED", error=True)],
            "[Previous: Bash cargo test — failed, 2 lines, exit 101]",
        ),
        ([call("Bash", command="ls"), result("a\nb")], "[Previous: Bash ls — 2 lines]"),
        (
            [call("WebFetch", url="https://example.org"), result("x" * 1_234)],
            "[Previous: WebFetch https://example.org — 1,234 characters]",
        ),
    ],
)
def test_the_better_line_keeps_what_was_read(made: list[Draft], line: str) -> None:
    output = outputs_of(session(prompt("go"), *made))[0]
    assert said(output, improved=True) == line
    assert said(output, improved=False) == f"[Previous: used {output.tool}]"


def test_lines_are_not_replaced_again() -> None:
    start = of_length(14, 2_000)
    made = run("j-cli", start, compact="never")
    assert made.status is Status.PRUNED_ONLY
    again = run("j-cli", snapshot(start.log(), made.edits), compact="never")
    assert again.status is Status.NOOP_NOTHING_TO_DO


def test_five_messages_then_the_summary_and_its_answer() -> None:
    start = session(*turns(8))
    made = run("j-cli", start)
    assert made.status is Status.COMPLETED, made.reason
    assert kinds(made.items) == [*["prompt"] * 5, "summary", "message"]
    assert spoken(made.items) == [f"Task {n}: change handler_{n}" for n in range(3, 8)]
    assert made.items[-1].text == ANSWER
    ask = made.plan.asks[0]
    assert isinstance(ask, SummaryAsk)
    assert ask.template == "workflows"
    seed = preset("j-cli", "jcli-seed", start)
    assert kinds(seed.items) == ["prompt", "summary", "message"]  # the newest message stays, whoever's rule it is


def test_skills_come_back_within_five_and_twenty_five_thousand() -> None:
    loaded: list[Draft] = []
    for n in range(6):
        loaded += [call("LoadSkill", name=f"skill-{n}"), result(f"# Skill {n}\n" + "step by step " * 2_000)]
    start = session(prompt("go"), *loaded, *turns(40, size=400))
    made = run("j-cli", start)
    assert made.status is Status.COMPLETED, made.reason
    skills = [item for item in made.items if item.kind is InsertKind.SKILL]
    assert [item.label for item in skills] == [
        f"skill-{n}" for n in range(1, 6)
    ]  # the latest last; the first found no room
    assert [one.label for one in made.given] == [f"skill-{n}" for n in range(5, 0, -1)]
    assert all(4_900 < one.tokens <= 5_000 and one.cut > 1_000 for one in made.given)
    assert sum(one.tokens for one in made.given) <= 25_000
    assert any("skill-0" in warning for warning in made.warnings)
    # They do not pile up: the next time they give way to themselves.
    then = run("j-cli", snapshot(items(turns(20, size=400), start.log()), made.edits))
    assert then.status is Status.COMPLETED, then.reason
    labels = [item.label for item in then.items if item.kind is InsertKind.SKILL]
    assert sorted(labels) == sorted(set(labels))


def test_its_threshold_is_strict_and_fixed() -> None:
    start = session(*turns(10))
    at = run("j-cli", start, compact="at the threshold", micro=False, threshold=start.total)
    assert at.status is Status.NOOP_BELOW_THRESHOLD
    assert run("j-cli", start, compact="at the threshold", micro=False, threshold=start.total - 1).lands
    assert "204,80" in run("j-cli", start, windowed(50_000), compact="at the threshold", micro=False).reason


def test_the_summariser_reads_the_newest_part() -> None:
    start = session(prompt("go"), say("a" * 600), say("b" * 600), say("c" * 600))
    assert [item.seq for item in newest(start.items, 1_300)] == [2, 3]
    assert [item.seq for item in newest(start.items, 10)] == [3]
    assert list(newest(start.items, 80_000)) == list(start.items)
