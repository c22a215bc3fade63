"""Where in a text a term stands: for the check of phrases, and for marking what was found. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from sessions.search.asked import Term
from sessions.search.words import LONGEST, TOKEN, is_ideographic, whole, words_of


def holds(text: str, term: Term) -> bool:
    """Whether the term stands in the text: its tokens one behind the other, whatever parts them."""
    return next(spans(text, term), None) is not None


def spans(text: str, term: Term) -> Iterator[tuple[int, int]]:
    """Every place of a term in a text, in order, not overlapping."""
    quick = _quick(term.tokens)
    if quick is None or (len(term.tokens) > 1 and any(map(is_ideographic, term.tokens))):
        if quick is None or quick.search(text) is not None:
            yield from _among(text, 0, len(text), term)
        return
    # Most texts hold the tokens apart, so the letters are looked for first, and tokens are made only round where they stand.
    at = 0
    while (near := quick.search(text, at)) is not None:
        start, stop = _edge(text, near.start(), -1), _edge(text, near.end() - 1, 1)
        found = next(_among(text, start, stop, term), None)
        if found is not None:
            yield found
        at = stop if found is not None or len(term.tokens) == 1 else near.start() + 1


@lru_cache(maxsize=256)
def _quick(tokens: tuple[str, ...]) -> re.Pattern[str] | None:
    """Letters without which the tokens cannot stand in a text; None where small letters and capitals are no simple pairs, or where a
    token may be looked for as it stands.
    """
    if len(tokens) == 1 and is_ideographic(tokens[0]):
        return None
    if any(len(token) >= LONGEST or token != token.casefold() or "\u0307" in token for token in tokens):
        return None
    letters = re.escape(tokens[0])
    for before, token in pairwise(tokens):
        # Between ideographs and letters nothing need stand.
        letters += (r"\W*" if is_ideographic(before) or is_ideographic(token) else r"\W+") + re.escape(token)
    return re.compile(letters, re.IGNORECASE)


def _edge(text: str, at: int, by: int) -> int:
    """Where the token at a place begins (`by` -1) or ends (1, excluded)."""
    ideographs = is_ideographic(text[at])
    while 0 <= at + by < len(text):
        other = text[at + by]
        if not (other.isalnum() or other == "_" or is_ideographic(other)) or is_ideographic(other) != ideographs:
            break
        at += by
    return at if by < 0 else at + 1


def _among(text: str, start: int, stop: int, term: Term) -> Iterator[tuple[int, int]]:
    """The places of a term among the tokens of a stretch of text, which begins and ends with a token."""
    if len(term.tokens) == 1:
        yield from _single(text, start, stop, term)
        return
    found = list(TOKEN.finditer(text, start, stop))
    last = len(term.tokens) - 1
    at = 0
    while at + last < len(found):
        begun = _fits(found[at][0], term.tokens[0], opens=True, ends=False)
        if begun is not None and all(
            (is_ideographic(token) and found[at + n][0] == token) or whole(found[at + n][0]) == token
            for n, token in enumerate(term.tokens[1:last], 1)
        ):
            ended = _fits(found[at + last][0], term.tokens[last], opens=False, ends=not term.runs_on)
            if ended is not None and (term.opens or begun == 0 or is_ideographic(term.tokens[0])):
                yield found[at].start() + begun, found[at + last].start() + ended
                at += last + 1
                continue
        at += 1


def _fits(token: str, wanted: str, *, opens: bool, ends: bool) -> int | None:
    """Where the first token of a phrase begins in its token of the text, or where its last ends in its; None where it does not fit.

    The first must lie at the end, the last at the beginning: ideographs are not parted by blanks, so a run may hold more than was asked.
    """
    small = token if is_ideographic(token) else token.lower()
    if opens:
        return len(token) - len(wanted) if small.endswith(wanted) or whole(token) == wanted else None
    if whole(token) == wanted:
        return len(token)
    if small.startswith(wanted) and (not ends or is_ideographic(wanted)):
        return len(wanted)
    return None


def _single(text: str, start: int, stop: int, term: Term) -> Iterator[tuple[int, int]]:
    wanted = term.tokens[0]
    if is_ideographic(wanted):
        at = text.find(wanted, start, stop)
        while at >= 0:
            yield at, at + len(wanted)
            at = text.find(wanted, at + len(wanted), stop)
        return
    for match in TOKEN.finditer(text, start, stop):
        if (found := _within(match[0], wanted, term.opens, term.runs_on)) is not None:
            yield match.start() + found[0], match.start() + found[1]


@lru_cache(maxsize=8192)
def _within(token: str, wanted: str, opens: bool, runs_on: bool) -> tuple[int, int] | None:  # noqa: FBT001 -- arguments of a cache
    for word in words_of(token):
        fits = (
            wanted in word
            if opens and runs_on
            else word.endswith(wanted)
            if opens
            else word.startswith(wanted)
            if runs_on
            else word == wanted
        )
        if fits:
            at = token.lower().find(wanted)
            # Small letters may be more characters than the capitals they stand for: then all of the token is marked.
            if at < 0 or len(token.lower()) != len(token) or (word == wanted and word == whole(token)):
                return 0, len(token)
            return at, at + len(wanted)
    return None


def marked(text: str, terms: Sequence[Term]) -> list[tuple[int, int]]:
    """The places of all terms in a text, in order; overlapping ones are one."""
    found = sorted(place for term in terms for place in spans(text, term))
    out: list[tuple[int, int]] = []
    for start, stop in found:
        if out and start < out[-1][1]:
            out[-1] = (out[-1][0], max(stop, out[-1][1]))
        else:
            out.append((start, stop))
    return out
