"""The page that gives a version back to an agent: what would be written, the line that goes on from it, the file, the agent's folder."""

from __future__ import annotations

import random
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_POST

from sessions import writing
from sessions.http import Request, integer, may_operate, operators_only, session_of
from sessions.models import Session
from sessions.versions import Refused
from sessions.writers import writers
from sessions.writers.base import Names

_SEED = re.compile(r"[0-9]{1,12}-[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be written. `mark`: time and chance, so that the file fetched has the name that the page showed."""

    agent: str
    version: int | None
    mark: str

    def names(self) -> Names:
        at, _, seed = self.mark.partition("-")
        return Names(datetime.fromtimestamp(int(at), UTC), random.Random(seed))  # noqa: S311 -- names, no secret


@require_GET
def resume(request: HttpRequest, name: str) -> HttpResponse:
    """What would be written of a version, as whose session, and what would be lost. Writes nothing."""
    session = session_of(request, name)
    return _page(request, session, _asked(request.GET, session))


@require_POST
@operators_only
def fetch(request: HttpRequest, name: str) -> HttpResponse:
    """The file itself."""
    session = session_of(request, name)
    asked = _asked(request.POST, session)
    try:
        file, data = writing.download(_made(session, asked), by=request.user)
    except Refused as refused:
        return _page(request, session, asked, refused, status=409)
    # Never shown by a browser as anything: what an agent's session contains is not ours to render.
    response = HttpResponse(data, content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{file}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


@require_POST
@operators_only
def install(request: HttpRequest, name: str) -> HttpResponse:
    """Put it where the agent lists its sessions, on this machine."""
    session = session_of(request, name)
    asked = _asked(request.POST, session)
    try:
        put = writing.install(
            _made(session, asked), even_if_live=bool(request.POST.get("even_if_live")), by=request.user
        )
    except Refused as refused:
        return _page(request, session, asked, refused, status=409)
    return _page(request, session, asked, put=put)


def _asked(given: Any, session: Session) -> Asked:
    agent = given.get("as") or session.agent
    mark = given.get("mark", "")
    if not _SEED.fullmatch(mark):
        mark = f"{int(datetime.now(UTC).timestamp())}-{secrets.token_hex(16)}"
    return Asked(agent, integer(given.get("version")), mark)


def _made(session: Session, asked: Asked) -> writing.Made:
    return writing.make(session, agent=asked.agent, version=asked.version, names=asked.names())


def _page(
    request: HttpRequest,
    session: Session,
    asked: Asked,
    refused: Refused | None = None,
    put: writing.Put | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    made: writing.Made | None = put.made if put is not None else None
    if made is None:
        try:
            made = _made(session, asked)
        except Refused as cannot:
            refused, status = refused or cannot, 409
    command = ""
    if put is not None:
        command = put.command
    elif made is not None:
        command = writing.command_for(made, [file.name for file in made.written.files], installed=False)
    asked_request = cast("Request", request)
    current = session.current
    context = {
        "session": session,
        "asked": asked,
        "made": made,
        "put": put,
        "refused": refused,
        "command": command,
        "agents": [(agent, writer.label) for agent, writer in writers().items()],
        "versions": session.versions.order_by("-n")[:200],
        "number": asked.version if asked.version is not None else current.n if current is not None else None,
        "own": asked.agent == session.agent,
        "may_operate": may_operate(asked_request),
        "may_install": settings.INSTALL_SESSIONS and may_operate(asked_request),
        "before": session.events.filter(what="written_back").select_related("who").order_by("-id")[:20],
        "live": refused is not None and refused.code == "looks_live",
    }
    return render(request, "sessions/resume.html", context, status=status)
