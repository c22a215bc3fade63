"""The transcript by windows: the entries around a place, or those that a person narrowed it to. Bounded by what a page can bear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sessions import queries
from sessions.entryline import Line
from sessions.filters import Narrowed, narrowed_window
from sessions.ghosts import Stretch, band_of, stretch_after, stretch_before
from sessions.http import integer
from sessions.lanes import named
from sessions.lines import Quiet, lines_of
from sessions.marks import marked
from sessions.models import Entry, Insertion, Session
from sessions.openings import AHEAD, opened_ghost
from sessions.queries import Reading
from sessions.transcript import Ghost, blocks_of

LEAD = 12  # entries shown in front of the one a deep link means
WEIGHT = 280  # elements of one window: a page of markdown weighs as much as thirty calls
BAND = 12  # elements of a closed ghost
LEAST = 8  # rows of a window, however heavy
LOOKED = 140  # records looked through for one window
ENTRIES = 60  # of them that have rows: about what weighs as much, a call and its result in one row

type Drawn = list[Line | Quiet]


def reader_window(seen: Reading, query: Mapping[str, str]) -> dict[str, Any]:
    """A window of the whole transcript; with filters in the query, of the entries that match them, ghosts among them."""
    narrowed = Narrowed.of(query)
    shown = narrowed_window(seen, narrowed, query) if narrowed else transcript_window(seen, query)
    stretch = shown["stretch"]
    ends = {} if stretch is None else {"low": stretch.low, "high": stretch.high}
    return {"narrowed": narrowed, "narrowed_query": narrowed.query, "chips": narrowed.chips, **shown, **ends}


def transcript_window(seen: Reading, query: Mapping[str, str]) -> dict[str, Any]:
    """Entries around `at`, behind `after` (up to `until`) or in front of `before`; with none of these, from the beginning."""
    session = seen.session
    total = session.entries_count
    hidden = seen.hidden
    selected = queries.place_of(session, query["at"]) if query.get("at") else None
    after, before, until = (integer(query.get(name)) for name in ("after", "before", "until"))
    opened: dict[int, Ghost] = {}
    if before is not None:
        stretch = stretch_before(hidden, total, before, LOOKED)
        stretch, rows = queries.cut_before(stretch, queries.rows_of(session, stretch.seqs), ENTRIES)
    else:
        if selected is not None and after is None:
            after = _lead(seen, selected, query["at"])
            band = band_of(seen.bands, selected)
            if band is not None:
                opened[band.number] = opened_ghost(seen, band, max(band.start, selected - AHEAD) - 1, selected=selected)
        stretch = stretch_after(hidden, total, after if after is not None else -1, LOOKED)
        if until is not None and stretch.high >= until:
            seqs = tuple(seq for seq in stretch.seqs if seq <= until)
            stretch = Stretch(seqs, stretch.low, until, stretch.earlier, until + 1 < total)
            rows = queries.rows_of(session, stretch.seqs)
        else:
            stretch, rows = queries.cut_after(stretch, queries.rows_of(session, stretch.seqs), ENTRIES)
        if selected is not None and query.get("after") is None:
            stretch, rows = queries.from_a_call(stretch, rows, selected)
    added, bodies = queries.inserted(seen.version, stretch, stretch.seqs)
    lines = drawn_lines(session, rows, bodies)
    if until is None:
        spent = BAND * sum(1 for band in seen.bands if stretch.low < band.start <= stretch.high)
        spent += sum(weight(line) for ghost in opened.values() for line in ghost.blocks or ())
        # A ghost that is open stays in the window: with it the entry behind it.
        kept = max((ghost.band.stop for ghost in opened.values()), default=selected)
        stretch, lines = borne(stretch, lines, spent=spent, selected=kept, backward=before is not None)
        added = [one for one in added if stretch.low <= one.after < stretch.high + (not stretch.later)]
    for line in lines:
        if isinstance(line, Line):
            line.selected = selected is not None and (line.seq == selected or selected in line.results)
    turns = queries.turns_of(session, [line.turn for line in lines if isinstance(line, Line) and line.turn is not None])
    blocks = blocks_of(lines, stretch=stretch, bands=seen.bands, added=added, turns=turns, opened=opened)
    ghosts = [block.band.number for block in blocks if isinstance(block, Ghost)]
    return {
        "blocks": blocks,
        "ghosts": (ghosts[0], ghosts[-1]) if ghosts else None,
        "stretch": stretch,
        "before": stretch.low + 1 if stretch.earlier else None,
        "after": stretch.high if stretch.later else None,
        "v": seen.version.n if seen.looks_back and seen.version is not None else None,
        "selected": selected,
        "total": total,
        "goal_names": goal_names(session, lines),
    }


def drawn_lines(session: Session, rows: Sequence[Entry], bodies: Mapping[int, Insertion]) -> Drawn:
    """Rows as lines, with what people marked on them."""
    calls = [call for row in rows if row.kind == "tool_call" for call in row.call_ids or ()]
    lines = named(
        session,
        list(
            lines_of(
                rows,
                bodies=bodies,
                pins=queries.pins_of(session),
                children=queries.children_by_call(session, calls),
            )
        ),
    )
    marked(session, [line for line in lines if isinstance(line, Line)])
    return lines


def weight(line: Line | Quiet) -> int:
    """About how many elements a row makes on the page."""
    if isinstance(line, Quiet):
        return 8 if line.lane else 2
    body = 0 if line.body is None else line.body.count("<") // 2
    return 11 + body + 5 * len(line.media) + 6 * len(line.children)


def borne(
    stretch: Stretch, lines: Drawn, *, spent: int = 0, selected: int | None = None, backward: bool = False
) -> tuple[Stretch, Drawn]:
    """As much of a window as a page can bear: from its beginning, or from its end. A result is never parted from its call's row.

    `spent`: what its ghosts weigh already.
    """
    rows = lines[::-1] if backward else lines
    for at, line in enumerate(rows):
        spent += weight(line)
        if spent <= WEIGHT or at + 1 < LEAST or at + 1 == len(rows):
            continue
        kept, left = rows[: at + 1], rows[at + 1 :]
        if backward:
            low = _last(left)
            if low < min(_first(line) for line in kept):
                seqs = tuple(seq for seq in stretch.seqs if seq > low)
                return Stretch(seqs, low, stretch.high, True, stretch.later), kept[::-1]
        else:
            high = min(_first(line) for line in left) - 1
            if _last(kept) <= high and (selected is None or selected <= high):
                # A ghost that begins right behind the cut belongs to the window that goes on there.
                high = max(seq for seq in stretch.seqs if seq <= high)
                seqs = tuple(seq for seq in stretch.seqs if seq <= high)
                return Stretch(seqs, stretch.low, high, stretch.earlier, True), kept
    return stretch, lines


def _first(line: Line | Quiet) -> int:
    return line.first if isinstance(line, Quiet) else line.seq


def _last(lines: Drawn) -> int:
    return max(line.last if isinstance(line, Quiet) else max([line.seq, *line.results]) for line in lines)


def goal_names(session: Session, lines: Sequence[Any]) -> dict[str, str]:
    paths = {line.goal for line in lines if isinstance(line, Line) and line.goal}
    return dict(session.goals.filter(path__in=paths, inferred=False).values_list("path", "text")) if paths else {}


def _lead(seen: Reading, selected: int, at: str) -> int:
    """The entry behind which a window around `selected` begins: a few entries earlier, or right at the turn that is meant."""
    band = band_of(seen.bands, selected)
    place = band.start if band is not None else selected
    lead = 0 if at.startswith("t") else LEAD
    return stretch_before(seen.hidden, seen.session.entries_count, place, max(1, lead)).low if lead else place - 1
