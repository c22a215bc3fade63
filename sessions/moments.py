"""A moment of a session: a version, or a version as it stood before a step. And its context as rows without text, by one query."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import connection

from sessions.differences import Body, Shown, Side
from sessions.entries import PartKind, SizeVector, digest_of
from sessions.fields import to_multirange
from sessions.kinds import Row, Share
from sessions.memory import is_memory_text
from sessions.meters import DEFAULT, by_id
from sessions.models import Insertion, Session, Version
from sessions.packing import unpack
from sessions.projection import version_at
from sessions.ranges import Ranges
from sessions.versions import Refused

METER = by_id(DEFAULT)

_NAMED = re.compile(r"v?(\d{1,9})", re.ASCII)
_STEP = re.compile(r"step(\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Moment:
    """`name`: head, v3, step12. `until`: the last entry that counts; None: all there are. `step`: the request it stands before."""

    name: str
    version: Version | None
    until: int | None = None
    step: int | None = None

    @property
    def n(self) -> int | None:
        return None if self.version is None else self.version.n

    @property
    def hidden(self) -> Ranges:
        return Ranges() if self.version is None else self.version.hidden

    @property
    def masked(self) -> Ranges:
        return Ranges() if self.version is None else self.version.masked


def moment_of(session: Session, name: str = "head") -> Moment:
    """The moment of that name: `head`, `native`, `v3` (or `3`), `step12`. Refused where the session has none of it."""
    if name in ("", "head"):
        return Moment("head" if session.current is None else f"v{session.current.n}", session.current)
    if name == "native":
        found = session.native_head
        return Moment("native" if found is None else f"v{found.n}", found)
    if (step := _STEP.fullmatch(name)) is not None:
        return at_step(session, int(step[1]))
    if (number := _NAMED.fullmatch(name)) is not None:
        return at_version(session, int(number[1]))
    raise Refused("no_such_version", f"{name!r} names no version and no step: say head, native, v3 or step12.")


def at_version(session: Session, n: int) -> Moment:
    version = session.versions.filter(n=n).first()
    if version is None:
        raise Refused("no_such_version", f"This session has no version {n}.")
    return Moment(f"v{n}", version)


def at_step(session: Session, n: int) -> Moment:
    """The context that step `n` was asked with: all that was there before its first entry, at the version in force then."""
    first = session.steps.filter(n=n).values_list("first_seq", flat=True).first()
    if first is None:
        raise Refused("no_such_step", f"This session has steps 1 to {session.steps_count}; {n} is none of them.")
    return Moment(f"step{n}", version_at(session, first), first - 1, n)


# -- the rows of a moment ---------------------------------------------------------------------------------------------

# Of context entries alone the beginning of the words comes along: it tells memory files from the rest.
_ROWS = """
SELECT * FROM (
  SELECT e.seq, e.seq AS after, NULL::int AS position, NULL::bigint AS ordinal, e.kind, e.role, e.tool, e.call_ids, e.images,
         e.documents, e.tokens, CASE WHEN e.kind = 'context' THEN e.text END AS words, '' AS label, false AS masked
  FROM agent_sessions_entry e
  WHERE e.session_id = %(session)s AND e.sent AND NOT (%(hidden)s::int4multirange @> e.seq)
    AND NOT (%(masked)s::int4multirange @> e.seq) AND (%(until)s::int IS NULL OR e.seq <= %(until)s)
  UNION ALL
  SELECT i.replaces, coalesce(i.replaces, i.after), i.position,
         count(*) FILTER (WHERE i.replaces IS NULL) OVER (ORDER BY i.position) - 1, coalesce(e.kind, i.kind),
         coalesce(e.role, i.role), e.tool, e.call_ids, i.images, i.documents, i.tokens,
         CASE WHEN e.kind = 'context' THEN e.text END, i.label, i.replaces IS NOT NULL
  FROM agent_sessions_insertion i
  LEFT JOIN agent_sessions_entry e ON e.session_id = %(session)s AND e.seq = i.replaces
  WHERE i.version_id = %(version)s AND (i.replaces IS NULL OR (e.sent AND NOT (%(hidden)s::int4multirange @> i.replaces)))
    AND (%(until)s::int IS NULL OR i.after <= %(until)s)
) AS rows ORDER BY after, seq IS NULL, position
"""
_FETCHED = 2_000


def rows_of(session: Session, moment: Moment) -> Iterator[Row]:
    """The context of a moment in order, before the agent's own wiring. One query; what holds several things is looked into besides."""
    answered = _answered(session)
    values: dict[str, Any] = {
        "session": session.pk,
        "version": None if moment.version is None else moment.version.pk,
        "hidden": to_multirange(moment.hidden),
        "masked": to_multirange(moment.masked),
        "until": moment.until,
    }
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, values)
        while block := cursor.fetchmany(_FETCHED):
            rows = [_row(*columns) for columns in block]
            yield from _shared(session, rows, answered)


