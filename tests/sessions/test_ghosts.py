"""Bands of ghosts and windows between them: who took what, and nothing lost or shown twice."""

from hypothesis import given
from hypothesis import strategies as st

from sessions.ghosts import Band, Maker, band_of, bands, stretch_after, stretch_before
from sessions.ranges import Ranges

TOTAL = 60
sets = st.sets(st.integers(0, TOTAL - 1)).map(Ranges.from_numbers)


def maker(n: int, kind: str, *spans: tuple[int, int]) -> Maker:
    return Maker(n, kind, f"v{n}", False, Ranges.of(spans))


def test_a_band_belongs_to_the_version_that_took_it() -> None:
    chain = [
        maker(0, "recorded"),
        maker(1, "compaction", (0, 10)),
        maker(2, "rollback", (0, 10), (20, 25)),
        maker(3, "compaction", (0, 18), (20, 25)),
    ]

    found = bands(chain)

    assert [(b.number, b.start, b.stop, b.maker.n, b.fold, b.nature) for b in found] == [
        (1, 0, 10, 1, 1, "folded"),
        (2, 10, 18, 3, 2, "folded"),
        (3, 20, 25, 2, None, "rolled back"),
    ]


def test_what_came_back_and_went_again_belongs_to_the_one_that_took_it_last() -> None:
    found = bands([maker(0, "compaction", (0, 5)), maker(1, "restore"), maker(2, "compaction", (0, 5))])

    assert [(b.start, b.stop, b.maker.n) for b in found] == [(0, 5, 2)]


def test_stretches_of_one_version_are_its_parts() -> None:
    found = bands([maker(0, "compaction", (0, 3), (5, 6), (9, 12))])

    assert [(b.part, b.parts) for b in found] == [(1, 3), (2, 3), (3, 3)]
    assert band_of(found, 5) == found[1]
    assert band_of(found, 4) is None


@given(st.lists(sets, max_size=5))
def test_bands_cover_exactly_what_is_hidden(hidden: list[Ranges]) -> None:
    found = bands([Maker(n, "compaction", "", False, ranges) for n, ranges in enumerate(hidden)])

    covered = [seq for band in found for seq in range(band.start, band.stop)]
    assert covered == list(hidden[-1] if hidden else Ranges())


@given(sets, st.integers(1, 9))
def test_windows_forward_show_every_visible_entry_once_and_answer_for_every_place(hidden: Ranges, count: int) -> None:
    seen: list[int] = []
    after = -1
    while True:
        window = stretch_after(hidden, TOTAL, after, count)
        assert window.low == after
        seen += window.seqs
        after = window.high
        if not window.later:
            break
    assert seen == [seq for seq in range(TOTAL) if seq not in hidden]
    assert after == TOTAL - 1


@given(sets, st.integers(1, 9))
def test_windows_backward_meet_without_a_gap(hidden: Ranges, count: int) -> None:
    seen: list[int] = []
    before = TOTAL
    while True:
        window = stretch_before(hidden, TOTAL, before, count)
        assert window.high == before - 1
        seen = [*window.seqs, *seen]
        before = window.low + 1
        if not window.earlier:
            break
    assert seen == [seq for seq in range(TOTAL) if seq not in hidden]
    assert before == 0


def test_a_hidden_stretch_costs_nothing_to_skip() -> None:
    hidden = Ranges.of([(0, 10**9)])

    window = stretch_after(hidden, 10**9 + 3, -1, 80)

    assert window.seqs == (10**9, 10**9 + 1, 10**9 + 2)
    assert stretch_before(hidden, 10**9 + 3, 10**9 + 1, 80).seqs == (10**9,)


def test_records_of_a_band_are_counted() -> None:
    assert Band(1, 4, 9, maker(1, "compaction"), 1).records == 5
