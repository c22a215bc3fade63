"""What the pages of compaction are drawn from: strips, choices read from a form."""

from dataclasses import dataclass

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from compaction import forms, strips
from compaction.plan import Section
from compaction.summary.template import NOTHING, TITLES, parse, render


def spans(strip: strips.Strip) -> list[tuple[int, int, str]]:
    return [(stretch.first, stretch.last, stretch.fate) for stretch in strip.stretches]


def test_neighbours_of_one_fate_are_one_stretch_and_what_is_not_sent_leaves_a_gap() -> None:
    strip = strips.strip(["ghost", "ghost", "none", "folded", "kept", "kept", "kept", "masked"])
    assert spans(strip) == [(0, 1, "ghost"), (3, 3, "folded"), (4, 6, "kept"), (7, 7, "masked")]
    assert strip.stretches[0].x == "0.000%"
    assert strip.stretches[2].x == "50.000%"
    assert strip.stretches[2].width == "37.500%"
    assert strip.counts == {"ghost": 2, "none": 1, "folded": 1, "kept": 3, "masked": 1}


def test_every_pin_stays_one_of_its_own() -> None:
    assert spans(strips.strip(["pinned", "pinned", "kept"])) == [(0, 0, "pinned"), (1, 1, "pinned"), (2, 2, "kept")]


def test_an_empty_session_has_an_empty_strip() -> None:
    assert strips.strip([]).stretches == ()


@given(st.lists(st.sampled_from([*strips.FATES, strips.NOT_SENT]), max_size=400))
def test_stretches_cover_what_is_sent_once_and_in_order(fates: list[str]) -> None:
    strip = strips.strip(fates)
    covered = [n for stretch in strip.stretches for n in range(stretch.first, stretch.last + 1)]
    assert covered == [n for n, fate in enumerate(fates) if fate != strips.NOT_SENT]
    assert all(fates[n] == stretch.fate for stretch in strip.stretches for n in range(stretch.first, stretch.last + 1))


def test_a_long_session_is_merged_but_no_pin_is_lost() -> None:
    fates = ["kept" if n % 2 else "masked" for n in range(100_000)]
    fates[77_777] = "pinned"
    strip = strips.strip(fates)
    assert len(strip.stretches) <= strips.MOST
    assert [stretch.first <= 77_777 <= stretch.last for stretch in strip.pinned] == [True]
    assert strip.counts["kept"] + strip.counts["masked"] + strip.counts["pinned"] == 100_000


def test_turns_lie_from_their_first_entry_to_the_next_and_lose_words_where_there_is_no_room() -> None:
    strip = strips.strip(["kept"] * 1000, turns=[(1, 0), (2, 500), (3, 540), (4, 545)])
    assert [(turn.n, turn.x, turn.width) for turn in strip.turns][:2] == [
        (1, "0.000%", "50.000%"),
        (2, "50.000%", "4.000%"),
    ]
    assert [(turn.short, turn.bare) for turn in strip.turns] == [
        (False, False),
        (True, False),
        (True, True),
        (False, False),
    ]


def test_ticks_at_one_place_stand_side_by_side() -> None:
    again = strips.strip(["kept"] * 100, again=[10, 10, 10]).again
    assert len(set(again)) == 3


# ── choices ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_given_is_the_recommended_strategy_with_its_own_figures() -> None:
    choosing = forms.read(QueryDict(""))
    assert (choosing.strategy.id, choosing.preset, choosing.summariser, choosing.pins) == (
        "hybrid",
        "scaled",
        "extractive",
        [],
    )
    assert choosing.edited_summary is None
    assert choosing.errors == []


def test_a_preset_in_an_address_brings_its_figures() -> None:
    choosing = forms.read(QueryDict("preset=50K"))
    assert choosing.params["protect"] == 50_000
    assert choosing.preset == "50K"
    assert {field.param.name: field.text for field in choosing.fields}["protect"] == "50,000"


def test_typed_figures_make_it_nobodys_preset() -> None:
    choosing = forms.read(QueryDict("preset=50K&set.protect=1,000&was=hybrid|50K"))
    assert (choosing.params["protect"], choosing.preset) == (1_000, "")


def test_another_preset_drops_what_was_typed_before() -> None:
    choosing = forms.read(QueryDict("preset=50K&set.protect=1000&set.aim=7&was=hybrid|scaled"))
    assert (choosing.params["protect"], choosing.params["aim"], choosing.preset) == (50_000, 120_000, "50K")


def test_a_figure_that_cannot_be_says_why_beside_it_and_keeps_what_was_typed() -> None:
    choosing = forms.read(QueryDict("set.protect=many&set.aim=5000"))
    field = next(one for one in choosing.fields if one.param.name == "protect")
    assert (field.text, choosing.errors) == ("many", ["'many' is no number"])
    assert choosing.params["aim"] == 5_000


def test_a_flag_is_off_where_only_its_marker_came() -> None:
    assert forms.read(QueryDict("set.anchor=no")).params["anchor"] is False
    assert forms.read(QueryDict("set.anchor=no&set.anchor=yes")).params["anchor"] is True


def test_pins_add_up_and_come_off() -> None:
    assert forms.read(QueryDict("pin=3&pin=9&pins=5,7,x&unpin=9")).pins == [3, 5, 7]


@dataclass
class Page:
    texts: list[str]

    def query(self, **more: str) -> QueryDict:
        data = QueryDict(mutable=True)
        data.update({f"section-{n}": text.replace("\n", "\r\n") for n, text in enumerate(self.texts, 1)})
        data.update(more)
        return data


@pytest.fixture
def page() -> Page:
    sections = [Section(title, ((f"about {title}\nin two lines", (1,)),)) for title in TITLES[:-1]]
    by_title = {section.title: section for section in sections}
    return Page([forms.section_text(by_title.get(title)) for title in TITLES])


def test_the_draft_as_it_was_is_no_edit_however_the_browser_ends_its_lines(page: Page) -> None:
    assert forms.read(page.query(draft=forms.draft_digest(page.texts))).edited_summary is None


def test_one_changed_word_is_the_whole_summary_in_the_persons_words(page: Page) -> None:
    draft = forms.draft_digest(page.texts)
    page.texts[3] = "- mmap fails on the network mount"
    edited = forms.read(page.query(draft=draft)).edited_summary
    assert edited is not None
    assert [section.title for section in parse(edited) if section.lines] == list(TITLES[:-1])
    assert {s.title: s.text for s in parse(edited)}[TITLES[3]] == "mmap fails on the network mount"
    # What was not touched is what the summariser would have sent, byte for byte.
    untouched = render(parse(edited))
    assert edited == untouched


def test_an_emptied_section_says_that_nothing_is_recorded(page: Page) -> None:
    page.texts[6] = "   "
    edited = forms.read(page.query(draft="another")).edited_summary or ""
    assert f"{TITLES[6]}\n{NOTHING}" in edited


def test_write_again_takes_the_edits_back(page: Page) -> None:
    assert forms.read(page.query(draft="another", do="write-again")).edited_summary is None
