"""Hits in their words: of each session some entries with what was found in them, where they stand, and a strip of all its hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sessions import queries
from sessions.calls import call_of
from sessions.ghosts import Band, band_of, bands
from sessions.models import Entry, Version
from sessions.packing import unpack
from sessions.ranges import Ranges
from sessions.search.asked import Asked
from sessions.search.hits import Hits
from sessions.search.reading import Inserted, Place, inserted
from sessions.search.snippets import Snippet, snippet
from sessions.search.texts import CLASSES, text_of

IN_GHOSTS, IN_CONTEXT, IN_VERSIONS = 4, 4, 3  # what is shown of a session: ghosts, other entries, what versions put in
MORE = 60  # entries of one page of a session alone
STRIP = 362  # pixels
_WORTH = {
    name: n
    for n, name in enumerate(
        ("person", "summaries", "assistant", "reasoning", "calls", "outputs", "harness", "unsent", "errors")
    )
}


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
    """Where in a session its hits stand, over STRIP pixels: rectangles of ghosts, and a line for each pixel with a hit."""

    ghosts: tuple[tuple[float, float], ...]
    hits: tuple[tuple[float, bool], ...]  # place, and whether in a ghost


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
        one.entries += [_shown_inserted(one.hits, row, asked) for row in texts.get(one.hits.about.id, ())]
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
    hidden = Ranges(hits.about.hidden)
    ghosts: list[int] = []
    others: list[int] = []
    for seq in hits.seqs():
        (ghosts if seq in hidden else others).append(seq)
    one.ghosts_left = max(0, len(ghosts) - IN_GHOSTS)
    one.context_left = max(0, len(others) - IN_CONTEXT)
    return sorted([*_telling(hits, ghosts, IN_GHOSTS), *_telling(hits, others, IN_CONTEXT)])


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


def _inserted(found: Sequence[Hits]) -> dict[UUID, list[Inserted]]:
    """What versions put in, of each session the newest that were found."""
    chosen: list[Place] = []
    for hits in found:
        chosen += [(hits.about.id, version, n) for version, n in sorted(hits.inserted(), reverse=True)[:IN_VERSIONS]]
    out: dict[UUID, list[Inserted]] = {}
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


def _telling(hits: Hits, seqs: Sequence[int], count: int) -> list[int]:
    """The entries that say most, by who speaks; of equal ones the first."""
    if len(seqs) <= count:
        return list(seqs)
    return sorted(seqs, key=lambda seq: (_WORTH[hits.class_of(seq)], seq))[:count]


def strip_of(hits: Hits) -> Strip:
    """The strip of a session's hits: as many lines as pixels at most, however many hits."""
    scale = STRIP / max(1, hits.about.entries)
    ghosts = _merged([(start * scale, min(stop, hits.about.entries) * scale) for start, stop in hits.about.hidden])
    lines: dict[int, bool] = {}
    spans = iter(hits.about.hidden)
    span = next(spans, None)
    for seq in hits.seqs():
        while span is not None and span[1] <= seq:
            span = next(spans, None)
        ghost = span is not None and span[0] <= seq
        x = int(seq * scale)
        # A pixel with a hit in the context is drawn as one: the dashes say that nothing there is sent.
        lines[x] = lines.get(x, True) and ghost
    return Strip(
        tuple((round(start, 1), round(max(1.0, stop - start), 1)) for start, stop in ghosts),
        tuple((x + 0.5, ghost) for x, ghost in sorted(lines.items())),
    )


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
        "session": str(about.id),
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
