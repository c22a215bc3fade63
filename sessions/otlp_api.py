"""The receiver of OTLP over HTTP: the protocol's own addresses, in both its forms, packed or not.

An exporter is pointed here by its standard settings (`OTEL_EXPORTER_OTLP_ENDPOINT`, and a token in `OTEL_EXPORTER_OTLP_HEADERS`).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import orjson
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions.adapters.generic import protobuf
from sessions.telemetry import receive

router = Router(tags=["telemetry"])

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
LARGEST = 64 << 20  # bytes of one export, unpacked
_OPERATORS = frozenset({"operator", "admin"})


class NotOtlp(Exception):
    """The body is no export; the message says why."""


@router.post("/traces", summary="OTLP/HTTP: spans, as protobuf or JSON, gzip or not")
def post_traces(request: HttpRequest) -> HttpResponse:
    return _received(request, protobuf.traces, "resourceSpans")


@router.post("/logs", summary="OTLP/HTTP: log records and events, as protobuf or JSON, gzip or not")
def post_logs(request: HttpRequest) -> HttpResponse:
    return _received(request, protobuf.logs, "resourceLogs")


def _received(request: HttpRequest, decode: Callable[[bytes], dict[str, Any]], kind: str) -> HttpResponse:
    """200 with an empty answer in the form of the request: all was taken. 400 in that form for what is none, 413, 415."""
    form = PROTOBUF if request.content_type == PROTOBUF else JSON
    if request.content_type not in (PROTOBUF, JSON):
        return _told(form, 415, f"{PROTOBUF} or {JSON} is expected here.")
    member = getattr(request, "membership", None)
    scope = getattr(request, "scope_role", None)
    if member is None or member.role not in _OPERATORS or str(scope) not in _OPERATORS:
        return _told(form, 403, "Your role or the token's scope does not allow this.", code=7)
    try:
        body = _unpacked(request.body, request.headers.get("Content-Encoding", ""))
        if len(body) > min(LARGEST, settings.UPLOAD_LIMIT):
            return _told(form, 413, f"An export may have {min(LARGEST, settings.UPLOAD_LIMIT):,} bytes here.", code=8)
        export = decode(body) if form == PROTOBUF else _json(body)
    except (NotOtlp, protobuf.Malformed) as problem:
        return _told(form, 400, f"No OTLP export: {problem}.")
    receive(member.workspace, {kind: export.get(kind)}, by=request.user)
    return HttpResponse(b"" if form == PROTOBUF else b"{}", content_type=form)


def _json(body: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise NotOtlp(str(error)) from None
    if not isinstance(found, dict):
        raise NotOtlp("a JSON object is expected")
    return found


def _unpacked(body: bytes, encoding: str) -> bytes:
    """The body as it was before it was packed. No more of it than one export may have is ever made."""
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "deflate"):
        raise NotOtlp(f"its encoding {encoding[:40]} is none of gzip, deflate")
    unpacker = zlib.decompressobj(wbits=47)  # finds out which of the two it is
    try:
        out = unpacker.decompress(body, LARGEST + 1)
    except zlib.error as error:
        raise NotOtlp(str(error)) from None
    if not unpacker.eof and len(out) <= LARGEST:
        raise NotOtlp("its packed body breaks off")
    return out


def _told(form: str, status: int, message: str, *, code: int = 3) -> HttpResponse:
    if form == PROTOBUF:
        return HttpResponse(protobuf.status(message, code), status=status, content_type=PROTOBUF)
    return HttpResponse(orjson.dumps({"code": code, "message": message}), status=status, content_type=JSON)
