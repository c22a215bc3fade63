"""Taking a session away as a file: what to choose, and the file itself."""

from __future__ import annotations

from typing import cast
from urllib.parse import quote

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from sessions.export.choosing import FORMS, Wanted
from sessions.export.making import TYPES, export, name_of
from sessions.filters import ONLY, ROLES, Narrowed
from sessions.http import Request, may_operate, number, page_or_partial, session_of
from sessions.models import Session
from sessions.verbs import refusal
from sessions.versions import Refused

WORDS = {
    "md": gettext_lazy("Markdown"),
    "html": gettext_lazy("HTML, one file that needs nothing else"),
    "json": gettext_lazy("JSON"),
}


@require_GET
def choose(request: HttpRequest, name: str) -> HttpResponse:
    """What to take away and in which form."""
    found = session_of(request, name)
    asker = cast("Request", request)
    context = {
        "session": found,
        "forms": [(form, WORDS[form]) for form in FORMS],
        "narrowed": Narrowed.of(request.GET.dict()),
        "roles": [(role, words) for role, (words, _kinds) in ROLES.items()],
        "restrictions": list(ONLY.items()),
        "v": number(request, "v", low=0),
        "entries": request.GET.get("entries", ""),
        "may_operate": may_operate(asker),
    }
    return page_or_partial(asker, "sessions/export.html", "export", context)


@require_GET
def file(request: HttpRequest, name: str) -> HttpResponseBase:
    """The file, as it is made. Secrets stay in only for those who may do more than read."""
    found = session_of(request, name)
    try:
        return answer(found, wanted_of(request))
    except Refused as refused:
        return refusal(cast("Request", request), found, refused)


def wanted_of(request: HttpRequest) -> Wanted:
    """Read what is wanted from an address. Raises PermissionDenied where secrets are asked for by one who may not have them."""
    redact = request.GET.get("redact", "1") != "0"
    if not redact and not may_operate(cast("Request", request)):
        raise PermissionDenied(_("Only an operator may export without redaction."))
    return Wanted(
        request.GET.get("format", "md"),
        request.GET.get("entries", "")[:400],
        Narrowed.of(request.GET.dict()),
        request.GET.get("what") == "context",
        number(request, "v", low=0),
        redact=redact,
    )


def answer(session: Session, wanted: Wanted) -> StreamingHttpResponse:
    """The file as a download: no browser shows it as a page of ours."""
    response = StreamingHttpResponse(export(session, wanted), content_type=f"{TYPES[wanted.form]}; charset=utf-8")
    response["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(name_of(session, wanted.form))}"
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
    return response
