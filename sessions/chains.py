"""What a session is read from: its own source, and those before it where it continues another one, which may come later.

Sources come at the same time, too. Whoever is done reading one takes its turn (`in_turn`) before it looks at what others brought: of
two that belong together the second finds the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from django.db import connection

from sessions.adapters.base import HEAD, Adapter, Claim
from sessions.derive import derive
from sessions.models import Session, SessionSource, Source
from sessions.reading import Read, read_chain
from sessions.sourcebytes import content


def base_of(workspace: Any, adapter: Adapter, claim: Claim) -> Source | None:
    """The source that a claim says its session continues, where it is here."""
    if claim.base is None:
        return None
    here = Source.objects.filter(workspace=workspace, agent=adapter.agent, superseded=False)
    return here.filter(source_id=claim.base.native_id).order_by("-pk").first()


def write_chain(session: Session, source: Source, base: Source | None, claim: Claim) -> list[SessionSource]:
    """Write the sources that a session is read from, which has none yet; the links to them. Without its base it waits for it."""
    if claim.base is not None and base is None:
        session.problems = [f"continues {claim.base.native_id}, which is not here: its part of the history is missing"]
        session.facts = {"waits_for": claim.base.native_id}
    links: list[SessionSource] = []
    if base is not None and claim.base is not None:
        based = Session.objects.filter(source=base).first()
        if based is not None:
            links += [
                SessionSource(session=session, source=link.source, until_offset=link.until_offset, copied=True)
                for link in based.chain.select_related("source").order_by("position")
            ]
        else:
            links.append(SessionSource(session=session, source=base, copied=True))
        links[-1].until_offset = claim.base.until_offset
    links.append(SessionSource(session=session, source=source))
    for n, link in enumerate(links):
        link.position = n
    SessionSource.objects.bulk_create(links)
    return links


def reread(session: Session, adapter: Adapter) -> Read:
    """Read a session again from the bytes kept, as if new; how many entries more it has now. Versions people made stay."""
    before = session.entries_count
    session.entries.all().delete()
    session.steps.all().delete()
    session.goals.all().delete()
    source = session.source
    source.state, source.moved = None, []
    source.consumed = 0
    source.save(update_fields=["state", "moved", "consumed"])
    read = read_chain(session, adapter, modified=source.modified_at)
    return replace(read, added=max(0, session.entries_count - before))


def join_late(session: Session, adapter: Adapter) -> None:
    """Where a session waits for its base and that is here by now: read it again, with its part of the history."""
    if "waits_for" not in session.facts:
        return
    head = next(_content_head(session.source), b"")
    claim = adapter.claim(PurePath(session.source.path), head)
    base = None if claim is None else base_of(session.workspace_id, adapter, claim)
    if claim is None or base is None:
        return
    session.problems, session.facts = [], {}
    session.chain.all().delete()
    write_chain(session, session.source, base, claim)
    derive(session, reread(session, adapter).versions)


def reread_waiting(workspace: Any, adapter: Adapter, base: Source) -> None:
    """Sessions that wait for this source as their base get its part of their history.

    One that is just taken in further is left: it looks itself, in its turn.
    """
    if not base.source_id:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM agent_sessions_session WHERE workspace_id = %s AND agent = %s AND facts ? 'waits_for' "
            "AND facts ->> 'waits_for' = %s AND superseded_by_id IS NULL FOR NO KEY UPDATE SKIP LOCKED",
            [workspace.pk, adapter.agent, base.source_id],
        )
        waiting = [row[0] for row in cursor.fetchall()]
    for session in Session.objects.filter(pk__in=waiting).select_related("source") if waiting else ():
        join_late(session, adapter)


def _content_head(source: Source) -> Iterator[bytes]:
    yield from content(source, until=HEAD)
