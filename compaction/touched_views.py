"""The files of a session as pages: the list beside the transcript, and one file with its history and its text at any point."""

from __future__ import annotations

from typing import cast

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET

from compaction import touched as files
from compaction.reconstruct import Known
from sessions import render
from sessions.diffs import diff
from sessions.http import Request, integer, page_or_partial, session_of
from sessions.hunks import hunks_of_texts

LISTED = 300  # files of the list
LINES = 3_000  # lines of a file shown on its page


@require_GET
def touched(request: HttpRequest, name: str) -> HttpResponse:
    """Every file the session touched: how often read and changed, and when last."""
    session = session_of(request, name)
    found = files.touched_by(session)
    context = {
        "session": session,
        "files": found[:LISTED],
        "total": len(found),
        "changed": sum(1 for file in found if file.changes),
    }
    return page_or_partial(cast("Request", request), "compaction/touched.html", "touched", context)


@require_GET
def one_file(request: HttpRequest, name: str) -> HttpResponse:
    """One file: what was done to it, and as it stood after entry `after` (without one, at the end)."""
    session = session_of(request, name)
    path = request.GET.get("path", "")
    file = next((one for one in files.touched_by(session) if path in (one.full, one.path)), None)
    if file is None:
        raise Http404
    after = integer(request.GET.get("after"))
    known = files.state_after(file, after)
    done = files.deeds(file)
    at = next((n for n, deed in enumerate(done) if deed.seq == after), None)
    before = files.state_after(file, (done[at].seq or 0) - 1) if at else None
    change = ""
    if known is not None and before is not None and known.whole and before.whole and known.text != before.text:
        change = diff(hunks_of_texts(before.text, known.text), limit=400)
    context = {
        "session": session,
        "file": file,
        "deeds": done,
        "after": after,
        "known": known,
        "rows": _rows(known, file.path) if known is not None else [],
        "change": change,
    }
    return page_or_partial(cast("Request", request), "compaction/touched_file.html", "file", context)


def _rows(known: Known, path: str) -> list[tuple[str, SafeString, int]]:
    """Numbers and code of each known stretch, and how many lines of it are left out."""
    out: list[tuple[str, SafeString, int]] = []
    left = LINES
    for start, lines in files.stretches(known):
        shown = lines[: max(0, left)]
        left -= len(lines)
        numbers = "\n".join(str(start + n) for n in range(len(shown)))
        code = render.code("\n".join(render.cut_line(line) for line in shown), path=path)
        out.append((numbers, code, len(lines) - len(shown)))
    return out
