"""What search does not know yet: sessions with entries that no stretch covers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

# Stretches lie one behind the other from entry 0 on, so the last of them says how far a session is looked through.
_WAITING = """
FROM agent_sessions_session s
LEFT JOIN (SELECT session_id, max(stop) AS stop FROM agent_sessions_searchstretch GROUP BY session_id) t ON t.session_id = s.id
WHERE s.superseded_by_id IS NULL AND s.entries_count > coalesce(t.stop, 0)
"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Sessions and entries that are not found yet."""

    sessions: int
    entries: int

    def __bool__(self) -> bool:
        return self.sessions > 0


def waiting(workspace_id: Any = None) -> Waiting:
    """How much of a workspace (None: of all) is still to be looked through."""
    query = f"SELECT count(*), coalesce(sum(s.entries_count - coalesce(t.stop, 0)), 0) {_WAITING}"
    with connection.cursor() as cursor:
        if workspace_id is None:
            cursor.execute(query)
        else:
            cursor.execute(f"{query} AND s.workspace_id = %s", [workspace_id])
        sessions, entries = cursor.fetchone()
    return Waiting(sessions, int(entries))


def next_waiting(count: int, *, but: set[UUID], workspace_id: Any = None) -> list[UUID]:
    """Sessions to look through next, the newest first, without those in `but`."""
    given: list[Any] = [list(but)]
    query = f"SELECT s.id {_WAITING} AND NOT s.id = ANY(%s::uuid[])"
    if workspace_id is not None:
        query += " AND s.workspace_id = %s"
        given.append(workspace_id)
    with connection.cursor() as cursor:
        cursor.execute(f"{query} ORDER BY s.last_at DESC NULLS LAST, s.id LIMIT %s", [*given, count])
        return [row[0] for row in cursor]
