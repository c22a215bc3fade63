"""The API of sessions: every command has its address here, and answers the same JSON."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import PurePath, PurePosixPath
from typing import Annotated, Any, BinaryIO, cast
from urllib.parse import quote

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, StreamingHttpResponse
from ninja import Query, Router
from ninja.errors import HttpError
from ninja.responses import Status

from sessions import answers, versions
from sessions.ingest import link_parents, take
from sessions.keyset import MOST, PAGE, BadCursor, sessions_page
from sessions.models import Session
from sessions.naming import Ambiguous, NoSuchSession, find_session
from sessions.schemas import (
    ContextOut,
    EntriesOut,
    GoalOut,
    HeadIn,
    MovedOut,
    RollbackIn,
    SessionsOut,
    SessionWhole,
    SourceOut,
    StepsOut,
    TakenOut,
    VersionsOut,
)
from sessions.sourcebytes import stored
from sessions.versions import Moved

router = Router(tags=["sessions"])

ENTRIES = 100  # of a page, where nobody says how many
MOST_ENTRIES = 500
STEPS = 1000
MOST_STEPS = 10_000
HELD = 8 << 20  # bytes of an upload beyond which it waits on disk
BLOCK = 1 << 20
_OPERATORS = frozenset({"operator", "admin"})


@router.get("/sessions", response=SessionsOut, summary="Sessions of the workspace, newest activity first")
def list_sessions(
    request: HttpRequest,
    agent: str | None = None,
    project: str | None = None,
    after: str | None = None,
    limit: Annotated[int, Query(ge=1, le=MOST)] = PAGE,
) -> Any:
    try:
        page = sessions_page(_workspace(request), agent=agent, project=project, after=after, limit=limit)
    except BadCursor as error:
        raise HttpError(422, str(error)) from error
    return {"items": [answers.session_row(session) for session in page.sessions], "next": page.next}


@router.get("/sessions/{session}", response=SessionWhole, summary="A session with its files and its gauge")
def get_session(request: HttpRequest, session: str) -> Any:
    return answers.session_whole(_session(request, session))


@router.get("/sessions/{session}/entries", response=EntriesOut, summary="Entries in order, whole")
def list_entries(
    request: HttpRequest,
    session: str,
    after: Annotated[int, Query(ge=-1)] = -1,
    n: Annotated[int, Query(ge=1, le=MOST_ENTRIES)] = ENTRIES,
) -> Any:
    found = list(_session(request, session).entries.filter(seq__gt=after).order_by("seq")[: n + 1])
    return {
        "items": [answers.entry_row(entry) for entry in found[:n]],
        "next": found[n - 1].seq if len(found) > n else None,
    }


@router.get("/sessions/{session}/steps", response=StepsOut, summary="Model requests with their usage")
def list_steps(
    request: HttpRequest,
    session: str,
    after: Annotated[int, Query(ge=0)] = 0,
    n: Annotated[int, Query(ge=1, le=MOST_STEPS)] = STEPS,
) -> Any:
    found = list(_session(request, session).steps.filter(n__gt=after).order_by("n")[: n + 1])
    return {"items": [answers.step_row(step) for step in found[:n]], "next": found[n - 1].n if len(found) > n else None}


@router.get("/sessions/{session}/goals", response=list[GoalOut], summary="The goal tree, in order of its paths")
def list_goals(request: HttpRequest, session: str) -> Any:
    return [answers.goal_row(goal) for goal in _session(request, session).goals.order_by("position")]


@router.get("/sessions/{session}/versions", response=VersionsOut, summary="The versions and where the heads stand")
def list_versions(request: HttpRequest, session: str) -> Any:
    return answers.versions_of(_session(request, session))


@router.get("/sessions/{session}/context", response=ContextOut, summary="What the model would see, or saw at a step")
def get_context(request: HttpRequest, session: str, version: int | None = None, step: int | None = None) -> Any:
    if version is not None and step is not None:
        raise HttpError(422, "Say either a version or a step.")
    found = _session(request, session)
    return answers.context_of(found, version=version, step=step)


@router.get("/sessions/{session}/sources", response=list[SourceOut], summary="The files of a session")
def list_sources(request: HttpRequest, session: str) -> Any:
    return answers.sources_of(_session(request, session))


@router.get("/sessions/{session}/source", summary="The exact bytes of a session's file", response={200: None})
def get_source(request: HttpRequest, session: str, file: int | None = None) -> Any:
    found = _session(request, session)
    source = answers.source_of(found, file)
    # Never shown by a browser as anything: what an agent's session contains is not ours to render here.
    response = StreamingHttpResponse(stored(source), content_type="application/octet-stream")
    response["Content-Length"] = str(source.size)
    response["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(PurePath(source.path).name)}"
    response["X-Content-Type-Options"] = "nosniff"
    return response


@router.post("/sessions/{session}/undo", response=MovedOut, summary="Take the last version back")
def undo(request: HttpRequest, session: str) -> Any:
    return _moved(request, session, lambda found: versions.undo(found.pk, by=request.user))


@router.post("/sessions/{session}/redo", response=MovedOut, summary="Bring back what the last undo took back")
def redo(request: HttpRequest, session: str) -> Any:
    return _moved(request, session, lambda found: versions.redo(found.pk, by=request.user))


@router.post("/sessions/{session}/head", response=MovedOut, summary="Make another version the head")
def move_head(request: HttpRequest, session: str, wanted: HeadIn) -> Any:
    return _moved(request, session, lambda found: versions.move_head(found.pk, wanted.version, by=request.user))


@router.post("/sessions/{session}/rollback", response=MovedOut, summary="Hide everything after a turn or an entry")
def roll_back(request: HttpRequest, session: str, wanted: RollbackIn) -> Any:
    return _moved(
        request,
        session,
        lambda found: versions.roll_back(
            found.pk, to_turn=wanted.to_turn, to_entry=wanted.to_entry, reason=wanted.reason, by=request.user
        ),
    )


@router.post(
    "/sources",
    response={200: TakenOut, 201: TakenOut, 422: TakenOut},
    summary="Take a file in: multipart field `file`, or a raw body with `?name=`",
    openapi_extra={
        "requestBody": {
            "content": {
                "multipart/form-data": {
                    "schema": {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}}
                },
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            }
        }
    },
)
def post_source(request: HttpRequest, name: str | None = None) -> Any:
    """201 for a new session, 200 where it was here or grew, 422 with the reason where the file is no session.

    The name tells one file from another: the same name with more in it is the same file, grown.
    """
    workspace = _workspace(request)
    _operators_only(request)
    if request.content_type == "multipart/form-data":
        upload = request.FILES.get("file")
        if upload is None:
            raise HttpError(422, "The form has no field `file` with a file in it.")
        taken = take(
            workspace,
            _uploaded(name or upload.name or "upload"),
            cast("BinaryIO", upload),
            owner=request.user,
            patient=False,
        )
    else:
        if not name:
            raise HttpError(422, "Say the file's name: `?name=`.")
        with tempfile.SpooledTemporaryFile(max_size=HELD) as file:
            while block := request.read(BLOCK):
                file.write(block)
            taken = take(workspace, _uploaded(name), cast("BinaryIO", file), owner=request.user, patient=False)
    link_parents(workspace)
    status = {"added": 201, "kept": 201, "skipped": 422, "failed": 422}.get(taken.outcome, 200)
    return Status(status, taken.to_json())


def _uploaded(name: str) -> str:
    """The path under which an upload is kept: its own, without anything that leads out of it."""
    pieces = [piece for piece in PurePosixPath(name.replace("\\", "/")).parts if piece not in ("/", "..", ".")]
    return "/".join(["upload:", *pieces])


def _workspace(request: HttpRequest) -> Any:
    workspace = getattr(request, "workspace", None)
    if workspace is None:
        raise Http404
    return workspace


def _operators_only(request: HttpRequest) -> None:
    """Refuse a member, or a token, that may only read."""
    member = getattr(request, "membership", None)
    scope = getattr(request, "scope_role", None)
    if member is None or member.role not in _OPERATORS or (scope is not None and str(scope) not in _OPERATORS):
        raise PermissionDenied


def _moved(request: HttpRequest, name: str, verb: Callable[[Session], Moved]) -> Any:
    found = _session(request, name)
    _operators_only(request)
    return answers.moved_row(verb(found))


def _session(request: HttpRequest, name: str) -> Session:
    """The session of the request's workspace by any of its names; 404 where there is none, 409 where there are several."""
    workspace = _workspace(request)
    try:
        return find_session(name, workspace=workspace)
    except NoSuchSession as error:
        raise Http404 from error
    except Ambiguous as error:
        raise HttpError(409, str(error)) from error
