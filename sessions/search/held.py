"""What the database holds of the volumes that an answer is counted from: their stretches, and what search says of each session."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection

from sessions.search.counting import Laid, Volume, classes_of
from sessions.search.hits import About, Spans
from sessions.search.postings import Scope

_SPAN = re.compile(r"\[(\d+),(\d+)\)")


def volumes_of(places: Mapping[int, int], scope: Scope) -> list[Volume]:
    """The volumes with these places, and what of them is looked through."""
    if not places:
        return []
    out: dict[int, Volume] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, size, classes FROM agent_sessions_searchvolume WHERE id = ANY(%s) ORDER BY id", [list(places)]
        )
        for pk, size, kept in cursor.fetchall():
            out[pk] = Volume(pk, size, classes_of(bytes(kept), size), places[pk])
        abouts = _sessions(list(out), scope)
        query = (
            "SELECT t.volume_id, t.session_id::text, v.n, t.at, t.first, t.stop FROM agent_sessions_searchstretch t "
            "LEFT JOIN agent_sessions_version v ON v.id = t.version_id WHERE t.volume_id = ANY(%s)"
        )
        cursor.execute(query, [list(out)])
        for volume, session, version, at, first, stop in cursor.fetchall():
            about = abouts.get(session)
            if about is not None:
                out[volume].laid.append(Laid(about, version, at, first, stop))
    for one in out.values():
        one.laid.sort(key=lambda laid: laid.at)
    return list(out.values())


def _sessions(volumes: list[int], scope: Scope) -> dict[str, About]:
    """The sessions with a stretch in these volumes. Spans as text: thousands of them are read faster so."""
    people = get_user_model()._meta.db_table
    query = (
        "SELECT s.id::text, s.agent, s.project, u.username, s.title, s.last_at, s.entries_count, "  # noqa: S608
        "nullif(v.hidden, '{}')::text, nullif(v.masked, '{}')::text, s.agent_version, s.branch FROM agent_sessions_session s "
        f"LEFT JOIN {people} u ON u.id = s.owner_id "
        "LEFT JOIN agent_sessions_version v ON v.id = coalesce(s.head_id, s.native_head_id) "
        "WHERE s.workspace_id = %s AND s.superseded_by_id IS NULL AND s.id IN "
        "(SELECT t.session_id FROM agent_sessions_searchstretch t WHERE t.volume_id = ANY(%s))"
    )
    given: list[Any] = [scope.workspace_id, volumes]
    if scope.session is not None:
        query += " AND s.id = %s"
        given.append(scope.session)
    with connection.cursor() as cursor:
        cursor.execute(query, given)
        return {
            key: About(key, agent, project, owner, title, at, entries, _spans(hidden), _spans(masked), version, branch)
            for key, agent, project, owner, title, at, entries, hidden, masked, version, branch in cursor.fetchall()
        }


def _spans(kept: str | None) -> Spans:
    """A multirange as the database writes it."""
    if kept is None:
        return ()
    if kept.count(",") == 1:  # one span, as most have
        start, _, stop = kept[2:-2].partition(",")
        return ((int(start), int(stop)),)
    return tuple((int(start), int(stop)) for start, stop in _SPAN.findall(kept))


def goal_spans(scope: Scope, value: str) -> dict[str, Spans]:
    """The entries of goals with this path, or these words in them, by session."""
    like = value.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    query = (
        "SELECT g.session_id::text, range_agg(g.spans)::text FROM agent_sessions_goal g JOIN agent_sessions_session s ON s.id = g.session_id "
        "WHERE s.workspace_id = %s AND (g.path = %s OR g.text ILIKE %s) "
    )
    given: list[Any] = [scope.workspace_id, value, f"%{like}%"]
    if scope.session is not None:
        query += "AND s.id = %s "
        given.append(scope.session)
    with connection.cursor() as cursor:
        cursor.execute(f"{query} GROUP BY g.session_id", given)
        return {session: _spans(kept) for session, kept in cursor.fetchall()}
