"""The API of sessions that are given back to agents: what would be written, the file, the agent's folder."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Field, Router, Schema

from sessions import writing
from sessions.answers_writing import made_row, put_row
from sessions.api import _operators_only as operators_only
from sessions.api import _session as session_named

router = Router(tags=["sessions"])


class ResumeIn(Schema):
    agent: str | None = Field(
        None, alias="as", description="whose session it becomes; the session's own agent by default"
    )
    version: int | None = Field(None, description="the version; the one in force by default")


class InstallIn(ResumeIn):
    even_if_live: bool = Field(default=False, description="although the original looks as if its agent had it open")


class WrittenFile(Schema):
    name: str
    bytes: int


class WrittenOut(Schema):
    session: str
    version: int
    agent: str
    label: str
    native_id: str = Field(description="the new session's id; every call makes another")
    files: list[WrittenFile]
    blocks: int = Field(description="of the context that the new session would send, read back")
    notes: list[str] = Field(description="what could not be kept as it was")


class InstalledOut(WrittenOut):
    paths: list[str]
    command: str = Field(description="the line for a shell that goes on from it")
    installed: bool


@router.get("/sessions/{session}/resume", response=WrittenOut, summary="What giving a version back would write")
def get_resume(request: HttpRequest, session: str, agent: str | None = None, version: int | None = None) -> Any:
    """Writes nothing. `agent`: whose session it would become."""
    return made_row(writing.make(session_named(request, session), agent=agent, version=version))


@router.post(
    "/sessions/{session}/resume", summary="The file of a new session that goes on from a version", response={200: None}
)
def post_resume(request: HttpRequest, session: str, body: ResumeIn) -> Any:
    found = session_named(request, session)
    operators_only(request)
    made = writing.make(found, agent=body.agent, version=body.version)
    name, data = writing.download(made, by=request.user)
    response = HttpResponse(data, content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


@router.post(
    "/sessions/{session}/resume/install",
    response=InstalledOut,
    summary="Put it where its agent lists sessions, on this machine",
)
def post_install(request: HttpRequest, session: str, body: InstallIn) -> Any:
    """Refused unless PALIMPSEST_INSTALL is on, while the original looks live, and where a file of that name is."""
    found = session_named(request, session)
    operators_only(request)
    made = writing.make(found, agent=body.agent, version=body.version)
    return put_row(writing.install(made, even_if_live=body.even_if_live, by=request.user))
