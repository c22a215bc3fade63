"""Sentences of the pure core in the page's language: found by their form, filled with the same figures."""

import re
from dataclasses import replace

import pytest
from django.utils.translation import override

from sessions.forecast import forecast
from sessions.saying import FORMS, said
from sessions.windows import Limits, Measure, Name, Settings, Threshold, rules, window

LIMITS = Limits("m", 200_000, None, 64_000)
CLAUDE = window(rules()["claude-code-2.1"], LIMITS)
BLOCKS = window(rules()["claude-code-2.1"], LIMITS, Settings(automatic=False))
MASKS = replace(CLAUDE, thresholds=(Threshold(Name.MASKING, 30_000, "prunable results", Measure.TOOL_OUTPUT), *CLAUDE.thresholds))  # fmt: skip


@pytest.mark.parametrize(
    ("found", "used", "results"),
    [(CLAUDE, 1_234, None), (CLAUDE, 190_000, None), (BLOCKS, 180_000, None), (MASKS, 100_000, 40_000), (CLAUDE, 450_000, None)],
)  # fmt: skip
def test_every_forecast_is_said_in_chinese_with_its_figures(found, used: int, results: int | None) -> None:
    made = forecast(found, used, tool_output=results)

    with override("zh-hans"):
        for sentence in (made.sentence, *made.notes):
            shown = said(sentence)
            assert sorted(re.findall(r"\d[\d,]{3,}", shown)) == sorted(re.findall(r"\d[\d,]{3,}", sentence))
            # Nothing English is left but the rule's own name and the unit.
            assert not re.search(r"[a-z]{3,}", shown.replace(found.rule.label, "").replace("token", "")), shown
    with override("en"):
        assert said(made.sentence) == made.sentence


def test_parts_are_said_each_by_itself_and_what_nobody_translated_stays() -> None:
    with override("zh-hans"):
        assert said("recorded at step 12; what came later by Codex") == "记录于第 12 步; 其后的按Codex"
        assert said("A strategy from elsewhere") == "A strategy from elsewhere"
        assert said("Compacted (auto)") != said("Compacted (by moonlight)") == "压缩（by moonlight）"
        assert said("") == ""


def test_a_form_is_found_by_what_it_is_filled_with_whatever_that_is() -> None:
    """Braces and patterns in a title are figures like any other."""
    with override("zh-hans"):
        assert said("Fork: {n} (.*) 100 %") == "分叉：{n} (.*) 100 %"
    assert len(set(FORMS)) == len(FORMS)
