"""Whose data a request is about: `request.workspace` and `request.membership` of the person signed in."""

from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from webapp.models import Membership, Role, User, Workspace

SESSION_KEY = "workspace"
# All that an auditor may ask for: the audit, which leaves its words out for them, and the door. A new address is closed to them until it
# is written down here.
FOR_AUDITORS = frozenset(
    {"sessions:abandoned", "sessions:abandoned_export", "api:list_abandoned", "sign-in", "sign-in-link", "sign-out", "health", "set_language"}
)  # fmt: skip


def membership_of(user: User, *, chosen: int | None = None) -> Membership | None:
    """Give the membership a person acts under: of the workspace chosen, else the first. None for a stranger."""
    mine = Membership.objects.filter(user=user).select_related("workspace").order_by("pk")
    if chosen is not None:
        found = mine.filter(workspace=chosen).first()
        if found is not None:
            return found
    return mine.first()


class WorkspaceMiddleware:
    """Set `request.membership` and `request.workspace`; both are None for a stranger."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: object, args: object, kwargs: object) -> HttpResponseBase | None:
        user = request.user
        found = membership_of(user, chosen=request.session.get(SESSION_KEY)) if user.is_authenticated else None
        if found is not None and found.role == Role.AUDITOR and _asked(request) == "sessions:list":
            return redirect("sessions:abandoned")  # where a sign-in leads, which shows what they may not see
        attach(request, found)
        return None


def attach(request: HttpRequest, membership: Membership | None) -> None:
    """Put a membership and its workspace on the request. Raises PermissionDenied for an auditor where the address shows what was said."""
    if membership is not None and membership.role == Role.AUDITOR and _asked(request) not in FOR_AUDITORS:
        raise PermissionDenied(_("An auditor sees what given-up goals took, not what the sessions say."))
    request.membership = membership  # type: ignore[attr-defined]  # set here, declared on the apps' typed requests
    request.workspace = None if membership is None else membership.workspace  # type: ignore[attr-defined]  # as above


def _asked(request: HttpRequest) -> str:
    return "" if request.resolver_match is None else request.resolver_match.view_name


def workspace(request: HttpRequest) -> dict[str, Any]:
    """Context processor: the workspace that a page is about."""
    return {"workspace": getattr(request, "workspace", None), "membership": getattr(request, "membership", None)}


def local_workspace() -> tuple[User, Workspace]:
    """Give the person and workspace of local mode, made at the first call. The person signs in by link only."""
    user, created = User.objects.get_or_create(username="local", defaults={"is_staff": True, "is_superuser": True})
    if created:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    place, _ = Workspace.objects.get_or_create(slug="local", defaults={"name": "Local"})
    Membership.objects.get_or_create(workspace=place, user=user, defaults={"role": "admin"})
    return user, place
