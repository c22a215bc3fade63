"""The reading pages: the list of sessions, one session, and every fragment of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_GET

from sessions import listing, marks, openings, pages, panels, queries, render
from sessions.costs import costs_of
from sessions.http import Request, may_operate, number, page_or_partial, session_of
from sessions.limits import overrides_of
from sessions.models_views import ListView
from sessions.owning import people_of
from sessions.sourcebytes import record_of, stored
from sessions.watched import watch_of

RAW_SHOWN = 262_144  # bytes of a record that the inspector reads to show its beginning


@require_GET
def session_list(request: HttpRequest) -> HttpResponse:
    """All sessions of the workspace, or those that match."""
    asked = cast("Request", request)
    if asked.workspace is None:
        raise Http404
    wanted = listing.Wanted.of(request.GET.dict())
    found = listing.sessions_of(asked.workspace, wanted)
    rows, more = listing.page_of(found, wanted)
    agents, projects = listing.choices(asked.workspace)
    everything = listing.Wanted(subs=True)
    overrides = overrides_of(asked.workspace.pk)
    costs = costs_of(rows, overrides)
    context = {
        "watch": watch_of(asked.workspace),
        "may_take_in": may_operate(asked),
        "wanted": wanted,
        "rows": [pages.list_row(row, costs[row.session.pk], overrides) for row in listing.listed(rows)],
        "after": listing.cursor_of(rows[-1]) if more else None,
        "matches": found.count() if wanted.narrowed or not wanted.subs else None,
        "total": listing.sessions_of(asked.workspace, everything).count(),
        "agents": [(agent, pages.agent_label(agent)) for agent in agents],
        "projects": projects,
        "owners": listing.owners(asked.workspace),
        "saved": list(
            ListView.objects.filter(workspace_id=asked.workspace.pk, user_id=cast("int", request.user.pk)).order_by(
                "name"
            )
        ),
        "people": people_of(asked.workspace) if may_operate(asked) else [],
        "put_away": listing.put_away(asked.workspace),
        "may_operate": may_operate(asked),
        "hidden_subs": 0 if wanted.subs else listing.sessions_of(asked.workspace, replace(wanted, subs=True)).count(),
    }
    partial = "more" if wanted.cursor is not None and request.headers.get("HX-Target") != "results" else "results"
    return page_or_partial(asked, "sessions/list.html", partial, context)


@require_GET
def session(request: HttpRequest, name: str) -> HttpResponse:
    """One session: meter, chart, goals, and the window of its transcript around the place asked for."""
    found = session_of(request, name)
    context = pages.session_page(found, request.GET, cast("Request", request))
    return page_or_partial(cast("Request", request), "sessions/session.html", "reading", context)


@require_GET
def entries(request: HttpRequest, name: str) -> HttpResponse:
    """A window of the transcript: `after` or `before` an entry, or around `at`."""
    found = session_of(request, name)
    context = pages.window_page(found, request.GET, cast("Request", request))
    return page_or_partial(cast("Request", request), "sessions/entries.html", "window", context)


@require_GET
def records(request: HttpRequest, name: str) -> HttpResponse:
    """Records without a line of their own, from `first` to `last`."""
    found = session_of(request, name)
    first = number(request, "first", 0, low=0) or 0
    last = min(number(request, "last", first, low=0) or first, first + queries.RECORDS - 1)
    rows = queries.rows_of(found, range(first, min(last + 1, found.entries_count)))
    context = {
        "session": found,
        "records": [row for row in rows if not queries.shown(row)],
        "first": first,
        "last": last,
    }
    return page_or_partial(cast("Request", request), "sessions/records.html", "records", context)


@require_GET
def entry(request: HttpRequest, name: str, seq: int) -> HttpResponse:
    """One entry, laid open (or, with `closed`, as its line)."""
    found = session_of(request, name)
    context = openings.entry_page(found, seq, request.GET)
    return page_or_partial(cast("Request", request), "sessions/entry.html", "entry", context)


@require_GET
def raw(request: HttpRequest, name: str, seq: int) -> HttpResponse:
    """The exact bytes of an entry's record, as a download that no browser renders."""
    found = session_of(request, name)
    row = queries.entry_of(found, seq)
    if row is None:
        raise Http404
    return HttpResponse(
        record_of(row),
        content_type="application/octet-stream",
        headers={
            "Content-Disposition": f'attachment; filename="entry-{seq}.json"',
            "X-Content-Type-Options": "nosniff",
        },
    )


@require_GET
def source(request: HttpRequest, name: str) -> StreamingHttpResponse:
    """The session's source, byte for byte as the agent wrote it."""
    found = session_of(request, name)
    return StreamingHttpResponse(
        stored(found.source),
        content_type="application/octet-stream",
        headers={
            "Content-Disposition": f'attachment; filename="{found.pk}.jsonl"',
            "X-Content-Type-Options": "nosniff",
        },
    )


