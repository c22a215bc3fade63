"""Sets of places become counts: of every facet, and of every session for its rank. Pure.

Whole volumes are counted at once, and sessions by slices of them, so that thousands of sessions take milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from sessions.search import bits
from sessions.search.asked import SESSION_FIELDS, WHERE, Asked
from sessions.search.hits import About, Hits, Spans, Stretch, counted, score
from sessions.search.texts import CLASSES


class Laid(NamedTuple):
    """A stretch of a session and where in its volume it lies. `version`: the number of the version whose insertions it is."""

    about: About
    version: int | None
    at: int
    first: int
    stop: int


@dataclass(slots=True)
class Volume:
    """A volume with what was found in it. `laid`: its stretches of sessions that are looked through, by their places."""

    id: int
    size: int
    classes: tuple[int, ...]
    found: int
    laid: list[Laid] = field(default_factory=list)

    @property
    def width(self) -> int:
        return (self.size + 7) // 8

    def of(self, places: Callable[[Laid], int | None]) -> int:
        """A set put together from one for each stretch, counted from its first place; None is all of it."""
        out = bytearray(self.width)
        for one in self.laid:
            held = places(one)
            if held == 0:
                continue
            count = one.stop - one.first
            width, at = (count + 7) >> 3, one.at >> 3
            out[at : at + width] = _full(count) if held is None else held.to_bytes(width, "little")
        return int.from_bytes(out, "little")

    def everything(self) -> int:
        """All places of its stretches."""
        out = bytearray(self.width)
        for _about, _version, at, first, stop in self.laid:
            out[at >> 3 : (at + stop - first + 7) >> 3] = _full(stop - first)
        return int.from_bytes(out, "little")

    def cut(self, kept: bytes, one: Laid) -> int:
        return bits.cut(kept, one.at, one.stop - one.first)

    def sums(self, places: int) -> list[int]:
        """Of a set within `everything` the places in each stretch: what lies beside them in their bytes is empty."""
        kept, read = places.to_bytes(self.width, "little"), int.from_bytes
        return [
            read(kept[at >> 3 : (at + stop - first + 7) >> 3], "little").bit_count()
            for _about, _version, at, first, stop in self.laid
        ]


def classes_of(kept: bytes, size: int) -> tuple[int, ...]:
    """The sets of places that a volume keeps by who speaks."""
    width = (size + 7) // 8
    return tuple(int.from_bytes(kept[at * width : (at + 1) * width], "little") for at in range(len(CLASSES)))


_FULL: dict[int, bytes] = {}


def _full(count: int) -> bytes:
    held = _FULL.get(count)
    if held is None:
        held = _FULL[count] = bits.to_bytes(bits.span(0, count))
    return held


@dataclass(slots=True)
class Weighed:
    """A session in the order of the answer: `key` sorts it, and is where the next page goes on."""

    key: tuple[float, str]
    about: About
    total: int
    titled: bool


@dataclass(slots=True)
class Counted:
    """All that is counted. `wanted`: of each volume the places that are left of what was found."""

    total: int = 0
    ghosts: int = 0
    masked: int = 0
    versions: int = 0
    facets: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    weighed: list[Weighed] = field(default_factory=list)
    wanted: dict[int, int] = field(default_factory=dict)


def belongs(asked: Asked, but: str = "") -> Callable[[About], bool] | None:
    """Whether a session is of the agents, projects and owners asked for, the facet `but` aside; None where any is."""
    rules = [
        (name, {one.lower() for one in asked.of(name, negated=negated)}, negated)
        for name in SESSION_FIELDS
        for negated in (False, True)
        if name != but and asked.of(name, negated=negated)
    ]
    if not rules:
        return None
    return lambda about: all(
        ((getattr(about, name) or "-").lower() in values) != negated for name, values, negated in rules
    )


def count(
    volumes: Sequence[Volume], asked: Asked, sort: str, titled: Callable[[About], bool] = lambda _about: False
) -> Counted:
    """Count what was found in these volumes; the choice within a facet does not narrow that facet's own counts."""
    out = Counted()
    by_where = dict.fromkeys(WHERE, 0)
    by_role = dict.fromkeys(CLASSES, 0)
    fits = belongs(asked)
    abouts = list({id(one.about): one.about for volume in volumes for one in volume.laid}.values())
    index = {id(about): n for n, about in enumerate(abouts)}
    kept = None if fits is None else [fits(about) for about in abouts]
    sums = Sums(len(abouts))
    for volume in volumes:
        everything = volume.everything()
        if not volume.found & everything:
            continue
        found = volume.found & everything
        at = [index[id(one.about)] for one in volume.laid]
        places = _places_of(volume, everything)
        said = _either(
            asked.of("role"),
            asked.of("role", negated=True),
            dict(zip(CLASSES, volume.classes, strict=True)),
            everything,
        )
        stands = _either(asked.of("in"), asked.of("in", negated=True), places, everything)
        ours = everything if kept is None else volume.of(lambda one: None if kept[index[id(one.about)]] else 0)
        for name in WHERE:
            by_where[name] += (found & ours & said & places[name]).bit_count()
        for name, held in zip(CLASSES, volume.classes, strict=True):
            by_role[name] += (found & ours & stands & held).bit_count()
        left = found & said & stands & ours
        out.wanted[volume.id] = left
        out.total += left.bit_count()
        out.ghosts += (left & places["ghosts"]).bit_count()
        out.masked += (left & places["masked"]).bit_count()
        out.versions += (left & places["versions"]).bit_count()
        sums.add(volume, at, left, found & said & stands if kept is not None else None, classes=sort == "best")
    out.facets["in"] = list(by_where.items())
    out.facets["role"] = [(name, n) for name, n in by_role.items() if n or name in asked.of("role")]
    for name in SESSION_FIELDS:
        out.facets[name] = _facet(name, asked, abouts, sums.totals if kept is None else sums.anywhere)
    for about, total, classes in zip(abouts, sums.totals, zip(*sums.classes, strict=True), strict=True):
        if total:
            title = titled(about)
            out.weighed.append(Weighed(_key(about, total, classes, sort, titled=title), about, total, title))
    out.weighed.sort(key=lambda one: one.key)
    return out


