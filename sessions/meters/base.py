"""What a meter is: a linear rule over the size vector, with its rounding and its allowance for media."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor, lcm
from operator import attrgetter
from typing import Literal

from sessions.entries import SizeVector

type Rounding = Literal["ceil", "floor", "half_up"]

_ZERO = Fraction(0)

TERMS = ("utf8", "utf16", "ascii", "chars", "json", "wide_tool", "tokens", "cl100k")
"""Sizes of texts that a meter may weigh. Media come besides."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """A meter's rule in whole numbers: every figure times the common `denominator`, so that an entry needs no fractions."""

    denominator: int
    fixed: int  # for every entry, with what is added once
    image: int
    document: int
    terms: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, meter: Meter) -> Scaled:
        """The rule of `meter`. The denominator is a multiple of 4, as the rule beyond a cliff needs it."""
        terms = [(name, getattr(meter, name)) for name in TERMS if getattr(meter, name)]
        figures = [meter.each, meter.once, meter.image, meter.document, *(factor for _, factor in terms)]
        denominator = lcm(4, *(figure.denominator for figure in figures))

        def whole(figure: Fraction) -> int:
            return figure.numerator * (denominator // figure.denominator)

        return cls(
            denominator,
            whole(meter.each) + whole(meter.once),
            whole(meter.image),
            whole(meter.document),
            tuple((name, whole(factor)) for name, factor in terms),
        )

    def rounded(self, size: SizeVector, cliff: int | None, rounding: Rounding) -> int:
        """The tokens of one entry alone."""
        value = self.fixed + self.image * size.images + self.document * size.documents
        if cliff is not None and size.utf16 > cliff:
            value += size.utf16 * (self.denominator // 4)
        else:
            for name, factor in self.terms:
                value += factor * getattr(size, name)
        if rounding == "ceil":
            return -(-value // self.denominator)
        if rounding == "floor":
            return value // self.denominator
        return (2 * value + self.denominator) // (2 * self.denominator)


@dataclass(frozen=True, slots=True)
class Meter:
    """Tokens = Σ coefficient × size, rounded.

    `rounding` holds for each entry (`whole` false) or once for the sum (`whole` true). `each` is added for every entry, `once` for the
    sum of some (what joins them; of `whole` meters only). `cliff`: a text of more UTF-16 units than this counts a quarter of its
    units, whatever they are. `counts`: what is counted and what is not, in words; `source`: whose rule, with version or date. `exact`:
    counts with a real vocabulary and not by characters.
    """

    id: str
    label: str
    counts: str
    source: str
    utf8: Fraction = _ZERO
    utf16: Fraction = _ZERO
    # Added for those UTF-16 units that are ASCII: negative where ASCII is cheaper than the rest.
    ascii: Fraction = _ZERO
    chars: Fraction = _ZERO
    json: Fraction = _ZERO
    # Added for those units of calls and results that are not ASCII: negative where tools are counted by length alone.
    wide_tool: Fraction = _ZERO
    tokens: Fraction = _ZERO
    cl100k: Fraction = _ZERO
    image: Fraction = _ZERO
    document: Fraction = _ZERO
    each: Fraction = _ZERO
    once: Fraction = _ZERO
    rounding: Rounding = "ceil"
    whole: bool = False
    cliff: int | None = None
    exact: bool = False
    scaled: Scaled = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scaled", Scaled.of(self))  # frozen: and computed once, a context has many entries

    def weight(self, size: SizeVector) -> Fraction:
        """The unrounded tokens of one entry, without `once`."""
        value = self.each + self.image * size.images + self.document * size.documents
        if self.cliff is not None and size.utf16 > self.cliff:
            return value + Fraction(size.utf16, 4)
        for name in TERMS:
            factor: Fraction = getattr(self, name)
            if factor:
                value += factor * getattr(size, name)
        return value

    def of(self, size: SizeVector) -> int:
        """The tokens of one entry alone."""
        if self.exact and not size.images and not size.documents:
            return size.cl100k if self.cl100k else size.tokens  # the common case by far: no fractions needed
        return max(0, self.scaled.rounded(size, self.cliff, self.rounding))

    def each_of(self, sizes: Iterable[SizeVector]) -> list[int]:
        """The tokens of each of many entries: `of`, and in half its time where the rule is a simple one."""
        scaled, below = self.scaled, self.scaled.denominator
        if self.exact or self.cliff is not None or self.rounding != "ceil" or len(scaled.terms) != 1:
            return [self.of(size) for size in sizes]
        fixed, ((name, factor),) = scaled.fixed, scaled.terms
        if factor < 0 or fixed < 0:
            return [self.of(size) for size in sizes]
        length = attrgetter(name)
        return [
            self.of(size) if size.images or size.documents else -(-(fixed + factor * length(size)) // below)
            for size in sizes
        ]

    def total(self, sizes: Iterable[SizeVector]) -> int:
        """The tokens of a context, rounded as the rule says: entry by entry, or once. Of nothing: 0."""
        if not self.whole:
            return sum(self.of(size) for size in sizes)
        weights = [self.weight(size) for size in sizes]
        return max(0, _rounded(sum(weights, self.once), self.rounding)) if weights else 0


def _rounded(value: Fraction, rounding: Rounding) -> int:
    if rounding == "ceil":
        return ceil(value)
    if rounding == "floor":
        return floor(value)
    return floor(value + Fraction(1, 2))
