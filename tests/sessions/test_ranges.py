"""Sets of entry numbers behave as Python's own sets do."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from sessions.ranges import Ranges

numbers = st.sets(st.integers(0, 60), max_size=40)


@given(numbers, numbers)
def test_algebra_equals_that_of_sets(one: set[int], other: set[int]) -> None:
    a, b = Ranges.from_numbers(one), Ranges.from_numbers(other)
    assert set(a | b) == one | other
    assert set(a & b) == one & other
    assert set(a - b) == one - other
    assert len(a) == len(one)
    assert bool(a) == bool(one)


@given(numbers)
def test_spans_are_sorted_disjoint_and_not_touching(members: set[int]) -> None:
    spans = Ranges.from_numbers(members).spans
    assert all(start < stop for start, stop in spans)
    assert all(left[1] < right[0] for left, right in itertools.pairwise(spans))


@given(numbers, st.integers(-1, 61))
def test_membership(members: set[int], asked: int) -> None:
    assert (asked in Ranges.from_numbers(members)) == (asked in members)


@given(numbers, numbers)
def test_closed_over_means_the_same_for_what_is_present(members: set[int], present: set[int]) -> None:
    before = Ranges.from_numbers(members)
    after = before.closed_over(present)
    assert {n for n in present if n in after} == members & present
    assert len(after.spans) <= max(1, len(members & present))