class Sums:
    """Places of every session, by its number: of what is wanted, in all and by who speaks; and whatever the session is of, which is what
    the facets of sessions are counted by.
    """

    def __init__(self, sessions: int) -> None:
        self.totals = [0] * sessions
        self.anywhere = [0] * sessions
        self.classes = [[0] * sessions for _ in CLASSES]

    def add(self, volume: Volume, at: Sequence[int], wanted: int, anywhere: int | None, *, classes: bool) -> None:
        """`at`: the number of the session of each stretch of the volume."""
        _add(self.totals, at, volume.sums(wanted))
        if anywhere is not None:
            _add(self.anywhere, at, volume.sums(anywhere))
        if classes:
            for sums, held in zip(self.classes, volume.classes, strict=True):
                if said := held & wanted:
                    _add(sums, at, volume.sums(said))


def _add(sums: list[int], at: Sequence[int], more: Sequence[int]) -> None:
    for n, count in zip(at, more, strict=True):
        if count:
            sums[n] += count


def _places_of(volume: Volume, everything: int) -> dict[str, int]:
    """Where in a volume what stands: sent, hidden, replaced, or put in by a version."""
    versions = volume.of(lambda one: 0 if one.version is None else None)
    ghosts = volume.of(lambda one: _spans(one, one.about.hidden))
    masked = volume.of(lambda one: _spans(one, one.about.masked)) & ~ghosts
    context = everything & ~versions & ~ghosts & ~masked
    return {"context": context, "ghosts": ghosts, "masked": masked, "versions": versions}


def _spans(one: Laid, spans: Spans) -> int:
    return bits.within(spans, one.first, one.stop) if spans and one.version is None else 0


def _either(wanted: Iterable[str], refused: Iterable[str], held: Mapping[str, int], everything: int) -> int:
    """Places of one of these kinds and of none of those; all where nothing is asked."""
    out = 0
    for name in wanted:
        out |= held[name]
    if not wanted:
        out = everything
    for name in refused:
        out &= ~held[name]
    return out


def _facet(name: str, asked: Asked, abouts: Sequence[About], sums: Sequence[int]) -> list[tuple[str, int]]:
    """Hits by agent, project or owner, the most first; "" where a session has none."""
    values: dict[str, int] = {}
    fits = belongs(asked, name)
    for about, n in zip(abouts, sums, strict=True):
        if n and (fits is None or fits(about)):
            value = getattr(about, name) or ""
            values[value] = values.get(value, 0) + n
    return sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))


def _key(about: About, total: int, classes: Sequence[int], sort: str, *, titled: bool) -> tuple[float, str]:
    if sort == "most":
        value = float(total)
    elif sort == "newest":
        value = about.last_at.timestamp() if about.last_at is not None else 0.0
    else:
        value = score(classes, titled=titled)
    return (-value, about.key)


def hits_of(volumes: Iterable[Volume], wanted: Mapping[int, int], rows: Sequence[Weighed]) -> list[Hits]:
    """The hits of some sessions, in the order given."""
    stretches: dict[int, list[Stretch]] = {id(row.about): [] for row in rows}
    for volume in volumes:
        kept = wanted.get(volume.id, 0).to_bytes(volume.width, "little")
        classes: list[bytes] | None = None
        for one in volume.laid:
            into = stretches.get(id(one.about))
            if into is None:
                continue
            if classes is None:
                classes = [held.to_bytes(volume.width, "little") for held in volume.classes]
            held = tuple(volume.cut(each, one) for each in classes)
            into.append(Stretch(one.first, one.stop, volume.cut(kept, one), held, one.version))
    out = []
    for row in rows:
        hits = counted(row.about, stretches[id(row.about)])
        hits.titled = row.titled
        out.append(hits)
    return out


def narrowed(hits: Hits, good: Collection[tuple[int | None, int]]) -> Hits:
    """Of the hits of a session those that are `good`, by version (None: an entry) and number."""
    stretches = [
        replace(
            one, found=bits.of(place for place in bits.places(one.found) if (one.version, one.first + place) in good)
        )
        for one in hits.stretches
    ]
    out = counted(hits.about, stretches)
    out.titled = hits.titled
    return out
