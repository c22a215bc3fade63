"""What fills a context: kinds, tools, media, the biggest by keyset; every token counted once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.entries import SizeVector
from sessions.kinds import Fill, Row, Share, dealt, filling
from sessions.meters import by_id

O200K = by_id("o200k")


def row(seq: int | None, kind: str, tokens: int, **more: object) -> Row:
    after = more.pop("after", seq)
    sizes = SizeVector(tokens=tokens, images=more.pop("images", 0))  # type: ignore[arg-type]
    return Row(seq=seq, after=after, kind=kind, sizes=sizes, **more)  # type: ignore[arg-type]


def tokens(found: object) -> dict[str, int]:
    return {one.name: one.tokens for one in found.by_kind}  # type: ignore[attr-defined]


CONTEXT = [
    row(0, "context", 50),
    row(1, "context", 400, memory=True),
    row(2, "prompt", 20),
    row(3, "reasoning", 30),
    row(4, "tool_call", 10, tool="Read", calls=("a",)),
    row(5, "tool_result", 700, calls=("a",)),
    row(6, "tool_call", 12, tool="Bash", calls=("b",)),
    row(7, "tool_result", 300, calls=("b",)),
    row(8, "message", 40),
    row(None, "summary", 90, after=8, position=0, ordinal=0),
    row(None, "file", 60, after=8, position=1, ordinal=1),
]


def test_every_kind_has_its_own_and_results_go_by_the_tool_of_their_call() -> None:
    found = filling(CONTEXT, O200K)
    assert tokens(found) == {
        "system": 50, "memory": 400, "summary": 90, "reinjected": 60, "user": 20, "assistant": 40, "reasoning": 30, "tool_calls": 22,
        "tool_results": 1000,
    }  # fmt: skip
    assert [(one.name, one.tokens, one.entries) for one in found.by_tool] == [("Read", 700, 1), ("Bash", 300, 1)]
    assert (found.tokens, found.entries) == (1712, 11)
    assert sum(one.share for one in found.by_kind) == pytest.approx(1)


def test_the_biggest_come_first_and_page_by_keyset_without_loss_or_repetition() -> None:
    order = []
    after = None
    while True:
        page = filling(CONTEXT, O200K, count=3, after=after)
        assert page.tokens == 1712  # the sums do not hang on the page
        order += [big.row.key for big in page.biggest]
        after = page.next
        if after is None:
            break
    assert order == ["e5", "e1", "e7", "i0", "i1", "e0", "e8", "e3", "e2", "e6", "e4"]


def test_of_equal_ones_the_earlier_comes_first_also_over_a_page_break() -> None:
    rows = [row(seq, "prompt", 5) for seq in range(5)]
    first = filling(rows, O200K, count=2)
    second = filling(rows, O200K, count=2, after=first.next)
    assert [b.row.seq for b in first.biggest + second.biggest] == [0, 1, 2, 3]


def test_a_cursor_of_nobody_is_refused() -> None:
    for text in ("x", "1.2", "1.2.y", "1.2.3.4"):
        with pytest.raises(ValueError):
            filling(CONTEXT, O200K, after=text)


def test_media_are_told_from_the_words_beside_them() -> None:
    found = filling([row(0, "prompt", 20, images=2), row(1, "media", 0, images=1)], O200K)
    assert tokens(found) == {"user": 20, "media": 4800}
    assert found.biggest[0].fill is Fill.MEDIA


def test_a_result_whose_call_is_not_there_has_no_tool() -> None:
    found = filling([row(0, "tool_result", 9, calls=("gone",))], O200K)
    assert [(one.name, one.tokens) for one in found.by_tool] == [("", 9)]


def test_a_row_of_several_calls_and_results_is_dealt_out_by_their_length() -> None:
    shares = (
        Share("message", None, 100),
        Share("tool_call", "read_file", 50),
        Share("tool_result", None, 800),
        Share("tool_call", "shell", 50),
        Share("tool_result", None, 1000),
    )
    mixed = row(0, "tool_call", 200, tool="read_file", calls=("", "a", "a", "b", "b"), shares=shares)
    found = filling([mixed], O200K)
    assert tokens(found) == {"assistant": 10, "tool_calls": 10, "tool_results": 180}
    assert [(one.name, one.tokens) for one in found.by_tool] == [("shell", 100), ("read_file", 80)]


def test_nothing_fills_an_empty_context() -> None:
    found = filling([], O200K)
    assert (found.tokens, found.by_kind, found.biggest, found.next) == (0, (), (), None)


@given(st.integers(0, 10**6), st.lists(st.integers(0, 10**5), min_size=1, max_size=8))
def test_what_is_dealt_out_is_all_there_is(whole: int, weights: list[int]) -> None:
    out = dealt(whole, weights)
    assert sum(out) == whole
    assert all(amount >= 0 for amount in out)
