"""Images and documents: what they are, and the address of their bytes as the source holds them. Nothing is fetched from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sessions.entries import Part, PartKind
from sessions.heldmedia import PDF
from sessions.pieces.base import Piece, Placed

SHOWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/*"})


def held(seq: int, parts: Sequence[Part]) -> Iterator[Piece]:
    """The media of an entry. `facts["n"]`: the how-manieth held in the record its bytes are; None where the record holds none."""
    n = 0
    for at, part in enumerate(parts):
        if part.kind is not PartKind.MEDIA:
            continue
        own = None
        if part.media_bytes:
            own, n = n, n + 1
        facts = {
            "seq": seq,
            "n": own,
            "type": part.media_type or "",
            "bytes": part.media_bytes,
            "image": own is not None and (part.media_type or "") in SHOWN,
            "pdf": own is not None and (part.media_type or "") == PDF,
            "name": part.meta.get("name") or part.meta.get("path") or part.meta.get("url") or "",
        }
        yield Piece("media", facts=facts, source=Placed(part, seq, at))
