"""The answer to a query: sessions of a workspace with hits, in pages by keyset, and the counts of every facet."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import connection

from sessions.fields import from_multirange
from sessions.packing import unpack
from sessions.search import bits, hits, postings
from sessions.search.asked import SESSION_FIELDS, WHERE, Asked
from sessions.search.hits import About, Hits, Stretch
from sessions.search.matching import holds
from sessions.search.texts import CLASSES, files_named, text_of
from sessions.search.waiting import Waiting, waiting

PAGE = 8  # sessions of a page
READ = 600  # entries that are read to see whether a phrase really stands in them, before counts are called "at most"
READ_EACH = 60  # of one session, once they are
LOOKED = 24  # sessions that are read in for one page then
ALL = 20_000  # stretches that a query without words may go through


class BadCursor(ValueError):
    """A cursor that no page of ours gave, or of another order."""


@dataclass(slots=True)
class Found:
    """A page of what was found. `about`: sessions or hits are more than was read through, so that counts say "at most".

    `facets`: of each facet its values with their hits; the choice within a facet does not narrow its own counts. `many`: beginnings or
    middles that stand for more words than were looked up.
    """

    asked: Asked
    page: list[Hits] = field(default_factory=list)
    total: int = 0
    ghosts: int = 0
    masked: int = 0
    sessions: int = 0
    facets: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    next: str | None = None
    about: bool = False
    many: list[str] = field(default_factory=list)
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
    if asked:
        scope = postings.Scope(workspace_id, session)
        _fill(found, scope, sort if sort in hits.SORTS else "best", after, size)
    found.seconds = time.perf_counter() - started
    return found


def _fill(found: Found, scope: postings.Scope, sort: str, after: str | None, size: int) -> None:
    asked = found.asked
    looked = postings.looked(asked, scope)
    found.many = looked.many
    stretches = _stretches(looked.places, scope)
    about = _sessions(stretches)
    checks = bool(asked.of("file")) or any(term.checked for clause in asked.clauses for term in clause.terms)
    if checks:
        several = [one for key, rows in stretches.items() if _belongs(about[key], asked) for one in rows]
        if sum(one.found.bit_count() for one in several) <= READ:
            stretches, checks = _read_through(stretches, about, asked, READ), False
        else:
            found.about = True
    counted = {key: one for key, one in _counted(stretches, about, asked).items() if one.total}
    _count_facets(found, stretches, about, counted)
    for one in counted.values():
        one.titled = bool(asked.shown) and all(
            any(holds(one.about.title, term) for term in clause.terms) for clause in asked.clauses if not clause.negated
        )
    found.sessions = len(counted)
    found.total = sum(one.total for one in counted.values())
    found.ghosts = sum(one.ghosts for one in counted.values())
    found.masked = sum(one.masked for one in counted.values())
    rows = hits.ranked(list(counted.values()), sort)
    if after is not None:
        cursor = _read_cursor(after, sort)
        rows = [row for row in rows if row[0] > cursor]
    if not checks:
        found.page = [one for _, one in rows[:size]]
        found.next = _write_cursor(rows[size - 1][0], sort) if len(rows) > size else None
        return
    # Phrases are read for in some sessions at a time, until the page is full or enough was read; the next page goes on behind.
    for start in range(0, min(len(rows), LOOKED), size):
        batch = rows[start : start + size]
        kept = _read_through({one.about.id: one.stretches for _, one in batch}, about, asked, READ_EACH)
        for n, (key, one) in enumerate(batch, start + 1):
            shown = hits.counted(one.about, kept[one.about.id])
            if shown.total:
                found.page.append(shown)
            found.next = _write_cursor(key, sort) if n < len(rows) else None
            if len(found.page) == size:
                return


def _stretches(places: Mapping[int, int] | None, scope: postings.Scope) -> dict[UUID, list[Stretch]]:
    """The stretches with these places, by session; without places, all of the scope."""
    query = (
        "SELECT t.id, t.session_id, t.first, t.stop, t.classes FROM agent_sessions_searchstretch t "
        "JOIN agent_sessions_session s ON s.id = t.session_id WHERE s.workspace_id = %s AND s.superseded_by_id IS NULL"
    )
    given: list[Any] = [scope.workspace_id]
    if scope.session is not None:
        query += " AND s.id = %s"
        given.append(scope.session)
    if places is not None:
        query += " AND t.id = ANY(%s)"
        given.append(list(places))
    out: dict[UUID, list[Stretch]] = {}
    with connection.cursor() as cursor:
        cursor.execute(f"{query} LIMIT {ALL}", given)
        for pk, session, first, stop, classes in cursor.fetchall():
            held = hits.classes_of(bytes(classes), first, stop)
            everything = 0
            if places is None:
                for one in held:
                    everything |= one
            out.setdefault(session, []).append(Stretch(first, stop, everything if places is None else places[pk], held))
    return out


def _sessions(keys: Iterable[UUID]) -> dict[UUID, About]:
    people = get_user_model()._meta.db_table
    query = (
        "SELECT s.id, s.agent, s.agent_version, s.project, u.username, s.branch, s.title, s.last_at, s.entries_count, "  # noqa: S608
        "nullif(v.hidden, '{}'), nullif(v.masked, '{}') FROM agent_sessions_session s "
        f"LEFT JOIN {people} u ON u.id = s.owner_id "
        "LEFT JOIN agent_sessions_version v ON v.id = coalesce(s.head_id, s.native_head_id) WHERE s.id = ANY(%s)"
    )
    with connection.cursor() as cursor:
        cursor.execute(query, [list(keys)])
        return {
            row[0]: About(*row[:9], *(() if held is None else from_multirange(held).spans for held in row[9:]))
            for row in cursor.fetchall()
        }


def _belongs(about: About, asked: Asked, but: str = "") -> bool:
    """Whether a session is of the agents, projects and owners asked for, the facet `but` aside."""
    for name in SESSION_FIELDS:
        if name == but:
            continue
        value = (getattr(about, name) or "-").lower()
        wanted = [one.lower() for one in asked.of(name)]
        if (wanted and value not in wanted) or value in (one.lower() for one in asked.of(name, negated=True)):
            return False
    return True


def _narrowed(about: About, rows: Sequence[Stretch], asked: Asked, but: str = "") -> list[Stretch]:
    """What is left of the places by who speaks and by where they stand, the facet `but` aside."""
    roles, where = asked.of("role") if but != "role" else [], asked.of("in") if but != "in" else []
    not_roles, not_where = asked.of("role", negated=True), asked.of("in", negated=True)
    if not (roles or where or not_roles or not_where):
        return list(rows)
    out: list[Stretch] = []
    for stretch in rows:
        left = stretch.found
        if roles:
            left &= hits.roles_of(stretch, roles)
        if not_roles:
            left &= ~hits.roles_of(stretch, not_roles)
        if where:
            left &= hits.where_of(about, stretch, where)
        if not_where:
            left &= ~hits.where_of(about, stretch, not_where)
        if left:
            out.append(replace(stretch, found=left))
    return out


def _counted(
    stretches: Mapping[UUID, Sequence[Stretch]], about: Mapping[UUID, About], asked: Asked, but: str = ""
) -> dict[UUID, Hits]:
    """The hits of every session that is asked for, the facet `but` aside."""
    return {
        key: hits.counted(about[key], _narrowed(about[key], rows, asked, but))
        for key, rows in stretches.items()
        if _belongs(about[key], asked, but)
    }


def _count_facets(
    found: Found,
    stretches: Mapping[UUID, Sequence[Stretch]],
    about: Mapping[UUID, About],
    plain: Mapping[UUID, Hits],
) -> None:
    """The hits of every value of every facet; `plain`: with all that was chosen."""
    asked = found.asked
    by = {
        name: _counted(stretches, about, asked, name) if asked.of(name) else plain
        for name in ("in", "role", *SESSION_FIELDS)
    }
    found.facets["in"] = [(name, sum(getattr(one, name) for one in by["in"].values())) for name in WHERE]
    roles = {name: sum(one.classes.get(name, 0) for one in by["role"].values()) for name in CLASSES}
    found.facets["role"] = [(name, n) for name, n in roles.items() if n or name in asked.of("role")]
    for name in SESSION_FIELDS:
        found.facets[name] = [pair for pair in hits.facet(by[name], name) if pair[1]]


def _read_through(
    stretches: Mapping[UUID, Sequence[Stretch]], about: Mapping[UUID, About], asked: Asked, most: int
) -> dict[UUID, list[Stretch]]:
    """Read the entries and keep the places where phrases and files really stand; at most so many of each session, in order. One query."""
    pairs: list[tuple[UUID, int]] = []
    for key, rows in stretches.items():
        if _belongs(about[key], asked):
            seqs = (
                one.first + place for one in sorted(rows, key=lambda row: row.first) for place in bits.places(one.found)
            )
            pairs.extend((key, seq) for seq in islice(seqs, most))
    good = _standing(pairs, asked)
    out: dict[UUID, list[Stretch]] = {}
    for key, rows in stretches.items():
        out[key] = list(rows)
        if _belongs(about[key], asked):
            here = good.get(key, ())
            out[key] = [
                replace(one, found=bits.of(seq - one.first for seq in here if one.first <= seq < one.stop))
                for one in rows
            ]
    return out


def _standing(pairs: Sequence[tuple[UUID, int]], asked: Asked) -> dict[UUID, list[int]]:
    """Those of the entries in which all stands that is asked for, and nothing that is refused."""
    out: dict[UUID, list[int]] = {}
    if not pairs:
        return out
    files = [value.strip("*/").lower() for value in asked.of("file")]
    clauses = [clause for clause in asked.clauses if any(term.checked for term in clause.terms)]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT e.session_id, e.seq, e.tool, e.parts FROM agent_sessions_entry e JOIN unnest(%s::uuid[], %s::int[]) AS w (session_id, seq) "
            "ON e.session_id = w.session_id AND e.seq = w.seq",
            [[key for key, _ in pairs], [seq for _, seq in pairs]],
        )
        for key, seq, tool, parts in cursor.fetchall():
            held = unpack(parts)
            if clauses:
                text = text_of(held)
                if not all(any(holds(text, term) for term in clause.terms) != clause.negated for clause in clauses):
                    continue
            if files:
                named = [path.replace("\\", "/").lower() for path in files_named(tool, held)]
                if not any(wanted in path for path in named for wanted in files):
                    continue
            out.setdefault(key, []).append(seq)
    return out


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
