"""The door of telemetry: OTLP over HTTP at the addresses that its exporters know, opened by a token."""

from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI

from sessions.versions import Refused
from webapp.api import REFUSAL_STATUS
from webapp.auth import Bearer

otlp = NinjaAPI(title="Palimpsest telemetry", version="1", auth=[Bearer()], urls_namespace="otlp", docs_url=None)
otlp.add_router("", "sessions.otlp_api.router")


@otlp.exception_handler(Refused)
def refused(request: HttpRequest, error: Refused) -> HttpResponse:
    status = REFUSAL_STATUS.get(error.code, 409)
    return otlp.create_response(request, {"code": 3, "message": str(error)}, status=status)


@otlp.exception_handler(PermissionDenied)
def not_allowed(request: HttpRequest, error: PermissionDenied) -> HttpResponse:
    return otlp.create_response(request, {"code": 7, "message": "Not allowed."}, status=403)


@otlp.exception_handler(OperationalError)
@otlp.exception_handler(InterfaceError)
def database_trouble(request: HttpRequest, error: Exception) -> HttpResponse:
    # An exporter sends a batch again after this answer.
    return otlp.create_response(request, {"code": 14, "message": "The database did not answer."}, status=503)
