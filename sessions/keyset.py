"""The sessions of a workspace in pages by keyset, for programs: newest activity first, never by offset."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from sessions.models import Session
from sessions.store import clean

PAGE = 50
MOST = 500


class BadCursor(ValueError):
    """A cursor that no page of ours gave."""


@dataclass(frozen=True, slots=True)
class SessionsPage:
    """`next`: the cursor of the page after this one; None at the end."""

    sessions: list[Session]
    next: str | None


def sessions_page(
    workspace: Any, *, agent: str | None = None, project: str | None = None, after: str | None = None, limit: int = PAGE
) -> SessionsPage:
    """A page of the workspace's sessions, without superseded revisions. Sessions without any time come last."""
    known: QuerySet[Session] = Session.objects.filter(workspace=workspace, superseded_by=None).select_related(
        "head", "native_head"
    )
    if agent is not None:
        known = known.filter(agent=clean(agent))
    if project is not None:
        known = known.filter(project=clean(project))
    timed = known.filter(last_at__isnull=False).order_by("-last_at", "id")
    timeless = known.filter(last_at=None).order_by("id")
    limit = max(1, min(limit, MOST))
    at, key = (None, None) if after is None else _read(after)
    found: list[Session] = []
    if after is None or at is not None:
        if at is not None:
            timed = timed.filter(Q(last_at__lt=at) | Q(last_at=at, pk__gt=key))
        found = list(timed[: limit + 1])
    if len(found) <= limit:
        if after is not None and at is None:
            timeless = timeless.filter(pk__gt=key)
        found += timeless[: limit + 1 - len(found)]
    more = len(found) > limit
    found = found[:limit]
    return SessionsPage(found, _write(found[-1]) if more else None)


def _write(last: Session) -> str:
    stamp = "" if last.last_at is None else last.last_at.isoformat()
    return base64.urlsafe_b64encode(f"{stamp}|{last.pk}".encode()).decode().rstrip("=")


def _read(cursor: str) -> tuple[datetime | None, UUID]:
    try:
        stamp, _, key = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode().partition("|")
        return (datetime.fromisoformat(stamp) if stamp else None), UUID(key)
    except (ValueError, binascii.Error) as error:
        raise BadCursor("This cursor is none of ours; start again without one.") from error
