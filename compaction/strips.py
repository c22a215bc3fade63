"""The strip map: what becomes of every entry, as stretches on one line from the first entry to the last. Pure geometry.

Places and widths are percentages written out, so that a page can put them into SVG attributes: no style, no script, no distortion of
what is drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MOST = 1_200
"""Rectangles a strip may have: about one per pixel of a wide screen. Beyond it entries are merged into as many equal stretches."""

PINNED, MASKED, FOLDED, KEPT, GHOST, NOT_SENT = "pinned", "masked", "folded", "kept", "ghost", "none"

FATES = (KEPT, MASKED, FOLDED, PINNED, GHOST)
"""Those drawn, in the order of the legend; what was never sent leaves a gap."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring entries of one fate, `first` to `last`, both included; `x`, `middle` and `width` in per cent of the strip."""

    first: int
    last: int
    fate: str
    x: str
    width: str
    middle: str


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn under the strip. `short`: there is no room for the word; `bare`: nor for the number."""

    n: int
    first: int
    x: str
    width: str
    middle: str
    short: bool
    bare: bool


@dataclass(frozen=True, slots=True)
class Strip:
    """All of it. `counts`: entries per fate before any merging; `again`: where re-injected text stands, one place each."""

    stretches: tuple[Stretch, ...]
    turns: tuple[Turn, ...]
    again: tuple[str, ...]
    counts: dict[str, int]
    total: int

    def of(self, *fates: str) -> list[Stretch]:
        return [stretch for stretch in self.stretches if stretch.fate in fates]

    @property
    def ground(self) -> list[Stretch]:
        return self.of(GHOST, FOLDED)

    @property
    def bodies(self) -> list[Stretch]:
        return self.of(KEPT, MASKED)

    @property
    def folded(self) -> list[Stretch]:
        return self.of(FOLDED)

    @property
    def pinned(self) -> list[Stretch]:
        return self.of(PINNED)


def percent(share: float) -> str:
    """A share of one as SVG takes it: three digits behind the point, never with the comma of a locale."""
    return f"{share * 100:.3f}%"


def strip(fates: Sequence[str], *, turns: Iterable[tuple[int, int]] = (), again: Iterable[int] = ()) -> Strip:
    """The strip of a session whose entry `i` has `fates[i]`.

    `turns`: number and first entry of each, in order. `again`: the entries behind which re-injected text stands; several at one place
    are set side by side.
    """
    total = len(fates)
    if total == 0:
        return Strip((), (), (), {}, 0)
    return Strip(
        stretches=tuple(_stretches(fates)),
        turns=tuple(_turns(list(turns), total)),
        again=tuple(_side_by_side(sorted(again), total)),
        counts=dict(Counter(fates)),
        total=total,
    )


def _stretches(fates: Sequence[str]) -> list[Stretch]:
    total = len(fates)
    runs = _runs((fate, n, n) for n, fate in enumerate(fates))
    if len(runs) > MOST:
        runs = _runs(_merged(fates))
    return [
        Stretch(
            first,
            last,
            fate,
            percent(first / total),
            percent((last - first + 1) / total),
            percent((first + last + 1) / 2 / total),
        )
        for fate, first, last in runs
        if fate != NOT_SENT
    ]


def _runs(pieces: Iterable[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    out: list[tuple[str, int, int]] = []
    for fate, first, last in pieces:
        # Pins stay one each: every one of them is somebody's wish.
        if out and out[-1][0] == fate and fate != PINNED:
            out[-1] = (fate, out[-1][1], last)
        else:
            out.append((fate, first, last))
    return out


def _merged(fates: Sequence[str]) -> Iterable[tuple[str, int, int]]:
    """Equal stretches, each with the fate most of its entries have; a pin wins over any number."""
    total = len(fates)
    for n in range(MOST):
        first, stop = n * total // MOST, (n + 1) * total // MOST
        here = Counter(fates[first:stop])
        sent = {fate: count for fate, count in here.items() if fate != NOT_SENT} or dict(here)
        yield (PINNED if PINNED in sent else max(sent, key=lambda fate: sent[fate])), first, stop - 1


def _turns(turns: list[tuple[int, int]], total: int) -> Iterable[Turn]:
    ends = [first for _, first in turns[1:]] + [total] * bool(turns)
    for (n, first), end in zip(turns, ends, strict=True):
        share = (end - first) / total
        yield Turn(
            n,
            first,
            percent(first / total),
            percent(share),
            percent((first + end) / 2 / total),
            share < 0.055,
            share < 0.02,
        )


def _side_by_side(places: list[int], total: int) -> Iterable[str]:
    step = 0.009  # of the strip: a tick and its gap
    last = -1.0
    for place in places:
        x = max((place + 1) / total, last + step)
        last = x
        yield percent(min(x, 0.995))
