"""What is used, and whose figure that is: the agent's own where it holds, ours where it no longer does."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions import versions
from sessions.contexts import Hide, Insert, InsertKind, Replace
from sessions.entries import Part, PartKind, Role
from sessions.gauge import gauge, window_of
from sessions.ingest import take_file
from sessions.measuring import measured
from sessions.meters import by_id, meters
from sessions.meters.tokens import sizes
from sessions.models import Session, Step, Version
from sessions.projection import context_items
from sessions.ranges import Ranges
from sessions.windows import Limits, rules, window
from tests.claude_lines import ClaudeLines, turns
from webapp.models import Workspace

pytestmark = pytest.mark.django_db


def taken(folder: Path, made: ClaudeLines) -> Session:
    workspace = Workspace.objects.get_or_create(name="Scriptorium", slug="scriptorium")[0]
    path = folder / "11111111-2222-4333-8444-555555555555.jsonl"
    path.write_bytes(bytes(made))
    return Session.objects.get(pk=take_file(workspace, path).session)


def usage(fresh: int, read: int, write: int, output: int) -> dict[str, int]:
    return {
        "input_tokens": fresh,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
        "output_tokens": output,
    }


def rough(text: str) -> int:
    return -(-len(text) // 3)  # characters / 4 × 4/3


def answered() -> ClaudeLines:
    made = ClaudeLines()
    made.prompt("What is in the ledger?")
    made.says("Two parts.", usage=usage(20, 150_000, 5_000, 900))
    return made


def test_right_after_an_answer_the_recorded_figures_stand_alone(tmp_path):
    found = gauge(taken(tmp_path, answered()))
    assert (found.used.tokens, found.used.recorded, found.used.estimated) == (155_920, 155_920, 0)
    assert found.used.whose == "recorded at step 1"
    assert {one.key: (one.tokens, one.of) for one in found.numbers} == {
        "total": (155_920, 200_000),
        "prompt": (155_020, 180_000),
        "until_compaction": (167_000 - 155_920, 167_000),
        "output": (900, 64_000),
        "output_budget": (200_000 - 155_920, 64_000),
    }
    assert found.forecast.state == "sent"
    assert found.screen is not None
    assert found.screen.text == "78%"


def test_what_came_later_is_estimated_by_the_agents_own_meter(tmp_path):
    made = answered()
    text = "x" * 36_000
    made.prompt(text)
    found = gauge(taken(tmp_path, made))
    assert (found.used.recorded, found.used.estimated) == (155_920, rough(text))
    assert found.used.meter == "claude-rough"
    assert found.forecast.state == "compacts"
    assert found.forecast.reason == f"{155_920 + rough(text):,} ≥ 167,000 (compaction: E − 13,000)"


def test_results_that_came_between_the_records_of_one_answer_count_as_later(tmp_path):
    made = ClaudeLines()
    made.prompt("Read both.")
    made.calls("toolu_a", "Read", {"file_path": "/a"}, message="msg_1", usage=usage(20, 1_000, 0, 60))
    made.result("toolu_a", "a" * 300)
    made.calls("toolu_b", "Read", {"file_path": "/b"}, message="msg_1", usage=usage(20, 1_000, 0, 60))
    made.result("toolu_b", "b" * 300)
    found = gauge(taken(tmp_path, made))
    assert (found.used.recorded, found.used.estimated) == (1_080, 200)


def test_after_a_compaction_the_recorded_figure_no_longer_holds(tmp_path):
    made = answered()
    made.compact("The ledger has two parts.")
    session = taken(tmp_path, made)
    found = gauge(session)
    assert found.step is None
    assert found.used.recorded is None
    assert found.used.tokens == measured(session.pk, session.native_head, [by_id("claude-rough")])["claude-rough"]
    assert found.used.tokens < 100
    assert found.screen is None
    made.prompt("Go on.")
    made.says("Gladly.", usage=usage(20, 14_000, 300, 10))
    assert gauge(taken(tmp_path, made)).used.tokens == 14_330


def test_undoing_the_agents_compaction_shows_the_recorded_figure_again(tmp_path):
    made = answered()
    made.compact("The ledger has two parts.")
    session = taken(tmp_path, made)
    versions.undo(session.pk)
    session.refresh_from_db()
    found = gauge(session)
    assert found.used.recorded == 155_920
    assert gauge(session, session.native_head).used.recorded is None


def test_a_roll_back_shows_the_figure_of_the_last_step_that_is_left(tmp_path):
    made = answered()
    made.prompt("And now?")
    made.says("More.", usage=usage(20, 160_000, 0, 40))
    session = taken(tmp_path, made)
    versions.roll_back(session.pk, to_turn=1)
    session.refresh_from_db()
    found = gauge(session)
    assert (found.used.tokens, found.used.whose) == (155_920, "recorded at step 1")


def test_a_compaction_of_ours_is_estimated_and_the_native_head_still_recorded(tmp_path):
    session = taken(tmp_path, turns(6))
    folded = Ranges.of([(0, 12)])
    edits = [
        Hide(folded),
        Insert(11, Role.USER, InsertKind.SUMMARY, (Part(PartKind.TEXT, "Three parts were read."),), folded),
    ]
    made = version_of(session, edits)
    ours = gauge(session, made)
    assert ours.used.recorded is None
    assert ours.used.tokens == measured(session.pk, made, [by_id("claude-rough")])["claude-rough"]
    assert gauge(session).used.recorded == 135


def version_of(session: Session, edits: list[object]) -> Version:
    return versions.make(
        session,
        parent=session.current,
        edits=edits,
        origin="person",
        kind="test",
        label="test",
        at_seq=session.entries_count - 1,
    )


def test_at_a_step_stands_what_the_agent_recorded_there(tmp_path):
    made = answered()
    made.prompt("And now?")
    made.says("More.", usage=usage(20, 160_000, 0, 40))
    session = taken(tmp_path, made)
    found = gauge(session, step=session.steps.get(n=1))
    assert (found.used.tokens, found.number("output").tokens) == (155_920, 900)
    assert gauge(session, step=session.steps.get(n=2)).used.tokens == 160_060


def test_where_the_output_is_a_placeholder_it_is_estimated(tmp_path):
    session = taken(tmp_path, answered())
    Step.objects.filter(session=session).update(estimated=True, output=1)
    found = gauge(session)
    assert (found.used.recorded, found.used.estimated) == (155_020, rough("Two parts."))
    assert "lower bound" in found.number("output").whose


def test_every_meter_by_one_query_equals_the_sum_over_the_items(tmp_path):
    made = turns(4)
    made.prompt("日本語のテキスト and some ASCII, with an emoji 🙂.")
    made.calls("toolu_m", "Bash", {"command": "ls"})
    made.result("toolu_m", "ä" * 400)
    made.prompt("z" * 100_001)
    session = taken(tmp_path, made)
    masked = session.entries.get(kind="tool_result", call_ids=["toolu_m"])
    edits = [
        Hide(Ranges.of([(0, 5)])),
        Replace(masked.seq, (Part(PartKind.TOOL_RESULT, "[cut]", call_id="toolu_m"),)),
        Replace(2, (Part(PartKind.TOOL_RESULT, "[cut, and then hidden]", call_id="toolu_0001"),)),
        Insert(4, Role.USER, InsertKind.SUMMARY, (Part(PartKind.TEXT, "Ein Überblick."),), Ranges.of([(0, 5)])),
    ]
    version = version_of(session, edits)
    items = context_items(session, version)
    with CaptureQueriesContext(connection) as queries:
        found = measured(session.pk, version, list(meters().values()))
    assert len(queries) == 1
    assert found == {meter.id: meter.total(item.sizes for item in items) for meter in meters().values()}
    assert found["o200k"] == version.tokens


def test_items_that_the_agents_wiring_adds_or_changes_have_the_sizes_of_what_is_sent(tmp_path):
    made = turns(1)
    made.calls("toolu_z", "Bash", {"command": "sleep 100"})
    items = context_items(taken(tmp_path, made))
    mended = [item for item in items if "interrupted" in item.text]
    assert len(mended) == 1, "the call that was never answered is answered by the agent's own words"
    assert [item.sizes for item in items] == sizes([item.parts for item in items])


def test_a_recorded_window_wins_over_the_catalogue(tmp_path):
    session = taken(tmp_path, answered())
    session.window = 150_000
    found = window_of(session)
    assert found is not None
    assert (found.total, found.limits.source, found.limits.output) == (150_000, "recorded in the session", 64_000)


def test_an_unknown_model_has_no_thresholds_and_no_forecast(tmp_path):
    session = taken(tmp_path, answered())
    session.steps.update(model="a-model-of-my-own")
    found = gauge(session)
    assert found.forecast.state == "unknown"
    assert found.number("total").of is None
    assert found.number("until_compaction").tokens is None
    assert found.used.tokens == 155_920


def test_an_agent_without_a_rule_still_says_what_is_used(tmp_path):
    session = taken(tmp_path, answered())
    session.agent = "of-tomorrow"
    found = gauge(session)
    assert found.window is None
    assert found.forecast.state == "unknown"
    assert found.used.tokens == 155_920


def test_a_recorded_figure_beyond_one_and_a_half_windows_is_not_taken(tmp_path):
    session = taken(tmp_path, answered())
    Step.objects.filter(session=session).update(cache_read=299_000)
    found = gauge(session)
    assert (found.used.refused, found.used.recorded, found.step, found.screen) == (304_920, None, None, None)
    assert found.used.tokens == measured(session.pk, session.native_head, [by_id("claude-rough")])["claude-rough"]
    assert found.used.whose.startswith("304,920 is recorded, more than 1.5 times the window of 200,000, and not taken")
    at = gauge(session, step=session.steps.get(n=1))
    assert (at.used.refused, at.used.recorded) == (304_920, None)
    Step.objects.filter(session=session).update(cache_read=294_080)
    assert gauge(session).used.tokens == 300_000


def test_a_rule_of_the_last_prompt_holds_that_alone(tmp_path):
    session = taken(tmp_path, answered())
    found = gauge(session, drawn=window(rules()["gemini-0.56"], Limits("m", 400_000)))
    assert (found.used.tokens, found.counted) == (155_920, 155_020)
    assert found.number("until_compaction").tokens == 200_000 - 155_020


def test_a_rule_that_estimates_for_itself_holds_its_estimate(tmp_path):
    session = taken(tmp_path, answered())
    found = gauge(session, drawn=window(rules()["j-cli-12.9"], Limits()))
    assert found.used.tokens == 155_920
    assert found.counted == measured(session.pk, session.native_head, [by_id("jcli-json4")])["jcli-json4"]
    assert found.forecast.state == "sent"


def with_results(*sizes_: int) -> ClaudeLines:
    made = ClaudeLines()
    for n, size in enumerate(sizes_):
        made.prompt(f"Read {n}.")
        made.calls(f"toolu_{n}", "Read", {"file_path": f"/{n}"}, usage=usage(20, 1_000, 0, 60))
        made.result(f"toolu_{n}", "x" * (4 * size))
    made.says("All read.", usage=usage(20, 150_000, 0, 60))
    return made


@pytest.mark.parametrize(
    ("results", "could", "state"),
    [
        ((30_000, 30_000, 20_000), 30_000, "masks"),  # the one that crosses 50,000 is the oldest
        ((29_999, 30_000, 20_000), 29_999, "sent"),
        ((1_000, 10_000, 30_000, 20_001), 41_000, "masks"),
        ((50_000,), 0, "sent"),
        ((50_001,), 50_001, "masks"),
    ],
)
def test_gemini_masks_what_lies_beyond_the_newest_results(tmp_path, results, could, state):
    session = taken(tmp_path, with_results(*results))
    found = gauge(session, drawn=window(rules()["gemini-0.56"], Limits("m", 1_048_576)))
    assert (found.maskable, found.forecast.state) == (could, state)
    assert gauge(session).maskable is None


def test_what_is_masked_already_or_hidden_is_not_maskable(tmp_path):
    session = taken(tmp_path, with_results(40_000, 40_000, 20_000))
    drawn = window(rules()["gemini-0.56"], Limits("m", 1_048_576))
    oldest = session.entries.filter(kind="tool_result").order_by("seq").first()
    part = Part(PartKind.TOOL_RESULT, "[cut]", call_id=oldest.call_ids[0])
    masked = version_of(session, [Replace(oldest.seq, (part,))])
    assert gauge(session, drawn=drawn).maskable == 80_000
    assert gauge(session, masked, drawn=drawn).maskable == 40_000
    assert gauge(session, step=session.steps.get(n=2), drawn=drawn).maskable == 0


def test_early_opencode_leaves_two_turns_alone(tmp_path):
    drawn = window(rules()["opencode-1.2"], Limits("m", 1_000_000, None, 64_000))
    # The two newest turns do not count at all: of the others the newest 40,000 stay.
    few = taken(tmp_path, with_results(20_001, 39_000, 90_000, 90_000))
    found = gauge(few, drawn=drawn)
    assert (found.maskable, found.forecast.state) == (20_001, "masks")
    assert gauge(few, step=few.steps.get(n=3), drawn=drawn).maskable == 0
