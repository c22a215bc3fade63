"""Sets of places in a volume as whole numbers, one bit a place, and how they are kept. Pure.

Kept as one byte for the form and then either two bytes for each place, or one bit for each place up to the last: whichever is shorter.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence

MOST = 8_192  # places of a volume: a set of them fits beside its row
_PLACES, _BITS = b"\x00", b"\x01"


def packed(places: Sequence[int]) -> bytes:
    """Keep ascending places, each once and below MOST."""
    if len(places) * 2 <= places[-1] // 8 + 1:
        numbers = array("H", places)
        if sys.byteorder == "big":
            numbers.byteswap()
        return _PLACES + numbers.tobytes()
    return _BITS + to_bytes(of(places))


def unpacked(kept: bytes) -> int:
    """What `packed` kept, as a set."""
    if kept[:1] == _BITS:
        return int.from_bytes(kept[1:], "little")
    numbers = array("H", kept[1:])
    if sys.byteorder == "big":
        numbers.byteswap()
    return of(numbers)


def of(places: Iterable[int]) -> int:
    bits = 0
    for place in places:
        bits |= 1 << place
    return bits


def to_bytes(bits: int) -> bytes:
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")


def places(bits: int) -> Iterator[int]:
    """The places of a set, ascending."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def span(start: int, stop: int) -> int:
    """The places from `start` to `stop`, which is excluded."""
    return ((1 << (stop - start)) - 1) << start if stop > start else 0


def within(spans: Sequence[tuple[int, int]], first: int, stop: int) -> int:
    """Of sorted half-open spans of entries what lies between `first` and `stop`, as places counted from `first`."""
    bits = 0
    for start, end in spans:
        if start >= stop:
            break
        if end > first:
            bits |= span(max(start, first) - first, min(end, stop) - first)
    return bits


def cut(kept: bytes, at: int, count: int) -> int:
    """Of a set as bytes the `count` places from `at` on, which is a multiple of eight, counted from there."""
    found = int.from_bytes(kept[at >> 3 : (at + count + 7) >> 3], "little")
    return found & ((1 << count) - 1) if count & 7 else found


def aligned(place: int) -> int:
    """The first multiple of eight from `place` on."""
    return (place + 7) & ~7
