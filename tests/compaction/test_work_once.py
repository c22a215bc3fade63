"""What a preview leaves out for speed changes nothing it says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction import retention
from compaction.difference import difference
from compaction.plan import Budget
from compaction.preview import preview
from compaction.strategies import by_id, hybrid
from compaction.strategies.base import settled
from compaction.summary.facts import FileUse
from compaction.summary.items import words
from compaction.summary.survey import survey
from sessions.meters.tokens import count
from tests.builders import Draft, items, snapshot
from tests.compaction.histories import HISTORIES

BUDGET = Budget("o200k", count)
AIMS = st.sampled_from([250, 900, 2_000])


@settings(max_examples=40, deadline=None)
@given(history=st.lists(HISTORIES, min_size=1, max_size=3), aim=AIMS, pins=st.sets(st.integers(0, 40), max_size=2))
def test_lines_for_outputs_that_are_folded_anyway_are_not_missed(
    history: list[list[Draft]], aim: int, pins: set[int]
) -> None:
    """Hybrid stops writing them where all older ones go: with many looks on the way, and with one at the end, it is the same plan."""
    start = snapshot(items(history), pins=pins)
    strategy = by_id("hybrid")
    params: dict[str, Any] = settled(strategy.params, {"aim": aim, "keep": 60, "protect": 60, "free": 0})
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(hybrid, "_AT_ONCE", 1)
        early = preview(strategy, start, BUDGET, params)
    whole = preview(strategy, snapshot(items(history), pins=pins), BUDGET, params)
    assert (early.digest, early.status, early.tokens_after) == (whole.digest, whole.status, whole.tokens_after)
    assert early.retention == whole.retention


@settings(max_examples=60, deadline=None)
@given(
    lines=st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6), max_size=8),
    wanted=st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=6),
)
def test_a_line_near_a_fact_is_found_wherever_it_is(lines: list[list[str]], wanted: list[str]) -> None:
    there = retention._There(survey(()), difference((), ()))
    for line in lines:
        unique = frozenset(line)
        for word in unique:
            there.by_word.setdefault(word, []).append(len(there.lines))
        there.lines.append(unique)
    sought = set(words(" ".join(wanted)))
    best = max((len(sought & line) for line in there.lines), default=0) / len(sought)
    assert there.near(" ".join(wanted)) is (best >= 0.6)


def test_the_symbols_defined_last_are_those_of_all_texts() -> None:
    use = FileUse("a.py", news=["def a(): ...\ndef b(): ...", "class C: ...\ndef a(): ...", "x = 1", "def d(): ..."])
    assert use.defined == ["b", "C", "a", "d"]
    for most in range(1, 6):
        assert use.defined_lately(most) == use.defined[-most:]