@require_GET
def inspect(request: HttpRequest, name: str, seq: int) -> HttpResponse:
    """All about one entry: is it in the context, what it weighs by each meter, where it comes from, its record."""
    found = session_of(request, name)
    row = queries.entry_of(found, seq)
    if row is None:
        raise Http404
    seen = queries.reading(found, number(request, "v", low=0))
    context = panels.inspector(seen, row)
    start = record_of(row, most=RAW_SHOWN)
    context["record"] = render.record(start.rstrip(b"\n"), limit=60_000 if request.GET.get("all") else 4_000)
    context["all"] = bool(request.GET.get("all"))
    context["may_operate"] = may_operate(cast("Request", request))
    context.update(marks.on_entry(found, seq, request.user))
    return page_or_partial(cast("Request", request), "sessions/inspect.html", "inspect", context)


@require_GET
def turns(request: HttpRequest, name: str) -> HttpResponse:
    """The outline: the prompts that open turns."""
    found = session_of(request, name)
    after = number(request, "after", 0, low=0) or 0
    rows = queries.outline(found, after)
    context = {"session": found, "turns": rows, "after": rows[-1].turn if len(rows) == 100 else None, "tab": "turns"}
    return page_or_partial(cast("Request", request), "sessions/turns.html", "turns", context)


@require_GET
def turn(request: HttpRequest, name: str, turn: int) -> HttpResponse:
    """The window that begins with a turn."""
    found = session_of(request, name)
    context = pages.window_page(found, {**request.GET.dict(), "at": f"t{turn}"}, cast("Request", request))
    return page_or_partial(cast("Request", request), "sessions/entries.html", "window", context)


@require_GET
def fold(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """A ghost, open: its entries from `after` on, or (with `closed`) its band alone."""
    found = session_of(request, name)
    context = openings.fold_page(found, number, request.GET)
    context["may_operate"] = may_operate(cast("Request", request))
    partial = "more" if request.GET.get("after") else "ghost"
    return page_or_partial(cast("Request", request), "sessions/fold.html", partial, context)


@require_GET
def fold_figures(request: HttpRequest, name: str) -> HttpResponse:
    """How many entries and tokens the ghosts of a window hold: counted when asked, since that takes as long as the ghosts are."""
    found = session_of(request, name)
    context = openings.fold_figures(found, request.GET)
    return page_or_partial(cast("Request", request), "sessions/fold_figures.html", "figures", context)


@require_GET
def insertion(request: HttpRequest, name: str, version: int, position: int) -> HttpResponse:
    """A text that a version put into the context, whole."""
    found = session_of(request, name)
    context = openings.insertion_page(found, version, position)
    return page_or_partial(cast("Request", request), "sessions/insertion.html", "insertion", context)


@require_GET
def meter(request: HttpRequest, name: str) -> HttpResponse:
    """What the context holds against the agent's own thresholds, and what happens next; with `step`, right after that step."""
    found = session_of(request, name)
    seen = queries.reading(found, number(request, "v", low=0))
    step = number(request, "step", low=0)
    at = None if step is None else found.steps.filter(n=step).first()
    if step is not None and at is None:
        raise Http404
    context = {"session": found, **panels.meter(seen, at)}
    return page_or_partial(cast("Request", request), "sessions/meter.html", "meter", context)


@require_GET
def steps(request: HttpRequest, name: str) -> HttpResponse:
    """Every step as a table, by keyset."""
    found = session_of(request, name)
    rows = queries.steps_page(found, number(request, "after", 0, low=0) or 0)
    context = {"session": found, "steps": rows, "after": rows[-1].n if len(rows) == 200 else None}
    return page_or_partial(cast("Request", request), "sessions/steps.html", "steps", context)


@require_GET
def goals(request: HttpRequest, name: str) -> HttpResponse:
    found = session_of(request, name)
    window = panels.goals(found, after=request.GET.get("after"), before=request.GET.get("before"))
    context = {"session": found, **window, "tab": "goals", "may_operate": may_operate(cast("Request", request))}
    return page_or_partial(cast("Request", request), "sessions/goals.html", "goals", context)


@require_GET
def versions(request: HttpRequest, name: str) -> HttpResponse:
    found = session_of(request, name)
    seen = queries.reading(found, number(request, "v", low=0))
    # Beside a transcript stand the newest alone.
    few = bool(request.GET.get("few"))
    context = panels.version_line(seen, cast("Request", request), limit=pages.VERSIONS if few else None)
    context["roomy"] = not few
    return page_or_partial(cast("Request", request), "sessions/versions.html", "versions", context)


@require_GET
def since(request: HttpRequest, name: str) -> HttpResponse:
    """How many entries came since entry `after`, or that the head is no longer version `head`: 204 while neither is so."""
    found = session_of(request, name)
    after = number(request, "after", found.entries_count - 1)
    fresh = found.entries_count - 1 - (after if after is not None else -1)
    asked, head = number(request, "head", low=0), found.current
    moved = asked is not None and head is not None and head.n != asked
    if fresh <= 0 and not moved and getattr(request, "htmx", None):
        response = HttpResponse(status=204)
        patch_vary_headers(response, ["HX-Request"])
        return response
    context: dict[str, Any] = {"session": found, "fresh": max(0, fresh), "after": after, "moved": moved}
    return page_or_partial(cast("Request", request), "sessions/since.html", "since", context)
