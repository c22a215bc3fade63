"""The answer to a query: sessions of a workspace with hits, in pages by keyset, and the counts of every facet.

Words are answered from the index alone. Where the text has to be read as well, for phrases, paths and files, no more is read than
READ entries for a page, and counts are then called "at most".
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any
from uuid import UUID

from sessions.search import bits, postings
from sessions.search.asked import Asked
from sessions.search.counting import Counted, Laid, Volume, Weighed, belongs, count, hits_of, narrowed
from sessions.search.held import goal_spans, volumes_of
from sessions.search.hits import SORTS, About, Hits, Spans
from sessions.search.matching import holds
from sessions.search.reading import Place, standing
from sessions.search.waiting import Waiting, waiting

PAGE = 8  # sessions of a page
READ = 480  # entries that are read for one page, to see whether a phrase really stands in them
READ_EACH = 40  # of one session, where there are more in all


class BadCursor(ValueError):
    """A cursor that no page of ours gave, or of another order."""


@dataclass(slots=True)
class Found:
    """A page of what was found. `about`: sessions or hits are more than was read through, so that counts say "at most".

    `facets`: of each facet its values with their hits; the choice within a facet does not narrow its own counts. `many`: beginnings or
    middles that stand for more words than were looked up. `read`: entries that were read for this page.
    """

    asked: Asked
    page: list[Hits] = field(default_factory=list)
    total: int = 0
    ghosts: int = 0
    masked: int = 0
    versions: int = 0
    sessions: int = 0
    facets: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    next: str | None = None
    about: bool = False
    many: list[str] = field(default_factory=list)
    read: int = 0
    waiting: Waiting = field(default_factory=lambda: Waiting(0, 0))
    seconds: float = 0.0


def find(
    workspace_id: Any,
    asked: Asked,
    *,
    sort: str = "best",
    after: str | None = None,
    size: int = PAGE,
    session: UUID | None = None,
) -> Found:
    """The sessions with hits behind the cursor `after`. `session`: that one alone."""
    started = time.perf_counter()
    found = Found(asked, waiting=waiting(workspace_id))
    sort = sort if sort in SORTS else "best"
    cursor = None if after is None else _read_cursor(after, sort)
    if asked:
        _fill(found, postings.Scope(workspace_id, session), sort, cursor, size)
    found.seconds = time.perf_counter() - started
    return found


def _fill(found: Found, scope: postings.Scope, sort: str, cursor: tuple[float, str] | None, size: int) -> None:
    asked = found.asked
    looked = postings.looked(asked, scope)
    found.many = looked.many
    volumes = volumes_of(looked.places, scope)
    _of_goals(volumes, asked, scope)
    checks = bool(asked.of("file")) or any(term.checked for clause in asked.clauses for term in clause.terms)
    if checks and (few := _few(volumes, asked)) is not None:
        found.read = len(few)
        good: dict[tuple[str, int | None], list[int]] = {}
        for session, version, n in standing(few, asked):
            good.setdefault((session, version), []).append(n)
        for volume in volumes:
            volume.found = volume.of(
                lambda one: bits.of(
                    n - one.first for n in good.get((one.about.key, one.version), ()) if one.first <= n < one.stop
                )
            )
        checks = False
    counted = count(volumes, asked, sort, lambda about: _titled(about, asked))
    _take(found, counted)
    rows = counted.weighed if cursor is None else [row for row in counted.weighed if row.key > cursor]
    if not checks:
        found.page = hits_of(volumes, counted.wanted, rows[:size])
        found.next = _write_cursor(rows[size - 1].key, sort) if len(rows) > size else None
        return
    found.about = True
    _read_on(found, volumes, counted, rows, sort, size)


def _take(found: Found, counted: Counted) -> None:
    found.total, found.ghosts, found.masked = counted.total, counted.ghosts, counted.masked
    found.versions, found.sessions, found.facets = counted.versions, len(counted.weighed), counted.facets


def _of_goals(volumes: Sequence[Volume], asked: Asked, scope: postings.Scope) -> None:
    """Leave what belongs to the goals asked for, and to none that is refused."""
    for negated in (False, True):
        for value in asked.of("goal", negated=negated):
            spans = goal_spans(scope, value)
            own = partial(_own, spans)
            for volume in volumes:
                volume.found &= ~volume.of(own) if negated else volume.of(own)


def _own(spans: Mapping[str, Spans], one: Laid) -> int:
    return bits.within(spans.get(one.about.key, ()), one.first, one.stop) if one.version is None else 0


def _few(volumes: Sequence[Volume], asked: Asked) -> list[Place] | None:
    """All places where it may stand, of the sessions asked for; None where they are too many to be read."""
    fits = belongs(asked)
    out: list[Place] = []
    for volume in volumes:
        kept = volume.found.to_bytes(volume.width, "little")
        for one in volume.laid:
            if fits is not None and not fits(one.about):
                continue
            places = volume.cut(kept, one)
            if not places:
                continue
            if len(out) + places.bit_count() > READ:
                return None
            out.extend((one.about.key, one.version, one.first + place) for place in bits.places(places))
    return out


def _read_on(
    found: Found, volumes: Sequence[Volume], counted: Counted, rows: Sequence[Weighed], sort: str, size: int
) -> None:
    """Read session after session until the page is full or enough was read; the next page goes on behind."""
    done = 0
    while done < len(rows) and len(found.page) < size and found.read < READ:
        # No more sessions than there are entries left to be read of them.
        batch = rows[done : done + max(1, min(size, (READ - found.read) // READ_EACH))]
        tried: list[tuple[Weighed, Hits, list[Place]]] = []
        for row, hits in zip(batch, hits_of(volumes, counted.wanted, batch), strict=True):
            places: list[Place] = [(hits.about.key, version, n) for version, n in hits.inserted()]
            places += [(hits.about.key, None, seq) for seq in islice(hits.seqs(), READ_EACH + 1)]
            tried.append((row, hits, places))
        good: dict[str, set[tuple[int | None, int]]] = {}
        for session, version, n in standing(
            [place for _, _, places in tried for place in places[:READ_EACH]], found.asked
        ):
            good.setdefault(session, set()).add((version, n))
        for row, hits, places in tried:
            done += 1
            found.read += min(READ_EACH, len(places))
            left = narrowed(hits, good.get(hits.about.key, ()))
            if len(places) > READ_EACH:
                left.read = READ_EACH
            if left.total:
                found.page.append(left)
            if done < len(rows):
                found.next = _write_cursor(row.key, sort)
            else:
                found.next = None
            if len(found.page) == size:
                break


def _titled(about: About, asked: Asked) -> bool:
    """Whether all words stand in the title."""
    terms = [clause.terms for clause in asked.clauses if not clause.negated]
    if not terms or not about.title:
        return False
    title = about.title.lower()
    # A word that is no part of the title need not be looked for by its pieces.
    return all(any(term.tokens[0] in title and holds(about.title, term) for term in several) for several in terms)


def _write_cursor(key: tuple[float, str], sort: str) -> str:
    return f"{sort}_{key[0]!r}_{key[1]}"


def _read_cursor(cursor: str, sort: str) -> tuple[float, str]:
    order, _, rest = cursor.partition("_")
    value, _, key = rest.partition("_")
    try:
        if order != sort:
            raise ValueError(order)
        return float(value), str(UUID(key))
    except ValueError as error:
        raise BadCursor("This cursor is none of ours; start again without one.") from error
