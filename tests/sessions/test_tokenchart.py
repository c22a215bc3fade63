"""The drawing of the token chart: what stands where, for any width; nothing of a step is lost, nothing overlaps."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.tokenchart import (
    Bar,
    Chart,
    Drawing,
    Flag,
    Fork,
    Limit,
    Rolled,
    change,
    draw,
    frame_of,
    merged,
    scale_of,
    ticks,
)

LIMITS = (
    Limit("compaction", "compaction", 167_000, "Claude Code 2.1", "E − 13,000"),
    Limit("block", "hard block", 177_000, "Claude Code 2.1", "E − 3,000"),
    Limit("input_limit", "input limit", 180_000, "Claude Code 2.1", "E"),
    Limit("total", "total window", 200_000, "model catalogue", "C"),
)


def bar(
    n: int, *, read: int = 50_000, write: int = 500, fresh: int = 10, output: int = 900, reasoning: int = 300
) -> Bar:
    return Bar(n, (n - 1) // 10 + 1, n * 4, n, n + 1, read, write, fresh, output, reasoning)


def a_chart(steps: int = 40, **more: object) -> Chart:
    return Chart(tuple(bar(n) for n in range(1, steps + 1)), 1, steps, steps, **{"limits": LIMITS, **more})  # type: ignore[arg-type]


def corners(path: str) -> list[tuple[float, float]]:
    """The points of an outline of verticals and horizontals."""
    x = y = 0.0
    out = []
    for letter, words in re.findall(r"([MVHZ])([^MVHZ]*)", path):
        numbers = [float(word) for word in words.split()]
        if letter == "M":
            x, y = numbers
        elif letter == "V":
            y = numbers[0]
        elif letter == "H":
            x = numbers[0]
        out.append((x, y))
    return out


def test_layers_stand_on_each_other_and_the_largest_is_drawn_first() -> None:
    drawing = draw(a_chart(), 1392, 240)
    frame = drawing.frame

    assert [name for name, _ in drawing.layers] == ["reasoning", "answer", "fresh", "cache_write", "cache_read"]
    tops = [min(y for _, y in corners(path)) for _, path in drawing.layers]
    assert tops == sorted(tops)
    # The top of all is the context of a step, to scale, the foot is nothing.
    scale = scale_of(a_chart())
    assert frame.foot - tops[0] == pytest.approx(51_410 * frame.plot_height / scale, abs=0.1)
    assert {y for _, path in drawing.layers for _, y in corners(path)[:1]} == {frame.foot}
    assert {x for _, path in drawing.layers for x, _ in corners(path)} >= {frame.left, frame.right}


def test_a_step_without_figures_leaves_a_gap_and_an_unsplit_one_its_own_layer() -> None:
    bars = (bar(1), Bar(3, 1, 12, 3, 4, whole=60_000, output=500))
    drawing = draw(Chart(bars, 1, 3, 3), 1000, 240)
    layers = dict(drawing.layers)

    assert "whole" in layers
    outline = layers["answer"]
    assert outline.count("M") == 2
    third = drawing.frame.left + drawing.frame.plot_width / 3
    assert not any(third + 1 < x < 2 * third - drawing.frame.left - 1 for x, _ in corners(outline))


def test_reasoning_is_part_of_the_output_and_never_more() -> None:
    assert bar(1, output=900, reasoning=300).layers[-2:] == (600, 300)
    assert bar(1, output=100, reasoning=300).layers[-2:] == (0, 100)
    assert bar(1, output=100, reasoning=300).context == 50_610


def test_limits_are_named_with_whose_rule_they_are_and_never_over_each_other() -> None:
    lines = draw(a_chart(), 1392, 240).lines

    assert {line.limit.name for line in lines} == {"compaction", "block", "input_limit", "total"}
    words = sorted((line.words for line in lines if line.words), key=lambda one: one.y)
    assert all(line.words is not None and line.words.quiet == line.limit.whose for line in lines)
    assert all(below.y - above.y >= 14 for above, below in pairwise(words))


def test_a_window_that_is_never_neared_does_not_press_the_bars_flat() -> None:
    far = (Limit("total", "total window", 10_000_000, "model catalogue", "C"),)
    chart = a_chart(limits=far)

    assert scale_of(chart) < 60_000
    (line,) = draw(chart, 1392, 240).lines
    assert line.y is None
    assert line.words is not None
    assert line.words.plain.endswith("↑")


def test_compactions_rollbacks_and_forks_stand_where_they_happened() -> None:
    chart = a_chart(
        flags=(Flag(1, 11, "Compacted (auto)", 40, 166_480, 34_310), Flag(2, 31, "Compacted (auto)", 120, None, None)),
        rolled=(Rolled(21, 25, "Rolled back", 90_000, 80_000),),
        forks=(Fork(36, "Fork: another way", "x"),),
    )
    drawing = draw(chart, 1392, 240)
    frame = drawing.frame
    each = frame.plot_width / 40

    assert [pole.x for pole in drawing.poles] == pytest.approx(
        [frame.left + 10 * each, frame.left + 30 * each], abs=0.1
    )
    assert "166,480 → 34,310" in drawing.poles[0].title
    assert drawing.poles[0].words is not None
    (ground,) = drawing.grounds
    assert (ground.x, ground.width) == pytest.approx((frame.left + 20 * each, 5 * each), abs=0.2)
    assert "turn 3" in ground.title
    assert "90,000 → 80,000" in ground.title
    # Steps rolled back are an outline, not bars.
    inside = [
        x for x, _ in corners(dict(drawing.layers)["cache_read"]) if ground.x + 1 < x < ground.x + ground.width - 1
    ]
    assert inside == []
    assert ground.outline
    assert drawing.forks[0].x == pytest.approx(frame.left + 35 * each, abs=0.1)


def test_marks_of_another_rule_are_those_of_the_stretch() -> None:
    whole = a_chart(marks=(5, 20, 39))
    part = Chart(whole.bars[10:30], 11, 30, 40, marks=(5, 20, 39))

    assert len(draw(whole, 1392, 240).marks) == 3
    assert len(draw(part, 1392, 240).marks) == 1


def spans(drawing: Drawing) -> list[tuple[float, float]]:
    """Where the words at the head reach from and to, as they are reckoned."""
    out = []
    for words in [
        *(one.words for one in drawing.poles),
        *(one.words for one in drawing.grounds),
        *(one.words for one in drawing.forks),
    ]:
        if words is None:
            continue
        width = (len(words.strong) + len(words.plain) + bool(words.strong and words.plain)) * 6.1
        out.append((words.x, words.x + width) if words.anchor == "start" else (words.x - width, words.x))
    return sorted(out)


@given(
    st.lists(st.integers(2, 200), max_size=12, unique=True),
    st.integers(280, 2400),
    st.integers(1, 190),
)
def test_words_never_overlap_and_stay_within_the_drawing(at: list[int], width: int, rolled: int) -> None:
    flags = tuple(Flag(n, place, "Compacted (auto)", place, 150_000, 20_000) for n, place in enumerate(sorted(at), 1))
    chart = a_chart(200, flags=flags, rolled=(Rolled(rolled, rolled + 8, "Rolled back"),))
    drawing = draw(chart, width, 240)

    reach = spans(drawing)
    assert all(a[1] <= b[0] for a, b in pairwise(reach))
    assert all(low >= drawing.frame.left and high <= width for low, high in reach)
    # Numbers of turns neither.
    numbers = [one for one in drawing.brackets if one.number]
    assert all(
        a.middle + len(a.number or "") * 3.2 < b.middle - len(b.number or "") * 3.2 + 0.1 for a, b in pairwise(numbers)
    )


def test_thousands_of_turns_are_a_few_numbers() -> None:
    bars = tuple(Bar(n, n, n, n, n + 1, 50_000) for n in range(1, 1_001))
    drawing = draw(Chart(bars, 1, 1_000, 1_000), 1392, 240)

    assert 4 < len(drawing.brackets) < 30
    assert not any(one.shaded for one in drawing.brackets)


@given(st.integers(1, 3_000_000), st.integers(2, 6))
def test_ticks_are_round_and_few(scale: int, most: int) -> None:
    found = ticks(scale, most)

    assert found[0] == 0
    assert len(found) <= most + 1
    assert found[-1] <= scale


def test_small_things() -> None:
    assert merged([(5, 7), (1, 2), (3, 4), (10, 12), (11, 11)]) == [(1, 7), (10, 12)]
    assert change(None, None) == ""
    assert change(None, 5_000) == "– → 5,000"
    assert frame_of(1392, 240).right == 1392 - 272
    assert frame_of(390, 176).right == 382
    empty = draw(Chart((), 1, 1, 0), 1392, 240)
    assert (empty.layers, empty.lines, empty.brackets) == ([], [], [])
