"""What was found in a session, and what search says of the session besides. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import log2
from uuid import UUID

from sessions.search import bits
from sessions.search.texts import CLASSES

SORTS = ("best", "most", "newest")
# What a place is worth, by who speaks: what a person said or was told is rarer, and says more, than what a tool printed.
WORTH = (4.0, 2.5, 1.5, 1.5, 1.0, 0.5, 3.0, 0.25, 0.5)
_TITLE = 6.0  # what it is worth that all words stand in the title

type Spans = tuple[tuple[int, int], ...]


@dataclass(slots=True)
class About:
    """What search says of a session beside its hits. `hidden`, `masked`: spans of the version in force."""

    key: str  # its id: thousands of them are read and compared faster as text
    agent: str
    project: str | None
    owner: str | None
    title: str
    last_at: datetime | None
    entries: int
    hidden: Spans = ()
    masked: Spans = ()
    agent_version: str | None = None
    branch: str | None = None

    @property
    def id(self) -> UUID:
        return UUID(self.key)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a session with what was found in it. `classes` in the order of CLASSES. `version`: it is no entries, but what this
    version puts in, by its order; `first` is then 0.
    """

    first: int
    stop: int
    found: int
    classes: tuple[int, ...]
    version: int | None = None


@dataclass(slots=True)
class Hits:
    """The hits of a session. `versions`: those in what versions put in. `read`: places that were read to see whether what was found
    really stands there, where not all were: there may be more.
    """

    about: About
    stretches: list[Stretch] = field(default_factory=list)
    total: int = 0
    ghosts: int = 0
    masked: int = 0
    versions: int = 0
    classes: dict[str, int] = field(default_factory=dict)
    titled: bool = False
    read: int | None = None

    @property
    def context(self) -> int:
        return self.total - self.ghosts - self.masked - self.versions

    @property
    def score(self) -> float:
        return score([self.classes.get(name, 0) for name in CLASSES], titled=self.titled)

    def seqs(self) -> Iterator[int]:
        """The entries, in order."""
        for stretch in self.entries():
            for place in bits.places(stretch.found):
                yield stretch.first + place

    def entries(self) -> list[Stretch]:
        """The stretches of entries, in order."""
        return [one for one in self.stretches if one.version is None]

    def inserted(self) -> Iterator[tuple[int, int]]:
        """The insertions, by version and their order."""
        for stretch in self.stretches:
            if stretch.version is not None:
                for place in bits.places(stretch.found):
                    yield stretch.version, place

    def class_of(self, seq: int) -> str:
        """Who speaks in an entry that was found."""
        for stretch in self.stretches:
            if stretch.version is None and stretch.first <= seq < stretch.stop:
                return _class_at(stretch, seq - stretch.first)
        return "unsent"

    def class_inserted(self, version: int, n: int) -> str:
        """The same of an insertion."""
        return next((_class_at(one, n) for one in self.stretches if one.version == version), "harness")


def _class_at(stretch: Stretch, place: int) -> str:
    return next((name for name, held in zip(CLASSES, stretch.classes, strict=True) if held >> place & 1), "unsent")


def score(classes: Sequence[int], *, titled: bool) -> float:
    """How well a session fits, by its hits in the order of CLASSES: the second hit of a kind counts for less than the first."""
    worth = _TITLE if titled else 0.0
    for each, n in zip(WORTH, classes, strict=True):
        if n:
            worth += each * log2(1 + n)
    return round(worth, 3)


def counted(about: About, stretches: Sequence[Stretch]) -> Hits:
    """Count the hits of a session: in all, in ghosts, masked, in versions, and by who speaks."""
    hits = Hits(about)
    for stretch in stretches:
        if not stretch.found:
            continue
        hits.stretches.append(stretch)
        n = stretch.found.bit_count()
        hits.total += n
        if stretch.version is not None:
            hits.versions += n
        else:
            ghosts = bits.within(about.hidden, stretch.first, stretch.stop)
            masked = bits.within(about.masked, stretch.first, stretch.stop) & ~ghosts
            hits.ghosts += (stretch.found & ghosts).bit_count()
            hits.masked += (stretch.found & masked).bit_count()
        for name, held in zip(CLASSES, stretch.classes, strict=True):
            if held and (n := (stretch.found & held).bit_count()):
                hits.classes[name] = hits.classes.get(name, 0) + n
    hits.stretches.sort(key=lambda stretch: (stretch.version or 0, stretch.first))
    return hits
