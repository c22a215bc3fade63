"""What a meter is: a linear rule over the size vector, with its rounding and its allowance for media."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Literal

from sessions.entries import SizeVector

type Rounding = Literal["ceil", "floor", "half_up"]

_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Meter:
    """Tokens = Σ coefficient × size, rounded.

    `rounding` holds for each entry (`whole` false) or once for the sum (`whole` true). `cliff`: a text of more UTF-16 units than this
    counts a quarter of its units, whatever they are. `counts`: what is counted and what is not, in words; `source`: whose rule, with
    version or date. `exact`: counts with a real vocabulary and not by characters.
    """

    id: str
    label: str
    counts: str
    source: str
    utf8: Fraction = _ZERO
    utf16: Fraction = _ZERO
    ascii: Fraction = (
        _ZERO  # added for those UTF-16 units that are ASCII: negative where ASCII is cheaper than the rest
    )
    tokens: Fraction = _ZERO
    image: Fraction = _ZERO
    document: Fraction = _ZERO
    rounding: Rounding = "ceil"
    whole: bool = False
    cliff: int | None = None
    exact: bool = False

    def weight(self, size: SizeVector) -> Fraction:
        """The unrounded tokens of one entry."""
        media = self.image * size.images + self.document * size.documents
        if self.cliff is not None and size.utf16 > self.cliff:
            return Fraction(size.utf16, 4) + media
        return (
            self.utf8 * size.utf8
            + self.utf16 * size.utf16
            + self.ascii * size.ascii
            + self.tokens * size.tokens
            + media
        )

    def of(self, size: SizeVector) -> int:
        """The tokens of one entry alone."""
        if self.exact and not size.images and not size.documents:
            return size.tokens  # the common case by far: no fractions needed
        return _rounded(self.weight(size), self.rounding)

    def total(self, sizes: Iterable[SizeVector]) -> int:
        """The tokens of a context, rounded as the rule says: entry by entry, or once."""
        if self.whole:
            return _rounded(sum((self.weight(size) for size in sizes), _ZERO), self.rounding)
        return sum(self.of(size) for size in sizes)


def _rounded(value: Fraction, rounding: Rounding) -> int:
    if rounding == "ceil":
        return ceil(value)
    if rounding == "floor":
        return floor(value)
    return floor(value + Fraction(1, 2))
