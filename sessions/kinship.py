"""Which session comes from which: forks, sub-agents and continued runs find their parents here, and the call that began them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePath
from typing import Any

from django.db.models import Count, Q

from sessions.adapters.lineage import FACT
from sessions.calls import DELEGATING
from sessions.entries import Kind
from sessions.models import Entry, Session, Step
from sessions.packing import unpack
from sessions.reading import recount

_COPIES = frozenset({"fork", "continued", "branch", "revert"})  # kinds of link in which answers stand in both files


def link_parents(workspace: Any, changed: Collection[str]) -> None:
    """Point sessions to the sessions they were forked, spawned or continued from, as far as those are here.

    `changed`: ids of the sessions that something came to. They, and those that wait for one of them, are looked at: what waits for
    sessions that never come costs nothing.
    """
    if not changed:
        return
    here = Session.objects.filter(workspace=workspace, superseded_by=None)
    came = here.filter(pk__in=changed)
    waiting = here.filter(parent=None, parent_native_id__isnull=False)
    mine = Q(pk__in=changed) | Q(parent_native_id__in=came.filter(native_id__isnull=False).values("native_id"))
    for session in waiting.filter(mine).select_related("source"):
        parent = _named(here, session)
        if parent is not None:
            _link(session, parent)
    forks = here.filter(parent=None, parent_kind="fork", parent_native_id=None)
    for session in forks.filter(agent__in=came.values("agent")):
        parent = _alike(here, session)
        if parent is not None:
            _link(session, parent)
    kin = Q(pk__in=changed) | Q(parent__in=changed) | Q(parent__children__in=changed)
    young = here.filter(kin, parent_kind="subagent", parent_call_id=None, native_id__isnull=False)
    for session in young.select_related("parent").distinct():
        _find_call(here, session)


def _named(here: Any, session: Session) -> Session | None:
    """The parent by the id that the session names; of several, the one whose file lies near."""
    path, within, _ = session.source.path.rpartition("#")
    near = path + within if within else str(PurePath(session.source.path).parent.parent)
    written = session.facts.get(FACT)  # by us, perhaps from another agent's session
    agent = written.get("agent", session.agent) if isinstance(written, dict) else session.agent
    found = here.filter(agent=agent, native_id=session.parent_native_id).exclude(pk=session.pk).order_by("created_at")
    parent: Session | None = found.filter(source__path__startswith=near).first() or found.first()
    return parent


def _alike(here: Any, session: Session) -> Session | None:
    """Of a fork whose agent does not say what was forked: the session with most of its answers, whichever of the two came first."""
    answers = session.steps.filter(response_id__isnull=False).values("response_id")
    others = Step.objects.filter(session__in=here.filter(agent=session.agent), response_id__in=answers)
    shared = others.exclude(session=session).values("session").annotate(n=Count("n"))
    found = shared.order_by("-n", "session__created_at").values_list("session", flat=True).first()
    return None if found is None else Session.objects.filter(pk=found).first()


def _link(session: Session, parent: Session) -> None:
    Session.objects.filter(pk=session.pk).update(parent=parent)
    if session.parent_kind in _COPIES:
        _count_where_given(session, parent)


def _count_where_given(copy: Session, original: Session) -> None:
    """Answers that both have count where they were given, also where the copy was read first."""
    twice = original.steps.filter(copied=True, response_id__isnull=False).values_list("response_id", flat=True)
    shared = list(copy.steps.filter(copied=False, response_id__in=list(twice)).values_list("response_id", flat=True))
    if not shared:
        return
    copy.steps.filter(response_id__in=shared).update(copied=True)
    original.steps.filter(response_id__in=shared).update(copied=False)
    for session in (copy, original):
        recount(session)


def _find_call(here: Any, session: Session) -> None:
    """The call whose result names the sub-agent: in its parent, or in another sub-agent of it, whose child it is then."""
    if session.parent is None:
        return
    root = Q(pk=session.parent_id) | Q(agent=session.agent, parent_native_id=session.parent_native_id)
    family = here.filter(root).exclude(pk=session.pk)
    results = Entry.objects.filter(session__in=family, kind__in=[Kind.TOOL_RESULT, Kind.TOOL_CALL], tool__iregex=_TOOLS)
    for owner, text, packed in results.order_by("session_id", "seq").values_list("session_id", "text", "parts"):
        for part in unpack(packed):
            told = part.meta.values()
            if part.call_id and (session.native_id in told or (session.native_id or "") in (part.text or text)):
                Session.objects.filter(pk=session.pk).update(parent=owner, parent_call_id=part.call_id)
                return


_TOOLS = f"^({'|'.join(sorted(DELEGATING))})$"
