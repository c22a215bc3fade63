"""The bytes of a document that changed: chunks whose bytes are in it still stay, wherever they lie now, and what is between is written."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import F

from sessions.models import Source, SourceChunk
from sessions.packing import compress
from sessions.sourcebytes import CHUNK, SMALL
from sessions.store import copying

_NEAR = 4  # chunks' lengths behind its former place up to which a chunk is looked for


@dataclass(frozen=True, slots=True)
class Laid:
    """How chunks come to make up the new bytes: those that stay, each with its new place, those that go, and stretches to be written."""

    stays: tuple[tuple[int, int], ...]
    goes: tuple[int, ...]
    written: tuple[tuple[int, int], ...]


def laid(chunks: list[tuple[int, int]], old: bytes, new: bytes, *, size: int = CHUNK) -> Laid:
    """`chunks`: offset and length of each in `old`, in order; `size`: the most bytes of one.

    A short stretch takes the chunk before it along, so that none crumbles.
    """
    short = size * SMALL // CHUNK
    stays: list[tuple[int, int, int]] = []
    goes: list[int] = []
    at = 0
    for offset, length in chunks:
        found = new.find(old[offset : offset + length], at, offset + length + _NEAR * size)
        if found < 0:
            goes.append(offset)
            continue
        if stays and 0 < found - at < short:
            goes.append(stays.pop()[0])
        stays.append((offset, found, length))
        at = found + length
    if stays and 0 < len(new) - at < short:
        goes.append(stays.pop()[0])
    written: list[tuple[int, int]] = []
    at = 0
    for start, stop in [*((found, found + length) for _, found, length in stays), (len(new), len(new))]:
        written += [(begin, min(begin + size, start)) for begin in range(at, start, size)]
        at = stop
    return Laid(tuple((offset, found) for offset, found, _ in stays), tuple(goes), tuple(written))


def keep_changed(source: Source, old: bytes, new: bytes) -> int:
    """Store `new` in the place of `old`, which is all that is stored of a source; how many chunks were written."""
    rows = source.chunks.all()
    plan = laid(list(rows.order_by("offset").values_list("offset", "length")), old, new)
    rows.filter(offset__in=plan.goes).delete()
    # By way of places that no chunk has: two of them may change places with one another.
    elsewhere = [(offset, found) for offset, found in plan.stays if offset != found]
    for offset, found in elsewhere:
        rows.filter(offset=offset).update(offset=-1 - found)
    if elsewhere:
        rows.filter(offset__lt=0).update(offset=-1 - F("offset"))
    if plan.written:
        with copying(SourceChunk._meta.db_table, ("source_id", "offset", "length", "data")) as write:
            for start, stop in plan.written:
                write((source.pk, start, stop - start, compress(new[start:stop])))
    return len(plan.written)
