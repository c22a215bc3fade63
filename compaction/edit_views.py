"""The page on which a context is edited by hand: what is done, what it would weigh, and the button that does it."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from compaction.editing import Foreseen, edit, foresee
from compaction.eligible import eligible
from compaction.gauging import gauge_of, meter_label
from compaction.handforms import TAKES, VERBS, change_of
from compaction.handwork import Impossible
from compaction.shown import Refusal
from compaction.telling import sentence
from sessions.http import Request, integer, may_operate, page_or_partial, session_of
from sessions.models import Entry, Insertion, Session
from sessions.packing import unpack
from sessions.versions import Refused

WORDS = 4_000  # characters shown of what stands there now


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def edit_page(request: HttpRequest, name: str) -> HttpResponse:
    """What a change by hand would do, with a live count; with POST it is made, as a new version that undo takes back."""
    session = session_of(request, name)
    data = request.POST if request.method == "POST" else request.GET
    may = may_operate(cast("Request", request))
    if request.method == "POST":
        if not may:
            return _shown(request, session, data, status=403)
        try:
            moved = edit(
                session.pk,
                change_of(data.get("do", ""), data.dict()),
                expected_hash=data.get("base_hash") or None,
                by=request.user,
            )
        except (Impossible, Refused) as error:
            return _shown(request, session, data, refused=error, status=409)
        said = _("%(label)s: v%(now)s is the head. Undo brings v%(was)s back.") % {
            "label": moved.now.label,
            "now": moved.now.n,
            "was": moved.was.n,
        }
        messages.success(request, " ".join([said, *(sentence(note) for note in moved.notes)]))
        return redirect("sessions:session", session.pk)
    return _shown(request, session, data)


def _shown(
    request: HttpRequest, session: Session, data: QueryDict, *, refused: Exception | None = None, status: int = 200
) -> HttpResponse:
    do = data.get("do", "")
    do = do if do in VERBS else "fold"
    seen: Foreseen | None = None
    asked = any(data.get(field, "").strip() for field in ("entries", "entry", "insertion", "after"))
    if asked:
        try:
            seen = foresee(session, change_of(do, data.dict()))
        except (Impossible, Refused) as error:
            refused = refused or error
    may = may_operate(cast("Request", request))
    context = {
        "session": session,
        "session_href": reverse("sessions:session", args=[session.pk]),
        "here": reverse("compaction:edit", args=[session.pk]),
        "head": session.current,
        "verbs": [{"id": verb, "label": _label(verb), "about": _about(verb), "on": verb == do} for verb in VERBS],
        "do": do,
        "takes": TAKES[do],
        "given": _given(session, do, data),
        "now": _stands(session, do, data),
        "insertions": _insertions(session),
        "eligible": eligible(session, do),
        "seen": seen,
        "gauge": gauge_of(session, seen.report) if seen is not None else None,
        "meter": meter_label(seen.meter) if seen is not None else "",
        "refusal": _refusal(refused, session) if refused is not None else None,
        "blocked": "" if may else _("Your role may look but not edit: an operator or an admin of the workspace can."),
    }
    return page_or_partial(cast("Request", request), "compaction/edit.html", "edit", context, status=status)


def _refusal(error: Exception, session: Session) -> Refusal:
    return Refusal(
        _("This cannot be done"),
        sentence(str(error)),
        _("Nothing was written; the head is {head}.").format(head=session.current or _("empty")),
    )


def _label(verb: str) -> str:
    return {
        "fold": _("Fold entries"),
        "unfold": _("Unfold"),
        "mask": _("Mask a result"),
        "unmask": _("Unmask a result"),
        "drop": _("Drop a result"),
        "rewrite": _("Rewrite what was put in"),
        "note": _("Put in a note"),
        "take-out": _("Take out what was put in"),
    }[verb]


def _about(verb: str) -> str:
    return {
        "fold": _("The entries become ghosts; your words stand for them."),
        "unfold": _("What an insertion stands for is sent again, and the insertion goes."),
        "mask": _("A line stands in the place of the output."),
        "unmask": _("The output is sent as it was recorded."),
        "drop": _("Nothing is left of the output but that there was one."),
        "rewrite": _("A summary, a note or a file that was put in says something else."),
        "note": _("Your words are sent as a message at that place."),
        "take-out": _("A note, file or plan that stands for no entries is no longer sent."),
    }[verb]


def _given(session: Session, do: str, data: QueryDict) -> dict[str, str]:
    given = {field: data.get(field, "") for field in ("entries", "entry", "insertion", "after", "text")}
    if do == "rewrite" and "text" not in data and (insertion := integer(given["insertion"])) is not None:
        row = _row(session, insertion)
        given["text"] = "" if row is None else _text(row)
    return given


def _stands(session: Session, do: str, data: QueryDict) -> str:
    """What stands at the named place now."""
    entry = integer(data.get("entry"))
    if do in ("mask", "unmask", "drop") and entry is not None:
        packed = Entry.objects.filter(session=session, seq=entry).values_list("parts", flat=True).first()
        return "" if packed is None else "\n".join(part.text for part in unpack(packed) if part.text)[:WORDS]
    number = integer(data.get("insertion"))
    if do in ("unfold", "take-out") and number is not None:
        row = _row(session, number)
        return "" if row is None else _text(row)[:WORDS]
    return ""


def _row(session: Session, number: int) -> Insertion | None:
    rows = _rows(session)
    return rows[number] if 0 <= number < len(rows) else None


def _rows(session: Session) -> list[Insertion]:
    head = session.current
    return [] if head is None else list(head.insertions.filter(replaces=None).order_by("position"))


def _text(row: Insertion) -> str:
    return "\n".join(part.text for part in unpack(row.parts) if part.text)


def _insertions(session: Session) -> list[dict[str, Any]]:
    return [
        {"n": n, "kind": row.kind, "label": row.label, "after": row.after, "stands": len(row.stands_for)}
        for n, row in enumerate(_rows(session))
    ]
