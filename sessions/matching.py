"""Which text of a rewritten list is which of the one before: the same words with small edits are the same item. Pure, for any script."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

SIMILAR = 0.6  # of the characters, in order
ALIKE = 0.5  # of the words, or of the pairs of characters where a script has no spaces
PLAIN = 0.87  # of the characters: then whatever the words are
COMPARED = 2_500  # pairs that are compared in one rewriting; beyond it only equal texts are the same item
_LONGEST = 400  # characters of a text that are compared

_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SLIGHT = frozenset(
    ["a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "in", "into", "is", "it", "of", "on", "or", "so", "that", "the", "this", "to", "with"]
)  # fmt: skip


def folded(text: str) -> str:
    """A text as it is compared for being the same: case and spaces do not count."""
    return " ".join(text.split()).casefold()


def marks(text: str) -> frozenset[str]:
    """What tells a text apart: beginnings of its words, and pairs of characters where words have no spaces between them."""
    out: set[str] = set()
    for word in _WORD.findall(text.casefold()):
        if _UNSPACED.search(word):
            out.update(word[n : n + 2] for n in range(max(1, len(word) - 1)))
        elif word not in _SLIGHT:
            out.add(word[:6])
    return frozenset(out)


def likeness(one: str, other: str) -> float:
    """How much of two texts is the same, 0 to 1; 0 where they are not the same item.

    Another number is no small edit: "phase 1" and "phase 2" are two items. A number more is.
    """
    a, b = folded(one)[:_LONGEST], folded(other)[:_LONGEST]
    if a == b:
        return 1.0
    numbers, others = _numbers(a), _numbers(b)
    if not (numbers <= others or others <= numbers):
        return 0.0
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if matcher.real_quick_ratio() < SIMILAR or matcher.quick_ratio() < SIMILAR:
        return 0.0
    ratio = matcher.ratio()
    if ratio < SIMILAR:
        return 0.0
    mine, theirs = marks(a), marks(b)
    both = len(mine & theirs)
    alike = (mine == theirs and both > 0) or (both > 1 and 2 * both >= ALIKE * (len(mine) + len(theirs)))
    return ratio if alike or ratio >= PLAIN else 0.0


def _numbers(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\d+", text))


def matched[K, V](items: Sequence[tuple[K, str]], known: Sequence[tuple[V, str]]) -> list[tuple[K, V]]:
    """Pairs of items and known ones whose texts are alike, the most alike first; each in one pair at most."""
    if not items or not known or len(items) * len(known) > COMPARED:
        return []
    scored = [
        (score, n, m)
        for n, (_, text) in enumerate(items)
        for m, (_, other) in enumerate(known)
        if (score := likeness(text, other)) > 0
    ]
    out: list[tuple[int, int]] = []
    used_items: set[int] = set()
    used_known: set[int] = set()
    for _, n, m in sorted(scored, key=lambda one: (-one[0], one[1], one[2])):
        if n not in used_items and m not in used_known:
            used_items.add(n)
            used_known.add(m)
            out.append((n, m))
    return [(items[n][0], known[m][0]) for n, m in out]
