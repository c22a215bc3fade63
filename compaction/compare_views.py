"""The page that compares strategies: all of them as dry runs on one context, and one of them beside the context as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from compaction.accounts import dollars
from compaction.beside import beside
from compaction.comparing import GOAL, Compared, DryRun, Wanted, by_order, compare, recent
from compaction.forms import SET, written
from compaction.gauging import meter_label
from compaction.preview import Preview
from compaction.reporting import strip_of
from compaction.shown import Refusal, Strip
from compaction.strategies import RECOMMENDED, strategies
from compaction.strategies.base import settled
from compaction.strips import percent
from compaction.summarisers.configured import models
from compaction.telling import sentence
from sessions.contexts import Item
from sessions.differences import SIGNS, Block, Change
from sessions.findings import Said, said_of
from sessions.http import Request, session_of
from sessions.insight import kinds_said
from sessions.models import Session
from sessions.templatetags.palimpsest import n as number
from sessions.versions import Refused

BLOCKS = 80  # of the two contexts side by side, in one answer
COLUMNS = (
    ("instruction", "instr."),
    ("edited", "files"),
    ("error", "errors"),
    ("todo", "todos"),
)
WORDS = 160  # characters of a body
LONGEST_GOAL = 2_000  # characters


@dataclass(frozen=True, slots=True)
class Share:
    """How much of one kind is there, word for word. `width`: the weighted share, as SVG takes it."""

    figure: str
    width: str
    low: bool


@dataclass(frozen=True, slots=True)
class Cost:
    """What a model would take for a dry run's summaries: money where a price is known, else tokens. `title`: calls and tokens in words."""

    figure: str
    title: str
    tokens: int


@dataclass(frozen=True, slots=True)
class By:
    """Who would write, and to what end: part of every address of the page."""

    summariser: str
    model: str | None
    goal: str

    @classmethod
    def of(cls, request: HttpRequest) -> By:
        summariser, _sign, model = (request.GET.get("summariser") or "extractive").partition(":")
        return cls(summariser, model or None, request.GET.get("goal", "").strip()[:LONGEST_GOAL])

    @property
    def pairs(self) -> list[tuple[str, str]]:
        chosen = [] if self.summariser == "extractive" else [("summariser", self.name)]
        return [*chosen, *([("goal", self.goal)] if self.goal else [])]

    @property
    def name(self) -> str:
        return self.summariser if self.model is None else f"{self.summariser}:{self.model}"


@dataclass(frozen=True, slots=True)
class Row:
    """A dry run as the table shows it."""

    name: str
    label: str
    preset: str
    about: str
    recommended: bool
    chosen: bool
    lands: bool
    refused: str
    after: int | None
    width: str
    tick: str
    over: bool
    reduction: float | None
    shares: tuple[Share | None, ...]
    future: Share | None
    seconds: float
    warnings: tuple[str, ...]
    strip: Strip | None
    compact: str
    model: Cost | None


@never_cache
@require_GET
def compare_page(request: HttpRequest, name: str) -> HttpResponse:
    """Strategies side by side. `with` (repeated): strategy or strategy:preset; `summariser`: who would write; `goal`: for a strategy that takes one;
    `show`: the one laid beside the context; `part=table` or
    `now`: with the dry runs in the answer, without them the page asks for them itself.
    """
    session = session_of(request, name)
    names = [one for one in request.GET.getlist("with") if one]
    part = request.GET.get("part", "")
    htmx = cast("Request", request).htmx
    fragment = bool(htmx) and not htmx.history_restore_request
    by = By.of(request)
    context = _page(session, names, by, request.GET.get("show", ""), request.GET.get("sort", ""))
    if not (fragment or "now" in request.GET):
        return _vary(render(request, "compaction/compare.html", context))
    show = context["show"]
    wanted = [show] if part == "beside" and show else names
    try:
        compared = compare(session, wanted, summariser=by.summariser, model=by.model, goal=by.goal)
    except Refused as refused:
        context["refusal"] = Refusal(
            _("Nothing to compare"), str(refused), _("Nothing was written."), ((context["here"], _("Start over")),)
        )
        return _vary(render(request, _template("table", fragment=fragment), context, status=409))
    context |= _with(compared, by, show, context["sort"])
    return _vary(render(request, _template("beside" if part == "beside" else "table", fragment=fragment), context))


