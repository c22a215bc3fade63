"""A few words of an entry round what was found in it, on one line. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sessions.search.asked import Term
from sessions.search.matching import marked

BEFORE, ROOM = 60, 220  # characters in front of the first place, and in all
_BLANK = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Snippet:
    """Pieces of text in order, each with whether it is what was looked for. `times`: places in the whole text."""

    pieces: tuple[tuple[str, bool], ...]
    times: int

    @property
    def text(self) -> str:
        return "".join(piece for piece, _found in self.pieces)


def snippet(text: str, terms: Sequence[Term]) -> Snippet:
    """The text round the first place of any term; its beginning where none stands in it."""
    found = marked(text, terms)
    at = max(0, found[0][0] - BEFORE) if found else 0
    if at:
        # Not in the middle of a word, where one begins near by.
        blank = _BLANK.search(text, at, found[0][0])
        at = blank.end() if blank is not None and blank.end() < found[0][0] else at
    stop = min(len(text), at + ROOM)
    pieces: list[tuple[str, bool]] = []
    if at:
        pieces.append(("… ", False))
    here = at
    for start, end in found:
        if start >= stop:
            break
        pieces.append((_line(text[here:start]), False))
        pieces.append((_line(text[start : min(end, stop)]), True))
        here = min(end, stop)
    pieces.append((_line(text[here:stop]), False))
    if stop < len(text):
        pieces.append((" …", False))
    return Snippet(tuple((piece, hit) for piece, hit in pieces if piece), len(found))


def _line(text: str) -> str:
    return _BLANK.sub(" ", text)
