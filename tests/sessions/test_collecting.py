"""The collector of cycles is one for the process: whoever wishes for less of it gets that, and the last one out leaves it as it was."""

import gc
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sessions.collecting import held_back, seldom


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    assert gc.get_threshold() == before


@settings(max_examples=40, deadline=None)
@given(inside=st.lists(st.booleans(), min_size=1, max_size=5), leaving=st.randoms())
def test_the_strictest_wish_holds_in_whatever_order_they_come_and_go(inside: list[bool], leaving: object) -> None:
    before = gc.get_threshold()
    stacks = []
    for never in inside:
        stacks.append((never, ExitStack()))
        stacks[-1][1].enter_context(held_back() if never else seldom())
    while stacks:
        looks = gc.get_threshold()[0]
        assert (looks == 0) == any(never for never, _ in stacks)
        assert looks == 0 or looks > before[0]
        _, one = stacks.pop(leaving.randrange(len(stacks)))  # type: ignore[attr-defined]  # a Random
        one.close()
    assert gc.get_threshold() == before


def test_an_error_and_a_decorator_leave_it_as_it_was() -> None:
    @held_back()
    def looks() -> int:
        return gc.get_threshold()[0]

    assert (looks(), looks()) == (0, 0)
    with pytest.raises(ValueError, match="x"), seldom():
        raise ValueError("x")
