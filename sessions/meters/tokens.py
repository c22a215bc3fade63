"""Sizes of texts and entries, in batches: the one place that knows the tokeniser.

Texts are cleaned of lone surrogates first (JSON may carry them, the tokeniser refuses them) and cut at one million characters, so
that no input is slow; a cut costs at most a token or two of accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import partial

import orjson
import toktok

from sessions.entries import Part, PartKind, SizeVector
from sessions.meters.base import Meter

ENCODING = "o200k_base"
OLDER = "cl100k_base"
PIECE = 1_000_000  # characters
_NOTHING = SizeVector()
_OF_TOOLS = frozenset({PartKind.TOOL_CALL, PartKind.TOOL_RESULT})


def count(texts: Sequence[str], *, threads: int = 1, encoding: str = ENCODING) -> list[int]:
    """Tokens of each text, o200k by default. `threads`: 0 takes every core. Special tokens count as the plain text they are."""
    pieces: list[str] = []
    owners: list[int] = []
    for n, text in enumerate(texts):
        if not text:
            continue
        whole = clean(text)
        for at in range(0, len(whole), PIECE):
            pieces.append(whole[at : at + PIECE])
            owners.append(n)
    totals = [0] * len(texts)
    if pieces:
        for owner, tokens in zip(owners, toktok.batch_count(pieces, encoding, threads), strict=True):
            totals[owner] += tokens
    return totals


def sizes(entries: Sequence[Sequence[Part]], *, threads: int = 1) -> list[SizeVector]:
    """The size vector of each entry, given as its parts: what the entry sends, taken once at ingest."""
    texts: list[str] = []
    owners: list[int] = []
    tools: list[bool] = []
    media: dict[int, tuple[int, int]] = {}
    for n, parts in enumerate(entries):
        for part in parts:
            if part.kind is PartKind.MEDIA:
                images, documents = media.get(n, (0, 0))
                image = part.media_type is None or part.media_type.startswith("image/")
                media[n] = (images + image, documents + (not image))
                continue
            for text in sent_texts(part):
                texts.append(clean(text))
                owners.append(n)
                tools.append(part.kind in _OF_TOOLS)
    totals = [_NOTHING] * len(entries)
    newer, older = (count(texts, threads=threads, encoding=encoding) for encoding in (ENCODING, OLDER))
    for owner, text, tool, tokens, cl100k in zip(owners, texts, tools, newer, older, strict=True):
        utf8, utf16, plain = _units(text)
        json = len(orjson.dumps(text)) - 2  # without its quotes
        wide = utf16 - plain if tool else 0
        size = SizeVector(utf8, utf16, plain, 0, 0, tokens, cl100k, len(text), json, wide)
        totals[owner] = size if totals[owner] is _NOTHING else totals[owner] + size
    for owner, (images, documents) in media.items():
        totals[owner] = totals[owner] + SizeVector(images=images, documents=documents)
    return totals


def sent_texts(part: Part) -> tuple[str, ...]:
    """The texts of a part that reach the model."""
    if part.meta.get("unsent"):
        return ()
    if part.kind is PartKind.TOOL_CALL and part.tool:
        return (part.tool, part.text) if part.text else (part.tool,)
    return (part.text,) if part.text else ()


def text_sizes(texts: Sequence[str]) -> list[SizeVector]:
    """The size vector of each text."""
    return sizes([(Part(PartKind.TEXT, text),) for text in texts])


def counter(meter: Meter) -> Callable[[Sequence[str]], list[int]]:
    """Tokens of texts by `meter`, for what measures texts that are not entries yet (drafts of summaries, files)."""
    if meter.exact:
        return partial(count, encoding=OLDER if meter.cl100k else ENCODING)
    if meter.tokens or meter.cl100k:
        return lambda texts: [meter.of(size) for size in text_sizes(texts)]

    lengths: dict[int, int] = {}  # of plain texts the length alone says it
    weighed = {name for name, _ in meter.scaled.terms} | ({"utf16"} if meter.cliff is not None else set())

    def counted(texts: Sequence[str]) -> list[int]:
        out: list[int] = []
        for text in texts:
            if meter.json or not text.isascii():
                out.append(meter.of(_characters(clean(text), weighed)))
                continue
            size = len(text)
            tokens = lengths.get(size)
            if tokens is None:
                tokens = lengths[size] = meter.of(SizeVector(size, size, size, chars=size))
            out.append(tokens)
        return out

    return counted


def _characters(text: str, weighed: AbstractSet[str]) -> SizeVector:
    """Of the sizes of a text that need no vocabulary those in `weighed`, by their names; the others are 0."""
    return SizeVector(
        utf8=len(text.encode()) if "utf8" in weighed else 0,
        utf16=len(text.encode("utf-16-le")) // 2 if "utf16" in weighed else 0,
        ascii=len(text.encode("ascii", "ignore")) if "ascii" in weighed else 0,
        chars=len(text),
        json=len(orjson.dumps(text)) - 2 if "json" in weighed else 0,
    )


def _units(text: str) -> tuple[int, int, int]:
    """UTF-8 bytes, UTF-16 units and ASCII characters."""
    if text.isascii():
        return len(text), len(text), len(text)
    return len(text.encode()), len(text.encode("utf-16-le")) // 2, len(text.encode("ascii", "ignore"))


def clean(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced by U+FFFD; the same object where nothing is wrong."""
    if text.isascii():  # known without a look at its characters
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
