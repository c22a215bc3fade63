"""Meters against the figures of the agents' own rules, and sizes against the plain definitions."""

from __future__ import annotations

import json
from itertools import pairwise
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.entries import Part, PartKind, SizeVector
from sessions.meters import by_id, meters
from sessions.meters.adaptive import Adaptive, learned
from sessions.meters.rules import codex_image_tokens, codex_output_bytes, codex_reasoning_bytes
from sessions.meters.tokens import OLDER, PIECE, clean, count, counter, sizes, text_sizes


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


def test_codex_took_85_for_an_image_before_february_2026() -> None:
    assert by_id("codex-bytes4-2025").of(SizeVector(images=1)) == 85


def test_codex_patches_and_encrypted_outputs() -> None:
    assert codex_image_tokens(1024, 1024) == 1_024
    assert codex_image_tokens(33, 32) == 2
    assert codex_image_tokens(10_000, 10_000) == 10_000
    assert (codex_output_bytes(16), codex_output_bytes(17)) == (9, 10)


@pytest.mark.parametrize(
    ("text", "january", "legacy", "current"),
    [
        ("hello", 1, 1, 1),
        ("你好世界", 5, 5, 6),
        ("hello 你好", 4, 4, 4),
        ("🙂", 1, 2, 3),
        ("好" * 100_000, 130_000, 130_000, 150_000),
        ("好" * 100_001, 25_000, 25_000, 25_000),
    ],
)
def test_gemini(text: str, january: int, legacy: int, current: int) -> None:
    assert of("gemini-2026-01", text) == january
    assert of("gemini-legacy", text) == legacy
    assert of("gemini", text) == current


def test_gemini_in_early_may_and_where_it_cuts() -> None:
    assert of("gemini-2026-05", "x" * 100 + "好" * 10) == 46
    assert of("gemini-truncation", "x" * 100 + "好" * 10) == 53


def test_gemini_counts_tools_by_their_length_alone_and_media_by_their_number() -> None:
    result = Part(PartKind.TOOL_RESULT, "好" * 400, call_id="c")
    image = Part(PartKind.MEDIA, "a picture", media_type="image/png", media_bytes=9_000_000)
    report = Part(PartKind.MEDIA, "a report", media_type="application/pdf")
    for name in ("gemini", "gemini-legacy", "gemini-2026-01"):
        assert by_id(name).of(sizes([[result]])[0]) == 100
        assert by_id(name).of(sizes([[image, report]])[0]) == 28_800


def test_universal_joins_its_texts_by_a_space_and_rounds_once() -> None:
    meter = by_id("universal-chars4")
    assert meter.total(text_sizes(["abcd", "efgh"])) == 3  # nine characters
    assert meter.total(text_sizes(["abcd"])) == 1
    assert meter.total([]) == 0


def test_jcli_counts_the_json_of_its_messages() -> None:
    plain, escaped = text_sizes(["a" * 400]), text_sizes(["\n" * 200])
    assert plain[0].json == escaped[0].json == 400
    assert by_id("jcli-json4").total(plain) == by_id("jcli-json4").total(escaped) == (400 + 32 + 1) // 4
    assert by_id("jcli-window3").total(text_sizes(["好" * 8, "abcd"])) == 2 + 1
    assert by_id("jcli-json4").total([]) == 0


def test_cl100k_counts_by_its_own_vocabulary() -> None:
    text = "我们需要压缩上下文" * 10
    assert of("cl100k", text) == count([text], encoding=OLDER)[0] == counter(by_id("cl100k"))([text])[0]
    assert of("cl100k", text) > of("o200k", text)


def test_both_vocabularies_count_as_tiktoken_does() -> None:
    import tiktoken

    text = "def naïve(x: int) -> str:\n    return '日本語' * x  # 🙂\n"
    for name, encoding in (("o200k", "o200k_base"), ("cl100k", "cl100k_base")):
        assert of(name, text) == len(tiktoken.get_encoding(encoding).encode(text))


def test_the_adaptive_weight_moves_a_fifth_of_the_way_and_never_far() -> None:
    assert Adaptive().after(1_000, 1_500) == Adaptive(1.1, 1)  # 0.2 × (1.5 − 1)
    assert Adaptive().after(1_000, 9_000).weight == pytest.approx(1.15)  # the target is held at 2, the step at 0.15
    assert Adaptive().after(1_000, 10).weight == pytest.approx(0.9)  # the target is held at 0.5
    assert Adaptive(1.95).after(100, 10_000).weight == 2.0
    assert Adaptive(0.52).after(1_000, 10).weight == 0.5
    assert Adaptive(1.2, 3).after(0, 500) == Adaptive(1.2, 3)
    assert Adaptive(1.5).of(1_000) == 1_500


def test_the_adaptive_weight_comes_to_rest_at_what_requests_show() -> None:
    last = list(learned([(1_000, 1_300)] * 60))[-1]
    assert last.seen == 60
    assert last.weight == pytest.approx(1.3, abs=0.001)


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
    for meter in meters().values():
        assert meter.of(SizeVector(images=1)) < 5_000, "never by its bytes"


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
    assert whole.chars == sum(map(len, texts))
    assert whole.json == sum(len(json.dumps(text, ensure_ascii=False).encode()) - 2 for text in texts)
    assert whole.wide_tool == 0


@pytest.mark.parametrize("name", list(meters()))
def test_every_meter_grows_with_its_text_and_says_what_it_counts(name: str) -> None:
    meter = by_id(name)
    assert meter.counts
    assert meter.source
    assert meter.label
    lengths = [1, 40, 400, 4_000]
    assert all(small < large for small, large in pairwise(counter(meter)(["word " * n for n in lengths])))


@pytest.mark.parametrize("name", sorted(meters()))
@given(
    found=st.lists(
        st.builds(SizeVector, *[st.integers(0, 200_000)] * 3, *[st.integers(0, 2)] * 2, *[st.integers(0, 200_000)] * 5)
    )
)
def test_many_entries_are_counted_as_each_alone_is(name: str, found: list[SizeVector]) -> None:
    assert by_id(name).each_of(found) == [by_id(name).of(size) for size in found]
