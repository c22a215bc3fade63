"""Whose a session is: the person who brought it in, until it is given to another. It opens nothing: the workspace does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import apps
from django.db import transaction
from django.utils.translation import gettext as _

from sessions.models import Event, Session
from sessions.models_goals import Abandonment
from sessions.several import selected
from sessions.versions import Refused


def people_of(workspace: Any) -> list[Any]:
    """The members of a workspace, by name."""
    members = apps.get_model("webapp", "Membership").objects.filter(workspace_id=workspace.pk).select_related("user")
    return [member.user for member in members.order_by("user__username")]


@transaction.atomic
def give(workspace: Any, sessions: Sequence[str], *, to: str, by: Any = None) -> list[Session]:
    """Make these sessions (ids) another member's, or nobody's (`to` ""); those that changed hands. Their goals given up go with them.

    Refused as `several.selected` refuses, and for a name that is no member's: nothing is changed then.
    """
    owner = next((one for one in people_of(workspace) if one.get_username() == to), None) if to else None
    if to and owner is None:
        raise Refused("usage", _("%(name)s is no member of this workspace.") % {"name": to})
    found = selected(workspace, sessions)
    changed = [session for session in found if session.owner_id != (owner.pk if owner is not None else None)]
    names = [session.pk for session in changed]
    Session.objects.filter(pk__in=names).update(owner=owner)
    Abandonment.objects.filter(session__in=names).update(owner=owner)
    Event.objects.bulk_create(
        Event(
            workspace_id=workspace.pk,
            session=session,
            who=by if getattr(by, "pk", None) is not None else None,
            what="given",
            facts={"to": to or None},
        )
        for session in changed
    )
    return changed
