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
    """A volume with what was found in it. `laid`: its stretches of sessions that are looked through."""

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

    def cut(self, kept: bytes, one: Laid) -> int:
        return bits.cut(kept, one.at, one.stop - one.first)


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
    roles, where = asked.of("role"), asked.of("in")
    not_roles, not_where = asked.of("role", negated=True), asked.of("in", negated=True)
    of_sessions = belongs(asked)
    abouts: dict[int, About] = {}
    totals: dict[int, int] = {}
    everywhere: dict[int, int] = {}  # whatever the session is of: what the facets of sessions are counted by
    classes: dict[int, list[int]] = {}
    kept: dict[int, bool] = {}
    for volume in volumes:
        places = _places_of(volume)
        everything = volume.of(lambda _one: None)
        found = volume.found & everything
        if not found:
            continue
        said = _either(roles, not_roles, dict(zip(CLASSES, volume.classes, strict=True)), everything)
        stands = _either(where, not_where, places, everything)
        for one in volume.laid:
            key = id(one.about)
            if key not in kept:
                abouts[key] = one.about
                kept[key] = of_sessions is None or of_sessions(one.about)
        ours = everything if of_sessions is None else volume.of(lambda one: None if kept[id(one.about)] else 0)
        for name in WHERE:
            by_where[name] += (found & ours & said & places[name]).bit_count()
        for name, held in zip(CLASSES, volume.classes, strict=True):
            by_role[name] += (found & ours & stands & held).bit_count()
        anywhere = found & said & stands
        left = anywhere & ours
        out.wanted[volume.id] = left
        out.total += left.bit_count()
        out.ghosts += (left & places["ghosts"]).bit_count()
        out.masked += (left & places["masked"]).bit_count()
        out.versions += (left & places["versions"]).bit_count()
        if of_sessions is not None:
            _add(everywhere, volume, anywhere)
        _add(totals, volume, left)
        if sort == "best":
            _add_classes(classes, volume, left)
    _facets(out, asked, by_where, by_role, abouts, totals if of_sessions is None else everywhere)
    for key, n in totals.items():
        about = abouts[key]
        title = titled(about)
        out.weighed.append(Weighed(_key(about, n, classes.get(key, ()), title, sort), about, n, title))
    out.weighed.sort(key=lambda one: one.key)
    return out


def _places_of(volume: Volume) -> dict[str, int]:
    """Where in a volume what stands: sent, hidden, replaced, or put in by a version."""
    versions = volume.of(lambda one: 0 if one.version is None else None)
    ghosts = volume.of(lambda one: _spans(one, one.about.hidden))
    masked = volume.of(lambda one: _spans(one, one.about.masked)) & ~ghosts
    context = volume.of(lambda one: None if one.version is None else 0) & ~ghosts & ~masked
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


def _add(sums: dict[int, int], volume: Volume, places: int) -> None:
    """Add the number of places of each session."""
    if not places:
        return
    kept = places.to_bytes(volume.width, "little")
    for about, _version, at, first, stop in volume.laid:
        n = bits.cut(kept, at, stop - first).bit_count()
        if n:
            sums[id(about)] = sums.get(id(about), 0) + n


def _add_classes(sums: dict[int, list[int]], volume: Volume, places: int) -> None:
    for k, held in enumerate(volume.classes):
        spoken = held & places
        if not spoken:
            continue
        kept = spoken.to_bytes(volume.width, "little")
        for about, _version, at, first, stop in volume.laid:
            n = bits.cut(kept, at, stop - first).bit_count()
            if n:
                sums.setdefault(id(about), [0] * len(CLASSES))[k] += n


def _facets(
    out: Counted,
    asked: Asked,
    by_where: Mapping[str, int],
    by_role: Mapping[str, int],
    abouts: Mapping[int, About],
    sums: Mapping[int, int],
) -> None:
    out.facets["in"] = list(by_where.items())
    out.facets["role"] = [(name, n) for name, n in by_role.items() if n or name in asked.of("role")]
    for name in SESSION_FIELDS:
        values: dict[str, int] = {}
        fits = belongs(asked, name)
        for key, n in sums.items():
            about = abouts[key]
            if fits is None or fits(about):
                value = getattr(about, name) or ""
                values[value] = values.get(value, 0) + n
        out.facets[name] = sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))


def _key(about: About, total: int, classes: Sequence[int], titled: bool, sort: str) -> tuple[float, str]:  # noqa: FBT001
    if sort == "most":
        value = float(total)
    elif sort == "newest":
        value = about.last_at.timestamp() if about.last_at is not None else 0.0
    else:
        value = score(classes or [0] * len(CLASSES), titled=titled)
    return (-value, str(about.id))


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
