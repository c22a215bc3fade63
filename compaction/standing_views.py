"""The page of rules and hooks: what is done without being asked for one by one, and who is asked before and after."""

from __future__ import annotations

from typing import Any, cast

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from compaction import rules
from compaction.hooks import keeping
from compaction.models import Hook, Rule, RuleLook
from compaction.shown import Refusal
from compaction.strategies import RECOMMENDED, strategies
from compaction.summarisers.configured import models
from sessions.http import Request, session_of
from sessions.models import Session
from sessions.versions import Refused
from sessions.windows import rules as window_rules

_LOOKS = 20


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def standing(request: HttpRequest) -> HttpResponse:
    """Rules and hooks of the workspace; with POST one of them made, switched or dropped. `session`: a new rule is for that one alone."""
    workspace, role = cast("Request", request).workspace, _role(request)
    if workspace is None:
        raise Http404
    only = _session(request)
    refusal, secret = None, None
    if request.method == "POST":
        try:
            secret = _do(request, workspace, role, only)
            if secret is None:
                return redirect(reverse("compaction:standing") + ("" if only is None else f"?session={only.pk}"))
        except Refused as refused:
            refusal = Refusal(_("This cannot be done"), str(refused), _("Nothing was changed."))
    found = rules.rules_of(workspace)
    looks = RuleLook.objects.filter(rule__in=found).exclude(outcome="seen").select_related("session").order_by("-at")
    context = {
        "rules": found,
        "only": only,
        "looks": looks[:_LOOKS],
        "hooks": keeping.hooks_in(workspace),
        "refusal": refusal,
        "secret": secret,
        "may_rule": role in ("operator", "admin"),
        "may_hook": role == "admin",
        "whens": Rule.When.choices,
        "events": Hook.Event.choices,
        "kinds": [choice for choice in Hook.Kind.choices if choice[0] in (Hook.Kind.HTTP, Hook.Kind.PROMPT)],
        "strategies": list(strategies().values()),
        "recommended": RECOMMENDED,
        "window_rules": list(window_rules().values()),
        "models": models(),
        "typed": request.POST,
    }
    return render(request, "compaction/standing.html", context, status=409 if refusal else 200)


def _session(request: HttpRequest) -> Session | None:
    """The session that a rule is to be for, by its name in the address or the form; none where none is named."""
    name = request.POST.get("session") or request.GET.get("session") or ""
    return session_of(request, name) if name else None


def _do(request: HttpRequest, workspace: Any, role: str, only: Session | None) -> str | None:
    """What the form asked for. A new HTTP hook's secret, to be shown this once; None otherwise."""
    data = request.POST
    what = data.get("do", "")
    if role not in (("operator", "admin") if what in ("add-rule", "drop-rule") else ("admin",)):
        raise PermissionDenied
    match what:
        case "add-rule":
            summariser, _sign, model = data.get("summariser", "extractive").partition(":")
            rules.put(
                workspace,
                data.get("when", ""),
                session=only,
                project=data.get("project", "").strip() or None,
                window_rule=data.get("window_rule") or None,
                strategy=data.get("strategy", RECOMMENDED),
                summariser=summariser,
                model=model or None,
                by=request.user,
            )
        case "drop-rule":
            number = data.get("rule", "")
            rules.drop(workspace, int(number) if number.isdecimal() and len(number) < 12 else -1)
        case "add-hook":
            _hook, secret = keeping.put(
                workspace,
                data.get("name", ""),
                event=data.get("event", ""),
                kind="prompt" if data.get("kind") == "prompt" else "http",
                target=data.get("target", ""),
                by=request.user,
            )
            return secret
        case "on" | "off":
            keeping.switch(workspace, data.get("hook", ""), on=what == "on")
        case "drop-hook":
            keeping.drop(workspace, data.get("hook", ""))
        case _:
            raise Refused("usage", _("The form asks for nothing that there is."))
    return None


def _role(request: HttpRequest) -> str:
    member = cast("Request", request).membership
    return "" if member is None else member.role
