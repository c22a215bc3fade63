"""The pages of the ways in: taking files in by hand, what came in, and whether folders are watched."""

from __future__ import annotations

import json
from typing import Any, BinaryIO, cast

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from sessions import intake, uploads
from sessions.discover import SUFFIXES
from sessions.http import Request, may_operate, operators_only, page_or_partial
from sessions.ingest import Taken
from sessions.models import Intake
from sessions.versions import Refused
from sessions.watched import watch_of


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
def take_in(request: HttpRequest) -> HttpResponse:
    """Choose files or drop them. With a script each is sent by itself through the API; without one all come as a form."""
    asked = cast("Request", request)
    workspace = _workspace(asked)
    taken: list[Taken] = []
    if request.method == "POST":
        rewrite = bool(request.POST.get("rewrite"))
        taken = [_taken(workspace, file, rewrite, request.user) for file in request.FILES.getlist("files")]
    context = {
        "taken": taken,
        "came": request.method == "POST",
        "outcomes": outcome_words(),
        "words": json.dumps(outcome_words()),
        "suffixes": " ".join(SUFFIXES),
        "limit": settings.UPLOAD_LIMIT,
        "rewrite": bool(request.POST.get("rewrite")),
    }
    return page_or_partial(asked, "sessions/take_in.html", "results", context)


@require_GET
def log(request: HttpRequest) -> HttpResponse:
    """What came in by every way, what did not, and why."""
    asked = cast("Request", request)
    workspace = _workspace(asked)
    outcome, how = request.GET.get("outcome", ""), request.GET.get("how", "")
    how = how if how in Intake.How.values else ""
    after = request.GET.get("after", "")
    found = intake.page(workspace, outcome=outcome, how=how, after=after)
    counts = intake.counts(workspace, how=how)
    words = outcome_words()
    context = {
        "rows": [(row, words.get(row.outcome, row.outcome)) for row in found.rows],
        "after": found.after,
        "outcome": outcome,
        "how": how,
        "hows": [(value, _(str(label))) for value, label in Intake.How.choices],
        "tabs": [(one, words.get(one, one), count) for one, count in counts],
        "all": sum(count for _outcome, count in counts),
        "kept": settings.INTAKE_KEPT,
        "watch": watch_of(workspace),
        "may_take_in": may_operate(asked),
    }
    partial = "more" if after and request.headers.get("HX-Target") != "results" else "results"
    return page_or_partial(asked, "sessions/intake.html", partial, context)


@require_GET
def watch(request: HttpRequest) -> HttpResponse:
    """Whether folders are watched, and when they were last read to the end."""
    asked = cast("Request", request)
    return page_or_partial(asked, "sessions/watch.html", "watch", {"watch": watch_of(_workspace(asked))})


def outcome_words() -> dict[str, str]:
    """What each outcome is called on pages."""
    return {
        "added": _("new session"),
        "grown": _("grown"),
        "rewritten": _("new revision"),
        "kept": _("kept with its session"),
        "unchanged": _("unchanged"),
        "same": _("here already"),
        "skipped": _("skipped"),
        "refused": _("refused"),
        "failed": _("failed"),
    }


def _taken(workspace: Any, file: UploadedFile[bytes], rewrite: bool, by: Any) -> Taken:  # noqa: FBT001 -- as the form has it
    path = uploads.label(file.name or "upload")
    try:
        return uploads.whole(workspace, path, cast("BinaryIO", file), rewrite=rewrite, how=Intake.How.UPLOAD, by=by)
    except Refused as refused:
        session = getattr(refused, "session", None)
        return Taken(path, "refused", str(refused), session=session, size=file.size or 0)


def _workspace(request: Request) -> Any:
    if request.workspace is None:
        raise Http404
    return request.workspace
