"""The token chart and what can be taken away of it: its windows, the drawing as a page and as a file, every step as CSV."""

from __future__ import annotations

from typing import Any, cast

from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from sessions import queries, timeline, whatif
from sessions.costs import cost_of
from sessions.http import Request, number, page_or_partial, session_of
from sessions.tokenchart import Chart

# A file has no stylesheet: the same colours as attributes, which the page's own rules go over.
LIGHT = {
    "paper": "#FBF8F1", "leaf": "#F5F0E4", "ghost": "#F1EADB", "ink": "#221E18", "ink_2": "#544C3F", "rule": "#DFD7C5", "rule_2": "#B3A78D",
    "edge": "#8F8369", "signal": "#94301D", "cache_read": "#D2C7AD", "cache_write": "#8B9AB8", "fresh": "#2B4A87", "whole": "#BFB292",
    "answer": "#221E18", "reasoning": "#7C725F",
}  # fmt: skip
DARK = {
    "paper": "#191714", "leaf": "#211E1A", "ghost": "#262219", "ink": "#EBE4D6", "ink_2": "#C2B8A6", "rule": "#37322A", "rule_2": "#6A6152",
    "edge": "#857A67", "signal": "#E99C86", "cache_read": "#544D40", "cache_write": "#66779C", "fresh": "#A6BBE8", "whole": "#6F6655",
    "answer": "#EBE4D6", "reasoning": "#9A8F7C",
}  # fmt: skip
LAYER_WORDS = {
    "cache_read": "cache read",
    "cache_write": "cache write",
    "fresh": "fresh",
    "whole": "not told apart",
    "answer": "output",
    "reasoning": "reasoning",
}
KEPT = ("v", "rule", "model")  # of a query, from one place of the chart to the next
TABLE = 200  # steps of one page of the table


@require_GET
def steps_json(request: HttpRequest, name: str) -> HttpResponse:
    """Steps `from` to `to`, at most a bar for each of `w` pixels: their drawing, and their figures by column."""
    context = _context(request, name)
    found = timeline.columns(context["chart"], context["drawing"])
    chosen: whatif.Chosen = context["chosen"]
    found["svg"] = render_to_string("sessions/_chart.svg", context)
    found["words"] = context["words"]
    found["as_if"] = chosen.sentence
    found["assumes"] = chosen.assumes
    found["rule"] = chosen.drawn.rule.label if chosen.drawn is not None else None
    return JsonResponse(found)


@require_GET
def chart_svg(request: HttpRequest, name: str) -> HttpResponse:
    """The drawing as a file that needs nothing else: the form for print, and for a page without script."""
    context = _context(request, name)
    context["paint"] = DARK if request.GET.get("scheme") == "dark" else LIGHT
    context["alone"] = True
    context["legend"] = _legend(context["drawing"].frame.width, [name for name, _ in context["drawing"].layers])
    kind = "attachment" if "download" in request.GET else "inline"
    return HttpResponse(
        render_to_string("sessions/_chart.svg", context),
        content_type="image/svg+xml; charset=utf-8",
        headers={
            "Content-Disposition": f'{kind}; filename="steps-{context["session"].pk}.svg"',
            "X-Content-Type-Options": "nosniff",
        },
    )


@require_GET
def chart(request: HttpRequest, name: str) -> HttpResponse:
    """The chart as a page of its own, with ways along and into it, and its steps as a table."""
    context = _context(request, name)
    shown = context["chart"]
    query = request.GET.dict()
    after = number(request, "after", shown.first - 1, low=shown.first - 1)
    rows = queries.steps_page(context["session"], after or 0, TABLE)
    context |= {
        "linked": True,
        "ways": [
            (words, timeline.query_of(query, *KEPT, **{"from": low, "to": high})) for words, low, high in _ways(shown)
        ],
        "steps": [row for row in rows if row.n <= shown.last],
        "after": rows[-1].n if len(rows) == TABLE and rows[-1].n < shown.last else None,
        "here_query": timeline.query_of(query, *KEPT, **{"from": shown.first, "to": shown.last}),
        "legend": [(name, LAYER_WORDS[name]) for name, _ in reversed(context["drawing"].layers)],
        "as_if": whatif.choices(context["session"]),
    }
    return page_or_partial(cast("Request", request), "sessions/chart.html", "chart", context)


@require_GET
def cost(request: HttpRequest, name: str) -> HttpResponse:
    """What the session cost, by model, with whose prices; to htmx the sum alone."""
    found = session_of(request, name)
    context = {"session": found, "cost": cost_of(found)}
    return page_or_partial(cast("Request", request), "sessions/cost.html", "sum", context)


@require_GET
def steps_csv(request: HttpRequest, name: str) -> StreamingHttpResponse:
    """Every step as a line of CSV, sent as it is read."""
    found = session_of(request, name)
    return StreamingHttpResponse(
        timeline.csv_of(found),
        content_type="text/csv; charset=utf-8",
        headers={
            "Content-Disposition": f'attachment; filename="steps-{found.pk}.csv"',
            "X-Content-Type-Options": "nosniff",
        },
    )


def _context(request: HttpRequest, name: str) -> dict[str, Any]:
    found = session_of(request, name)
    seen = queries.reading(found, number(request, "v", low=0))
    return {**timeline.context_of_chart(seen, request.GET.dict()), "paint": LIGHT}


def _legend(width: int, layers: list[str]) -> list[tuple[str, str, float]]:
    """Names of layers from the right edge of a drawing, in the order in which they stand on each other."""
    out: list[tuple[str, str, float]] = []
    x = float(width - 12)
    for name in layers:
        words = LAYER_WORDS[name]
        x -= len(words) * 6.1 + 30
        out.append((name, words, round(x, 1)))
    return out


def _ways(shown: Chart) -> list[tuple[str, int, int]]:
    """Ways from one stretch to others: closer in, further out, earlier, later, all."""
    first, last, steps, span = shown.first, shown.last, shown.steps, shown.span
    out: list[tuple[str, int, int]] = []
    if first > 1:
        out.append((_("Earlier"), max(1, first - span), max(1, first - span) + span - 1))
    if last < steps:
        start = min(steps - span + 1, first + span)
        out.append((_("Later"), start, start + span - 1))
    if span > 8:
        out.append((_("First half"), first, first + span // 2 - 1))
        out.append((_("Second half"), first + span // 2, last))
    if span < steps:
        out.append((_("All steps"), 1, steps))
    return out
