"""Hits in their words: of each session some entries with what was found in them, where they stand, and a strip of all its hits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import ceil
from typing import Any
from uuid import UUID

from sessions import queries
from sessions.calls import call_of
from sessions.ghosts import Band, band_of, bands
from sessions.models import Entry, Version
from sessions.packing import unpack
from sessions.ranges import Ranges
from sessions.search import bits
from sessions.search.asked import Asked
from sessions.search.hits import About, Hits, Stretch
from sessions.search.reading import Inserted, Place, inserted
from sessions.search.snippets import Snippet, snippet
from sessions.search.texts import CLASSES, text_of

IN_GHOSTS, IN_CONTEXT, IN_VERSIONS = 4, 4, 3  # what is shown of a session: ghosts, other entries, what versions put in
MORE = 60  # entries of one page of a session alone
STRIP = 362  # pixels
# Who says most of what was found, the first first.
_TELLING = ("person", "summaries", "assistant", "reasoning", "calls", "outputs", "harness", "unsent", "errors")


@dataclass(frozen=True, slots=True)
class Shown:
    """One entry that was found, or (`seq` None) a text that version `version` put in, at `position`. `band`: the ghost it lies in. `code`:
    whether its words are the machine's own.
    """

    seq: int | None
    speaker: str
    tool: str
    turn: int | None
    snippet: Snippet
    band: Band | None
    masked: bool
    sent: bool
    failed: bool
    version: int | None = None
    position: int | None = None

    @property
    def code(self) -> bool:
        return self.speaker in ("calls", "outputs")

    @property
    def where(self) -> str:
        """ghosts, masked, context or versions."""
        if self.version is not None:
            return "versions"
        return "ghosts" if self.band is not None else "masked" if self.masked else "context"


@dataclass(slots=True)
class SessionShown:
    """A session with hits. `ghosts_left`, `context_left`: hits that are not shown. `next`: the entry behind which more stand."""

    hits: Hits
    entries: list[Shown] = field(default_factory=list)
    ghosts_left: int = 0
    context_left: int = 0
    next: int | None = None
    strip: Strip | None = None


@dataclass(frozen=True, slots=True)
class Strip:
    """Where in a session its hits stand, over STRIP pixels: rectangles of ghosts, and as paths a line for each pixel with a hit that is
    sent, and for each with hits in ghosts alone.
    """

    ghosts: tuple[tuple[float, float], ...]
    sent: str
    ghostly: str


def shown(found: Sequence[Hits], asked: Asked, *, after: int | None = None, whole: bool = False) -> list[SessionShown]:
    """The hits of these sessions, by four queries. `whole`: entry by entry behind `after`; else a choice of each session."""
    ghosts = _bands([hits.about.id for hits in found])
    out: list[SessionShown] = []
    chosen: list[tuple[UUID, int]] = []
    for hits in found:
        one = SessionShown(hits, strip=strip_of(hits))
        chosen += [(hits.about.id, seq) for seq in _chosen(one, after=after, whole=whole)]
        out.append(one)
    rows = _rows(chosen)
    texts = _inserted(found) if after is None else {}
    for one in out:
        one.entries += [_shown_inserted(one.hits, row, asked) for row in texts.get(one.hits.about.key, ())]
        about = one.hits.about
        masked = Ranges(about.masked)
        for row in rows.get(about.id, ()):
            band = band_of(ghosts.get(about.id, ()), row.seq)
            one.entries.append(
                Shown(
                    row.seq,
                    one.hits.class_of(row.seq),
                    call_of(row.tool, "{}").name if row.tool else "",
                    row.turn,
                    snippet(text_of(unpack(row.parts)), asked.shown),
                    band,
                    band is None and row.seq in masked,
                    row.sent,
                    row.is_error or row.problem is not None,
                )
            )
    return out


def _chosen(one: SessionShown, *, after: int | None, whole: bool) -> list[int]:
    """Which entries are shown, and in `one` what is left."""
    hits = one.hits
    if whole:
        behind = [seq for seq in hits.seqs() if after is None or seq > after]
        one.next = behind[MORE - 1] if len(behind) > MORE else None
        return behind[:MORE]
    one.ghosts_left = max(0, hits.ghosts - IN_GHOSTS)
    one.context_left = max(0, hits.context + hits.masked - IN_CONTEXT)
    return sorted([*_telling(hits, IN_GHOSTS, ghosts=True), *_telling(hits, IN_CONTEXT, ghosts=False)])


def _bands(sessions: Sequence[UUID]) -> dict[UUID, Sequence[Band]]:
    """The ghosts of each session at the version in force."""
    versions: dict[UUID, dict[int, Version]] = {}
    heads: dict[UUID, int | None] = {}
    for row in Version.objects.filter(session__in=list(sessions)).select_related("session"):
        versions.setdefault(row.session_id, {})[row.pk] = row
        heads[row.session_id] = row.session.head_id or row.session.native_head_id
    out: dict[UUID, Sequence[Band]] = {}
    for key, known in versions.items():
        chain: list[Version] = []
        at = known.get(heads[key] or 0)
        while at is not None:
            chain.append(at)
            at = known.get(at.parent_id or 0)
        out[key] = bands([queries.maker_of(version) for version in reversed(chain)])
    return out


def _rows(chosen: Sequence[tuple[UUID, int]]) -> dict[UUID, list[Entry]]:
    """These entries, in order, by session."""
    query = (
        "SELECT e.session_id, e.seq, e.kind, e.tool, e.turn, e.sent, e.is_error, e.problem, e.parts FROM agent_sessions_entry e "
        "JOIN unnest(%s::uuid[], %s::int[]) AS w (session_id, seq) ON e.session_id = w.session_id AND e.seq = w.seq ORDER BY e.seq"
    )
    out: dict[UUID, list[Entry]] = {}
    if chosen:
        for row in Entry.objects.raw(query, [[key for key, _ in chosen], [seq for _, seq in chosen]]):
            out.setdefault(row.session_id, []).append(row)
    return out


def _inserted(found: Sequence[Hits]) -> dict[str, list[Inserted]]:
    """What versions put in, of each session the newest that were found."""
    chosen: list[Place] = []
    for hits in found:
        chosen += [(hits.about.key, version, n) for version, n in sorted(hits.inserted(), reverse=True)[:IN_VERSIONS]]
    out: dict[str, list[Inserted]] = {}
    for row in sorted(inserted(chosen), key=lambda row: (-row[1], row[2])):
        out.setdefault(row[0], []).append(row)
    return out


def _shown_inserted(hits: Hits, row: Inserted, asked: Asked) -> Shown:
    _session, version, n, parts, _kind, position = row
    words = snippet(text_of(unpack(parts)), asked.shown)
    speaker = hits.class_inserted(version, n)
    return Shown(
        None, speaker, "", None, words, None, masked=False, sent=True, failed=False, version=version, position=position
    )


def _telling(hits: Hits, count: int, *, ghosts: bool) -> list[int]:
    """The entries that say most, by who speaks, in ghosts or outside; of equal ones the first. Nothing is gone through but sets."""
    out: list[int] = []
    left = [(one, _in_ghosts(hits.about, one) if ghosts else ~_in_ghosts(hits.about, one)) for one in hits.entries()]
    taken = [0] * len(left)
    for name in _TELLING:
        for n, (stretch, where) in enumerate(left):
            found = stretch.found & where & stretch.classes[CLASSES.index(name)] & ~taken[n]
            taken[n] |= found
            out.extend(stretch.first + place for place in islice(bits.places(found), count - len(out)))
        if len(out) >= count:
            break
    return out


def _in_ghosts(about: About, stretch: Stretch) -> int:
    return bits.within(about.hidden, stretch.first, stretch.stop)


def strip_of(hits: Hits) -> Strip:
    """The strip of a session's hits: as many lines as pixels at most, however many hits."""
    about = hits.about
    scale = STRIP / max(1, about.entries)
    ghosts = _merged([(start * scale, min(stop, about.entries) * scale) for start, stop in about.hidden])
    lines: dict[int, bool] = {}
    for stretch in hits.entries():
        hidden = _in_ghosts(about, stretch)
        for x, places in _by_pixel(stretch, scale):
            # A pixel with a hit in the context is drawn as one: the dashes say that nothing there is sent.
            lines[x] = lines.get(x, True) and not places & ~hidden
    return Strip(
        tuple((round(start, 1), round(max(1.0, stop - start), 1)) for start, stop in ghosts),
        "".join(f"M{x}.5 1v22" for x, ghost in sorted(lines.items()) if not ghost),
        "".join(f"M{x}.5 1v22" for x, ghost in sorted(lines.items()) if ghost),
    )


