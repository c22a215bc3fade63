"""The pages' verbs: undo, redo, make head, restore, pin. Each checks the base version it was asked on, acts, and says what it did."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST
from django_htmx.http import HttpResponseClientRedirect

from sessions import restoring, versions
from sessions.gauge import window_of
from sessions.http import integer, operators_only, session_of
from sessions.measuring import measured
from sessions.meters import DEFAULT, by_id
from sessions.models import Pin, Session
from sessions.rereading import read_again
from sessions.versions import Moved, Refused


def _asked(
    request: HttpRequest, session: Session, act: Callable[[], Moved], words: Callable[[Moved], str]
) -> HttpResponse:
    """Carry out a verb; answer with the session's page, or with the refusal in its place."""
    try:
        with transaction.atomic():
            stands_on(session.pk, request.POST.get("base", ""))
            moved = act()
    except Refused as refused:
        return refusal(request, session, refused)
    said = words(moved)
    said += " " + weight(session, moved)
    if moved.kept:
        said += " " + _("%(n)s entries that came later stay visible.") % {"n": f"{moved.kept:,}"}
    messages.success(request, " ".join([said, *(f"{note[:1].upper()}{note[1:]}." for note in moved.notes)]))
    return _to(request, reverse("sessions:session", args=[session.pk]))


def weight(session: Session, moved: Moved) -> str:
    """What the context weighs now against the window: by the session's own rule where it is known."""
    session = Session.objects.select_related("head", "native_head").get(pk=session.pk)
    window = window_of(session)
    meter = by_id(DEFAULT if window is None else window.rule.meter)
    tokens = measured(session.pk, moved.now, [meter])[meter.id]
    words = {"tokens": f"{tokens:,}", "meter": meter.label}
    if window is None or window.compaction is None:
        return _("It weighs %(tokens)s tokens by %(meter)s.") % words
    left = window.compaction - tokens
    words |= {"left": f"{abs(left):,}", "rule": window.rule.label}
    if left > 0:
        return _("It weighs %(tokens)s tokens by %(meter)s, %(left)s below the compaction of %(rule)s.") % words
    return _("It weighs %(tokens)s tokens by %(meter)s, %(left)s over the compaction of %(rule)s.") % words


def stands_on(session_id: UUID, base: str) -> None:
    """Refuse where a page stood on another version than the one in force: what was asked meant that one. A page that named none stands anywhere.

    Locks the session: of a button that is pressed twice, the second press finds the head moved.
    """
    current = versions.locked(session_id).current
    if (number := integer(base)) is not None and current is not None and number != current.n:
        raise Refused(
            "head_moved",
            _("This page stood on v%(base)s; the head is v%(now)s by now. Nothing was changed.")
            % {"base": number, "now": current.n},
        )


def _to(request: HttpRequest, address: str) -> HttpResponse:
    if getattr(request, "htmx", None):
        return HttpResponseClientRedirect(address)
    return redirect(address)


def refusal(request: HttpRequest, session: Session, refused: Refused) -> HttpResponse:
    template = "sessions/refused.html#refusal" if getattr(request, "htmx", None) else "sessions/refused.html"
    return render(request, template, {"session": session, "refused": refused}, status=409)


@require_POST
@operators_only
def reread(request: HttpRequest, name: str) -> HttpResponse:
    """Read the session again from the bytes that are kept."""
    session = session_of(request, name)
    try:
        taken = read_again(session.pk, by=request.user)
    except Refused as refused:
        return refusal(request, session, refused)
    said = _("Read again: %(entries)s entries, %(turns)s turns, %(steps)s steps.")
    figures = {"entries": f"{taken.entries:,}", "turns": f"{taken.turns:,}", "steps": f"{taken.steps:,}"}
    messages.success(request, said % figures)
    return _to(request, reverse("sessions:session", args=[session.pk]))


@require_POST
@operators_only
def undo(request: HttpRequest, name: str) -> HttpResponse:
    session = session_of(request, name)
    return _asked(
        request,
        session,
        lambda: versions.undo(session.pk, by=request.user),
        lambda moved: (
            _("Undone: the head is v%(now)s again, as it was before v%(was)s.")
            % {"now": moved.now.n, "was": moved.was.n}
        ),
    )


@require_POST
@operators_only
def redo(request: HttpRequest, name: str) -> HttpResponse:
    session = session_of(request, name)
    return _asked(
        request,
        session,
        lambda: versions.redo(session.pk, by=request.user),
        lambda moved: _("Redone: the head is v%(now)s.") % {"now": moved.now.n},
    )


@require_POST
@operators_only
def head(request: HttpRequest, name: str) -> HttpResponse:
    """Make another version the head."""
    session = session_of(request, name)
    wanted = integer(request.POST.get("version"))
    return _asked(
        request,
        session,
        lambda: versions.move_head(session.pk, -1 if wanted is None else wanted, by=request.user),
        lambda moved: _("The head is v%(now)s.") % {"now": moved.now.n},
    )


@require_POST
@operators_only
def name(request: HttpRequest, name: str, n: int) -> HttpResponse:
    """Name a version; answers with the page it was named on."""
    session = session_of(request, name)
    try:
        version = versions.name_version(session.pk, n, request.POST.get("name", ""), by=request.user)
    except Refused as refused:
        return refusal(request, session, refused)
    said = _("v%(n)s is called “%(name)s”.") if version.name else _("v%(n)s has no name any more.")
    messages.success(request, said % {"n": n, "name": version.name})
    return _to(request, reverse("compaction:session_runs", args=[session.pk]))


@require_POST
@operators_only
def restore(request: HttpRequest, name: str) -> HttpResponse:
    """Bring back what one version took away."""
    session = session_of(request, name)
    made_by = integer(request.POST.get("version"))
    return _asked(
        request,
        session,
        lambda: restoring.restore(session.pk, taken_by=-1 if made_by is None else made_by, by=request.user),
        lambda moved: (
            _("Restored: v%(now)s is the head, with %(tokens)s tokens. Undo leads back to v%(was)s.")
            % {"now": moved.now.n, "was": moved.was.n, "tokens": f"{moved.now.tokens or 0:,}"}
        ),
    )


@require_POST
@operators_only
@transaction.atomic
def pin(request: HttpRequest, name: str) -> HttpResponse:
    """Pin an entry, or take its pin away. Answers with its inspector."""
    session = session_of(request, name)
    seq = integer(request.POST.get("seq"))
    if seq is None or not 0 <= seq < session.entries_count:
        return refusal(request, session, Refused("no_such_entry", _("There is no such entry; nothing was pinned.")))
    found, made = Pin.objects.get_or_create(session=session, seq=seq, defaults={"by_id": request.user.pk})
    if not made:
        found.delete()
    return redirect("sessions:inspect", session.pk, seq)
