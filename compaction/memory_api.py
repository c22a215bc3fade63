"""The API of what is remembered: a session's memory in its versions; what a project's sessions taught."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from ninja import Router, Schema
from ninja.responses import Status

from compaction import project_memory, remembered, session_memory, tasks
from compaction.memory_answers import difference_json, memory_json
from sessions.http import session_of

router = Router(tags=["memory"])


class MemoryIn(Schema):
    """`text`: the ten sections as a person wants them; `base`: the version they saw, null: the newest."""

    text: str
    base: int | None = None


class KeepingIn(Schema):
    on: bool | None = None
    summariser: str | None = None
    model: str | None = None


@router.get(
    "/sessions/{session}/session-memory", response=dict[str, Any], summary="A session's memory, or a version of it"
)
def get_memory(request: HttpRequest, session: str, n: int | None = None) -> dict[str, Any]:
    found = session_of(request, session)
    return memory_json(found, remembered.newest(found) if n is None else remembered.version_of(found, n))


@router.get(
    "/sessions/{session}/session-memory/diff",
    response=dict[str, Any],
    summary="What differs between two versions of it",
)
def diff_memory(request: HttpRequest, session: str, a: int, b: int) -> dict[str, Any]:
    return difference_json(session_of(request, session), a, b)


@router.post(
    "/sessions/{session}/session-memory/update",
    response={202: dict[str, str]},
    summary="Have it brought up to date by a worker",
)
def update_memory(request: HttpRequest, session: str) -> Status[Any]:
    found = session_of(request, session)
    operators_only(request)
    tasks.ask_to_remember(found.pk, "asked for")
    return Status(202, {"session": str(found.pk)})


@router.put("/sessions/{session}/session-memory", response=dict[str, Any], summary="Edit it: a version of its own")
def edit_memory(request: HttpRequest, session: str, wanted: MemoryIn) -> dict[str, Any]:
    found = session_of(request, session)
    operators_only(request)
    return memory_json(found, session_memory.edit(found, wanted.text, base=wanted.base, by=request.user))


@router.put(
    "/sessions/{session}/session-memory/keeping",
    response=dict[str, Any],
    summary="Choose whether and by whom it is kept",
)
def keep_memory(request: HttpRequest, session: str, wanted: KeepingIn) -> dict[str, Any]:
    found = session_of(request, session)
    operators_only(request)
    session_memory.keep_with(found, **wanted.dict())
    return memory_json(found, remembered.newest(found))


def operators_only(request: HttpRequest) -> None:
    """Refuse who may only read: by their membership, or by the scope of the token they came with."""
    member = getattr(request, "membership", None)
    allowed = ("operator", "admin")
    if member is None or member.role not in allowed or getattr(request, "scope_role", "admin") not in allowed:
        raise PermissionDenied


class NoteIn(Schema):
    kind: str
    text: str
    project: str = ""


class DecisionIn(Schema):
    """`what`: accept, reject or reopen; `wording`: with accept, in these words."""

    what: str
    wording: str | None = None


@router.get("/project-memory", response=list[dict[str, Any]], summary="What sessions taught, those to be decided first")
def list_notes(request: HttpRequest, project: str | None = None, state: str | None = None) -> list[dict[str, Any]]:
    rows = project_memory.notes_in(_workspace(request), project=project, state=state)[: project_memory.MOST]
    return [project_memory.note_json(row) for row in rows]


@router.post("/project-memory", response=dict[str, Any], summary="Add a note of one's own, accepted with that")
def add_note(request: HttpRequest, wanted: NoteIn) -> dict[str, Any]:
    operators_only(request)
    return project_memory.note_json(project_memory.add(_workspace(request), **wanted.dict(), by=request.user))


@router.post("/project-memory/{note_id}", response=dict[str, Any], summary="Accept, word anew, reject or reopen a note")
def decide_note(request: HttpRequest, note_id: int, wanted: DecisionIn) -> dict[str, Any]:
    operators_only(request)
    row = project_memory.decide(_workspace(request), note_id, wanted.what, wording=wanted.wording, by=request.user)
    return project_memory.note_json(row)


@router.post(
    "/sessions/{session}/learn", response=list[dict[str, Any]], summary="Propose what a session taught; the new notes"
)
def learn_from(request: HttpRequest, session: str) -> list[dict[str, Any]]:
    found = session_of(request, session)
    operators_only(request)
    return [project_memory.note_json(row) for row in project_memory.propose_from(found)]


def _workspace(request: HttpRequest) -> Any:
    workspace = getattr(request, "workspace", None)
    if workspace is None:
        raise Http404
    return workspace
