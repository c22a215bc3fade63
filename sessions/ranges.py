"""Sets of entry numbers, held as sorted half-open ranges: how versions say what they hide."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ranges:
    """An immutable set of non-negative integers. `spans` are sorted, disjoint, not touching, `start < stop`, stop excluded."""

    spans: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, spans: Iterable[tuple[int, int]]) -> Ranges:
        """The union of half-open spans in any order; empty spans vanish."""
        merged: list[tuple[int, int]] = []
        for start, stop in sorted(span for span in spans if span[0] < span[1]):
            if merged and start <= merged[-1][1]:
                if stop > merged[-1][1]:
                    merged[-1] = (merged[-1][0], stop)
            else:
                merged.append((start, stop))
        return cls(tuple(merged))

    @classmethod
    def from_numbers(cls, numbers: Iterable[int]) -> Ranges:
        """The set of these numbers."""
        return cls.of((number, number + 1) for number in numbers)

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int):
            return False
        at = bisect_right(self.spans, (number, float("inf"))) - 1
        return at >= 0 and self.spans[at][0] <= number < self.spans[at][1]

    def __iter__(self) -> Iterator[int]:
        for start, stop in self.spans:
            yield from range(start, stop)

    def __len__(self) -> int:
        return sum(stop - start for start, stop in self.spans)

    def __bool__(self) -> bool:
        return bool(self.spans)

    def __or__(self, other: Ranges) -> Ranges:
        return Ranges.of((*self.spans, *other.spans))

    def __and__(self, other: Ranges) -> Ranges:
        return self - (self - other)

    def __sub__(self, other: Ranges) -> Ranges:
        left: list[tuple[int, int]] = []
        cuts = other.spans
        at = 0
        for start, stop in self.spans:
            while at and cuts[at - 1][1] > start:
                at -= 1
            while at < len(cuts) and cuts[at][1] <= start:
                at += 1
            here = start
            look = at
            while look < len(cuts) and cuts[look][0] < stop:
                if cuts[look][0] > here:
                    left.append((here, cuts[look][0]))
                here = max(here, cuts[look][1])
                look += 1
            if here < stop:
                left.append((here, stop))
        return Ranges.of(left)

    def closed_over(self, present: Iterable[int]) -> Ranges:
        """The set with the gaps closed that hold none of `present` but members: fewer, longer spans, same meaning over `present`."""
        spans: list[tuple[int, int]] = []
        opened: int | None = None
        last = 0
        for number in sorted(present):
            if number in self:
                if opened is None:
                    opened = number
                last = number
            elif opened is not None:
                spans.append((opened, last + 1))
                opened = None
        if opened is not None:
            spans.append((opened, last + 1))
        return Ranges.of(spans)
