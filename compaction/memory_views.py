"""The page of a session's memory: its ten sections with the entries they come from, its versions, what differs, and a person's hand."""

from __future__ import annotations

from typing import Any, cast

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from compaction import remembered, session_memory, tasks
from compaction.notes.editing import compare
from compaction.notes.sections import ALL, TITLES
from compaction.notes.sections import render as text_of
from compaction.shown import Refusal
from compaction.summarisers.configured import models
from sessions.http import Request, integer, may_operate, session_of
from sessions.models import Session
from sessions.versions import Refused


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def session_memory_page(request: HttpRequest, name: str) -> HttpResponse:
    """The memory as it holds, or a version of it, or two beside each other; with POST an update asked for, an edit, another way of keeping it."""
    session = session_of(request, name)
    refusal, typed = None, None
    if request.method == "POST":
        if not may_operate(cast("Request", request)):
            raise PermissionDenied
        try:
            asked = _do(request, session)
            return redirect(f"{request.path}{'?asked=1' if asked else ''}")
        except Refused as refused:
            typed = request.POST.get("text")
            refusal = Refusal(_("This cannot be done"), str(refused), _("Nothing was changed."))
    try:
        context = _shown(request, session, typed)
    except Refused as refused:
        refusal = Refusal(_("There is no such version"), str(refused), "")
        context = _shown(request, session, typed, newest=True)
    context |= {
        "refusal": refusal,
        "may_operate": may_operate(cast("Request", request)),
        "asked": "asked" in request.GET,
    }
    return render(request, "compaction/session_memory.html", context, status=409 if refusal else 200)


def _shown(request: HttpRequest, session: Session, typed: str | None, *, newest: bool = False) -> dict[str, Any]:
    versions = remembered.versions_of(session)
    n, a, b = (None if newest else integer(request.GET.get(key)) for key in ("n", "a", "b"))
    row = remembered.version_of(session, n) if n is not None else remembered.newest(session)
    notes = remembered.notes_of(row)
    keeping = remembered.keeping_of(session)
    difference = None
    if a is not None and b is not None:
        was, now = remembered.version_of(session, a), remembered.version_of(session, b)
        difference = [one for one in compare(remembered.notes_of(was), remembered.notes_of(now)) if one.gone or one.new]
    return {
        "session": session,
        "row": row,
        "newest": versions[0].n if versions else None,
        "sections": list(zip(TITLES, notes.sections, strict=True)),
        "text": typed if typed is not None else text_of(notes),
        "editing": "edit" in request.GET or typed is not None,
        "versions": [(one, versions[at + 1].n if at + 1 < len(versions) else None) for at, one in enumerate(versions)],
        "keeping": keeping,
        "kept_with": f"llm:{keeping.model}" if keeping.summariser == "llm" else "extractive",
        "models": models(),
        "room": ALL,
        "a": a,
        "b": b,
        "difference": difference,
    }


def _do(request: HttpRequest, session: Session) -> bool:
    """What the form asked for; whether a worker is to do it."""
    data = request.POST
    match data.get("do"):
        case "update":
            tasks.ask_to_remember(session.pk, "asked for")
            return True
        case "edit":
            session_memory.edit(session, data.get("text", ""), base=integer(data.get("base")), by=request.user)
        case "keep":
            summariser, _sign, model = data.get("summariser", "extractive").partition(":")
            session_memory.keep_with(session, on=data.get("on") == "yes", summariser=summariser, model=model or None)
        case _:
            raise Refused("usage", _("The form asks for nothing that there is."))
    return False
