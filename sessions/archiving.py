"""Sessions that are put away: the list leaves them out until they are taken out again. Nothing of them changes, and search finds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from sessions.models import Event, Session
from sessions.models_archive import Archived
from sessions.several import selected


@transaction.atomic
def archive(workspace: Any, sessions: Sequence[str], *, away: bool, by: Any = None) -> list[Session]:
    """Put these sessions (ids) away, or with `away` False take them out again; those for which that changed something.

    Refused as `several.selected` refuses: nothing is changed then.
    """
    found = selected(workspace, sessions)
    who = by if getattr(by, "pk", None) is not None else None
    known = set(Archived.objects.filter(session__in=found).values_list("session_id", flat=True))
    changed = [session for session in found if (session.pk in known) != away]
    if away:
        Archived.objects.bulk_create(Archived(session=session, by=who) for session in changed)
    else:
        Archived.objects.filter(session__in=changed).delete()
    Event.objects.bulk_create(
        Event(workspace_id=workspace.pk, session=session, who=who, what="archived" if away else "taken_out")
        for session in changed
    )
    return changed
