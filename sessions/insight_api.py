"""The API of what a context is made of: its kinds, the difference of two, the memory in it."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Router
from ninja.errors import HttpError

from sessions import findings
from sessions.api import _session as session_named
from sessions.insight_schemas import DiffOut, FillsOut, MemoryOut
from sessions.models import Session
from sessions.moments import Moment, at_step, at_version, moment_of

router = Router(tags=["sessions"])


@router.get("/sessions/{session}/fills", response=FillsOut, summary="What fills the context, by kind and by tool")
def get_fills(
    request: HttpRequest,
    session: str,
    version: int | None = None,
    step: int | None = None,
    after: str | None = None,
    n: Annotated[int, Query(ge=1, le=findings.MOST)] = findings.BIGGEST,
) -> Any:
    found = session_named(request, session)
    return findings.fills_of(found, _moment(found, version, step), after=after, n=n)


@router.get("/sessions/{session}/diff", response=DiffOut, by_alias=True, summary="How one context differs from another")
def get_diff(
    request: HttpRequest,
    session: str,
    left: str,
    right: str = "head",
    after: Annotated[int, Query(ge=0)] = 0,
    n: Annotated[int, Query(ge=1, le=findings.MOST)] = findings.MOST,
) -> Any:
    """`left` and `right`: head, native, v3 or step12."""
    return findings.diff_of(session_named(request, session), left, right, after=after, n=n)


@router.get("/sessions/{session}/memory", response=MemoryOut, summary="The memory files a session carries")
def get_memory(request: HttpRequest, session: str, version: int | None = None, step: int | None = None) -> Any:
    found = session_named(request, session)
    return findings.memory_of(found, _moment(found, version, step))


def _moment(session: Session, version: int | None, step: int | None) -> Moment:
    if version is not None and step is not None:
        raise HttpError(422, "Say either a version or a step.")
    if step is not None:
        return at_step(session, step)
    return moment_of(session) if version is None else at_version(session, version)
