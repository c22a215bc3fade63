"""What a record holds, by itself: its exact bytes, the exact words of its parts, its media. Nothing here is rendered by a browser as a page."""

from __future__ import annotations

from itertools import islice
from textwrap import fill
from typing import cast
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from sessions import pdfpage, queries
from sessions.heldmedia import PDF, Held, media_in
from sessions.http import Request, number, page_or_partial, session_of
from sessions.lanes import lane_of
from sessions.models import Entry
from sessions.packing import unpack
from sessions.pdfpage import Drawn, Why
from sessions.sourcebytes import record_of

_ALONE = "default-src 'none'; sandbox"  # whatever the bytes are, they run and load nothing
_MONTH = 30 * 24 * 3600
WORDS_WIDE = 16  # letters of a line on a sheet; Chinese ones are twice as wide


def _entry(request: HttpRequest, name: str, seq: int) -> Entry:
    row = queries.entry_of(session_of(request, name), seq)
    if row is None:
        raise Http404
    return row


def _answer(body: bytes | str, kind: str, name: str = "") -> HttpResponse:
    """Bytes that stay what they are. `name`: they are taken away under it, never shown."""
    response = HttpResponse(
        body, content_type=kind, headers={"X-Content-Type-Options": "nosniff", "Content-Security-Policy": _ALONE}
    )
    if name:
        response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_GET
def words(request: HttpRequest, name: str, seq: int, part: int) -> HttpResponse:
    """The exact text of one part of an entry, for copying: nothing left out, nothing written otherwise."""
    parts = unpack(_entry(request, name, seq).parts)
    if part >= len(parts):
        raise Http404
    return _answer(parts[part].text, "text/plain; charset=utf-8")


def _held(request: HttpRequest, name: str, seq: int, n: int) -> Held:
    row = _entry(request, name, seq)
    held = next(islice(media_in(record_of(row)), n, n + 1), None)
    if held is None:
        raise Http404
    return held


@require_GET
def media(request: HttpRequest, name: str, seq: int, n: int) -> HttpResponse:
    """The `n`-th image or document that a record holds. Only what is by its own bytes an image is given to be shown."""
    held = _held(request, name, seq, n)
    if held.is_image and held.kind is not None:
        response = _answer(held.data, held.kind)
    elif held.kind == PDF:
        response = _answer(held.data, held.kind, f"entry-{seq}-{n}.pdf")
    else:
        response = _answer(held.data, "application/octet-stream", f"entry-{seq}-{n}.bin")
    response["Cache-Control"] = f"private, max-age={_MONTH}, immutable"
    return response


NOT_DRAWN = {
    Why.LARGE: _("too large to be drawn"),
    Why.LOCKED: _("it asks for a password"),
    Why.UNREADABLE: _("its pages cannot be read"),
    Why.BEYOND: _("drawing it took too much"),
    Why.BUSY: _("others are being drawn"),
}


@require_GET
def first_page(request: HttpRequest, name: str, seq: int, n: int) -> HttpResponse:
    """The first page of a PDF as a picture; where there is none, a picture that says why."""
    held = _held(request, name, seq, n)
    drawn = pdfpage.first_page(held.data) if held.kind == PDF else Drawn(why=Why.UNREADABLE)
    if drawn.png is not None:
        response = _answer(drawn.png, "image/png")
    else:
        said = str(NOT_DRAWN[drawn.why or Why.UNREADABLE])
        lines = fill(said, WORDS_WIDE if said.isascii() else WORDS_WIDE // 2).splitlines()
        placed = [(44 + 15 * at, line) for at, line in enumerate(lines)]
        sheet = render_to_string("sessions/pieces/not_drawn.svg", {"lines": placed})
        response = _answer(sheet, "image/svg+xml")
    lasts = drawn.why not in (Why.BUSY, Why.BEYOND)
    response["Cache-Control"] = (
        f"private, max-age={_MONTH}, immutable" if lasts and drawn.png else "private, max-age=60"
    )
    return response


@require_GET
def lane(request: HttpRequest, name: str) -> HttpResponse:
    """What a sub-agent did, in rows: of its own session, or of the records that stand among this session's."""
    session = session_of(request, name)
    given = {key: request.GET[key] for key in ("lane", "first", "last") if key in request.GET}
    context = {
        "session": session,
        "lane": lane_of(session, request.GET.dict()),
        "asked": urlencode(given),
        "from": number(request, "after", -1),
    }
    return page_or_partial(cast("Request", request), "sessions/lane.html", "lane", context)
