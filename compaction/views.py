"""The pages of compaction: the preview with its Apply, a run from its request to its outcome, the runs of a session and of all."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, cast

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from compaction import accounts, drafting, forms, queries, runs, showing, tasks, telling
from compaction.holding import preview_draft
from compaction.models import Run
from compaction.runs import Previewed
from compaction.shown import Page, Refusal
from compaction.strategies import RECOMMENDED, strategies
from sessions import versionline
from sessions.collecting import held_back
from sessions.http import Request, operators_only, session_of
from sessions.models import Session
from sessions.versionline import Being
from sessions.versions import Refused

EARLIER = 30  # runs listed below one


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def compact(request: HttpRequest, name: str) -> HttpResponse:
    """What a compaction would do; with POST the request for it (`do=apply`), for a model's draft of it (`draft`), or to drop that (`discard`).
    Every other request writes nothing.
    """
    session = session_of(request, name)
    data = request.POST if request.method == "POST" else request.GET
    if request.method == "POST":
        match data.get("do"):
            case "apply":
                return _apply(request, session, data)
            case "draft":
                return _write_draft(request, session, data)
            case "discard":
                return _discard(request, session, data)
    return _preview(request, session, data)


def _apply(request: HttpRequest, session: Session, data: QueryDict) -> HttpResponse:
    if not _may_act(request):
        raise PermissionDenied
    choosing = forms.read(data)
    digest = data.get("plan_digest") or None
    try:
        held = drafting.run_of(session, choosing)
        if held is not None and drafting.applies(held) and drafting.fits(held, choosing):
            seen = None if forms.words_changed(data) else digest
            run = tasks.apply(held.pk, drafting.wishes(choosing), plan_digest=seen)
            return redirect("compaction:run", session.pk, run.pk)
        if forms.words_changed(data):
            # Typed and applied at once: the rest is as previewed, since base and choice are the same.
            again = runs.preview_run(session, **choosing.arguments())
            runs.same_base(again.base, data.get("base_hash") or None)
            fresh = again.preview
            if not fresh.lands:
                return _preview(request, session, data, refusal=showing.bad_words(fresh.reason, session), status=409)
            digest = fresh.digest
        run = tasks.submit(
            session.pk,
            **choosing.arguments(),
            by=request.user,
            expected_hash=data.get("base_hash") or None,
            plan_digest=digest,
        )
    except Refused as refused:
        refusal = showing.refusal(refused, session, choosing, queries.live_run(session))
        return _preview(request, session, data, refusal=refusal, status=409)
    return redirect("compaction:run", session.pk, run.pk)


def _write_draft(request: HttpRequest, session: Session, data: QueryDict) -> HttpResponse:
    """Have a model write the summary; the page follows it and then holds its text."""
    if not _may_act(request):
        raise PermissionDenied
    choosing = forms.read(data)
    choosing.edited_summary = choosing.held = None
    try:
        run = tasks.submit(
            session.pk,
            **choosing.arguments(),
            by=request.user,
            hold=True,
            expected_hash=data.get("base_hash") or None,
        )
    except Refused as refused:
        refusal = showing.refusal(refused, session, choosing, queries.live_run(session))
        return _preview(request, session, data, refusal=refusal, status=409)
    choosing.held = run.pk
    return redirect(f"{reverse('compaction:compact', args=[session.pk])}?{showing.address(choosing)}")


def _discard(request: HttpRequest, session: Session, data: QueryDict) -> HttpResponse:
    """Drop a draft, or stop its being written; the choice stays."""
    if not _may_act(request):
        raise PermissionDenied
    choosing = forms.read(data)
    held = drafting.run_of(session, choosing)
    if held is not None:
        with suppress(Refused):  # it may have ended in the meantime
            held = runs.cancel(held.pk)
    if held is None or held.state not in Run.LIVE:  # one that is still stopping is followed until it has
        choosing.held = None
    return redirect(f"{reverse('compaction:compact', args=[session.pk])}?{showing.address(choosing)}")


@never_cache
@require_GET
def draft(request: HttpRequest, name: str, run_id: int) -> HttpResponse:
    """How far a draft is: asked for every second by the compact page, which comes anew once there is nothing more to wait for."""
    session = session_of(request, name)
    row = _run_of(session, run_id)
    href = f"{reverse('compaction:compact', args=[session.pk])}?{showing.address_of_run(row)}"
    if row.state in Run.LIVE:
        context = {"session": session, "draft": drafting.draft_of(row), "may_act": _may_act(request)}
        return render(request, "compaction/_drafting.html", context)
    if row.draft is None:
        href += f"&held={row.pk}"  # to say there why there is none
    return HttpResponse(
        status=200, headers={"HX-Redirect": href}
    )  # without a fragment: it might be all that changes, and then nothing would be fetched


@held_back()
def _preview(
    request: HttpRequest,
    session: Session,
    data: QueryDict,
    *,
    refusal: Refusal | None = None,
    status: int = 200,
) -> HttpResponse:
    choosing = forms.read(data)
    previewed: Previewed | None = None
    held = drafting.run_of(session, choosing)
    by_draft = held is not None and drafting.applies(held) and drafting.fits(held, choosing)
    if choosing.errors:
        refusal = refusal or showing.bad_figures(choosing.errors)
        status = max(status, 422)
    else:
        try:
            if held is not None and by_draft:
                if "was" not in data:  # an address as it was before hooks pinned entries for the draft
                    choosing.pins = sorted({*choosing.pins, *held.pins})
                previewed = preview_draft(held, drafting.wishes(choosing))
            else:
                previewed = runs.preview_run(session, **choosing.arguments())
        except Refused as refused:
            refusal = refusal or showing.refusal(refused, session, choosing, None)
    live = queries.live_run(session)
    page = showing.page(session, choosing, previewed)
    if held is not None and previewed is not None and by_draft:
        drafting.put_in(page, held)
    elif held is not None and held.state in Run.LIVE and held.draft is None:
        page.draft = drafting.draft_of(held)
    elif held is not None and held.draft is None:
        refusal = refusal or drafting.not_written(held)
    elif held is not None and drafting.applies(held):
        words = _("Run {id} holds a draft for other figures: this preview is without it.")
        page.warnings.insert(0, words.format(id=held.pk))
    if choosing.unknown:
        words = _("There is no strategy called {name} here; this is {label}.")
        page.warnings.insert(0, words.format(name=choosing.unknown, label=choosing.strategy.label))
    context = {
        "session": session,
        "session_href": showing.session_href(session),
        "here": reverse("compaction:compact", args=[session.pk]),
        "head": session.current,
        "entries": page.entries,
        "next_version": page.next_version,
        "live_run": live,
        "choice": choosing,
        "strategies": showing.strategies_for(choosing, strategies(), RECOMMENDED),
        "params": showing.params_for(choosing, page.used),
        "presets": list(choosing.strategy.presets),
        "summarisers": showing.summarisers_for(choosing),
        "hooks": showing.hooks_for(session),
        "preview": page,
        "may_act": _may_act(request),
        "waiting_draft": None if held is not None else queries.held_run(session),
        "refusal": refusal,
        # What a person wrote is never lost: where this preview has no summary to edit it in, it is shown for taking along.
        "kept_words": choosing.edited_summary if refusal is not None and not page.sections else "",
        "blocked": _blocked(request, page, live),
    }
    response = _answer(
        request, "compaction/compact.html", ("preview-part", "apply-part", "strategy-part"), context, status
    )
    if request.method == "GET" and status == 200:
        # What is seen can be linked to. Edited words are too long for an address: a preview of them comes by POST.
        response["HX-Replace-Url"] = f"{context['here']}?{showing.address(choosing)}"
    return response


def _blocked(request: HttpRequest, page: Page, live: Run | None) -> str:
    """Why Apply is off; "" where it is on."""
    if not _may_act(request):
        return _("Your role may look but not apply: an operator or an admin of the workspace can.")
    if live is not None:
        return _("Run {id} is going on; only one can be live at a time.").format(id=live.pk)
    return page.blocked


def _answer(
    request: HttpRequest, template: str, partials: tuple[str, ...], context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """The whole page; to htmx its partials one after the other, all but the first swapped out of band."""
    htmx = cast("Request", request).htmx
    if htmx and not htmx.history_restore_request:
        bodies = [render(request, f"{template}#{partial}", context).content for partial in partials]
        response = HttpResponse(b"\n".join(bodies), status=status)
    else:
        response = render(request, template, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


@never_cache
@require_GET
def run(request: HttpRequest, name: str, run_id: int) -> HttpResponse:
    """A run: how far it is, then what came of it. While it is live the page asks for `part=progress` every second."""
    session = session_of(request, name)
    row = _run_of(session, run_id)
    htmx = cast("Request", request).htmx
    polled = bool(htmx) and request.GET.get("part") == "progress"
    if polled and row.state in Run.LIVE:
        context = {
            "run": row,
            "session": session,
            "progress": telling.tell(row, timezone.now()),
            "account": accounts.of(row),
        }
        return render(request, "compaction/run.html#progress-part", context)
    context = _run_context(request, session, row)
    if not polled:
        return render(request, "compaction/run.html", context)
    # The run has ended since: the whole of it takes the place of its progress, the version line comes along.
    context |= {"arrived": True, "oob": True}
    bodies = [render(request, f"compaction/run.html#{part}", context).content for part in ("run-part", "versions-part")]
    return HttpResponse(b"\n".join(bodies), headers={"HX-Retarget": "#run", "HX-Reswap": "outerHTML"})


def _run_context(request: HttpRequest, session: Session, row: Run) -> dict[str, Any]:
    report = showing.report_of(session, row)
    return {
        **_versions_context(request, session, row if row.state in Run.LIVE else None),
        "run": row,
        "progress": telling.tell(row, timezone.now(), until=showing.until_next(session, row)),
        "report": report,
        "account": accounts.of(row),
        "undoable": row.version_id is not None and session.current is not None and session.current.pk == row.version_id,
        "draft_href": reverse("compaction:compact", args=[session.pk]) + "?" + showing.address_of_run(row)
        if drafting.applies(row)
        else "",
        "again_href": reverse("compaction:compact", args=[session.pk]) + "?" + showing.address_of_run(row),
        "earlier": [
            telling.Row(one)
            for one in queries.runs_page(session.workspace_id, session=session, before=row.pk, limit=EARLIER).runs
        ],
    }


def _versions_context(request: HttpRequest, session: Session, live: Run | None) -> dict[str, Any]:
    return {
        "session": session,
        "session_href": showing.session_href(session),
        "may_act": _may_act(request),
        "roomy": True,
        "line": versionline.line(session, being=Being(live.pk, telling.label_of(live.strategy)) if live else None),
        "live_run": live,
    }


@never_cache
@require_GET
def session_runs(request: HttpRequest, name: str) -> HttpResponse:
    """The runs of a session beside its version line."""
    session = session_of(request, name)
    listed = queries.runs_page(session.workspace_id, session=session).runs
    live = next((one for one in listed if one.state in Run.LIVE), None)
    context = {
        **_versions_context(request, session, live),
        "run": None,
        "earlier": [telling.Row(one) for one in listed],
    }
    return render(request, "compaction/run.html", context)


@never_cache
@require_GET
def runs_of_all(request: HttpRequest) -> HttpResponse:
    """The runs of every session of the workspace, newest first."""
    workspace = cast("Request", request).workspace
    if workspace is None:
        raise Http404
    before = request.GET.get("before", "")
    page = queries.runs_page(workspace, before=int(before) if before.isdecimal() and len(before) < 12 else None)
    context = {"runs": [telling.Row(one) for one in page.runs], "older": page.next}
    return render(request, "compaction/runs.html", context)


@require_POST
@operators_only
def cancel(request: HttpRequest, name: str, run_id: int) -> HttpResponse:
    """Ask a run to stop. One that has ended already is simply shown."""
    session = session_of(request, name)
    row = _run_of(session, run_id)
    with suppress(Refused):  # it may have ended in the meantime: its page says how
        runs.cancel(row.pk)
    return redirect("compaction:run", session.pk, row.pk)


def _run_of(session: Session, run_id: int) -> Run:
    try:
        row = queries.run_in(session.workspace_id, run_id)
    except Run.DoesNotExist:
        raise Http404 from None
    if row.session_id != session.pk:
        raise Http404
    return row


def _may_act(request: HttpRequest) -> bool:
    member = cast("Request", request).membership
    return member is not None and member.role in ("operator", "admin")
