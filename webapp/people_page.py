"""The page of people: who is in the workspace, what each may do, and a link for who is to come in. For admins alone."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from sessions.versions import Refused
from webapp import members
from webapp.auth import managed_by
from webapp.members import Invited
from webapp.models import Role, User, Workspace


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: HttpRequest) -> HttpResponse:
    """The members; with POST one is added, changed, removed, or given a link. A link is shown in the answer, once, and kept nowhere."""
    workspace = managed_by(request)
    refused, invited = "", None
    if request.method == "POST":
        try:
            invited = _act(request, workspace)
        except Refused as error:
            refused = str(error)
        if not refused and (invited is None or invited.secret is None):
            return redirect("people")
    context: dict[str, Any] = {
        "members": members.members_of(workspace),
        "roles": Role.choices,
        "refused": refused,
        "invited": invited,
        "link": request.build_absolute_uri(reverse("sign-in-link", args=[invited.secret])) if invited else "",
        "typed": request.POST if refused else {},
    }
    return render(request, "people.html", context, status=409 if refused else 200)


def _act(request: HttpRequest, workspace: Workspace) -> Invited | None:
    given = request.POST
    name, by = given.get("name", ""), cast("User", request.user)
    match given.get("do"):
        case "invite":
            invited = members.invite(workspace, name=name, role=given.get("role", ""), by=by)
            if invited.secret is None:
                said = _("%(name)s is a member now, and signs in as before.") % {"name": invited.member.user.username}
                messages.success(request, said)
            return invited
        case "link":
            return members.link(workspace, name=name, by=by)
        case "remove":
            members.remove(workspace, name=name, by=by)
            messages.success(request, _("%(name)s is no member any more.") % {"name": name})
        case _:
            member = members.set_role(workspace, name=name, role=given.get("role", ""), by=by)
            said = _("%(name)s: %(role)s.") % {"name": member.user.username, "role": member.get_role_display()}
            messages.success(request, said)
    return None
