"""The API: one door, one form of error, the apps' routers by name. Its own description is at /api/docs."""

from typing import Any

from django.core.exceptions import ObjectDoesNotExist, PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from sessions.versions import Refused
from webapp.auth import Bearer, SessionCookie
from webapp.views import is_outage

api = NinjaAPI(
    title="Palimpsest",
    version="1",
    description="Sessions of coding agents: what the model saw, what it no longer sees, and how to take that back.",
    auth=[Bearer(), SessionCookie()],
    urls_namespace="api",
)

for router in (
    "sessions.api.router",
    "sessions.insight_api.router",
    "sessions.goal_api.router",
    "sessions.reckon_api.router",
    "sessions.resume_api.router",
    "sessions.search_api.router",
    "sessions.export_api.router",
    "compaction.api.router",
    "compaction.standing_api.router",
    "compaction.memory_api.router",
    "webapp.members_api.router",
):
    api.add_router("", router)


def refusal(request: HttpRequest, status: int, code: str, message: str, **more: Any) -> HttpResponse:
    """Answer with the one form of error: `{"error": {"code", "message", …}}`."""
    return api.create_response(request, {"error": {"code": code, "message": message, **more}}, status=status)


@api.exception_handler(AuthenticationError)
def not_signed_in(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return refusal(request, 401, "not_signed_in", "Sign in, or send a token: `Authorization: Bearer plm_…`.")


@api.exception_handler(PermissionDenied)
def not_allowed(request: HttpRequest, error: PermissionDenied) -> HttpResponse:
    return refusal(request, 403, "not_allowed", str(error) or "Your role or the token's scope does not allow this.")


@api.exception_handler(Http404)
@api.exception_handler(ObjectDoesNotExist)
def nothing_there(request: HttpRequest, error: Exception) -> HttpResponse:
    told = str(error) if isinstance(error, Http404) else ""
    return refusal(request, 404, "not_found", told or "There is no such thing in your workspace.")


@api.exception_handler(ValidationError)
def not_understood(request: HttpRequest, error: ValidationError) -> HttpResponse:
    fields = [{"at": [str(step) for step in one["loc"]], "message": one["msg"]} for one in error.errors]
    return refusal(request, 422, "not_understood", "The request does not have the expected form.", fields=fields)


# A verb's refusal that is not a conflict with how things stand: a request that means nothing, or a thing that is not there.
REFUSAL_STATUS = {
    **dict.fromkeys(
        ("no_such_strategy", "bad_param", "no_such_summariser", "bad_summary", "bad_memory", "no_model", "usage"), 422
    ),
    **dict.fromkeys(("no_such_rule", "no_such_limit", "no_writer", "no_such_note"), 422),
    **dict.fromkeys(("no_such_cause", "no_such_state", "no_such_member", "none", "no_such_role", "bad_name"), 422),
    **dict.fromkeys(("no_such_version", "no_such_entry", "no_such_turn", "no_such_step", "no_such_file"), 422),
    "broker_unreachable": 503,
    "too_large": 413,
}


@api.exception_handler(Refused)
def refused(request: HttpRequest, error: Refused) -> HttpResponse:
    facts: dict[str, Any] = getattr(error, "facts", {})
    return refusal(request, REFUSAL_STATUS.get(error.code, 409), error.code, str(error), **facts)


@api.exception_handler(HttpError)
def told(request: HttpRequest, error: HttpError) -> HttpResponse:
    return refusal(request, error.status_code, "refused", str(error))


@api.exception_handler(OperationalError)
@api.exception_handler(InterfaceError)
def database_trouble(request: HttpRequest, error: Exception) -> HttpResponse:
    if not is_outage(error):
        return refusal(request, 500, "failed", "The database refused the request; nothing was changed.")
    return refusal(request, 503, "database_unreachable", "The database did not answer; nothing was changed. Try again.")
