"""The version line: every version of a session, newest on top, on a lane for each branch, with what joins them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sessions.measuring import measured
from sessions.meters import DEFAULT, by_id
from sessions.models import Entry, Session, Version

MEASURED = 24  # newest versions whose tokens are summed anew; of older ones nothing is said but what each was made with

LANE = 18  # pixels from one lane to the next
FIRST = 9  # pixels from the edge to the first


def place_of(lane: int) -> int:
    """Pixels from the left edge to the middle of a lane."""
    return FIRST + LANE * lane


@dataclass(frozen=True, slots=True, order=True)
class Stroke:
    lane: int
    dashed: bool

    @property
    def x(self) -> int:
        return place_of(self.lane)


@dataclass(frozen=True, slots=True)
class Node:
    """One version on the line. `glyph`: head, made, native, undone. `lane`: 0 is the line the head stands on.

    `over`, `under`: places of strokes above and below the node, each with whether it is dashed; `arrives`: of branches that end in it.
    `tokens`: o200k, of its context at its end, which is now for the head and else when the next version was made from it; None where that
    was not summed. `before`, `after`: of its parent's context and of its own at the moment it was made. `shown`: it is the one looked at.
    """

    version: Version
    glyph: str
    lane: int
    current: bool
    native_head: bool
    undone: bool
    over: tuple[Stroke, ...]
    under: tuple[Stroke, ...]
    arrives: tuple[Stroke, ...]
    tokens: int | None = None
    before: int | None = None
    after: int | None = None
    at: datetime | None = None
    shown: bool = False

    @property
    def x(self) -> int:
        return place_of(self.lane)

    @property
    def hidden(self) -> int:
        """Entries that are not sent at this version."""
        return len(self.version.hidden)


@dataclass(frozen=True, slots=True)
class Being:
    """A run that writes the next version: its number, and its strategy in words."""

    run: int
    label: str


@dataclass(frozen=True, slots=True)
class Line:
    """`undo`, `redo`: the versions these lead to, None where there is nothing; `older`: how many are not among the nodes."""

    nodes: tuple[Node, ...]
    undo: Version | None
    redo: Version | None
    being: Being | None
    next: int
    lanes: int
    older: int = 0

    @property
    def width(self) -> int:
        """Pixels all lanes take."""
        return place_of(self.lanes - 1) + FIRST

    @property
    def head(self) -> Node | None:
        return next((node for node in self.nodes if node.current), None)

    @property
    def has_native(self) -> bool:
        return any(node.glyph == "native" for node in self.nodes)


def line(
    session: Session,
    *,
    being: Being | None = None,
    shown: Version | None = None,
    newest: int | None = None,
    measure: int = MEASURED,
) -> Line:
    """The line of a session as it stands. One query for all versions, and sums for each of the first `measure`.

    `newest`: so many alone, and the head, however old.
    """
    versions = list(session.versions.select_related("by").order_by("-n"))
    by_id = {version.pk: version for version in versions}
    head = by_id.get(session.head_id or session.native_head_id or 0)
    redo = by_id.get(session.redo[-1]) if session.redo else None
    tip = by_id.get(session.redo[0]) if session.redo else head
    nodes = place(
        versions, head, tip if tip is not None and _descends(tip, head, by_id) else head, session.native_head_id
    )
    kept = nodes[:newest] + tuple(node for node in nodes[newest:] if node.current) if newest is not None else nodes
    times = _times(session, [node.version for node in kept])
    sums = _Sums(session, versions)
    shown_id = shown.pk if shown is not None else None
    told = tuple(
        replace(
            sums.told(node) if n < measure else node,
            at=times[node.version.pk],
            shown=node.version.pk == shown_id and not node.current,
        )
        for n, node in enumerate(kept)
    )
    undo = by_id.get(head.parent_id) if head is not None and head.parent_id is not None else None
    following = versions[0].n + 1 if versions else 0
    lanes = 1 + max((node.lane for node in told), default=0)
    return Line(told, undo, redo, being, following, lanes, len(nodes) - len(told))


def place(
    versions: Sequence[Version], head: Version | None, tip: Version | None, native_head_id: int | None
) -> tuple[Node, ...]:
    """Versions, newest first, on their lanes. The line down from `tip` (the head, or what redo leads to) is lane 0.

    Every other branch gets the first lane free between its newest version and the one it branches from.
    """
    by_id = {version.pk: version for version in versions}
    row = {version.pk: n for n, version in enumerate(versions)}
    alive = set(_chain(head, by_id))
    lanes: dict[int, int] = dict.fromkeys(_chain(tip, by_id), 0)
    taken: dict[int, list[tuple[int, int]]] = {}
    for version in versions:  # newest first: a branch is met at its top
        if version.pk in lanes:
            continue
        branch = []
        at: Version | None = version
        while at is not None and at.pk not in lanes:
            branch.append(at.pk)
            at = by_id.get(at.parent_id) if at.parent_id is not None else None
        start, end = row[version.pk], row[at.pk] if at is not None else row[branch[-1]]
        lane = 1
        while any(start < stop and begin < end for begin, stop in taken.get(lane, [])):
            lane += 1
        taken.setdefault(lane, []).append((start, end))
        lanes |= dict.fromkeys(branch, lane)
    over: dict[int, set[Stroke]] = {version.pk: set() for version in versions}
    under: dict[int, set[Stroke]] = {version.pk: set() for version in versions}
    arrives: dict[int, set[Stroke]] = {version.pk: set() for version in versions}
    for version in versions:
        parent = by_id.get(version.parent_id) if version.parent_id is not None else None
        if parent is None:
            continue
        stroke = Stroke(lanes[version.pk], version.pk not in alive)
        for n in range(row[version.pk], row[parent.pk]):
            under[versions[n].pk].add(stroke)
            over[versions[n + 1].pk].add(stroke)
        if lanes[parent.pk] != stroke.lane:
            over[parent.pk].discard(stroke)
            arrives[parent.pk].add(stroke)
    return tuple(
        Node(
            version=version,
            glyph=_glyph(version, head, alive),
            lane=lanes[version.pk],
            current=head is not None and version.pk == head.pk,
            native_head=version.pk == native_head_id and (head is None or version.pk != head.pk),
            undone=version.pk not in alive,
            over=tuple(sorted(over[version.pk])),
            under=tuple(sorted(under[version.pk])),
            arrives=tuple(sorted(arrives[version.pk])),
        )
        for version in versions
    )


class _Sums:
    """Tokens of contexts at the places where versions begin and end, each summed once."""

    def __init__(self, session: Session, versions: Sequence[Version]) -> None:
        self.session = session
        self.by_id = {version.pk: version for version in versions}
        self.ends: dict[int, int] = {}
        for version in versions:
            if version.parent_id is not None:
                self.ends[version.parent_id] = max(version.at_seq, self.ends.get(version.parent_id, -1))
        self.known: dict[tuple[int, int | None], int] = {}

    def told(self, node: Node) -> Node:
        """The node with its figures."""
        version = node.version
        end = None if node.current else self.ends.get(version.pk)
        parent = self.by_id.get(version.parent_id) if version.parent_id is not None else None
        return replace(
            node,
            tokens=version.tokens if end is None and not node.current else self._at(version, end),
            before=None if parent is None else self._at(parent, version.at_seq),
            after=None if parent is None else version.tokens,
        )

    def _at(self, version: Version, seq: int | None) -> int:
        key = version.pk, seq
        if key not in self.known:
            meter = by_id(DEFAULT)
            self.known[key] = measured(self.session.pk, version, [meter], until_seq=seq)[meter.id]
        return self.known[key]


def _times(session: Session, versions: Sequence[Version]) -> dict[int, datetime | None]:
    """When each version was made: of a native one when the agent did it, not when we read of it."""
    native = {v.pk: v.at_seq for v in versions if v.origin in (Version.Origin.NATIVE, Version.Origin.RECORDED)}
    said = dict(Entry.objects.filter(session=session, seq__in=native.values()).values_list("seq", "at"))
    return {
        v.pk: (said.get(v.at_seq) or (session.started_at if v.n == 0 else None)) if v.pk in native else v.made_at
        for v in versions
    }


def _glyph(version: Version, head: Version | None, alive: set[int]) -> str:
    if head is not None and version.pk == head.pk:
        return "head"
    if version.origin in (Version.Origin.NATIVE, Version.Origin.RECORDED):
        return "native"
    return "made" if version.pk in alive else "undone"


def _chain(version: Version | None, by_id: dict[int, Version]) -> list[int]:
    out = []
    while version is not None:
        out.append(version.pk)
        version = by_id.get(version.parent_id) if version.parent_id is not None else None
    return out


def _descends(tip: Version, head: Version | None, by_id: dict[int, Version]) -> bool:
    return head is not None and head.pk in _chain(tip, by_id)
