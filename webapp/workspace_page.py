"""The page of settings: what holds in a workspace, who may come in, and what its operator configured. No secret is ever on it."""

from __future__ import annotations

from typing import Any, cast

from django.conf import settings as configured
from django.core.exceptions import PermissionDenied
from django.db.models import F
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from compaction.hooks import keeping
from compaction.rules import rules_of
from compaction.summarisers.configured import lacking, models
from sessions import limits
from sessions.http import Request, may_operate
from sessions.versions import Refused
from sessions.watched import watch_of
from webapp.models import ApiToken, Membership, Role


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HttpRequest) -> HttpResponse:
    """What holds in the workspace; with POST a model's limits set or taken back."""
    asked = cast("Request", request)
    workspace = asked.workspace
    if workspace is None or asked.membership is None:
        raise Http404
    refused = ""
    if request.method == "POST":
        try:
            _act(asked, workspace)
            return redirect("settings")
        except Refused as error:
            refused = str(error)
    manages = asked.membership.role == Role.ADMIN
    context = {
        "limits": limits.rows_of(workspace.pk),
        "may_operate": may_operate(asked),
        "manages": manages,
        "refused": refused,
        "typed": request.POST,
        "models": [one.name for one in models()],
        "lacking": lacking(),
        "rules_count": len(rules_of(workspace)),
        "hooks_count": len(keeping.hooks_in(workspace)),
        "members": Membership.objects.filter(workspace_id=workspace.pk)
        .select_related("user")
        .order_by("user__username"),
        "tokens": _tokens(workspace, None if manages else request.user),
        "watch": watch_of(workspace),
        "memory": configured.SESSION_MEMORY,
        "install": configured.INSTALL_SESSIONS,
        "file_roots": configured.FILE_ROOTS,
        "languages": configured.LANGUAGES,
    }
    return render(request, "settings.html", context, status=409 if refused else 200)


def _tokens(workspace: Any, owner: Any) -> list[ApiToken]:
    """Tokens that still open, the newest first: all of them, or those of `owner`."""
    found = ApiToken.objects.filter(workspace_id=workspace.pk, revoked_at=None).select_related("user")
    found = found.exclude(expires_at__lte=timezone.now())
    if owner is not None:
        found = found.filter(user=owner)
    return list(found.order_by(F("last_used_at").desc(nulls_last=True), "-created_at")[:100])


def _act(request: Request, workspace: Any) -> None:
    if not may_operate(request):
        raise PermissionDenied
    given = request.POST
    if given.get("do") == "drop-limit":
        limits.drop(workspace, given.get("pattern", ""))
        return
    figures: dict[str, Any] = {name: _whole(given.get(name, "")) for name in limits.TOKENS}
    figures |= {name: given.get(name, "").strip() or None for name in limits.PRICES}
    limits.put(workspace, given.get("pattern", ""), figures, source=given.get("source", ""), by=request.user)


def _whole(text: str) -> int | str | None:
    """A number as people type it, 200,000 or 200 000; None for nothing, and what is no number as it is, to be refused by the verb."""
    bare = text.replace(",", "").replace(" ", "").strip()
    if not bare:
        return None
    return int(bare) if bare.isdecimal() and len(bare) < 13 else text
