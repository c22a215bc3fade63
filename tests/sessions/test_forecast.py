"""What happens before the next message: each state, at its threshold and one token before it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sessions.forecast import State, forecast
from sessions.windows import Limits, Measure, Name, Settings, Threshold, rules, window
from sessions.windows.base import Window

CLAUDE = window(rules()["claude-code-2.1"], Limits("m", 200_000, None, 64_000))
CODEX = window(rules()["codex-0.148"], Limits("m", 272_000))


@pytest.mark.parametrize(
    ("found", "used", "state", "reason"),
    [
        (CLAUDE, 0, State.SENT, "0 < 167,000 (compaction: E − 13,000)"),
        (CLAUDE, 166_999, State.SENT, "166,999 < 167,000 (compaction: E − 13,000)"),
        (CLAUDE, 167_000, State.COMPACTS, "167,000 ≥ 167,000 (compaction: E − 13,000)"),
        (CLAUDE, 190_000, State.COMPACTS, "190,000 ≥ 167,000 (compaction: E − 13,000)"),
        (CODEX, 244_799, State.SENT, "244,799 < 244,800 (compaction: C × 9/10)"),
        (CODEX, 244_800, State.COMPACTS, "244,800 ≥ 244,800 (compaction: C × 9/10)"),
    ],
)
def test_compaction(found, used, state, reason):
    said = forecast(found, used)
    assert (said.state, said.reason, said.threshold) == (state, reason, Name.COMPACTION)


@pytest.mark.parametrize(("used", "state"), [(176_999, State.SENT), (177_000, State.BLOCKED)])
def test_a_block_is_reached_only_where_compaction_is_off(used, state):
    off = window(rules()["claude-code-2.1"], Limits("m", 200_000, None, 64_000), Settings(automatic=False))
    assert forecast(off, used).state is state
    assert forecast(CLAUDE, used).state is State.COMPACTS


@pytest.mark.parametrize(("used", "state"), [(217_000, State.SENT), (217_001, State.COMPACTS)])
def test_the_predictive_step_acts_only_by_the_rule_that_has_it(used, state):
    limits = Limits("m", 272_000, None, 64_000)
    said = forecast(window(rules()["claude-code-2.1-predictive"], limits), used)
    assert said.state is state
    assert forecast(window(rules()["claude-code-2.1"], limits), used).state is State.SENT


@pytest.mark.parametrize(("tool_output", "state"), [(29_999, State.SENT), (30_000, State.MASKS), (None, State.SENT)])
def test_masking_holds_tool_output_against_its_threshold(tool_output, state):
    masking = Threshold(Name.MASKING, 30_000, "prunable results", Measure.TOOL_OUTPUT)
    found = replace(CODEX, thresholds=(masking, *CODEX.thresholds))
    said = forecast(found, 100_000, tool_output=tool_output)
    assert said.state is state
    assert [one.name for one in said.distances] == [Name.COMPACTION, Name.INPUT_LIMIT, Name.TOTAL]


def test_compaction_goes_before_masking():
    found = replace(CODEX, thresholds=(Threshold(Name.MASKING, 10_000, "x"), *CODEX.thresholds))
    assert forecast(found, 244_800).state is State.COMPACTS
    assert forecast(found, 244_799).state is State.MASKS


def test_distances_are_to_every_threshold_and_negative_where_passed():
    said = forecast(CLAUDE, 150_000)
    assert [(one.name.value, one.left) for one in said.distances] == [
        ("predictive", -5_000),
        ("warning", -3_000),
        ("compaction", 17_000),
        ("block", 27_000),
        ("input_limit", 30_000),
        ("total", 50_000),
    ]
    assert said.sentence == "Sent as is: 17,000 tokens until compaction, by Claude Code 2.1."


@pytest.mark.parametrize(
    ("found", "used", "words"),
    [
        (None, 5, "no rule of this agent"),
        (CLAUDE, None, "nothing says how much"),
        (window(rules()["codex-0.148"], Limits("x", None)), 5, "the window of 'x' is not known"),
    ],
)
def test_what_is_not_known_is_said(found: Window | None, used: int | None, words: str):
    said = forecast(found, used)
    assert said.state is State.UNKNOWN
    assert words in said.sentence


def test_a_use_far_beyond_the_window_is_doubted():
    assert any("1.5 times" in note for note in forecast(CLAUDE, 300_001).notes)
    assert not any("1.5 times" in note for note in forecast(CLAUDE, 300_000).notes)


def test_a_window_of_which_little_is_usable_is_said():
    small = window(rules()["claude-code-2.1"], Limits("m", 40_000, None, 64_000))
    assert small.compaction == 7_000
    assert "Only 7,000 of 40,000 tokens are usable before compaction." in forecast(small, 0).notes


def test_a_strict_threshold_is_reached_by_one_token_more():
    jcli = window(rules()["j-cli-12.9"], Limits(None, None))
    assert forecast(jcli, 204_800).reason == "204,800 ≤ 204,800 (compaction: 256 × 800)"
    assert forecast(jcli, 204_801).state is State.COMPACTS


def test_an_agent_that_compacts_only_when_told_to_says_so():
    said = forecast(window(rules()["universal-ai-client"], Limits(None, None)), 5_000)
    assert (said.state, said.sentence) == (
        State.SENT,
        "Sent as is: UniversalAIClient compacts only when it is told to.",
    )


def test_a_compaction_beyond_the_window_is_said():
    said = forecast(window(rules()["j-cli-12.9"], Limits("m", 128_000)), 10_000)
    assert any("lies beyond the window of 128,000" in note for note in said.notes)


def test_opencode_shows_70_percent_where_its_runtime_compacts():
    found = window(rules()["opencode-1.18"], Limits("m", 500_000, 372_000, 128_000))
    shown = found.rule.show(found.limits, 320_000, 352_000)
    assert shown is not None
    assert shown.text == "70%"
    assert forecast(found, 352_000).state is State.COMPACTS
    assert forecast(found, 351_999).state is State.SENT
