"""Finding words within one session, ghosts among it: entry by entry in order, over everything an entry holds and not only its beginning.

The stored beginning of an entry's words is looked through by the database; only entries longer than that are unpacked and read whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Q
from django.db.models.functions import Length

from sessions.ansi import plain
from sessions.calls import call_of
from sessions.entryline import name_of
from sessions.ghosts import Band, band_of
from sessions.models import Entry
from sessions.packing import unpack
from sessions.queries import Reading

KEPT = 4_000  # characters of an entry's words that lie ready; an entry with as many may hold more
HITS = 60  # hits of one page
BLOCK = 200  # entries of one read
AROUND = 48  # characters shown before and after a hit
LONGEST = 200  # characters of what is looked for


@dataclass(frozen=True, slots=True)
class Found:
    """An entry that holds the words. `times`: how often, in it. `before`, `hit`, `after`: the first place. `band`: the ghost it lies in."""

    seq: int
    kind: str
    name: str
    before: str
    hit: str
    after: str
    times: int
    band: Band | None
    sent: bool


@dataclass(frozen=True, slots=True)
class Page:
    """Hits in order. `next`: the entry behind which to look on; None at the end. `exact`: whether upper and lower case were told apart."""

    hits: tuple[Found, ...]
    next: int | None
    exact: bool
    ghosts: int


def find(seen: Reading, words: str, *, after: int = -1) -> Page:
    """The next entries behind `after` that hold these words, as they stand; case counts only where they have upper case letters."""
    wanted = words.strip()[:LONGEST]
    exact = any(letter.isupper() for letter in wanted)
    if not wanted:
        return Page((), None, exact, 0)
    pattern = re.compile(re.escape(wanted), 0 if exact else re.IGNORECASE)
    hits: list[Found] = []
    reached: int | None = None
    for seq, hit in _hits(seen, wanted, pattern, after, exact=exact):
        if hit is not None:
            hits.append(hit)
        if len(hits) >= HITS:
            reached = seq
            break
    return Page(tuple(hits), reached, exact, sum(1 for hit in hits if hit.band is not None))


def _hits(
    seen: Reading, wanted: str, pattern: re.Pattern[str], after: int, *, exact: bool
) -> Iterator[tuple[int, Found | None]]:
    """Entries that may hold the words, each with the hit where it does. Read in blocks by key."""
    held = Q(text__contains=wanted) if exact else Q(text__icontains=wanted)
    while True:
        rows = list(
            Entry.objects.filter(session=seen.session, seq__gt=after)
            .annotate(kept=Length("text"))
            .filter(held | Q(kept__gte=KEPT))
            .order_by("seq")
            .only("seq", "kind", "tool", "text", "sent", "parts")[:BLOCK]
        )
        for row in rows:
            yield row.seq, _found(seen, row, pattern)
        if len(rows) < BLOCK:
            return
        after = rows[-1].seq


def _found(seen: Reading, row: Entry, pattern: re.Pattern[str]) -> Found | None:
    text = row.text
    if len(text) >= KEPT:
        text = "\n".join(part.text for part in unpack(row.parts) if part.text)
    text = plain(text)
    first = pattern.search(text)
    if first is None:
        return None
    start, stop = first.span()
    before = text[max(0, start - AROUND) : start].rpartition("\n")[2]
    after = text[stop : stop + 2 * AROUND].partition("\n")[0]
    times = sum(1 for _ in pattern.finditer(text))
    name = call_of(row.tool, "{}").name if row.tool else name_of(row.kind).replace("_", " ")
    return Found(
        row.seq, row.kind, name, before, text[start:stop], after, times, band_of(seen.bands, row.seq), row.sent
    )
