"""The API of files to take away."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Query, Router

from sessions.api import _operators_only, _session
from sessions.export.choosing import Wanted
from sessions.exportviews import answer
from sessions.filters import Narrowed

router = Router(tags=["sessions"])


@router.get("/sessions/{session}/export", summary="A session, or a part of it, as one file", response={200: None})
def get_export(
    request: HttpRequest,
    session: str,
    format: Literal["md", "html", "json"] = "md",  # noqa: A002 -- the name it has in the address
    entries: Annotated[str, Query(max_length=400)] = "",
    what: Literal["log", "context"] = "log",
    version: int | None = None,
    role: str = "",
    tool: str = "",
    file: str = "",
    goal: str = "",
    only: str = "",
    redact: bool = True,  # noqa: FBT001, FBT002 -- a parameter of an address
) -> Any:
    """Secrets are redacted; `redact=false` is for operators."""
    found = _session(request, session)
    if not redact:
        _operators_only(request)
    narrowed = Narrowed.of({"role": role, "tool": tool, "file": file, "goal": goal, "only": only})
    return answer(found, Wanted(format, entries, narrowed, what == "context", version, redact=redact))
