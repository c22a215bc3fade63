"""Pages on what a context is made of: what fills it, what the model saw at a step, what differs between two, the memory in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET

from sessions import charts as figures
from sessions import findings, pages, queries
from sessions.differences import SIGNS, Block, Change, Difference
from sessions.fields import to_multirange
from sessions.http import Request, number, page_or_partial, session_of
from sessions.models import Entry, Session
from sessions.moments import Moment, at_step, at_version, moment_of
from sessions.versions import Refused

OPENED = 80  # entries of a block that are listed at a time
TOOLS = 8  # tools shown before the rest is folded away


def moment_asked(request: HttpRequest, session: Session) -> Moment:
    """The moment that `step` or `v` of the query names; without either, the head. 404 where there is none of it."""
    step, version = number(request, "step", low=0), number(request, "v", low=0)
    try:
        if step is not None:
            return at_step(session, step)
        return moment_of(session) if version is None else at_version(session, version)
    except Refused as refusal:
        raise Http404(str(refusal)) from refusal


def _place(session: Session, moment: Moment) -> dict[str, Any]:
    """What every page here says of its moment, and how links keep it."""
    current = session.current
    head = moment.step is None and current is not None and moment.n == current.n
    asked = {"step": moment.step} if moment.step is not None else {} if head else {"v": moment.n}
    return {
        "session": session,
        "moment": moment,
        "at_head": head,
        "asked": urlencode(asked),
        "v": None if head or moment.step is not None else moment.n,
    }


@require_GET
def fills(request: HttpRequest, name: str) -> HttpResponse:
    """What fills the context at a version or step; behind `after`, more of its biggest entries."""
    found = session_of(request, name)
    moment = moment_asked(request, found)
    after = request.GET.get("after")
    try:
        row = findings.fills_of(found, moment, after=after)
    except Refused as refusal:
        raise Http404(str(refusal)) from refusal
    results = row["tool_results"]
    context = {
        **_place(found, moment),
        "fills": row,
        "bar": figures.shares([(one["kind"], one["tokens"]) for one in row["by_kind"]]),
        "labels": {one["kind"]: one["label"] for one in row["by_kind"]},
        "tools": results[:TOOLS],
        "more_tools": results[TOOLS:],
        "largest": max((one["tokens"] for one in results), default=0) or 1,
        "page": "fills",
    }
    return page_or_partial(cast("Request", request), "sessions/fills.html", "more" if after else "fills", context)


@require_GET
def memory(request: HttpRequest, name: str) -> HttpResponse:
    """The memory files a session carried up to a moment."""
    found = session_of(request, name)
    moment = moment_asked(request, found)
    context = {**_place(found, moment), "memory": findings.memory_of(found, moment), "page": "memory"}
    return page_or_partial(cast("Request", request), "sessions/memory.html", "memory", context)


@require_GET
def context(request: HttpRequest, name: str) -> HttpResponse:
    """The context item by item, as it was sent at a step, or as a version would send it now."""
    found = session_of(request, name)
    moment = moment_asked(request, found)
    seen = queries.reading(found, moment.n)
    asked = found.steps.filter(n=moment.step).first() if moment.step is not None else None
    shown = pages.model_window(seen, request.GET)
    shown = {
        **shown,
        **_place(found, moment),
        "seen": seen,
        "asked_step": asked,
        "agent": pages.agent_label(found.agent),
        "earlier": moment.step - 1 if moment.step is not None and moment.step > 1 else None,
        "later": moment.step + 1 if moment.step is not None and moment.step < found.steps_count else None,
        "page": "context",
    }
    return page_or_partial(cast("Request", request), "sessions/context.html", "context", shown)


# -- the difference of two --------------------------------------------------------------------------------------------


def _sides(request: HttpRequest, session: Session) -> tuple[Moment, Moment]:
    """Both moments: as named, or by the number of a step beside; left out, the head and the version it was made from."""

    def named(side: str) -> str:
        step = request.GET.get(f"{side}_step", "").strip()
        return f"step{step}" if step else request.GET.get(side, "").strip()

    right = moment_of(session, named("right") or "head")
    left = named("left")
    if not left:
        parent = right.version.parent if right.version is not None else None
        if right.step is not None and right.step > 1:
            left = f"step{right.step - 1}"
        else:
            left = f"v{parent.n}" if parent is not None else "v0"
    return moment_of(session, left), right


@require_GET
def diff(request: HttpRequest, name: str) -> HttpResponse:
    """Two contexts side by side: only what differs is laid open, a window of blocks at a time."""
    found = session_of(request, name)
    try:
        left, right = _sides(request, found)
    except Refused as refusal:
        raise Http404(str(refusal)) from refusal
    after = number(request, "after", 0, low=0) or 0
    result = findings.compared(found, left, right, after=after, n=findings.BLOCKS)
    entries, bodies = findings.said_by(found, left, right, result.blocks)
    both = urlencode({"left": left.name, "right": right.name})
    context = {
        "session": found,
        "left": left,
        "right": right,
        "both": both,
        "result": result,
        "rows": [_diff_row(left, right, block, entries, bodies) for block in result.blocks],
        "sums": _sums(result),
        "after": after,
        "versions": list(found.versions.order_by("-n").only("n", "label", "kind")),
        "left_at": _at(left),
        "right_at": _at(right),
        "page": "diff",
        "asked": "",
    }
    partial = "rows" if after else "diff"
    return page_or_partial(cast("Request", request), "sessions/diff.html", partial, context)


@require_GET
def diff_entries(request: HttpRequest, name: str) -> HttpResponse:
    """The entries of one block, by keyset: those of `first` to `last` that the side which has them shows."""
    found = session_of(request, name)
    try:
        left, right = _sides(request, found)
    except Refused as refusal:
        raise Http404(str(refusal)) from refusal
    first, last = number(request, "first", 0, low=0) or 0, number(request, "last", 0, low=0) or 0
    after = number(request, "after", first - 1)
    side = right if request.GET.get("side") == "right" else left
    stop = last if side.until is None else min(last, side.until)
    rows = list(
        Entry.objects.filter(session=found, sent=True, seq__gte=first, seq__lte=stop, seq__gt=after)
        .extra(where=["NOT (%s::int4multirange @> seq)"], params=[to_multirange(side.hidden)])
        .order_by("seq")
        .values_list("seq", "kind", "tokens")[: OPENED + 1]
    )
    said = findings.said_of(found, [seq for seq, *_rest in rows[:OPENED]])
    context = {
        "session": found,
        "rows": [
            {"seq": seq, "result": kind == "tool_result", "tokens": tokens, "said": said.get(seq)}
            for seq, kind, tokens in rows[:OPENED]
        ],
        "v": None if side.step is not None else side.n,
        "more": urlencode(
            {
                "left": left.name,
                "right": right.name,
                "side": "right" if side is right else "left",
                "first": first,
                "last": last,
                "after": rows[OPENED - 1][0],
            }
        )
        if len(rows) > OPENED
        else None,
    }
    return page_or_partial(cast("Request", request), "sessions/diff_entries.html", "entries", context)


def _at(moment: Moment) -> str:
    """The beginning of the query of a link into the transcript as this moment shows it."""
    return "" if moment.step is not None or moment.n is None else f"v={moment.n}&"


def _sums(result: Difference) -> list[dict[str, Any]]:
    """What the difference comes to: items and tokens of each change there is."""
    names = {
        Change.GONE: _("gone"),
        Change.DROPPED: _("text taken out"),
        Change.ADDED: _("added"),
        Change.INSERTED: _("text put in"),
        Change.MASKED: _("masked"),
        Change.UNMASKED: _("unmasked"),
        Change.REWRITTEN: _("rewritten"),
        Change.SAME: _("the same"),
    }
    return [
        {"change": change.value, "sign": SIGNS[change], "label": label, "count": result.counts[change], "tokens": result.change[change]}
        for change, label in names.items()
        if result.counts[change]
    ]  # fmt: skip


def _diff_row(
    left: Moment,
    right: Moment,
    block: Block,
    entries: Mapping[int, findings.Said],
    bodies: Mapping[tuple[str, int], str],
) -> dict[str, Any]:
    side = "right" if block.change in (Change.ADDED, Change.INSERTED) else "left"
    query = {"left": left.name, "right": right.name, "side": side, "first": max(0, block.first), "last": block.last}
    return {
        "block": block,
        "sign": SIGNS[block.change],
        "said": entries.get(block.first) if not block.inserts and block.count == 1 else None,
        "result": "tool_result" in block.kinds,
        "kinds": kinds_said(block.kinds),
        "was": None if block.before is None else bodies.get(("left", block.before.position), ""),
        "is": None if block.body is None else bodies.get(("right", block.body.position), ""),
        "opens": urlencode(query) if not block.inserts and block.count > 1 else None,
    }


def kinds_said(kinds: Mapping[str, int]) -> str:
    """How many entries of each kind, the most first: "12 tool calls, 12 results, 3 messages"."""
    return ", ".join(
        _kind_said(kind, count) for kind, count in sorted(kinds.items(), key=lambda one: (-one[1], one[0]))
    )


def _kind_said(kind: str, count: int) -> str:
    match kind:
        case "prompt":
            words = ngettext("%(n)s prompt", "%(n)s prompts", count)
        case "command":
            words = ngettext("%(n)s command", "%(n)s commands", count)
        case "message":
            words = ngettext("%(n)s message", "%(n)s messages", count)
        case "reasoning":
            words = ngettext("%(n)s reasoning", "%(n)s reasonings", count)
        case "tool_call":
            words = ngettext("%(n)s tool call", "%(n)s tool calls", count)
        case "tool_result":
            words = ngettext("%(n)s result", "%(n)s results", count)
        case "context":
            words = ngettext("%(n)s text of the harness", "%(n)s texts of the harness", count)
        case "summary":
            words = ngettext("%(n)s summary", "%(n)s summaries", count)
        case "inserted":
            words = ngettext("%(n)s text put in", "%(n)s texts put in", count)
        case "media":
            words = ngettext("%(n)s medium", "%(n)s media", count)
        case _:
            return f"{count:,} {kind.replace('_', ' ')}"
    return words % {"n": f"{count:,}"}
