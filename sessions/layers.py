"""The layers of memory of a session, from the database: the records that may carry such a text, and what is in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import orjson
from django.db.models import Q

from sessions.ghosts import Band, band_of
from sessions.memory import FOUND_LATER, Found, Layer, Load, base_of, found_in, layers_of, scope_of
from sessions.meters.tokens import count
from sessions.models import Entry, Insertion, Session
from sessions.moments import Moment
from sessions.packing import unpack
from sessions.queries import reading
from sessions.sourcebytes import record_of

LONGEST = 4 << 20  # bytes of a session's first record that are read for the agent's own instructions
FIRST = 40  # entries among which the record of a session's beginning is looked for
LOADS = 2_000  # records with memory in them that one answer takes in

# Agents whose tools append memory to what they give back; of others a tool's output is never looked into.
_APPEND = frozenset({"opencode", "gemini-cli", "gemini"})
_COLUMNS = ("seq", "kind", "parts", "turn", "step", "at", "sent")


def layers(session: Session, moment: Moment) -> list[Layer]:
    """The memory a session carried up to a moment: each file, when it came in, what it weighs by o200k, whether it is sent then."""
    bands = reading(session, moment.n).bands
    loads = [*_base(session), *_of_entries(session, moment, bands), *_of_insertions(session, moment)]
    weights = count([load.found.text for load in loads])
    return layers_of([replace(load, tokens=tokens) for load, tokens in zip(loads, weights, strict=True)])


def _of_entries(session: Session, moment: Moment, bands: tuple[Band, ...]) -> Iterator[Load]:
    wanted = Q(kind="context")
    if session.agent in _APPEND:
        # What is appended may stand behind the words that a row keeps for search: long outputs are looked into whole.
        wanted |= Q(kind__in=("tool_result", "tool_call")) & (
            Q(text__contains=FOUND_LATER) | Q(text__contains="\nInstructions from: ") | Q(utf8__gt=3_900)
        )
    rows = Entry.objects.filter(wanted, session=session)
    if moment.until is not None:
        rows = rows.filter(seq__lte=moment.until)
    taken = 0
    masked = moment.masked
    for seq, kind, parts, turn, step, at, sent in rows.order_by("seq").values_list(*_COLUMNS).iterator(chunk_size=500):
        for found in found_in(unpack(parts), cwd=session.cwd, kind=kind):
            taken += 1
            why = _why_not(seq, bands, moment, sent=sent, masked=seq in masked)
            yield Load(found, seq, seq, 0, not why, why, None, turn, step, at)
        if taken >= LOADS:
            return


def _why_not(seq: int, bands: tuple[Band, ...], moment: Moment, *, sent: bool, masked: bool) -> str:
    """In words why an entry's text is not sent at a moment; "" where it is."""
    if not sent:
        return "recorded, not sent again when the session is resumed"
    if seq in moment.hidden:
        band = band_of(bands, seq)
        return f"{band.nature}, v{band.maker.n}" if band is not None else "no longer sent"
    return "masked" if masked else ""


def _of_insertions(session: Session, moment: Moment) -> Iterator[Load]:
    """Memory that the moment's version put back."""
    if moment.version is None:
        return
    rows = Insertion.objects.filter(version=moment.version, replaces=None).filter(
        Q(kind="memory") | Q(kind__in=("message", "file", "notice"))
    )
    if moment.until is not None:
        rows = rows.filter(after__lte=moment.until)
    for row in rows.order_by("after", "position")[:LOADS]:
        parts = unpack(row.parts)
        found = found_in(parts, cwd=session.cwd, kind="memory")
        if not found and row.kind == "memory":
            text = "\n".join(part.text for part in parts if part.text)
            found = [Found(scope_of(row.label, session.cwd), row.label or None, text, "re-injected")]
        for one in found:
            yield Load(one, None, row.after, 0, in_context=True, position=row.position)


def _base(session: Session) -> Iterator[Load]:
    """The agent's own instructions, which Codex writes into the first record of a session."""
    if session.agent != "codex":
        return
    first = (
        Entry.objects.filter(session=session, seq__lt=FIRST, kind="meta")
        .select_related("source")
        .order_by("seq")
        .first()
    )
    if first is None or first.byte_length > LONGEST:
        return
    try:
        raw = orjson.loads(record_of(first))
    except orjson.JSONDecodeError:
        return
    if not isinstance(raw, dict):
        return
    payload = raw["payload"] if isinstance(raw.get("payload"), dict) else raw
    given = payload.get("base_instructions") or payload.get("instructions")
    text = given.get("text") if isinstance(given, dict) else given
    if isinstance(text, str) and text.strip():
        yield Load(base_of(text), first.seq, first.seq, 0, in_context=True, at=first.at)
