"""The words under which a text is found: of an identifier also its pieces, of Chinese, Japanese and Korean each pair of characters. Pure.

What is asked for goes through the same functions as what is indexed, so that any word of a text finds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0002fa1f"
TOKEN = re.compile(rf"[{_IDEOGRAPHS}]+|[^\W{_IDEOGRAPHS}]+")
_IDEOGRAPH = re.compile(f"[{_IDEOGRAPHS}]")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\WA-Za-z\d_]+")

LONGEST = 64  # characters of a word that count: what is longer is found by them


def tokens_of(text: str) -> list[str]:
    """The tokens of a text in order, as they stand."""
    return TOKEN.findall(text)


def is_ideographic(token: str) -> bool:
    return _IDEOGRAPH.match(token) is not None


def whole(token: str) -> str:
    """The word that stands for a token as a whole: in small letters, of a long one its beginning."""
    return token.lower()[:LONGEST]


@lru_cache(maxsize=65_536)
def words_of(token: str) -> tuple[str, ...]:
    """The words under which one token is found, each once: `parseConfig` under parseconfig, parse and config; 内存映射 under its pairs."""
    if is_ideographic(token):
        # The last character alone too: a single one is looked for as the beginning of a pair.
        return tuple(dict.fromkeys([*pairs_of(token), token[-1]]))
    found = {whole(token): None}
    pieces = _PIECE.findall(token[: 4 * LONGEST])
    if len(pieces) > 1 or "_" in token:
        for piece in (*token.split("_"), *pieces):
            if len(piece) > 1:
                found[whole(piece)] = None
    return tuple(found)


def pairs_of(token: str) -> list[str]:
    """The neighbouring pairs of an ideographic token, in order."""
    return [token[at : at + 2] for at in range(len(token) - 1)]


def words_in(text: str) -> Iterator[str]:
    """Every word under which a text is found."""
    for token in set(tokens_of(text)):
        yield from words_of(token)


def is_filed(word: str) -> bool:
    """Whether a word is none of a text: what an entry is filed under besides (`texts`)."""
    return word.startswith("@")