@never_cache
@require_GET
def compare_any(request: HttpRequest) -> HttpResponse:
    """Where a comparison begins: the sessions worked on last."""
    workspace = cast("Request", request).workspace
    if workspace is None:
        raise Http404
    return render(request, "compaction/compare_any.html", {"sessions": recent(workspace)})


def _template(part: str, *, fragment: bool) -> str:
    return f"compaction/compare.html#{part}-part" if fragment else "compaction/compare.html"


def _vary(response: HttpResponse) -> HttpResponse:
    patch_vary_headers(response, ["HX-Request"])
    return response


def _page(session: Session, names: list[str], by: By, show: str, sort: str) -> dict[str, Any]:
    here = reverse("compaction:compare", args=[session.pk])
    pairs = [*(("with", one) for one in names), *by.pairs]
    return {
        "by": by,
        "writers": [
            {"id": f"llm:{one.name}", "label": one.name, "on": by.summariser == "llm" and by.model in (None, one.name, one.model)}
            for one in models()
        ],
        "session": session,
        "session_href": reverse("sessions:session", args=[session.pk]),
        "here": here,
        "names": names,
        "asked": urlencode([*pairs, *([("show", show)] if show else [])]),
        "show": show,
        "sort": sort,
        "choices": [
            {
                "id": one.id,
                "label": one.label,
                "on": not names or one.id in names,
                "presets": [{"name": f"{one.id}:{preset}", "label": preset, "on": f"{one.id}:{preset}" in names} for preset in one.presets],
            }
            for one in strategies().values()
        ],
    }  # fmt: skip


def _with(compared: Compared, by: By, show: str, sort: str) -> dict[str, Any]:
    """What the dry runs add to the page."""
    rows = by_order(compared.rows, sort)
    shown = next((row for row in rows if row.wanted.name == show and row.preview is not None), None)
    shown = shown or next((row for row in rows if row.lands), None)
    return {
        "compared": compared,
        "meter": meter_label(compared.meter),
        "rows": [_row(compared, row, by, chosen=row is shown) for row in rows],
        "chosen": shown.wanted.name if shown is not None else "",
        "chosen_label": shown.label if shown is not None else "",
        "compact": _compact(compared.session, shown.wanted, by) if shown is not None else "",
        "columns": [_(words) for _kind, words in COLUMNS],
        "beside": _beside(compared, shown) if shown is not None else None,
    }


def _compact(session: Session, wanted: Wanted, by: By) -> str:
    strategy = strategies()[wanted.strategy]
    takes_goal = bool(by.goal) and any(param.name == GOAL for param in strategy.params)
    pairs = [("strategy", wanted.strategy)]
    if takes_goal:
        # A preset with a figure of one's own is no preset any more: all its figures go along.
        given = settled(strategy.params, {**strategy.presets.get(wanted.preset, {}), GOAL: by.goal})
        texts = {param.name: written(param, given[param.name]) for param in strategy.params}
        pairs += [(f"{SET}{name}", text) for name, text in texts.items() if text]
    elif wanted.preset:
        pairs.append(("preset", wanted.preset))
    pairs += [pair for pair in by.pairs if pair[0] != "goal"]
    return f"{reverse('compaction:compact', args=[session.pk])}?{urlencode(pairs)}"


def _cost(row: DryRun) -> Cost | None:
    found = row.foretold if row.lands else None
    if found is None:
        return None
    words = ngettext("{n} call", "{n} calls", found.calls).format(n=number(found.calls))
    title = _("{calls}: {prompt} tokens in, at most {output} out").format(
        calls=words, prompt=number(found.prompt), output=number(found.output)
    )
    figure = _("{n} tokens").format(n=number(found.prompt + found.output)) if found.usd is None else dollars(found.usd)
    return Cost(figure, title if found.price is None else f"{title}; {found.price}", found.prompt + found.output)


