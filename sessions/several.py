"""Several sessions at once, as a list's selection names them: found, locked, and refused together where one of them is not here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from sessions.models import Session
from sessions.versions import Refused

MOST = 500  # sessions of one selection


def selected(workspace: Any, names: Sequence[str]) -> list[Session]:
    """The sessions of these ids, locked, in order. The caller holds a transaction.

    Refused for none, for more than MOST, and for one that is not in the workspace.
    """
    try:
        ids = {UUID(name) for name in names}
    except ValueError as error:
        raise Refused("no_such_session", _("Some of these sessions are not in this workspace.")) from error
    if not ids:
        raise Refused("usage", _("Select at least one session."))
    if len(ids) > MOST:
        raise Refused("usage", _("At most %(n)s sessions are given at once.") % {"n": MOST})
    found = list(
        Session.objects.select_for_update(of=("self",), no_key=True)
        .filter(workspace_id=workspace.pk, pk__in=ids)
        .order_by("pk")
    )
    if len(found) < len(ids):
        raise Refused("no_such_session", _("Some of these sessions are not in this workspace."))
    return found
