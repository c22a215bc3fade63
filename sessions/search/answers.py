"""What `search` answers, the same for the command and the API."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sessions.search.asked import asked
from sessions.search.find import PAGE, find
from sessions.search.shown import as_json, shown


def search_of(
    workspace: Any,
    words: str,
    *,
    sort: str = "best",
    after: str | None = None,
    count: int = PAGE,
    session: UUID | None = None,
    behind: int | None = None,
) -> dict[str, Any]:
    """Sessions with hits. `session`: that one alone, entry by entry behind entry `behind`. Raises `find.BadCursor`."""
    wanted = asked(words)
    found = find(workspace.pk, wanted, sort=sort, after=after, size=count, session=session)
    rows = shown(found.page, wanted, whole=session is not None, after=behind)
    return {
        "query": wanted.text,
        "hits": found.total,
        "at_most": found.about,
        "in_ghosts": found.ghosts,
        "masked": found.masked,
        "in_versions": found.versions,
        "sessions": found.sessions,
        "facets": {
            name: [{"value": value or None, "hits": n} for value, n in rows] for name, rows in found.facets.items()
        },
        "waiting": {"sessions": found.waiting.sessions, "entries": found.waiting.entries},
        "cut": found.many,
        "unread": list(wanted.unread),
        "milliseconds": round(found.seconds * 1000, 1),
        "items": [as_json(row) for row in rows],
        "next": found.next,
    }
