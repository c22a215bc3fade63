"""The verb by which sessions are read again from the bytes that are kept: after an adapter was changed, or what maps a file was.

Files that are still where they came from are read again by themselves once an adapter's version has grown; this is for all others, and
for who does not want to wait. Nothing of what people made changes: versions, bookmarks and marks name entries by their numbers, and these
are the records' own.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from sessions.adapters import adapters
from sessions.announcing import announce
from sessions.chains import reread
from sessions.derive import derive
from sessions.ingest import Taken, lock_source, report
from sessions.models import Event, Session
from sessions.versions import Refused, locked

OUTCOME = "reread"


@transaction.atomic
def read_again(session_id: UUID, *, by: Any = None) -> Taken:
    """Read a session again from its stored bytes, as if they came now; what came of it, with outcome "reread".

    Refused where the adapter of its agent is not here.
    """
    found = Session.objects.select_related("source").get(pk=session_id)
    adapter = adapters().get(found.agent)
    if adapter is None:
        raise Refused("no_adapter", _("Nothing here reads sessions of %(agent)s.") % {"agent": found.agent})
    lock_source(found.workspace, found.agent, found.source.path)
    session = locked(session_id)
    source = session.source
    source.adapter_version = adapter.version
    source.save(update_fields=["adapter_version"])
    read = reread(session, adapter)
    derive(session, read.versions)
    announce(session.workspace_id, session.pk)
    who = by if getattr(by, "pk", None) is not None else None
    Event.objects.create(workspace_id=session.workspace_id, session=session, who=who, what="reread", facts={})
    taken = Taken(source.path, OUTCOME, agent=session.agent, size=source.size)
    report(taken, session, read.added)
    return taken