def _row(compared: Compared, row: DryRun, by: By, *, chosen: bool) -> Row:
    made = row.preview
    scale = max(compared.tokens, compared.threshold or 0, 1)
    after = made.tokens_after if made is not None and made.lands else None
    known = strategies()[row.wanted.strategy]
    return Row(
        name=row.wanted.name,
        label=row.label,
        preset=row.wanted.preset,
        about=known.about,
        recommended=row.wanted.strategy == RECOMMENDED and not row.wanted.preset,
        chosen=chosen,
        lands=row.lands,
        refused=sentence(row.refused),
        after=after,
        width=percent((after or 0) / scale),
        tick="" if compared.threshold is None else percent(compared.threshold / scale),
        over=after is not None and compared.threshold is not None and after >= compared.threshold,
        reduction=None if after is None or not compared.tokens else 1 - after / compared.tokens,
        shares=_shares(made) if row.lands else (),
        future=_future(made) if row.lands else None,
        seconds=row.seconds,
        warnings=tuple(sentence(word) for word in made.warnings) if made is not None and made.lands else (),
        strip=strip_of(compared.session, made.to_json()) if made is not None and made.lands else None,
        compact=_compact(compared.session, row.wanted, by),
        model=_cost(row),
    )


def _shares(made: Preview | None) -> tuple[Share | None, ...]:
    report = None if made is None else made.retention
    kinds = {} if report is None else {kind.kind: kind for kind in report.kinds}
    return tuple(
        Share(f"{number(kind.verbatim)}/{number(kind.total)}", percent(kind.share), kind.share < 0.6)
        if (kind := kinds.get(name)) is not None
        else None
        for name, _words in COLUMNS
    )


def _future(made: Preview | None) -> Share | None:
    report = None if made is None else made.retention
    if report is None or report.future_use is None:
        return None
    share = report.future_use
    return Share(f"{share * 100:.0f} %", percent(share), share < 0.6)


def _beside(compared: Compared, shown: DryRun) -> dict[str, Any]:
    made = cast("Preview", shown.preview)
    snapshot = compared.snapshot
    found = beside(snapshot.items, snapshot.tokens, made, count=BLOCKS)
    alone = [one.first for one in found.blocks if not one.inserts and one.count == 1]
    said = said_of(compared.session, alone)
    items = {item.seq: item for item in made.items if item.seq is not None}
    words = {place: item.text for place, item in enumerate(made.items) if item.inserted}
    rows = [_block(one, said, items, words) for one in found.blocks]
    return {
        "found": found,
        "rows": rows,
        "signs": [(SIGNS[change], number(found.counts[change]), _sign(change)) for change in _SAID if found.counts[change]],
        "left": str(compared.base.version),
        "right": shown.label,
    }  # fmt: skip


_SAID = (Change.SAME, Change.REWRITTEN, Change.MASKED, Change.GONE, Change.INSERTED, Change.DROPPED)


def _sign(change: Change) -> str:
    return {
        Change.SAME: _("same"),
        Change.REWRITTEN: _("rewritten"),
        Change.MASKED: _("masked"),
        Change.GONE: _("folded"),
        Change.INSERTED: _("put in"),
        Change.DROPPED: _("taken out"),
    }[change]


def _block(block: Block, said: dict[int, Said], items: dict[int, Item], words: dict[int, str]) -> dict[str, Any]:
    body = block.body
    text = ""
    if body is not None:
        text = words.get(body.position, "") if block.inserts else getattr(items.get(block.first), "text", "")
    return {
        "block": block,
        "sign": SIGNS[block.change],
        "said": said.get(block.first) if not block.inserts and block.count == 1 else None,
        "result": "tool_result" in block.kinds,
        "kinds": kinds_said(block.kinds),
        "text": " ".join(text[: WORDS * 2].split())[:WORDS],
    }
