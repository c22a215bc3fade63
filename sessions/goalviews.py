"""Pages of goals: the verbs on them, one goal laid open, and whether the tree has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.cache import patch_vary_headers
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from sessions import goalmarks, panels, reviewing
from sessions.carrying import carried_over, compacts
from sessions.explorations import explorations_of
from sessions.goalcosts import took
from sessions.goalmarks import Marked
from sessions.goalshown import as_they_stand, revision_of
from sessions.http import Request, may_operate, operators_only, page_or_partial, session_of
from sessions.models import Session
from sessions.models_goals import Abandonment, GoalMark
from sessions.verbs import refusal
from sessions.versions import Refused


@require_GET
def since(request: HttpRequest, name: str) -> HttpResponse:
    """The tree, where it is another than revision `rev`; 204 where it is not, so that nothing on the page moves."""
    found = session_of(request, name)
    if request.GET.get("rev") == revision_of(found):
        response = HttpResponse(status=204)
        patch_vary_headers(response, ["HX-Request"])
        return response
    context = {
        "session": found,
        **panels.goals(found),
        "tab": "goals",
        "may_operate": may_operate(cast("Request", request)),
    }
    return page_or_partial(cast("Request", request), "sessions/goals.html", "goals", context)


@require_POST
@operators_only
def mark(request: HttpRequest, name: str) -> HttpResponse:
    """Add, focus, complete, abandon or reopen a goal."""
    session = session_of(request, name)
    given = request.POST
    path, note = given.get("path", ""), given.get("note", "")
    verbs: dict[str, Callable[[], Marked]] = {
        "add": lambda: goalmarks.add(
            session.pk, text=note, under=path or None, focus=bool(given.get("focus")), by=request.user
        ),
        "focus": lambda: goalmarks.focus(session.pk, path=path, by=request.user),
        "done": lambda: goalmarks.complete(session.pk, path=path, summary=note, by=request.user),
        "abandon": lambda: goalmarks.abandon(session.pk, path=path, reason=note, by=request.user),
        "reopen": lambda: goalmarks.reopen(session.pk, path=path, by=request.user),
    }
    verb = verbs.get(given.get("verb", ""))
    if verb is None:
        raise Http404
    try:
        marked = verb()
    except Refused as refused:
        return refusal(request, session, refused)
    goal = marked.goal
    said = {
        GoalMark.Verb.ADDED: _("Goal %(path)s is added."),
        GoalMark.Verb.FOCUSED: _("Goal %(path)s is what is worked on from here."),
        GoalMark.Verb.COMPLETED: _("Goal %(path)s is completed. Its entries can be folded into one note."),
        GoalMark.Verb.ABANDONED: _(
            "Goal %(path)s is given up. Its entries can be folded into one note that keeps the reason."
        ),
        GoalMark.Verb.REOPENED: _("Goal %(path)s is open again."),
    }
    messages.success(request, said[GoalMark.Verb(marked.verb)] % {"path": goal.path})
    return redirect("sessions:goal", session.pk, goal.path)


@require_GET
def goal(request: HttpRequest, name: str, path: str) -> HttpResponse:
    """One goal laid open: the work on it, how it ended and how that is known, the questions that were explored for it."""
    session = session_of(request, name)
    found = session.goals.filter(path=path).first()
    if found is None:
        raise Http404
    shown, *under = as_they_stand(session, [found, *session.goals.filter(parent=path).order_by("position")[:100]])
    taken = took(session, found.spans)
    context = {
        "session": session,
        "goal": shown,
        "figures": found.figures,
        "stated": None if found.added else found.status,
        "took": taken,
        "under": under,
        "stretches": [(first, stop - 1) for first, stop in found.spans.spans[:50]],
        "stretches_more": max(0, len(found.spans.spans) - 50),
        "given_up": session.abandonments.filter(path=path, stands=True).first(),
        "causes": Abandonment.Cause.choices,
        "explorations": [one for one in explorations_of(session) if one.goal == path],
        "may_operate": may_operate(cast("Request", request)),
        "fold": _fold(session, path) if shown.closed and shown.entries_count else "",
    }
    return page_or_partial(cast("Request", request), "sessions/goal.html", "goal", context)


@require_GET
def carried(request: HttpRequest, name: str, n: int) -> HttpResponse:
    """What became of the open goals in one compaction; of another version: nothing is said."""
    session = session_of(request, name)
    version = session.versions.filter(n=n).first()
    if version is None:
        raise Http404
    over = carried_over(session, version) if compacts(version) else None
    context = {"session": session, "version": version, "over": over}
    return page_or_partial(cast("Request", request), "sessions/carried.html", "carried", context)


@require_POST
@operators_only
def cause(request: HttpRequest, name: str, path: str) -> HttpResponse:
    """Correct the class of the reason for which a goal was given up."""
    session = session_of(request, name)
    row = session.abandonments.filter(path=path).first()
    if row is None:
        raise Http404
    try:
        reviewing.correct(row.pk, cause=request.POST.get("cause", ""), by=request.user)
    except Refused as refused:
        return refusal(request, session, refused)
    messages.success(request, _("The class is corrected; what was found stays beside it."))
    return redirect("sessions:goal", session.pk, path)


def _fold(session: Session, path: str) -> str:
    """Where the goal's entries can be folded; "" where no room of the site compacts."""
    from sessions.templatetags.palimpsest import href  # noqa: PLC0415 -- the page's own way to a room that may not be there

    address = href("compaction:compact", session.pk)
    return (
        f"{address}?{urlencode({'strategy': 'goal-tree', 'set.goals': path, 'set.full': 'nothing'})}" if address else ""
    )
