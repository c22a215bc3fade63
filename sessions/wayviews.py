"""Ways through a session, each a fragment beside the transcript and a page of its own: what to narrow to, words found, errors, marks."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from sessions import marks, queries
from sessions.entryline import Line
from sessions.filters import ONLY, ROLES, Narrowed, narrowed_window, tools_of
from sessions.finding import find
from sessions.http import Request, integer, may_operate, number, operators_only, page_or_partial, session_of
from sessions.mapping import map_of, nearest_of
from sessions.models import Session
from sessions.verbs import refusal
from sessions.versions import Refused


@require_GET
def narrow(request: HttpRequest, name: str) -> HttpResponse:
    """The form that narrows the transcript. Counts the session's tools, so it comes when it is opened."""
    found = session_of(request, name)
    context = {
        "session": found,
        "narrowed": Narrowed.of(request.GET),
        "roles": [(role, words) for role, (words, _kinds) in ROLES.items()],
        "restrictions": list(ONLY.items()),
        "tools": tools_of(found)[:60],
        "v": number(request, "v", low=0),
    }
    return page_or_partial(cast("Request", request), "sessions/narrow.html", "narrow", context)


@require_GET
def search_within(request: HttpRequest, name: str) -> HttpResponse:
    """Entries that hold the words `q`, ghosts among them, in order."""
    found = session_of(request, name)
    seen = queries.reading(found, number(request, "v", low=0))
    after = number(request, "after", -1)
    words = request.GET.get("q", "")
    context = {
        "session": found,
        "words": words,
        "page": find(seen, words, after=after if after is not None else -1),
        "first": not request.GET.get("after"),
        "v": seen.version.n if seen.looks_back and seen.version is not None else None,
    }
    return page_or_partial(cast("Request", request), "sessions/find.html", "found", context)


@require_GET
def errors(request: HttpRequest, name: str) -> HttpResponse:
    """What failed in a session, in order: failed calls and requests, and records that could not be read."""
    found = session_of(request, name)
    seen = queries.reading(found, number(request, "v", low=0))
    window = narrowed_window(seen, Narrowed(only="errors"), request.GET)
    lines: list[Line] = window["found_lines"]
    context = {"session": found, "lines": lines, "after": window["after"], "errors_total": window["found_total"]}
    return page_or_partial(cast("Request", request), "sessions/errors.html", "errors", context)


@require_GET
def minimap(request: HttpRequest, name: str) -> HttpResponse:
    """The whole session at one glance, entry numbers from top to bottom."""
    found = session_of(request, name)
    seen = queries.reading(found, number(request, "v", low=0))
    context = {"session": found, "map": map_of(seen)}
    return page_or_partial(cast("Request", request), "sessions/map.html", "map", context)


@require_GET
def marked(request: HttpRequest, name: str) -> HttpResponse:
    """Pins, a person's own bookmarks, and everybody's comments."""
    found = session_of(request, name)
    context = {
        "session": found,
        "may_operate": may_operate(cast("Request", request)),
        **marks.marks_of(found, request.user),
    }
    return page_or_partial(cast("Request", request), "sessions/marks.html", "marks", context)


@require_GET
def nearest(request: HttpRequest, name: str, what: str) -> HttpResponse:
    """The next entry of a kind behind `from`, or with `back` the last one before it, as JSON; 204 where there is none."""
    found = session_of(request, name)
    seq = number(request, "from", -1)
    at = nearest_of(
        queries.reading(found, number(request, "v", low=0)),
        what,
        seq if seq is not None else -1,
        back="back" in request.GET,
    )
    return HttpResponse(status=204) if at is None else JsonResponse({"seq": at})


def _done(request: HttpRequest, session: Session, act: Callable[[], int]) -> HttpResponse:
    """Carry out a verb on an entry; answer with the entry's inspector, or with the refusal."""
    try:
        seq = act()
    except Refused as refused:
        return refusal(request, session, refused)
    return redirect("sessions:inspect", session.pk, seq)


def _seq(request: HttpRequest) -> int:
    given = integer(request.POST.get("seq"))
    if given is None:
        raise Refused("no_such_entry", _("There is no such entry; nothing was changed."))
    return given


@require_POST
def bookmark(request: HttpRequest, name: str) -> HttpResponse:
    """Set one's bookmark on an entry, or take it away."""
    session = session_of(request, name)

    def act() -> int:
        seq = _seq(request)
        marks.bookmark(session, seq=seq, by=request.user)
        return seq

    return _done(request, session, act)


@require_POST
@operators_only
def comment(request: HttpRequest, name: str) -> HttpResponse:
    """Write a comment on an entry."""
    session = session_of(request, name)
    text = request.POST.get("text", "")
    return _done(request, session, lambda: marks.comment(session, seq=_seq(request), text=text, by=request.user).seq)


@require_POST
@operators_only
def uncomment(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """Take one's comment away."""
    session = session_of(request, name)
    return _done(request, session, lambda: marks.uncomment(session, number=number, by=request.user))
