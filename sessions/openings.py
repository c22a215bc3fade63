"""What opens in place: an entry with the results of its calls, a ghost with its entries, a text that a version put in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import Http404

from sessions import queries, render
from sessions.calls import call_of
from sessions.entries import PartKind
from sessions.entryline import Line, line_of
from sessions.fields import to_multirange
from sessions.ghosts import Band, Stretch
from sessions.http import integer
from sessions.lanes import named
from sessions.lines import lines_of, with_parts
from sessions.models import Entry, Insertion, Session
from sessions.packing import unpack
from sessions.pieces import Asked, Piece, pieces_of
from sessions.pieces.plans import plan_in
from sessions.queries import Reading
from sessions.ranges import Ranges
from sessions.transcript import Ghost, added_block

AROUND = 14  # entries of a ghost that a link into it opens: with the window behind it, what a page can bear
AHEAD = 7  # of them in front of the one that is meant


def opened_ghost(seen: Reading, band: Band, after: int, *, selected: int | None = None) -> Ghost:
    """A band with the entries behind `after`, in the ghost style."""
    session = seen.session
    start = max(band.start, after + 1)
    seqs = range(start, min(band.stop, start + queries.RECORDS))
    stretch = Stretch(
        tuple(seqs),
        start - 1,
        seqs[-1] if seqs else start - 1,
        start > band.start,
        bool(seqs) and seqs[-1] + 1 < band.stop,
    )
    count = queries.SHOWN if selected is None else AROUND
    stretch, rows = queries.cut_after(stretch, queries.rows_of(session, stretch.seqs), count)
    children = queries.children_by_call(session, (call for row in rows for call in row.call_ids or ()))
    lines = named(session, list(lines_of(rows, bodies={}, pins=queries.pins_of(session), children=children)))
    for line in lines:
        if isinstance(line, Line):
            line.ghost = True
            line.selected = selected is not None and (line.seq == selected or selected in line.results)
    return Ghost(band, stands_for(seen, band), tuple(lines), stretch.high if stretch.later else None)


def stands_for(seen: Reading, band: Band) -> Insertion | None:
    """The text that is sent in the place of a band's entries, in the version looked at; None where nothing is."""
    if seen.version is None:
        return None
    place = to_multirange(Ranges.of([(band.start, band.stop)]))
    found = seen.version.insertions.filter(replaces=None).extra(
        where=["stands_for && %s::int4multirange"], params=[place]
    )
    return found.defer("parts").order_by("after", "position").first()


def fold_page(session: Session, number: int, query: Mapping[str, str]) -> dict[str, Any]:
    """A ghost opened, or (with `closed`) its band alone."""
    seen = queries.reading(session, integer(query.get("v")))
    band = next((band for band in seen.bands if band.number == number), None)
    if band is None:
        raise Http404
    after = integer(query.get("after"))
    ghost = (
        Ghost(band, stands_for(seen, band))
        if query.get("closed")
        else opened_ghost(seen, band, after if after is not None else band.start - 1)
    )
    return {"session": session, "seen": seen, "ghost": ghost, "v": integer(query.get("v"))}


def fold_figures(session: Session, query: Mapping[str, str]) -> dict[str, Any]:
    """What the ghosts from number `first` to `last` hold; without a `last`, the first alone."""
    seen = queries.reading(session, integer(query.get("v")))
    first = integer(query.get("first")) or 1
    last = integer(query.get("last")) or first
    bands = [band for band in seen.bands if first <= band.number <= last][: queries.RECORDS]
    if not bands:
        raise Http404
    sums = queries.band_figures(session, bands)
    return {"session": session, "figures": [(band, *sums[band.number]) for band in bands]}


def entry_page(session: Session, seq: int, query: Mapping[str, str]) -> dict[str, Any]:
    """One entry laid open, with the results of its calls; with `closed` as its line. `diff=split` lays differences side by side."""
    row = queries.entry_of(session, seq)
    if row is None:
        raise Http404
    seen = queries.reading(session, integer(query.get("v")))
    results = queries.results_of(session, row)
    for one in (row, *results):
        with_parts(one)
    parts = unpack(row.parts)
    line = _line(seen, row, results)
    whole, split = bool(query.get("whole")), query.get("diff") == "split"
    context: dict[str, Any] = {
        "session": session,
        "line": line,
        "v": integer(query.get("v")),
        "whole": whole,
        "split": split,
        "seen": seen,
    }
    if query.get("closed"):
        return context
    text = "\n".join(part.text for part in parts if part.text and part.kind is not PartKind.MEDIA)
    if line.form in ("message", "prompt"):
        line.body = render.markdown(text) if line.form == "message" else render.words(text[: render.WHOLE])
        line.cut, line.media = "", ()
    said = line.body is not None  # then the row shows the entry's words already
    before = _plan_before(session, row) if line.nature == "plan" else None
    pieces = pieces_of(
        (seq, tuple(part for part in parts if not (said and part.kind is PartKind.TEXT))),
        [(result.seq, unpack(result.parts)) for result in results],
        Asked(whole=whole, split=split, before=before, cwd=session.cwd),
    )
    context["pieces"] = pieces
    context["cut"] = not whole and any(_left_out(piece) for piece in pieces)
    context["open"] = True
    return context


def _line(seen: Reading, row: Entry, results: list[Entry]) -> Line:
    """The entry's row with its results, as the version looked at has it."""
    session, seq = seen.session, row.seq
    stretch = Stretch((seq,), seq - 1, seq, True, True)
    _, bodies = queries.inserted(seen.version, stretch, [seq, *(result.seq for result in results)])
    children = queries.children_by_call(session, row.call_ids or ())
    # All of it at once: the results come behind the line that they join.
    drawn = list(lines_of([row, *results], bodies=bodies, pins=queries.pins_of(session), children=children))
    line = next((line for line in drawn if isinstance(line, Line)), None) or line_of(row, unpack(row.parts))
    line.ghost = seq in seen.hidden
    return line


def _left_out(piece: Piece) -> bool:
    """Whether a piece shows less than there is, so that all of it is worth a link."""
    return bool(
        (piece.excerpt is not None and piece.excerpt.missing) or piece.facts.get("missing") or piece.facts.get("cut")
    )


PLANS = 40  # calls of plan tools in front of one among which the list before it is looked for


def _plan_before(session: Session, row: Entry) -> list[tuple[str, str]] | None:
    """The list of tasks as the last call before this one stated it, in the same conversation."""
    earlier = (
        Entry.objects.filter(session=session, seq__lt=row.seq, kind="tool_call", tool=row.tool, lane=row.lane)
        .order_by("-seq")
        .only("seq", "parts")[:PLANS]
    )
    for entry in earlier:
        found = plan_in(unpack(entry.parts), call_of)
        if found is not None:
            return found
    return None


def insertion_page(session: Session, version: int, position: int) -> dict[str, Any]:
    row = (
        Insertion.objects.filter(version__session=session, version__n=version, position=position)
        .select_related("version")
        .first()
    )
    if row is None:
        raise Http404
    text = "\n".join(part.text for part in unpack(row.parts) if part.text)
    with_parts(row)
    return {
        "session": session,
        "added": added_block(row),
        "seen": queries.reading(session, version),
        "body": render.markdown(text) if row.kind in ("summary", "notice", "plan", "memory") else render.code(text),
        "prose": row.kind in ("summary", "notice", "plan", "memory"),
        "made_by": row.version,
        # By which it is edited by hand: its place among what the version puts in, replaced bodies not counted.
        "number": row.version.insertions.filter(replaces=None, position__lt=position).count()
        if row.replaces is None and session.current == row.version
        else None,
    }
