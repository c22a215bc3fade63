"""What a preview reads, counts and looks through once, or in a shorter way, is what the long way says."""

from __future__ import annotations

import gc
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from compaction import runs
from compaction.schemas import plan_json
from compaction.snapshots import base_of, pins_of, snapshot_of
from compaction.summary import items
from compaction.summary.facts import sentences
from compaction.summary.items import terms, words
from compaction.tools import one_line
from sessions.bench import corpus
from sessions.collecting import held_back
from sessions.contexts import Item
from sessions.entries import Part, PartKind
from sessions.ingest import take_file
from sessions.meters import meters
from sessions.meters.tokens import counter, sizes
from sessions.models import Session
from sessions.projection import log_items
from tests.compaction.stage import a_workspace, taken_in

FOLDS = {"strategy": "hybrid", "params": {"aim": 6_000, "free": 0}}


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return taken_in(a_workspace(), tmp_path, entries=120, bulk=160)


def landed(session: Session, **choice: object) -> None:
    run = runs.request(session.pk, **choice)  # type: ignore[arg-type]
    runs.execute(run.pk)
    run.refresh_from_db()
    assert run.state == "completed", run.reason


@pytest.mark.django_db(transaction=True)
def test_the_log_is_the_whole_transcript_whatever_a_version_hides_and_masks(session: Session) -> None:
    session.pins.create(seq=session.entries_count - 4)
    whole = log_items(session, session.entries_count - 1)
    for choice in ({"strategy": "mask"}, FOLDS):
        landed(session, **choice)
        session = Session.objects.get(pk=session.pk)
        base = base_of(session)
        made = snapshot_of(session, base, pins=pins_of(session))
        assert len({item.seq for item in made.items}) < len(whole) or any(item.masked for item in made.items)
        assert any(item.pinned for item in made.items)
        assert list(made.log()) == whole


@pytest.mark.django_db
def test_what_no_edit_touched_is_not_read_again(
    tmp_path: Path, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    taken = take_file(a_workspace(), corpus.write(tmp_path, 120, compacting=False))
    assert taken.session is not None
    session = Session.objects.get(pk=taken.session)
    made = snapshot_of(session, base_of(session))
    with django_assert_num_queries(0):
        log = made.log()
    assert list(log) == log_items(session, session.entries_count - 1)


@pytest.mark.django_db
@pytest.mark.parametrize("strategy", ["mask", "hybrid", "goal-tree"])
def test_nothing_of_a_preview_is_left_once_it_was_answered(session: Session, strategy: str) -> None:
    """Without the collector's help: it is held back meanwhile, and has nothing to look through when it is let go."""

    @held_back()
    def answered() -> int:
        previewed = runs.preview_run(session, strategy=strategy)
        plan_json(previewed)
        return alive()

    def alive() -> int:
        return sum(type(one) is Item for one in gc.get_objects())  # not asked for its class: lazy objects would be made

    gc.collect()
    before = alive()
    gc.disable()
    try:
        assert answered() > before
        assert alive() == before
    finally:
        gc.enable()


@given(st.text("ab .!?。！？\n\t\u3000", max_size=40))
def test_sentences_end_where_their_marks_are(text: str) -> None:
    assert list(sentences(text)) == re.split(r"(?<=[.!?])\s+|(?<=[。！？])|\n+", text)


_NAMES = st.sampled_from(
    ["src/csv.rs", "LedgerIndex", "read_whole", "--no-fail-fast", "#123", "v1.20.3", "0af31be9", "CLAUDE.md", "ledger", "…", "(a.py)", "é_x"]
)  # fmt: skip
_BETWEEN = st.sampled_from([" ", "\n", "\u00a0", ",", " https://example.org/a\u00a0b ", "/", "."])


@given(st.lists(st.tuples(_NAMES | st.text(max_size=6), _BETWEEN), max_size=12))
def test_the_terms_of_a_text_are_those_of_its_tokens(pieces: list[tuple[str, str]]) -> None:
    text = "".join(name + between for name, between in pieces)
    assert terms(text) == {key for token in items._TOKENS.findall(text) for key in items._of(token)}


@given(st.text("ab_C9 -.\n", max_size=40))
def test_the_words_of_a_plain_text_are_those_it_has_beside_others(text: str) -> None:
    assert words(f"é {text}") == ["é", *words(text)]


@given(st.text(max_size=30) | st.text("a \t\n\u00a0", max_size=30), st.integers(2, 20))
def test_one_line_has_single_spaces_alone(text: str, most: int) -> None:
    line = one_line(text, most)
    assert len(line) <= most
    assert line == " ".join(line.split()) or line.endswith("…")
    if len(line) < most and len(text) <= most * 4:
        assert line == " ".join(text.split()) or line.endswith("…")


@given(st.lists(st.text(max_size=12), max_size=6))
def test_texts_weigh_what_their_sizes_say(texts: list[str]) -> None:
    for meter in meters().values():
        whole = sizes([(Part(PartKind.TEXT, text),) for text in texts])
        assert counter(meter)(texts) == [
            meter.of(size) if text or not meter.exact else 0 for text, size in zip(texts, whole, strict=True)
        ], meter.id
