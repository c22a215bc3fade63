"""What of a session is taken away: all of it or a range, narrowed as on the page, or the context as the model sees it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Q

from sessions import queries
from sessions.entries import Part, PartKind
from sessions.filters import Narrowed
from sessions.heldmedia import Held, media_in
from sessions.models import Entry, Session
from sessions.packing import unpack
from sessions.projection import context_items
from sessions.queries import Reading
from sessions.ranges import Ranges
from sessions.sourcebytes import record_of
from sessions.versions import Refused

BLOCK = 200  # entries of one read
IMAGE = 8 << 20  # bytes of a record up to which its images are taken along
FORMS = ("md", "html", "json")
_SPAN = re.compile(r"(\d{1,9})?\s*(-|–|\.\.)?\s*(\d{1,9})?")


@dataclass(frozen=True, slots=True)
class Wanted:
    """`form`: md, html or json. `entries`: which, in words ("10-200, 300"); "" for all. `context`: as the model sees version `v` (None: the
    one in force), instead of the log. `redact`: without secrets.
    """

    form: str = "md"
    entries: str = ""
    narrowed: Narrowed = field(default_factory=Narrowed)
    context: bool = False
    v: int | None = None
    redact: bool = True


@dataclass(frozen=True, slots=True)
class Piece:
    """One entry, or a text that the version adds (`seq` None). `ghost`: not sent to the model. `masked`: sent as what stands here alone."""

    seq: int | None
    kind: str
    parts: Sequence[Part]
    tool: str | None = None
    turn: int | None = None
    at: datetime | None = None
    tokens: int | None = None
    ghost: bool = False
    masked: bool = False
    sent: bool = True
    problem: str | None = None
    label: str = ""
    images: tuple[Held, ...] = ()


def spans_of(text: str) -> Ranges | None:
    """Entries in words: "5", "10-200", "300-", "-20", and several with commas; None where all are meant. Refused for anything else."""
    if not text.strip():
        return None
    spans: list[tuple[int, int]] = []
    for piece in text.strip().strip(",").split(","):
        match = _SPAN.fullmatch(piece.strip())
        if match is None or not (match[1] or match[3]):
            raise Refused("usage", f"“{piece.strip()[:40]}” names no entries; say 12, 10-200 or 300-.")
        first = int(match[1]) if match[1] else 0
        last = int(match[3]) if match[3] else (2**31 - 2 if match[2] else first)
        spans.append((first, last + 1))
    return Ranges.of(spans)


def pieces(session: Session, wanted: Wanted) -> Iterator[Piece]:
    """What is taken away, in order. The log is read some hundreds of entries at a time; a context as a whole, as it is sent as a whole."""
    spans = spans_of(wanted.entries)
    seen = queries.reading(session, wanted.v)
    if wanted.v is not None and (seen.version is None or seen.version.n != wanted.v):
        raise Refused("no_such_version", f"This session has no version v{wanted.v}.")
    return _context(session, seen, spans) if wanted.context else _log(session, seen, spans, wanted.narrowed)


def _context(session: Session, seen: Reading, spans: Ranges | None) -> Iterator[Piece]:
    for item in context_items(session, seen.version):
        if spans is not None and (item.seq is None or item.seq not in spans):
            continue
        yield Piece(
            item.seq,
            item.kind.value,
            item.parts,
            next((part.tool for part in item.parts if part.tool), None),
            item.turn,
            item.at,
            item.sizes.tokens,
            masked=item.masked,
            label="" if item.seq is not None else "inserted",
        )


def _log(session: Session, seen: Reading, spans: Ranges | None, narrowed: Narrowed) -> Iterator[Piece]:
    found = narrowed.among(seen)
    if spans is not None:
        within = Q()
        for start, stop in spans.spans[:200]:
            within |= Q(seq__gte=start, seq__lt=stop)
        found = found.filter(within)
    masked = seen.version.masked if seen.version is not None else Ranges()
    rows = found.order_by("seq").only(
        "seq",
        "kind",
        "tool",
        "turn",
        "at",
        "tokens",
        "sent",
        "problem",
        "parts",
        "source",
        "byte_offset",
        "byte_length",
    )
    after = -1
    while block := list(rows.filter(seq__gt=after).select_related("source")[:BLOCK]):
        for row in block:
            parts = unpack(row.parts)
            yield Piece(
                row.seq,
                row.kind,
                parts,
                row.tool,
                row.turn,
                row.at,
                row.tokens if row.sent else None,
                ghost=row.seq in seen.hidden,
                masked=row.seq in masked,
                sent=row.sent,
                problem=row.problem,
                images=_images(row, parts),
            )
        after = block[-1].seq


def _images(row: Entry, parts: Sequence[Part]) -> tuple[Held, ...]:
    """The pictures of an entry, from the stored bytes of its record alone."""
    if not any(part.kind is PartKind.MEDIA for part in parts) or row.byte_length > IMAGE:
        return ()
    return tuple(held for held in media_in(record_of(row)) if held.is_image)
