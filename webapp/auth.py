"""Who may come in: people by session cookie or one-time link, programs by bearer token."""

import hashlib
import secrets
from datetime import timedelta
from typing import Any, Final

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import resolve_url
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from ninja.security import HttpBearer, SessionAuth

from webapp.models import ApiToken, Role, Scope, SignInLink, User, Workspace
from webapp.workspaces import attach, membership_of

# Tells scanners of secrets, and people, what they have before them.
TOKEN_PREFIX: Final = "plm_"  # noqa: S105 -- a prefix, not a token
LINK_LIFETIME: Final = timedelta(hours=12)
# `last_used_at` is for people; written at most this often, so that reading costs no write at every request.
USE_RECORDED_EVERY: Final = timedelta(minutes=1)

SCOPE_ROLE: Final = {Scope.READ: Role.VIEWER, Scope.WRITE: Role.OPERATOR, Scope.ADMIN: Role.ADMIN}


def digest(secret: str) -> str:
    """Hash a secret of ours for keeping. The secrets are 256 random bits, so one plain SHA-256 is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


def issue_token(
    *, workspace: Workspace, user: User, name: str, scope: Scope, expires_at: Any = None
) -> tuple[ApiToken, str]:
    """Make an API token and return its row and its text. The text is shown once and kept nowhere."""
    text = TOKEN_PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        workspace=workspace, user=user, name=name, scope=scope, digest=digest(text), expires_at=expires_at
    )
    return token, text


def token_by_text(text: str) -> ApiToken | None:
    """Find the token that `text` is, if it still opens: neither revoked nor expired, its owner active and a member."""
    if not text.startswith(TOKEN_PREFIX):
        return None
    wanted = digest(text)
    # Found by the hash: nothing an attacker can choose is compared byte by byte, and the database holds no secret.
    token = ApiToken.objects.select_related("workspace", "user").filter(digest=wanted, revoked_at=None).first()
    if token is None or not secrets.compare_digest(token.digest, wanted):
        return None
    if not token.user.is_active or (token.expires_at is not None and token.expires_at <= timezone.now()):
        return None
    return token


def issue_link(user: User, *, lifetime: timedelta = LINK_LIFETIME) -> str:
    """Make a one-time sign-in link for `user` and return its secret, the last part of the address."""
    text = secrets.token_urlsafe(32)
    now = timezone.now()
    SignInLink.objects.filter(user=user, expires_at__lt=now).delete()
    SignInLink.objects.create(user=user, digest=digest(text), expires_at=now + lifetime)
    return text


@transaction.atomic
def redeem_link(text: str) -> User | None:
    """Use up a sign-in link and return its person; None where it is unknown, used or too old.

    Claimed by update: of two browsers with one link, one comes in.
    """
    now = timezone.now()
    claimed = SignInLink.objects.filter(
        digest=digest(text), used_at=None, expires_at__gt=now, user__is_active=True
    ).update(used_at=now)
    if claimed != 1:
        return None
    return SignInLink.objects.select_related("user").get(digest=digest(text)).user


class SignedInMiddleware(LoginRequiredMiddleware):
    """Send strangers to the sign-in page. The API answers for itself, in JSON."""

    def process_view(
        self, request: HttpRequest, view_func: Any, view_args: Any, view_kwargs: Any
    ) -> HttpResponseBase | None:
        if request.resolver_match is not None and "ninja" in request.resolver_match.app_names:
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)

    def handle_no_permission(self, request: HttpRequest, view_func: Any) -> HttpResponseBase:  # type: ignore[override]  # a 204 too
        """Redirect. An htmx request gets the page to load instead: a redirect would put the form into a fragment."""
        if request.headers.get("HX-Request") != "true":
            return super().handle_no_permission(request, view_func)
        here = request.headers.get("HX-Current-URL", "/")
        if not url_has_allowed_host_and_scheme(here, {request.get_host()}, require_https=request.is_secure()):
            here = "/"
        target = redirect_to_login(here, resolve_url(self.get_login_url(view_func)))
        return HttpResponse(status=204, headers={"HX-Redirect": target.url, "Vary": "HX-Request"})


class SessionCookie(SessionAuth):
    """A person's browser. Ninja checks the CSRF token of every unsafe request that comes by this door."""

    def _get_key(self, request: HttpRequest) -> str | None:
        """Leave requests without our cookie alone: a program has none, and so nothing that could be forged."""
        if self.param_name not in request.COOKIES:
            return None
        return super()._get_key(request)

    def authenticate(self, request: HttpRequest, key: str | None) -> User | None:
        user = request.user
        if not user.is_authenticated:
            return None
        request.scope_role = Role.ADMIN  # type: ignore[attr-defined]  # the membership alone limits a person
        return user if membership_of(user) is not None else None


class Bearer(HttpBearer):
    """A program's token. The request acts for the token's owner in the token's workspace, within its scope."""

    def authenticate(self, request: HttpRequest, token: str) -> User | None:
        found = token_by_text(token)
        if found is None:
            return None
        membership = membership_of(found.user, chosen=found.workspace_id)
        if membership is None or membership.workspace_id != found.workspace_id:
            return None
        now = timezone.now()
        if found.last_used_at is None or now - found.last_used_at > USE_RECORDED_EVERY:
            ApiToken.objects.filter(pk=found.pk).update(last_used_at=now)
        request.user = found.user
        attach(request, membership)
        request.scope_role = SCOPE_ROLE[Scope(found.scope)]  # type: ignore[attr-defined]  # read by `may` below
        return found.user


def may(request: HttpRequest, role: Role) -> bool:
    """Say whether this request may do what `role` may: by the person's membership, and by the token's scope if any."""
    membership = getattr(request, "membership", None)
    if membership is None:
        return False
    scope_role: Role = getattr(request, "scope_role", Role.ADMIN)
    return bool(membership.may(role)) and scope_role.covers(role)


def managed_by(request: HttpRequest) -> Workspace:
    """The workspace that the request may manage. Raises Http404 for strangers, PermissionDenied for all but admins."""
    workspace: Workspace | None = getattr(request, "workspace", None)
    if workspace is None:
        raise Http404
    if not may(request, Role.ADMIN):
        raise PermissionDenied
    return workspace
