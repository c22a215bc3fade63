"""The difference between two contexts: what came, what went, what was masked, what was put in; checked against plain sets."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from sessions.differences import Block, Body, Change, Shown, Side, difference
from sessions.ranges import Ranges


def side(
    *hidden: tuple[int, int],
    until: int | None = None,
    bodies: dict[int, Body] | None = None,
    inserted: Iterable[Body] = (),
) -> Side:
    return Side(Ranges.of(hidden), until, bodies or {}, tuple(inserted))


def body(position: int, words: bytes, tokens: int, after: int = -1, kind: str = "summary") -> Body:
    return Body(position, words, tokens, kind, "user", "", after)


def shown(*seqs: int, kind: str = "message") -> list[Shown]:
    return [Shown(seq, kind, 10) for seq in seqs]


def told(blocks: Iterable[Block]) -> list[tuple[str, int, int, int, int, int]]:
    return [(b.change.value, b.first, b.last, b.count, b.left, b.right) for b in blocks]


def test_a_compaction_folds_and_puts_a_summary_in() -> None:
    right = side((2, 8), inserted=[body(0, b"so far", 7, after=7)])
    found = difference(shown(*range(12)), side(), right)
    assert told(found.blocks) == [
        ("same", 0, 1, 2, 20, 20),
        ("gone", 2, 7, 6, 60, 0),
        ("inserted", 7, 7, 1, 0, 7),
        ("same", 8, 11, 4, 40, 40),
    ]
    assert (found.differences, found.left_tokens, found.right_tokens) == (2, 120, 67)
    assert (found.left_items, found.right_items) == (12, 7)


def test_the_other_way_round_it_is_added_and_dropped() -> None:
    left = side((2, 8), inserted=[body(0, b"so far", 7, after=7)])
    found = difference(shown(*range(12)), left, side())
    assert [b.change for b in found.blocks] == [Change.SAME, Change.ADDED, Change.DROPPED, Change.SAME]


def test_masked_unmasked_rewritten_and_masked_alike() -> None:
    left = side(bodies={1: body(0, b"cut", 1), 2: body(1, b"cut", 1), 3: body(2, b"cut", 1)})
    right = side(bodies={0: body(0, b"cut", 1), 2: body(1, b"cut", 1), 3: body(2, b"head and tail", 4)})
    found = difference(shown(*range(5)), left, right)
    assert told(found.blocks) == [
        ("masked", 0, 0, 1, 10, 1),
        ("unmasked", 1, 1, 1, 1, 10),
        ("same", 2, 2, 1, 1, 1),
        ("rewritten", 3, 3, 1, 1, 4),
        ("same", 4, 4, 1, 10, 10),
    ]


def test_two_steps_differ_by_what_came_between_them() -> None:
    found = difference(shown(*range(6)), side(until=3), side(until=5))
    assert told(found.blocks) == [("same", 0, 3, 4, 40, 40), ("added", 4, 5, 2, 0, 20)]


def test_a_summary_in_the_place_of_another_is_rewritten_and_an_equal_one_is_the_same() -> None:
    left = side(inserted=[body(0, b"one", 5, after=2), body(1, b"plan", 3, after=2, kind="plan")])
    right = side(inserted=[body(0, b"two", 6, after=2), body(4, b"plan", 3, after=2, kind="plan")])
    found = difference(shown(1, 4), left, right)
    assert told(found.blocks) == [
        ("same", 1, 1, 1, 10, 10),
        ("rewritten", 2, 2, 1, 5, 6),
        ("same", 2, 4, 2, 13, 13),
    ]
    assert found.blocks[1].inserts
    assert not difference(shown(1, 4), left, left).differences


def test_insertions_before_all_and_behind_all_have_their_places() -> None:
    right = side(inserted=[body(0, b"a", 1, after=-1), body(1, b"z", 1, after=9)])
    found = difference(shown(3), side(), right)
    assert [(b.change.value, b.first) for b in found.blocks] == [("inserted", -1), ("same", 3), ("inserted", 9)]


def test_pages_by_the_number_of_a_block_hold_all_and_count_all() -> None:
    right = side(*[(seq, seq + 1) for seq in range(0, 40, 2)])
    whole = difference(shown(*range(40)), side(), right)
    pages, after = [], 0
    while True:
        page = difference(shown(*range(40)), side(), right, after=after, count=7)
        assert (page.differences, page.total) == (20, 40)
        assert len(page.blocks) <= 7
        pages += page.blocks
        if page.next is None:
            break
        after = page.next
    assert pages == whole.blocks


spans = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=4)


@given(spans, spans, st.one_of(st.none(), st.integers(-1, 30)), st.one_of(st.none(), st.integers(-1, 30)))
def test_it_is_what_plain_sets_say(
    one: list[tuple[int, int]], other: list[tuple[int, int]], until: int | None, upto: int | None
) -> None:
    left, right = side(*one, until=until), side(*other, until=upto)
    was = {seq for seq in range(30) if left.shows(seq)}
    now = {seq for seq in range(30) if right.shows(seq)}
    found = difference(shown(*range(30)), left, right)
    assert found.counts[Change.GONE] == len(was - now)
    assert found.counts[Change.ADDED] == len(now - was)
    assert found.counts[Change.SAME] == len(was & now)
    assert (found.left_tokens, found.right_tokens) == (10 * len(was), 10 * len(now))
    assert found.equal == (was == now)
