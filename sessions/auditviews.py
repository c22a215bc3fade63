"""The pages of the audit: the list with its facets and charts, a row laid open, reviews of one goal and of many, saved views, files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_POST

from sessions import auditcharts, auditsheet, families, reviewing
from sessions.abandoned import NONE, BadCursor, Choice, Overview, Wanted, found, overview, page, sums, wordless
from sessions.abandoning import settle
from sessions.http import Request, integer, may_operate, operators_only, page_or_partial, sees_words
from sessions.models import Session
from sessions.models_goals import Abandonment, AuditView
from sessions.pages import agent_label
from sessions.takeup import words_of
from sessions.tried import tried
from sessions.versions import Refused

QUEUE = (
    Abandonment.Review.UNREVIEWED.value,
    Abandonment.Review.FOLLOW_UP.value,
)  # what the page shows unless asked otherwise
FACETS = ("review", "cause", "how", "project", "owner", "agent", "model")
VALUES = 6  # of a facet that are shown before "more"
KEPT = (
    "review",
    "cause",
    "how",
    "agent",
    "project",
    "owner",
    "model",
    "week",
    "q",
    "session",
    "since",
    "until",
    "confidence",
    "sort",
    "by",
)
ROWS = 30  # of one page
VIEWS = 50  # a person may save
SORTS = {
    "recent": gettext_lazy("newest"),
    "tokens": gettext_lazy("tokens"),
    "cost": gettext_lazy("cost"),
    "time": gettext_lazy("time"),
    "attempts": gettext_lazy("attempts"),
}
_TITLES = {
    "review": gettext_lazy("Review"),
    "cause": gettext_lazy("Reason class"),
    "how": gettext_lazy("Found how"),
    "project": gettext_lazy("Project"),
    "owner": gettext_lazy("Owner"),
    "agent": gettext_lazy("Agent"),
    "model": gettext_lazy("Model"),
}
_NONE = {
    "project": gettext_lazy("no project recorded"),
    "owner": gettext_lazy("nobody's"),
    "model": gettext_lazy("model not known"),
}


@require_GET
def abandoned(request: HttpRequest) -> HttpResponse:
    """Goals that were given up: the queue of those to review unless the query says otherwise. An auditor gets the sums without rows."""
    asked = cast("Request", request)
    if asked.workspace is None:
        raise Http404
    words = sees_words(request)
    wanted = wanted_of(request)
    seen = overview(asked.workspace, wanted)
    context: dict[str, Any] = {
        **_figures(seen, wanted),
        "wanted": wanted,
        "words": words,
        "sorts": SORTS.items(),
        "query": query_of(request),
        "by_goal": words and request.GET.get("by") == "goal",
        "may_operate": may_operate(asked),
        "only": _only(asked, wanted) if words else None,
    }
    if words:
        context |= _rows(request, wanted)
        context["views"] = list(
            AuditView.objects.filter(workspace_id=asked.workspace.pk, user_id=_person(request)).order_by("name")
        )
    more = bool(request.GET.get("after")) and request.headers.get("HX-Target") != "audit"
    return page_or_partial(asked, "sessions/abandoned.html", "more" if more else "audit", context)


@require_GET
def row(request: HttpRequest, number: int) -> HttpResponse:
    """One goal laid open; with `closed`, its row alone."""
    context = _opened(request, _row_of(request, number), is_open=not request.GET.get("closed"))
    return page_or_partial(cast("Request", request), "sessions/abandoned_row.html", "row", context)


@require_POST
@operators_only
def review(request: HttpRequest, number: int) -> HttpResponse:
    """Say where the review of one goal stands, with a comment and an assignee; or correct the class of its reason."""
    one = _row_of(request, number)
    given = request.POST
    try:
        if given.get("cause"):
            if given["cause"] != one.cause:
                reviewing.correct(one.pk, cause=given["cause"], by=request.user)
        else:
            reviewing.review(
                one.workspace,
                [one.pk],
                state=given.get("state", ""),
                comment=given.get("comment", ""),
                assignee=given.get("assignee", ""),
                by=request.user,
            )
    except Refused as refused:
        return _refused(request, refused)
    if request.headers.get("HX-Request") == "true":
        context = _opened(request, _row_of(request, number), is_open=bool(given.get("open")))
        return page_or_partial(cast("Request", request), "sessions/abandoned_row.html", "row", context)
    messages.success(request, _("The review is written down."))
    return redirect("sessions:abandoned_row", number)


@require_POST
@operators_only
def review_many(request: HttpRequest) -> HttpResponse:
    """Say the same of every goal that is selected."""
    workspace = cast("Request", request).workspace
    given = request.POST
    pks = [pk for value in given.getlist("n") if (pk := integer(value)) is not None]
    try:
        changed = reviewing.review(
            workspace,
            pks,
            state=given.get("state", ""),
            comment=given.get("comment", ""),
            assignee=given.get("assignee", ""),
            by=request.user,
        )
    except Refused as refused:
        return _refused(request, refused)
    said = ngettext("%(n)s goal is reviewed.", "%(n)s goals are reviewed.", len(changed)) % {"n": len(changed)}
    messages.success(request, said)
    return redirect(_back(request))


@require_POST
def save_view(request: HttpRequest) -> HttpResponse:
    """Save the facets, words and order in force under a name; an equal name is written over. With `drop`, forget one."""
    workspace = cast("Request", request).workspace
    if workspace is None:
        raise Http404
    mine = AuditView.objects.filter(workspace_id=workspace.pk, user_id=_person(request))
    if request.POST.get("drop"):
        mine.filter(pk=integer(request.POST["drop"]) or 0).delete()
        return redirect(_back(request))
    name = " ".join(request.POST.get("name", "").replace("\x00", "").split())[:80]
    query = kept(QueryDict(request.POST.get("query", "")[:4_000]))
    if not name:
        return _refused(request, Refused("no_name", _("A saved view needs a name.")))
    if mine.exclude(name=name).count() >= VIEWS:
        return _refused(request, Refused("too_many", _("%(n)s views are saved: drop one first.") % {"n": VIEWS}))
    AuditView.objects.update_or_create(
        workspace_id=workspace.pk, user_id=_person(request), name=name, defaults={"query": query or "review="}
    )
    messages.success(request, _("The view “%(name)s” is saved.") % {"name": name})
    return redirect(f"{reverse('sessions:abandoned')}?{query or 'review='}")


@require_GET
def export(request: HttpRequest, form: str) -> StreamingHttpResponse:
    """All that matches as CSV or JSON; an auditor gets the sums."""
    workspace = cast("Request", request).workspace
    if workspace is None:
        raise Http404
    wanted = wanted_of(request)
    if sees_words(request):
        rows = auditsheet.rows_of(workspace, wanted)
        body = auditsheet.as_csv(rows) if form == "csv" else auditsheet.as_json(rows)
    else:
        seen = overview(workspace, wanted)
        told = auditsheet.whole_sums(replace(seen, sums=sums(workspace, wanted, seen)))
        body = (
            auditsheet.as_csv(auditsheet.sums_of(seen), auditsheet.SUMMED)
            if form == "csv"
            else auditsheet.as_json([told])
        )
    kind = "text/csv" if form == "csv" else "application/json"
    return StreamingHttpResponse(
        body,
        content_type=f"{kind}; charset=utf-8",
        headers={
            "Content-Disposition": f'attachment; filename="abandoned-goals.{form}"',
            "X-Content-Type-Options": "nosniff",
        },
    )


@require_POST
@operators_only
def look_again(request: HttpRequest) -> HttpResponse:
    """Look at the sessions that have ended with open goals since."""
    looked = settle(cast("Request", request).workspace)
    said = ngettext("%(n)s session was looked at.", "%(n)s sessions were looked at.", looked) % {"n": looked}
    messages.success(request, said)
    return redirect(_back(request))


def wanted_of(request: HttpRequest) -> Wanted:
    """What the query asks for. Where it says nothing of review states the page shows what is still to review; `review=` is all."""
    given = dict(request.GET.lists())
    wanted = Wanted.of(given)
    if not sees_words(request):
        return wordless(wanted)
    if "review" not in given:
        wanted = replace(wanted, chosen={**wanted.chosen, "review": QUEUE})
    return wanted


def query_of(request: HttpRequest) -> str:
    """The query in force, as a saved view or an export has it."""
    return kept(request.GET)


def kept(given: QueryDict) -> str:
    """Of a query what chooses and orders rows."""
    out = QueryDict(mutable=True)
    for name in KEPT:
        if name in given:
            out.setlist(name, given.getlist(name))
    return out.urlencode()


def _figures(seen: Overview, wanted: Wanted) -> dict[str, Any]:
    """Facets, head and charts."""
    chart = auditcharts.trend(
        [auditcharts.Spent(one.week, one.goals, one.tokens, one.tokens_to_review) for one in seen.trend]
    )
    classes, others = auditcharts.classes(seen.classes)
    waiting = sum(one.goals for one in seen.facets["review"] if one.value in QUEUE)
    return {
        "sums": seen.sums,
        "goals_in_all": sum(one.goals for one in seen.facets["review"]),
        "to_review": waiting,
        "trend": chart,
        "classes": classes,
        "other_classes": others,
        "facets": [
            (
                name,
                _TITLES[name],
                *_split([_named(name, one) for one in seen.facets[name]]),
                bool(wanted.chosen.get(name)),
            )
            for name in FACETS
            if seen.facets[name]
        ],
        "weeks": [one.value for one in seen.facets["week"] if one.value != NONE],
        "chosen_weeks": [one for one in seen.facets["week"] if one.chosen],
        "since": wanted.since.isoformat() if wanted.since else "",
    }


def _named(name: str, one: Choice) -> Choice:
    if one.value == NONE and name in _NONE:
        return replace(one, label=str(_NONE[name]))
    if name == "agent":
        return replace(one, label=agent_label(one.value))
    return one if one.label else replace(one, label=one.value)


def _split(choices: list[Choice]) -> tuple[list[Choice], list[Choice]]:
    """The values that are shown at once (the most frequent, and the chosen), and those behind "more"."""
    if len(choices) <= VALUES + 1:
        return choices, []
    first = [one for n, one in enumerate(choices) if n < VALUES or one.chosen]
    return first, [one for one in choices if one not in first]


def _rows(request: HttpRequest, wanted: Wanted) -> dict[str, Any]:
    asked = cast("Request", request)
    workspace = asked.workspace
    if request.GET.get("by") == "goal":
        start = max(0, integer(request.GET.get("after")) or 0)
        many, more = families.families(found(workspace, wanted), after=start)
        return {"families": many, "after": start + families.SHOWN if more else None, "rows": []}
    try:
        got = page(workspace, wanted, after=request.GET.get("after"), count=ROWS)
    except BadCursor as error:
        raise Http404(str(error)) from error
    again = families.also_in(workspace, got.rows)
    opened = integer(request.GET.get("open"))
    rows = []
    for one in got.rows:
        shown: dict[str, Any] = {"row": one, "agent": agent_label(one.agent), "also_in": again.get(one.family, 1) - 1}
        rows.append(shown | (_opened(request, one) if one.pk == opened else {}))
    return {"rows": rows, "after": got.next}


def _person(request: HttpRequest) -> Any:
    return request.user.pk


def _row_of(request: HttpRequest, number: int) -> Abandonment:
    workspace = cast("Request", request).workspace
    rows = Abandonment.objects.select_related("session", "owner", "cause_by", "assignee", "workspace")
    one = rows.filter(workspace_id=workspace.pk, pk=number).first() if workspace is not None else None
    if one is None:
        raise Http404
    return one


def _opened(request: HttpRequest, one: Abandonment, *, is_open: bool = True) -> dict[str, Any]:
    asked = cast("Request", request)
    again = families.also_in(asked.workspace, [one])
    context: dict[str, Any] = {
        "row": one,
        "agent": agent_label(one.agent),
        "also_in": again.get(one.family, 1) - 1,
        "may_operate": may_operate(asked),
        "open": is_open,
    }
    if is_open:
        opened = tried(one)
        context |= {
            "tried": opened,
            "causes": Abandonment.Cause.choices,
            "members": reviewing.members_of(asked.workspace),
            "take_up": words_of(opened),
        }
    return context


def _only(request: Request, wanted: Wanted) -> Session | None:
    """The one session that the list is narrowed to."""
    if wanted.session is None or request.workspace is None:
        return None
    return Session.objects.filter(workspace_id=request.workspace.pk, pk=wanted.session).first()


def _refused(request: HttpRequest, refused: Refused) -> HttpResponse:
    """The refusal as a page; to htmx in the line above the list, so that what it was asked of stays."""
    if request.headers.get("HX-Request") != "true":
        return render(request, "sessions/refused.html", {"refused": refused}, status=409)
    response = render(request, "sessions/refused.html#refusal", {"refused": refused}, status=409)
    response["HX-Retarget"], response["HX-Reswap"] = "#audit-said", "innerHTML"
    return response


def _back(request: HttpRequest) -> str:
    """Where a form came from, if that is a page of the audit; else the audit."""
    there = request.POST.get("next", "")
    here = reverse("sessions:abandoned")
    safe = url_has_allowed_host_and_scheme(there, {request.get_host()}, require_https=request.is_secure())
    return there if safe and (there == here or there.startswith((f"{here}?", f"{here}/"))) else here
