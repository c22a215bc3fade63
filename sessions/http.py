"""What views share: the typed request, fetch-and-authorise, and one view in two sizes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django_htmx.middleware import HtmxDetails

from sessions.models import Session
from sessions.naming import find_session

_OPERATORS = frozenset({"operator", "admin"})


class Workspace(Protocol):
    pk: Any
    name: str


class Member(Protocol):
    role: str


class Request(HttpRequest):
    """A request as it is behind our middleware. `workspace` and `membership` are None for a person without a workspace."""

    htmx: HtmxDetails
    workspace: Workspace | None
    membership: Member | None


def session_of(request: HttpRequest, name: str) -> Session:
    """The session of the request's workspace that `name` means (as `find_session` reads it), with its heads at hand.

    Http404 for a name that means none or several, and for strangers: they learn nothing of what exists.
    """
    workspace = getattr(request, "workspace", None)
    if workspace is None:
        raise Http404
    try:
        return find_session(name, workspace=workspace)
    except LookupError as error:
        raise Http404(str(error)) from error


def operators_only[**P](view: Callable[P, HttpResponse]) -> Callable[P, HttpResponse]:
    """Refuse a member who may only read."""

    @wraps(view)
    def checked(*args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        member = getattr(args[0], "membership", None)
        if member is None or member.role not in _OPERATORS:
            raise PermissionDenied
        return view(*args, **kwargs)

    return checked


def may_operate(request: Request) -> bool:
    """Say whether the member may do more than read."""
    return request.membership is not None and request.membership.role in _OPERATORS


def sees_words(request: HttpRequest) -> bool:
    """Say whether the member may read what sessions say; an auditor sees sums alone."""
    member = getattr(request, "membership", None)
    return member is not None and member.role != "auditor"


def page_or_partial(
    request: Request, template: str, partial: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """The whole page; to htmx only its partial. Caches and the back button tell the two apart by Vary."""
    fragment = bool(request.htmx) and not request.htmx.history_restore_request
    response = render(request, f"{template}#{partial}" if fragment else template, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def integer(text: Any) -> int | None:
    """An integer of a query; None for what is none, or larger than any we number by."""
    try:
        value = int(text)
    except (TypeError, ValueError):
        return None
    return value if abs(value) < 2**31 else None


def number(
    request: HttpRequest, name: str, default: int | None = None, *, low: int = -1, high: int = 2**31 - 1
) -> int | None:
    """An integer of the query, held between `low` and `high`; `default` where it is missing or none."""
    try:
        value = int(request.GET[name])
    except (KeyError, ValueError):
        return default
    return max(low, min(high, value))
