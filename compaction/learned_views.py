"""The page of what sessions taught: proposals with their evidence, and a person who accepts, words anew, or turns down."""

from __future__ import annotations

from typing import cast
from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from compaction import project_memory
from compaction.models_memory import ProjectNote
from compaction.plan import Learned
from compaction.reinject.learned import index
from compaction.shown import Refusal
from sessions.http import Request, integer, may_operate
from sessions.versions import Refused

SHOWN = 100


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def project_memory_page(request: HttpRequest) -> HttpResponse:
    """The notes of the workspace, or of one project, by state; with POST one of them decided, or one added."""
    workspace = cast("Request", request).workspace
    if workspace is None:
        raise Http404
    refusal = None
    project, state = request.GET.get("project"), request.GET.get("state") or ProjectNote.State.PROPOSED
    if request.method == "POST":
        if not may_operate(cast("Request", request)):
            raise PermissionDenied
        try:
            _do(request, workspace)
            here = {"state": state} | ({} if project is None else {"project": project})
            return redirect(f"{reverse('compaction:project_memory')}?{urlencode(here)}")
        except Refused as refused:
            refusal = Refusal(_("This cannot be done"), str(refused), _("Nothing was changed."))
    if state not in ProjectNote.State.values:
        state = ProjectNote.State.PROPOSED
    found = project_memory.notes_in(workspace, project=project, state=state)
    holds = project_memory.notes_in(workspace, project=project, state=ProjectNote.State.ACCEPTED)
    context = {
        "notes": found[:SHOWN],
        "total": found.count(),
        "shown": SHOWN,
        "state": state,
        "states": ProjectNote.State.choices,
        "kinds": ProjectNote.Kind.choices,
        "project": project,
        "projects": project_memory.projects_in(workspace),
        "index": index([Learned(note.kind, note.words) for note in holds[: project_memory.MOST]]),
        "refusal": refusal,
        "may_operate": may_operate(cast("Request", request)),
    }
    return render(request, "compaction/project_memory.html", context, status=409 if refusal else 200)


def _do(request: HttpRequest, workspace: object) -> None:
    data = request.POST
    if data.get("do") == "add":
        project_memory.add(
            workspace,
            project=data.get("project", ""),
            kind=data.get("kind", ""),
            text=data.get("text", ""),
            by=request.user,
        )
        return
    wording = data.get("wording") if data.get("do") == "accept" else None
    project_memory.decide(
        workspace, integer(data.get("note")) or -1, data.get("do", ""), wording=wording, by=request.user
    )
