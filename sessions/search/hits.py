"""What was found, put together: sets of places become sessions with their counts, in order. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import log2
from uuid import UUID

from sessions.search import bits
from sessions.search.texts import CLASSES

SORTS = ("best", "most", "newest")
# What a place is worth, by who speaks: what a person said or was told is rarer, and says more, than what a tool printed.
_WORTH = dict(zip(CLASSES, (4.0, 2.5, 1.5, 1.5, 1.0, 0.5, 3.0, 0.25, 0.5), strict=True))
_TITLE = 6.0  # what it is worth that all words stand in the title


@dataclass(frozen=True, slots=True)
class About:
    """What search says of a session beside its hits. `hidden`, `masked`: spans of the version in force."""

    id: UUID
    agent: str
    agent_version: str | None
    project: str | None
    owner: str | None
    branch: str | None
    title: str
    last_at: datetime | None
    entries: int
    hidden: tuple[tuple[int, int], ...] = ()
    masked: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a session with what was found in it. `classes` in the order of CLASSES."""

    first: int
    stop: int
    found: int
    classes: tuple[int, ...]


@dataclass(slots=True)
class Hits:
    """The hits of a session. `places`: where they stand, by stretch."""

    about: About
    stretches: list[Stretch] = field(default_factory=list)
    total: int = 0
    ghosts: int = 0
    masked: int = 0
    classes: dict[str, int] = field(default_factory=dict)
    titled: bool = False

    @property
    def context(self) -> int:
        return self.total - self.ghosts - self.masked

    @property
    def score(self) -> float:
        """How well it fits: the second hit of a kind counts for less than the first."""
        worth = sum(_WORTH[name] * log2(1 + n) for name, n in self.classes.items())
        return round(worth + (_TITLE if self.titled else 0.0), 3)

    def seqs(self) -> Iterator[int]:
        for stretch in self.stretches:
            for place in bits.places(stretch.found):
                yield stretch.first + place

    def class_of(self, seq: int) -> str:
        """Who speaks in an entry that was found."""
        for stretch in self.stretches:
            if stretch.first <= seq < stretch.stop:
                place = seq - stretch.first
                return next(
                    (name for name, held in zip(CLASSES, stretch.classes, strict=True) if held >> place & 1), "unsent"
                )
        return "unsent"


def classes_of(kept: bytes, first: int, stop: int) -> tuple[int, ...]:
    """The sets of places that a stretch keeps by who speaks."""
    width = (stop - first + 7) // 8
    return tuple(int.from_bytes(kept[at * width : (at + 1) * width], "little") for at in range(len(CLASSES)))


def counted(about: About, stretches: Sequence[Stretch]) -> Hits:
    """Count the hits of a session: in all, in ghosts, masked, and by who speaks."""
    hits = Hits(about)
    for stretch in stretches:
        if not stretch.found:
            continue
        hits.stretches.append(stretch)
        hits.total += stretch.found.bit_count()
        if about.hidden:
            ghosts = bits.within(about.hidden, stretch.first, stretch.stop)
            hits.ghosts += (stretch.found & ghosts).bit_count()
            if about.masked:
                masked = bits.within(about.masked, stretch.first, stretch.stop) & ~ghosts
                hits.masked += (stretch.found & masked).bit_count()
        elif about.masked:
            hits.masked += (stretch.found & bits.within(about.masked, stretch.first, stretch.stop)).bit_count()
        for name, held in zip(CLASSES, stretch.classes, strict=True):
            if held and (n := (stretch.found & held).bit_count()):
                hits.classes[name] = hits.classes.get(name, 0) + n
    hits.stretches.sort(key=lambda stretch: stretch.first)
    return hits


def where_of(about: About, stretch: Stretch, where: Sequence[str]) -> int:
    """The places of a stretch that stand where it is asked for: context, ghosts, masked."""
    ghosts = bits.within(about.hidden, stretch.first, stretch.stop)
    masked = bits.within(about.masked, stretch.first, stretch.stop) & ~ghosts
    everything = bits.span(0, stretch.stop - stretch.first)
    held = {"ghosts": ghosts, "masked": masked, "context": everything & ~ghosts & ~masked}
    out = 0
    for name in where:
        out |= held[name]
    return out


def roles_of(stretch: Stretch, roles: Sequence[str]) -> int:
    out = 0
    for name in roles:
        out |= stretch.classes[CLASSES.index(name)]
    return out


def ranked(hits: Sequence[Hits], sort: str) -> list[tuple[tuple[float, str], Hits]]:
    """In order, each with the key that the next page goes on behind."""
    return sorted(((_key(one, sort), one) for one in hits), key=lambda pair: pair[0])


def _key(hits: Hits, sort: str) -> tuple[float, str]:
    stamp = hits.about.last_at.timestamp() if hits.about.last_at is not None else 0.0
    value = {"most": float(hits.total), "newest": stamp}.get(sort, hits.score)
    return (-value, str(hits.about.id))


def facet(hits: Mapping[UUID, Hits], name: str) -> list[tuple[str, int]]:
    """Hits by agent, project or owner, the most first; "" where a session has none."""
    out: dict[str, int] = {}
    for one in hits.values():
        value = getattr(one.about, name) or ""
        out[value] = out.get(value, 0) + one.total
    return sorted(out.items(), key=lambda pair: (-pair[1], pair[0]))
