"""What is done from the list: with several of its sessions at once, and with the filters themselves."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from sessions.archiving import archive
from sessions.http import Request, integer, operators_only
from sessions.listing import Wanted
from sessions.models_views import ListView
from sessions.owning import give
from sessions.versions import Refused

VIEWS = 40  # that one person may save


@require_POST
@operators_only
def owner(request: HttpRequest) -> HttpResponse:
    """Give the selected sessions to a member, or to nobody; then the list again, as it was narrowed."""
    workspace = cast("Request", request).workspace
    if workspace is None:
        raise Http404
    try:
        changed = give(workspace, request.POST.getlist("session"), to=request.POST.get("to", ""), by=request.user)
    except Refused as refused:
        messages.error(request, f"{refused} {_('Nothing was changed.')}")
    else:
        said = ngettext("%(n)s session changed hands.", "%(n)s sessions changed hands.", len(changed))
        messages.success(request, said % {"n": len(changed)})
    return _back(_query(request))


@require_POST
@operators_only
def archived(request: HttpRequest) -> HttpResponse:
    """Put the selected sessions away, or (with `out`) take them out again; then the list again, as it was narrowed."""
    workspace = cast("Request", request).workspace
    if workspace is None:
        raise Http404
    away = not request.POST.get("out")
    try:
        changed = archive(workspace, request.POST.getlist("session"), away=away, by=request.user)
    except Refused as refused:
        messages.error(request, f"{refused} {_('Nothing was changed.')}")
    else:
        if away:
            said = ngettext("%(n)s session is put away.", "%(n)s sessions are put away.", len(changed))
        else:
            said = ngettext(
                "%(n)s session is in the list again.", "%(n)s sessions are in the list again.", len(changed)
            )
        messages.success(request, said % {"n": len(changed)})
    return _back(_query(request))


@require_POST
def view(request: HttpRequest) -> HttpResponse:
    """Save the filters in force under a name, in the place of what it stood for; with `drop`, forget one. One's own alone."""
    workspace = cast("Request", request).workspace
    if workspace is None:
        raise Http404
    user: Any = request.user
    mine = ListView.objects.filter(workspace_id=workspace.pk, user=user)
    query = _query(request)
    name = " ".join(request.POST.get("name", "").replace("\x00", "").split())[:80]
    if request.POST.get("drop"):
        mine.filter(pk=integer(request.POST["drop"]) or 0).delete()
    elif not name or not query:
        messages.error(request, _("A saved view needs a name, and a filter. Nothing was changed."))
    elif mine.exclude(name=name).count() >= VIEWS:
        messages.error(request, _("%(n)s views are saved: forget one first. Nothing was changed.") % {"n": VIEWS})
    else:
        ListView.objects.update_or_create(workspace_id=workspace.pk, user=user, name=name, defaults={"query": query})
        messages.success(request, _("The view “%(name)s” is saved.") % {"name": name})
    return _back(query)


def _query(request: HttpRequest) -> str:
    """The filters that a form carries, and nothing else."""
    return Wanted.of(QueryDict(request.POST.get("query", "").replace("\x00", "")[:2_000]).dict()).query


def _back(query: str) -> HttpResponse:
    return redirect(reverse("sessions:list") + (f"?{query}" if query else ""))
