"""What people say of goals that were given up, kept beside what was found."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from sessions.models import Event
from sessions.models_goals import Abandonment
from sessions.versions import Refused


@transaction.atomic
def correct(pk: int, *, cause: str, by: Any = None) -> Abandonment:
    """Say of which class a reason really is. What was found stays beside it."""
    if cause not in Abandonment.Cause.values:
        known = ", ".join(Abandonment.Cause.values)
        raise Refused(
            "no_such_cause", _("There is no class %(cause)s; there are: %(known)s.") % {"cause": cause, "known": known}
        )
    row = Abandonment.objects.select_for_update().get(pk=pk)
    was = row.cause
    row.cause, row.cause_by_id, row.cause_set_at = cause, getattr(by, "pk", None), timezone.now()
    row.save(update_fields=["cause", "cause_by", "cause_set_at"])
    Event.objects.create(
        workspace_id=row.workspace_id,
        session_id=row.session_id,
        who_id=getattr(by, "pk", None),
        what="cause_corrected",
        facts={"path": row.path, "from": was, "to": cause},
    )
    return row
