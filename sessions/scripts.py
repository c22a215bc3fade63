"""Letters of several alphabets inside one word: a name that may not be the name it looks like. Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_WORD = re.compile(r"[^\W\d_]+")
_MIXABLE = frozenset(
    {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"}
)  # alphabets whose letters are taken for each other's


@cache
def _alphabet(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]


def mixed(text: str) -> str | None:
    """The first word that mixes alphabets which look alike ("pаyload" with a Cyrillic а); None where none does."""
    if text.isascii():
        return None
    for word in _WORD.findall(text):
        if not word.isascii() and len({_alphabet(letter) for letter in word} & _MIXABLE) > 1:
            return str(word)
    return None
