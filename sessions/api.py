"""The API of sessions: every command has its address here, and answers the same JSON."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import PurePath
from typing import Annotated, Any, BinaryIO, cast
from urllib.parse import quote

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Query, Router
from ninja.errors import HttpError
from ninja.responses import Status

from sessions import answers, uploads, versions
from sessions.ingest import Taken
from sessions.keyset import MOST, PAGE, BadCursor, sessions_page
from sessions.models import Intake, Session
from sessions.naming import Ambiguous, NoSuchSession, find_session
from sessions.rereading import read_again
from sessions.schemas import (
    ContextOut,
    EntriesOut,
    GoalOut,
    HeadIn,
    MovedOut,
    NameIn,
    ReceivedOut,
    SessionsOut,
    SessionWhole,
    SourceOut,
    StandingOut,
    StepsOut,
    TakenOut,
    VersionOut,
    VersionsOut,
)
from sessions.sourcebytes import stored
from sessions.versions import Moved

router = Router(tags=["sessions"])

ENTRIES = 100  # of a page, where nobody says how many
MOST_ENTRIES = 500
STEPS = 1000
MOST_STEPS = 10_000
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
    row = _session(request, session)
    found = list(row.entries.filter(seq__gt=after).order_by("seq")[: n + 1])
    return {
        "items": [answers.entry_row(entry, row.source) for entry in found[:n]],
        "next": found[n - 1].seq if len(found) > n else None,
    }


@router.get("/sessions/{session}/steps", response=StepsOut, summary="Model requests with their usage")
def list_steps(
    request: HttpRequest,
    session: str,
    after: Annotated[int, Query(ge=0)] = 0,
    n: Annotated[int, Query(ge=1, le=MOST_STEPS)] = STEPS,
) -> Any:
    return answers.steps_of(_session(request, session), after=after, count=n)


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


@router.post(
    "/sessions/{session}/reread", response=TakenOut, summary="Read a session again from the bytes that are kept"
)
def reread(request: HttpRequest, session: str) -> Any:
    found = _session(request, session)
    _operators_only(request)
    return read_again(found.pk, by=request.user).to_json()


Base = Annotated[
    int | None,
    Query(description="The version that is meant to be the head: 409 (head_moved) where another is by now."),
]


@router.post("/sessions/{session}/undo", response=MovedOut, summary="Take the last version back")
def undo(request: HttpRequest, session: str, base: Base = None) -> Any:
    return _moved(request, session, lambda found: versions.undo(found.pk, base=base, by=request.user))


@router.post("/sessions/{session}/redo", response=MovedOut, summary="Bring back what the last undo took back")
def redo(request: HttpRequest, session: str, base: Base = None) -> Any:
    return _moved(request, session, lambda found: versions.redo(found.pk, base=base, by=request.user))


@router.post("/sessions/{session}/head", response=MovedOut, summary="Make another version the head")
def move_head(request: HttpRequest, session: str, wanted: HeadIn, base: Base = None) -> Any:
    return _moved(
        request, session, lambda found: versions.move_head(found.pk, wanted.version, base=base, by=request.user)
    )


@router.put("/sessions/{session}/versions/{n}/name", response=VersionOut, summary="Name a version")
def name_version(request: HttpRequest, session: str, n: int, wanted: NameIn) -> Any:
    found = _session(request, session)
    _operators_only(request)
    return answers.version_row(versions.name_version(found.pk, n, wanted.name, by=request.user))


@router.api_operation(
    ["GET", "HEAD"],
    "/sources",
    response=StandingOut,
    summary="How much of a source is stored, by the name it was sent under",
)
def get_standing(
    request: HttpRequest,
    response: HttpResponse,
    path: str | None = None,
    name: str | None = None,
    agent: str | None = None,
    sha256: Annotated[str | None, Query(pattern="^[0-9a-f]{64}$")] = None,
) -> Any:
    """404 where nothing is. `sha256`: where nothing is under the name, whether the same bytes are here under another.

    The headers say the same: `Upload-Offset`, `Upload-Complete`, `Repr-Digest`.
    """
    workspace = _workspace(request)
    found = uploads.standing(workspace, uploads.label(_named(path, name)), agent=agent, sha256=sha256)
    if found is None:
        raise Http404("Nothing is stored under this name.")
    response["Upload-Offset"] = str(found.stored)
    response["Upload-Complete"] = "?1" if found.complete else "?0"
    response["Repr-Digest"] = f"sha-256=:{base64.b64encode(bytes.fromhex(found.sha256)).decode()}:"
    return asdict(found)


@router.post(
    "/sources",
    response={200: ReceivedOut, 201: ReceivedOut, 202: ReceivedOut, 422: ReceivedOut},
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
def post_source(
    request: HttpRequest,
    *,
    name: str | None = None,
    path: str | None = None,
    offset: Annotated[int | None, Query(ge=0)] = None,
    complete: bool = True,
    rewrite: bool = False,
) -> Any:
    """201 for a new session, 200 where it was here or grew, 422 with the reason where the file is no session.

    The name tells one file from another: the same name with more in it is the same file, grown; with less in it, it is refused (409)
    unless `rewrite=true`, and what is stored stays either way. With `offset` the body is a piece, as with PATCH.
    """
    workspace = _workspace(request)
    _operators_only(request)
    if offset is not None:
        return _piece(request, workspace, _named(path, name), offset, complete=complete, rewrite=rewrite)
    if request.content_type == "multipart/form-data":
        upload = request.FILES.get("file")
        if upload is None:
            raise HttpError(422, "The form has no field `file` with a file in it.")
        name = uploads.label(path or name or upload.name or "upload")
        taken = uploads.whole(
            workspace, name, cast("BinaryIO", upload), rewrite=rewrite, how=_how(request), by=request.user
        )
    else:
        name = uploads.label(_named(path, name))
        with _body(request) as file:
            taken = uploads.whole(workspace, name, file, rewrite=rewrite, how=_how(request), by=request.user)
    return _answered(taken, taken.size if taken.outcome in uploads.HELD else 0)


@router.patch(
    "/sources",
    response={200: ReceivedOut, 201: ReceivedOut, 202: ReceivedOut, 422: ReceivedOut},
    summary="Append bytes to a source from `offset` on, which must be how many are stored",
    openapi_extra={
        "requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
    },
)
def patch_source(
    request: HttpRequest,
    *,
    offset: Annotated[int, Query(ge=0)],
    name: str | None = None,
    path: str | None = None,
    complete: bool = True,
    rewrite: bool = False,
) -> Any:
    """409 with the right offset where another number of bytes is stored. `complete=false`: more follows at once (202).

    `rewrite=true` at offset 0 begins a new revision; the one stored stays. Bytes that make no session yet are kept with 422 and the
    reason, and what follows is put behind them.
    """
    workspace = _workspace(request)
    _operators_only(request)
    return _piece(request, workspace, _named(path, name), offset, complete=complete, rewrite=rewrite)


def _piece(request: HttpRequest, workspace: Any, name: str, offset: int, *, complete: bool, rewrite: bool) -> Any:
    if request.content_type == "multipart/form-data":
        raise HttpError(422, "A piece is sent as the raw body.")
    path = uploads.label(name)
    with _body(request) as file:
        received = uploads.piece(
            workspace,
            path,
            file,
            offset=offset,
            complete=complete,
            rewrite=rewrite,
            how=_how(request),
            by=request.user,
        )
    if received.taken is None:
        return Status(202, {**Taken(path, "held", size=received.stored).to_json(), "stored": received.stored})
    return _answered(received.taken, received.stored)


def _answered(taken: Taken, stored: int) -> Any:
    status = {"added": 201, "kept": 201, "skipped": 422, "failed": 422}.get(taken.outcome, 200)
    return Status(status, {**taken.to_json(), "stored": stored})


@contextmanager
def _body(request: HttpRequest) -> Iterator[BinaryIO]:
    """The request's body as a file; what is long waits on disk."""
    size = 0
    with tempfile.SpooledTemporaryFile(max_size=uploads.IN_MEMORY) as file:
        while block := request.read(BLOCK):
            size += len(block)
            if size > settings.UPLOAD_LIMIT:
                raise uploads.too_large(size)
            file.write(block)
        file.seek(0)
        yield cast("BinaryIO", file)


def _named(path: str | None, name: str | None) -> str:
    found = path or name
    if not found:
        raise HttpError(422, "Say the file's name: `?name=`.")
    return found


def _how(request: HttpRequest) -> str:
    """By a token it is a program's push; by a person's cookie an upload."""
    return Intake.How.PUSH if "Authorization" in request.headers else Intake.How.UPLOAD


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
