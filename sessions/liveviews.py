"""Server-sent events of the reading pages: that something changed. What changed, the page then asks for as always."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, cast
from uuid import UUID

from django.core.handlers.asgi import ASGIRequest
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from sessions.announcing import Deaf, following, place
from sessions.http import Request, session_of

BEAT = 15.0  # seconds without a word after which a stream says that it lives
LASTS = 900.0  # seconds after which a stream ends: the page comes again, and it is looked anew whether it may
RETRY = 3000  # ms after which a browser comes again


@never_cache
@require_GET
def session_events(request: HttpRequest, name: str) -> HttpResponseBase:
    """An event at each change of one session: it grew, was read anew, or its head moved."""
    return _stream(request, session_of(request, name).pk)


@never_cache
@require_GET
def list_events(request: HttpRequest) -> HttpResponseBase:
    """An event at each change of any session of the workspace."""
    return _stream(request, None)


def _stream(request: HttpRequest, session: UUID | None) -> HttpResponseBase:
    workspace = cast("Request", request).workspace
    if workspace is None:
        raise Http404
    if not isinstance(request, ASGIRequest):
        # A server that gives a thread to each request cannot keep them open; 204 tells a browser not to come again.
        return HttpResponse(status=204)
    given = place()
    # A request gives its connection back when it ends, and this one does not end: it would be out of the pool for as long.
    connection.close()
    return StreamingHttpResponse(
        _events(given, workspace.pk, session),
        content_type="text/event-stream",
        headers={"X-Accel-Buffering": "no"},
    )


async def _events(given: dict[str, Any], workspace: Any, session: UUID | None) -> AsyncIterator[bytes]:
    started = timezone.now()
    try:
        async with following(given, workspace=workspace, session=session) as follower:
            # Sent once everything later is heard: who looks at this word misses nothing.
            yield f"retry: {RETRY}\nevent: following\ndata: {{}}\n\n".encode()
            while (timezone.now() - started).total_seconds() < LASTS:
                changed = await follower.changed(BEAT)
                if changed:
                    yield f"event: changed\ndata: {json.dumps({'sessions': sorted(changed)})}\n\n".encode()
                else:
                    yield b": beat\n\n"
    except Deaf:
        return
