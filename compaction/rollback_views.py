"""The page of a roll back: to where, what goes, and what the agent is told; then the version."""

from __future__ import annotations

import re
from typing import Any, cast

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from compaction.gauging import gauge_of, meter_label
from compaction.rollingback import Foreseen, foresee, go_back
from compaction.shown import Refusal
from compaction.telling import sentence
from sessions.http import Request, may_operate, page_or_partial, session_of
from sessions.models import Session
from sessions.verbs import stands_on
from sessions.versions import Refused

LONGEST_REASON = 2_000  # characters
KINDS = (("t", "to_turn"), ("step", "to_step"), ("e", "to_entry"), ("g", "to_goal"))
_POINT = re.compile(r"(step|t|e|g)?\s*(\S{1,200})\Z", re.ASCII)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def rollback_page(request: HttpRequest, name: str) -> HttpResponse:
    """What a roll back takes away; with POST it is made, as a new version that undo takes back."""
    session = session_of(request, name)
    if request.method != "POST":
        return _shown(request, session, request.GET)
    if not may_operate(cast("Request", request)):
        return _shown(request, session, request.POST, status=403)
    data = request.POST
    try:
        with transaction.atomic():
            stands_on(session.pk, data.get("base", ""))
            moved = go_back(
                session.pk,
                reason=data.get("reason", "")[:LONGEST_REASON],
                abandon=data.get("abandon") == "yes",
                notice=data.get("notice") == "yes",
                by=request.user,
                **point_of(data.get("to", "")),
            )
    except Refused as refused:
        return _shown(request, session, data, refused=refused, status=409)
    words = _("Rolled back: v%(now)s is the head. Undo brings v%(was)s back.")
    said = [words % {"now": moved.now.n, "was": moved.was.n}, *(sentence(note) for note in moved.notes)]
    messages.success(request, " ".join(said))
    return redirect("sessions:session", session.pk)


def point_of(text: str) -> dict[str, Any]:
    """Where to, as it is typed: `t12` a turn, `step88`, `e400` (or `400`) an entry, `g2.1` the start of a goal. Refused (usage) else."""
    found = _POINT.match(text.strip())
    if found is None:
        raise Refused(
            "usage", _("Say where to: t12 for a turn, step88, e400 for an entry, g2.1 for the start of a goal.")
        )
    kind, word = found[1] or "e", found[2]
    if kind == "g":
        return {"to_goal": word}
    if not re.fullmatch(r"\d{1,9}", word, re.ASCII):
        raise Refused("usage", _("%(word)s is no number: t12, step88, e400 or g2.1.") % {"word": word})
    return {dict(KINDS)[kind]: int(word)}


def _shown(
    request: HttpRequest, session: Session, data: QueryDict, *, refused: Refused | None = None, status: int = 200
) -> HttpResponse:
    seen: Foreseen | None = None
    to = data.get("to", "").strip()
    reason = data.get("reason", "")[:LONGEST_REASON]
    if to:
        try:
            seen = foresee(session, reason=reason, **point_of(to))
        except Refused as error:
            refused = refused or error
    may = may_operate(cast("Request", request))
    blocked = "" if may else _("Your role may look but not act: an operator or an admin of the workspace can.")
    context = {
        "session": session,
        "session_href": reverse("sessions:session", args=[session.pk]),
        "here": reverse("compaction:rollback", args=[session.pk]),
        "head": session.current,
        "to": to,
        "reason": reason,
        "abandon": data.get("abandon") == "yes",
        "notice": data.get("notice") == "yes",
        "seen": seen,
        "gauge": gauge_of(session, seen.report) if seen is not None else None,
        "meter": meter_label(seen.meter) if seen is not None else "",
        "blocked": blocked,
        "refusal": None
        if refused is None
        else Refusal(
            _("This cannot be done"),
            sentence(str(refused)),
            _("Nothing was written; the head is {head}.").format(head=session.current or _("empty")),
        ),
    }
    return page_or_partial(cast("Request", request), "compaction/rollback.html", "seen", context, status=status)
