"""Reads entries, and what versions put in, to see whether a phrase or a file really stands there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db import connection

from sessions.packing import unpack
from sessions.search.asked import Asked
from sessions.search.matching import holds
from sessions.search.texts import files_named, text_of

# A session; the number of a version, or None; an entry, or an insertion's place among its version's.
type Place = tuple[str, int | None, int]
# A session, a version's number, its place there, parts, kind, position.
type Inserted = tuple[str, int, int, Any, str, int]

_ENTRIES = (
    "SELECT e.session_id::text, e.seq, e.tool, e.parts FROM agent_sessions_entry e JOIN unnest(%s::uuid[], %s::int[]) AS w (session_id, seq) "
    "ON e.session_id = w.session_id AND e.seq = w.seq"
)
_INSERTED = (
    "SELECT w.session_id::text, w.n, w.place, i.parts, i.kind, i.position FROM unnest(%s::uuid[], %s::int[], %s::int[]) AS w (session_id, n, place) "
    "JOIN agent_sessions_version v ON v.session_id = w.session_id AND v.n = w.n "
    "JOIN LATERAL (SELECT * FROM agent_sessions_insertion x WHERE x.version_id = v.id AND x.replaces IS NULL "
    "ORDER BY x.position LIMIT 1 OFFSET w.place) i ON true"
)


def standing(places: Sequence[Place], asked: Asked) -> Iterator[Place]:
    """Those at which all stands that is asked for, and nothing that is refused."""
    files = [value.strip("*/").lower() for value in asked.of("file")]
    clauses = [clause for clause in asked.clauses if any(term.checked for term in clause.terms)]
    for place, tool, parts in _read(places):
        held = unpack(parts)
        if clauses:
            text = text_of(held)
            if not all(any(holds(text, term) for term in clause.terms) != clause.negated for clause in clauses):
                continue
        if files:
            named = [path.replace("\\", "/").lower() for path in files_named(tool, held)]
            if not any(wanted in path for path in named for wanted in files):
                continue
        yield place


def _read(places: Sequence[Place]) -> Iterator[tuple[Place, str | None, Any]]:
    entries = [place for place in places if place[1] is None]
    if entries:
        with connection.cursor() as cursor:
            cursor.execute(_ENTRIES, [[one[0] for one in entries], [one[2] for one in entries]])
            for session, seq, tool, parts in cursor.fetchall():
                yield (session, None, seq), tool, parts
    for session, n, place, parts, _kind, _position in inserted(place for place in places if place[1] is not None):
        yield (session, n, place), None, parts


def inserted(places: Iterable[Place]) -> list[Inserted]:
    """The insertions at these places."""
    wanted = list(places)
    if not wanted:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_INSERTED, [list(column) for column in zip(*wanted, strict=True)])
        return list(cursor.fetchall())
