"""What is done with several sessions of the list at once."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from sessions.http import Request, operators_only
from sessions.listing import Wanted
from sessions.owning import give
from sessions.versions import Refused


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
    back = Wanted.of(QueryDict(request.POST.get("query", "")[:2_000]).dict()).query
    return redirect(reverse("sessions:list") + (f"?{back}" if back else ""))
