"""Meters against the figures of the agents' own rules, and sizes against the plain definitions."""

from __future__ import annotations

from itertools import pairwise
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.entries import Part, PartKind, SizeVector
from sessions.meters import by_id, meters
from sessions.meters.rules import codex_reasoning_bytes
from sessions.meters.tokens import PIECE, clean, count, counter, sizes, text_sizes


def of(meter: str, text: str) -> int:
    return by_id(meter).of(text_sizes([text])[0])


@pytest.mark.parametrize(("length", "tokens"), [(0, 0), (1, 0), (2, 1), (5, 1), (6, 2), (7, 2)])
def test_opencode_rounds_half_up(length: int, tokens: int) -> None:
    assert of("opencode-chars4", "x" * length) == tokens


@pytest.mark.parametrize(("length", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2)])
def test_codex_rounds_up(length: int, tokens: int) -> None:
    assert of("codex-bytes4", "x" * length) == tokens


def test_codex_takes_1844_for_an_image_whatever_its_bytes() -> None:
    media = Part(PartKind.MEDIA, "screenshot", media_type="image/png", media_bytes=4_000_000)
    assert by_id("codex-bytes4").of(sizes([[media]])[0]) == 1_844


@pytest.mark.parametrize(("encoded", "tokens"), [(800, 0), (1_000, 25), (4_000, 588), (20_000, 3_588)])
def test_codex_reasoning(encoded: int, tokens: int) -> None:
    assert ceil(codex_reasoning_bytes(encoded) / 4) == tokens


@pytest.mark.parametrize(
    ("text", "legacy", "current"),
    [
        ("hello", 1, 1),
        ("你好世界", 5, 6),
        ("hello 你好", 4, 4),
        ("🙂", 2, 3),
        ("好" * 100_000, 130_000, 150_000),
        ("好" * 100_001, 25_000, 25_000),
    ],
)
def test_gemini(text: str, legacy: int, current: int) -> None:
    assert of("gemini-legacy", text) == legacy
    assert of("gemini", text) == current


def test_gemini_rounds_the_sum_and_not_each_entry() -> None:
    parts = text_sizes(["abc"] * 4)
    assert by_id("gemini").total(parts) == 3
    assert sum(by_id("gemini").of(size) for size in parts) == 0


def test_claude_rough_takes_a_third_of_the_characters_and_media_with_it() -> None:
    assert of("claude-rough", "x" * 300) == 100
    assert by_id("claude-rough").of(SizeVector(images=3)) == 8_000


def test_tokens_are_those_of_the_vocabulary() -> None:
    assert count(["hello world", "", "<|endoftext|>"])[:2] == [2, 0]
    assert count(["<|endoftext|>"])[0] > 1  # text of a session is never a control token


def test_a_call_counts_its_name_and_arguments() -> None:
    call = Part(PartKind.TOOL_CALL, '{"a":1}', tool="Bash", call_id="c")
    assert sizes([[call]])[0].utf8 == len("Bash") + len('{"a":1}')


def test_media_count_by_number() -> None:
    image = Part(PartKind.MEDIA, "a picture", media_type="image/png", media_bytes=9_000_000)
    document = Part(PartKind.MEDIA, "a report", media_type="application/pdf")
    assert sizes([[image, document, image]])[0] == SizeVector(images=2, documents=1)


def test_lone_surrogates_are_counted_and_pairs_joined() -> None:
    assert clean("\ud83d\ude42") == "🙂"
    assert clean("a\ud800b") == "a\ufffdb"
    assert text_sizes(["a\ud800b"])[0].utf16 == 3


def test_long_texts_are_cut_and_summed() -> None:
    text = "word " * (PIECE // 5 + 10)
    assert abs(count([text])[0] - 200_010) <= 2


@given(st.lists(st.text(max_size=40), max_size=6))
def test_sizes_are_the_plain_definitions(texts: list[str]) -> None:
    whole = sizes([[Part(PartKind.TEXT, text) for text in texts]])[0]
    assert whole.utf8 == sum(len(text.encode()) for text in texts)
    assert whole.utf16 == sum(len(text.encode("utf-16-le")) // 2 for text in texts)
    assert whole.ascii == sum(1 for text in texts for c in text if ord(c) < 128)


@pytest.mark.parametrize("name", list(meters()))
def test_every_meter_grows_with_its_text_and_says_what_it_counts(name: str) -> None:
    meter = by_id(name)
    assert meter.counts
    assert meter.source
    assert meter.label
    lengths = [1, 40, 400, 4_000]
    assert all(small < large for small, large in pairwise(counter(meter)(["word " * n for n in lengths])))
