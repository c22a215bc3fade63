"""What search does not know yet: sessions with entries that no stretch covers, or with a version made here that none does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

# What a version of ours puts in is looked through; what agents put in stands in their own entries.
_VERSIONS = """
FROM agent_sessions_version v WHERE v.origin IN ('run', 'person')
AND NOT EXISTS (SELECT FROM agent_sessions_searchstretch t WHERE t.version_id = v.id)
AND EXISTS (SELECT FROM agent_sessions_insertion i WHERE i.version_id = v.id AND i.replaces IS NULL)
"""
# Stretches lie one behind the other from entry 0 on, so the last of them says how far a session is looked through.
_WAITING = f"""
FROM agent_sessions_session s
LEFT JOIN (
  SELECT session_id, max(stop) AS stop FROM agent_sessions_searchstretch WHERE version_id IS NULL GROUP BY session_id
) t ON t.session_id = s.id
WHERE s.superseded_by_id IS NULL
AND (s.entries_count > coalesce(t.stop, 0) OR s.id IN (SELECT v.session_id {_VERSIONS}))
"""  # noqa: S608 -- our own words


@dataclass(frozen=True, slots=True)
class Waiting:
    """Sessions and entries that are not found yet."""

    sessions: int
    entries: int

    def __bool__(self) -> bool:
        return self.sessions > 0


def waiting(workspace_id: Any = None) -> Waiting:
    """How much of a workspace (None: of all) is still to be looked through."""
    query = f"SELECT count(*), coalesce(sum(greatest(0, s.entries_count - coalesce(t.stop, 0))), 0) {_WAITING}"
    with connection.cursor() as cursor:
        if workspace_id is None:
            cursor.execute(query)
        else:
            cursor.execute(f"{query} AND s.workspace_id = %s", [workspace_id])
        sessions, entries = cursor.fetchone()
    return Waiting(sessions, int(entries))


def next_waiting(count: int, *, but: set[UUID], workspace_id: Any = None) -> list[tuple[UUID, Any]]:
    """Sessions to look through next with their workspaces, the newest first, without those in `but`."""
    given: list[Any] = [list(but)]
    query = f"SELECT s.id, s.workspace_id {_WAITING} AND NOT s.id = ANY(%s::uuid[])"
    if workspace_id is not None:
        query += " AND s.workspace_id = %s"
        given.append(workspace_id)
    with connection.cursor() as cursor:
        cursor.execute(f"{query} ORDER BY s.last_at DESC NULLS LAST, s.id LIMIT %s", [*given, count])
        return list(cursor)


def versions_waiting(session_id: UUID) -> list[int]:
    """The versions of a session that are still to be looked through, the first made first."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT v.id {_VERSIONS} AND v.session_id = %s ORDER BY v.n", [session_id])
        return [row[0] for row in cursor]