def _row(
    seq: int | None, after: int, position: int | None, ordinal: int | None, kind: str, role: str | None, tool: str | None,
    calls: Any, images: int, documents: int, tokens: int, words: str | None, label: str, masked: bool,  # noqa: FBT001 -- columns of a row
) -> Row:  # fmt: skip
    return Row(
        seq=seq,
        after=after,
        kind=kind,
        role=role,
        tool=tool,
        calls=tuple(_json(calls) or ()),
        sizes=SizeVector(images=images, documents=documents, tokens=tokens),
        masked=masked,
        memory=words is not None and is_memory_text(words),
        label=label,
        position=position,
        ordinal=ordinal,
    )


def _json(value: Any) -> Any:
    return orjson.loads(value) if isinstance(value, str | bytes) else value


def _answered(session: Session) -> frozenset[str]:
    """The calls whose results are entries of their own. An agent may keep a call and its result in one record instead."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT jsonb_array_elements_text(call_ids) FROM agent_sessions_entry"
            " WHERE session_id = %s AND kind = 'tool_result' AND sent AND jsonb_typeof(call_ids) = 'array'",
            [session.pk],
        )
        return frozenset(call for (call,) in cursor.fetchall())


def _shared(session: Session, rows: Sequence[Row], answered: frozenset[str]) -> Iterable[Row]:
    """Rows with the shares of those that hold several calls or results, or a call with its result. Only these are read with their parts."""
    several = [row.seq for row in rows if row.seq is not None and not row.masked and _holds_several(row, answered)]
    if not several:
        return rows
    parts = dict(session.entries.filter(seq__in=several).values_list("seq", "parts"))
    return [row if row.masked or row.seq not in parts else _with_shares(row, parts[row.seq]) for row in rows]


def _holds_several(row: Row, answered: frozenset[str]) -> bool:
    return len(row.calls) > 1 or (row.kind == "tool_call" and not answered.issuperset(row.calls))


_KIND_OF_PART = {
    PartKind.TOOL_CALL: "tool_call",
    PartKind.TOOL_RESULT: "tool_result",
    PartKind.REASONING: "reasoning",
}


def _with_shares(row: Row, packed: bytes | memoryview) -> Row:
    parts = [part for part in unpack(packed) if part.kind is not PartKind.MEDIA]
    return dataclasses.replace(
        row,
        calls=tuple(part.call_id or "" for part in parts),
        shares=tuple(
            Share(
                _KIND_OF_PART.get(part.kind, "prompt" if row.kind == "tool_result" else "message"),
                part.tool,
                len(part.text.encode("utf-8", "replace")) + len(part.tool or ""),
            )
            for part in parts
        ),
    )


# -- two moments ------------------------------------------------------------------------------------------------------

_EITHER = """
SELECT seq, kind, images, documents, tokens FROM agent_sessions_entry
WHERE session_id = %(session)s AND sent AND NOT (%(neither)s::int4multirange @> seq) AND seq <= %(until)s
ORDER BY seq
"""


def shown_by_either(session: Session, left: Moment, right: Moment) -> Iterator[Shown]:
    """The entries that one of two moments shows, in order, by one query."""
    ends = [moment.until for moment in (left, right)]
    values: dict[str, Any] = {
        "session": session.pk,
        "neither": to_multirange(left.hidden & right.hidden),
        "until": session.entries_count if None in ends else max(end for end in ends if end is not None),
    }
    with connection.cursor() as cursor:
        cursor.execute(_EITHER, values)
        while block := cursor.fetchmany(_FETCHED):
            for seq, kind, images, documents, tokens in block:
                weight = tokens
                if images or documents:
                    weight = METER.of(SizeVector(images=images, documents=documents, tokens=tokens))
                yield Shown(seq, kind, weight)


_BODY = (
    "position", "replaces", "after", "kind", "role", "label", "stands_for", "images", "documents", "tokens", "parts",
)  # fmt: skip


def side_of(moment: Moment) -> Side:
    """What the moment's version does to the entries."""
    if moment.version is None:
        return Side(Ranges(), moment.until, {}, ())
    bodies: dict[int, Body] = {}
    inserted: list[Body] = []
    rows = Insertion.objects.filter(version=moment.version).order_by("after", "position").values_list(*_BODY)
    for row in rows.iterator(chunk_size=_FETCHED):
        position, replaces, after, kind, role, label, stands_for, images, documents, tokens, parts = row
        weight = METER.of(SizeVector(images=images, documents=documents, tokens=tokens))
        body = Body(position, digest_of(None, unpack(parts)), weight, kind, role, label, after, stands_for or Ranges())
        if replaces is not None:
            bodies[replaces] = body
        elif moment.until is None or after <= moment.until:
            inserted.append(body)
    return Side(moment.hidden, moment.until, bodies, tuple(inserted))
