"""The page of search: a query, the facets it falls into, and hits by session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from django.contrib import messages
from django.db.models import Count, Sum
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_POST

from sessions import searchsaving
from sessions.http import Request, integer, number, page_or_partial
from sessions.listing import WHEN
from sessions.models import Session
from sessions.naming import find_session
from sessions.pages import agent_label
from sessions.search.asked import Asked, asked
from sessions.search.find import BadCursor, Found, find
from sessions.search.hits import SORTS
from sessions.search.shown import shown
from sessions.search.waiting import waiting
from sessions.versions import Refused

SPEAKERS = {
    "person": _("your messages"),
    "assistant": _("assistant text"),
    "reasoning": _("reasoning"),
    "calls": _("tool calls"),
    "outputs": _("tool output"),
    "harness": _("the harness"),
    "summaries": _("summaries"),
    "unsent": _("records never sent"),
    "errors": _("errors"),
}
SPEAKER = {
    "person": _("your message"),
    "assistant": _("assistant"),
    "reasoning": _("reasoning"),
    "calls": _("tool call"),
    "outputs": _("tool output"),
    "harness": _("the harness"),
    "summaries": _("summary"),
    "unsent": _("record never sent"),
    "errors": _("error"),
}
PLACES = {
    "context": _("in context"),
    "ghosts": _("ghosts, not sent"),
    "masked": _("masked"),
    "versions": _("in a version written here"),
}
FACETS = {
    "in": _("Where it stands now"),
    "role": _("Kind"),
    "agent": _("Agent"),
    "project": _("Project"),
    "owner": _("Owner"),
}
SORTED = {"best": _("best match"), "most": _("most hits"), "newest": _("newest")}
OFFERED = 12  # values of a facet


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a facet: its address value, its words, how many hits, and whether it is chosen."""

    value: str
    label: str
    hits: int
    chosen: bool


@require_GET
def search(request: HttpRequest) -> HttpResponse:
    """Search all sessions; with `session`, that one entry by entry."""
    asker = cast("Request", request)
    if asker.workspace is None:
        raise Http404
    query = request.GET.dict()
    words = query.get("q", "").replace("\x00", "")
    wanted = asked(words, _chosen(request.GET))
    sort = query.get("sort", "best")
    sort = sort if sort in SORTS else "best"
    session = _session(asker, query.get("session", ""))
    after = number(request, "behind") if session is not None else None
    try:
        found = find(
            asker.workspace.pk,
            wanted,
            sort=sort,
            after=query.get("after") or None,
            session=None if session is None else session.pk,
        )
    except BadCursor as error:
        raise Http404(str(error)) from error
    context = {
        "words": words,
        "wanted": wanted,
        "found": found,
        "rows": shown(found.page, wanted, whole=session is not None, after=after),
        "facets": _facets(found, wanted) if wanted else [],
        "speakers": SPEAKER,
        "agents": {hits.about.agent: agent_label(hits.about.agent) for hits in found.page},
        "sort": sort,
        "sorts": SORTED.items(),
        "when": query.get("when", ""),
        "only": session,
        "going_on": bool(query.get("after") or query.get("behind")),
        "without": _without(asker, wanted, found),
        "corpus": _corpus(asker.workspace.pk),
        "query": searchsaving.query_of(request.META.get("QUERY_STRING", "")),
        "saved": searchsaving.saved(asker.workspace, by=request.user),
    }
    partial = "more" if context["going_on"] and request.headers.get("HX-Target") != "found" else "found"
    return page_or_partial(asker, "sessions/search.html", partial, context)


@require_GET
def still_waiting(request: HttpRequest) -> HttpResponse:
    """What is not found yet, for the line that says so."""
    asker = cast("Request", request)
    if asker.workspace is None:
        raise Http404
    context = {"waits": waiting(asker.workspace.pk), "again": True}
    return page_or_partial(asker, "sessions/search_waiting.html", "waits", context)


@require_POST
def save(request: HttpRequest) -> HttpResponse:
    """Save the search in force under a name; with `drop`, forget one. Then the search again."""
    asker = cast("Request", request)
    if asker.workspace is None:
        raise Http404
    query = searchsaving.query_of(request.POST.get("query", ""))
    if request.POST.get("drop"):
        searchsaving.forget(asker.workspace, number=integer(request.POST["drop"]) or 0, by=request.user)
    else:
        try:
            made = searchsaving.save(asker.workspace, name=request.POST.get("name", ""), query=query, by=request.user)
        except Refused as refused:
            messages.error(request, str(refused))
        else:
            messages.success(request, gettext("The search “%(name)s” is saved.") % {"name": made.name})
    return redirect(reverse("sessions:search") + (f"?{query}" if query else ""))


def _chosen(query: QueryDict) -> list[tuple[str, str]]:
    """The facets of an address as fields of a query. All places chosen is no choice."""
    out = [(name, value) for name in ("role", "agent", "project", "owner") for value in query.getlist(name)]
    places = [value for value in query.getlist("in") if value in PLACES]
    if len(set(places)) < len(PLACES):
        out += [("in", value) for value in places]
    since = WHEN.get(query.get("when", ""))
    if since is not None:
        # Whole days: the first of them counts.
        out.append(("after", (timezone.now() - max(since, timedelta(days=1))).date().isoformat()))
    return out


def _session(request: Request, name: str) -> Session | None:
    if not name:
        return None
    try:
        return find_session(name, workspace=request.workspace)
    except LookupError as error:
        raise Http404(str(error)) from error


def _facets(found: Found, wanted: Asked) -> list[tuple[str, Any, list[Choice]]]:
    out: list[tuple[str, Any, list[Choice]]] = []
    for name, title in FACETS.items():
        chosen = [value.lower() for value in wanted.of(name)]
        rows = found.facets.get(name, [])
        choices = [
            Choice(
                value or "-", _label(name, value), n, (value or "-").lower() in chosen or (name == "in" and not chosen)
            )
            for value, n in _some(rows, chosen)
        ]
        if any(choice.value != "-" for choice in choices):
            out.append((name, title, choices))
    return out


def _some(rows: Sequence[tuple[str, int]], chosen: Sequence[str]) -> list[tuple[str, int]]:
    """As many values as are offered, those that are chosen among them."""
    return [row for n, row in enumerate(rows) if n < OFFERED or (row[0] or "-").lower() in chosen]


def _label(name: str, value: str) -> str:
    match name:
        case "in":
            return str(PLACES[value])
        case "role":
            return str(SPEAKERS[value])
        case "agent":
            return agent_label(value)
        case _:
            return value or str(_("none"))


def _without(request: Request, wanted: Asked, found: Found) -> int | None:
    """How many hits there would be without the fields, where there is none with them."""
    if found.total or not wanted.clauses or not wanted.filters or request.workspace is None:
        return None
    return find(request.workspace.pk, Asked(wanted.text, wanted.clauses)).total


def _corpus(workspace_id: Any) -> dict[str, int]:
    """How much is looked through."""
    rows = Session.objects.filter(workspace_id=workspace_id, superseded_by=None)
    found = rows.aggregate(sessions=Count("pk"), entries=Sum("entries_count"))
    return {"sessions": found["sessions"], "entries": found["entries"] or 0}