def _by_pixel(stretch: Stretch, scale: float) -> Iterator[tuple[int, int]]:
    """The places found in a stretch by the pixel they lie on."""
    if stretch.found.bit_count() <= STRIP:
        for place in bits.places(stretch.found):
            yield int((stretch.first + place) * scale), 1 << place
        return
    for x in range(int(stretch.first * scale), int((stretch.stop - 1) * scale) + 1):
        start, stop = (max(0, min(stretch.stop, ceil(edge / scale)) - stretch.first) for edge in (x, x + 1))
        if places := stretch.found & bits.span(start, stop):
            yield x, places


def _merged(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    out: list[tuple[float, float]] = []
    for start, stop in spans:
        if out and start - out[-1][1] < 1:
            out[-1] = (out[-1][0], max(out[-1][1], stop))
        else:
            out.append((start, stop))
    return out


def as_json(one: SessionShown) -> dict[str, Any]:
    """A session with its hits, as the API and the command say it."""
    about = one.hits.about
    return {
        "session": about.key,
        "title": about.title,
        "agent": about.agent,
        "project": about.project,
        "owner": about.owner,
        "branch": about.branch,
        "last_at": None if about.last_at is None else about.last_at.isoformat(),
        "hits": one.hits.total,
        "in_ghosts": one.hits.ghosts,
        "masked": one.hits.masked,
        "in_versions": one.hits.versions,
        "at_least": one.hits.read is not None,
        "score": one.hits.score,
        "by_role": {name: one.hits.classes[name] for name in CLASSES if name in one.hits.classes},
        "entries": [
            {
                "seq": row.seq,
                "version": row.version,
                "position": row.position,
                "role": row.speaker,
                "tool": row.tool or None,
                "turn": row.turn,
                "where": row.where,
                "times": row.snippet.times,
                "text": row.snippet.text,
                "marks": _marks(row.snippet),
            }
            for row in one.entries
        ],
        "next": one.next,
    }


def _marks(held: Snippet) -> list[list[int]]:
    """Where in the text of a snippet what was found stands."""
    out: list[list[int]] = []
    at = 0
    for piece, hit in held.pieces:
        if hit:
            out.append([at, at + len(piece)])
        at += len(piece)
    return out
