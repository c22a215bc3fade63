"""What the reading pages show, put together from queries and pure parts: one function a page or fragment, each a template's context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import Http404

from sessions import charts as figures
from sessions import queries
from sessions.adapters import by_agent
from sessions.contexts import Item
from sessions.forecast import State, forecast
from sessions.gauge import gauge, window_of
from sessions.ghosts import BRANCHES, FOLDS, ROLLBACKS, Band, Stretch, band_of, stretch_after, stretch_before
from sessions.listing import Listed
from sessions.meters import meters
from sessions.models import Entry, Insertion, Session, Version
from sessions.packing import unpack
from sessions.projection import context_items, version_at
from sessions.queries import Reading
from sessions.store import sizes_of
from sessions.transcript import Ghost, Line, added_block, blocks_of, lines_of, line_of, parts_of, pieces_of
from sessions.http import Request
from sessions import render

LEAD = 12  # entries shown in front of the one a deep link means
NEAR_END = 0.05  # share of the way to compaction from which a session is marked in the list
MODEL_ITEMS = 80  # items of one page of the model's view
OPERATORS = frozenset({"operator", "admin"})

STATUSES = ("completed", "in_progress", "abandoned", "pending")


def agent_label(agent: str) -> str:
    """An agent's name for people; its id where no adapter knows it."""
    try:
        return by_agent(agent).label
    except KeyError:
        return agent


def may_operate(request: Request) -> bool:
    return request.membership is not None and request.membership.role in OPERATORS


# -- the list ---------------------------------------------------------------------------------------------------------


def list_row(row: Listed) -> dict[str, Any]:
    """A session's row: its sparkline against the agent's own threshold, its goals, its ghosts, what comes next."""
    session = row.session
    window = window_of(session)
    used = row.points[-1] if row.points else None
    said = forecast(window, used)
    left = next((d.left for d in said.distances if said.threshold is not None and d.name == said.threshold), None)
    threshold = window.compaction if window is not None else None
    counts = {status: row.goals.get(status, 0) for status in STATUSES}
    return {
        "session": session,
        "agent": agent_label(session.agent),
        "spark": figures.spark(row.points, threshold, _drops(row)),
        "forecast": said,
        "left": left,
        "near": left is not None and threshold is not None and 0 < left <= threshold * NEAR_END,
        "compacts": said.state in (State.COMPACTS, State.BLOCKED),
        "used": used,
        "goals": [(status, counts[status]) for status in STATUSES if counts[status]],
        "goal_bar": figures.shares([(status, counts[status]) for status in STATUSES]),
        "inferred": row.inferred if not row.goals else 0,
        "ghosts": row.ghosts,
        "folds": row.folds,
        "rollbacks": row.rollbacks,
        "others": row.others,
        "tokens": _sum(session),
        "took": session.last_at - session.started_at if session.last_at and session.started_at else None,
    }


SUMMED = ("fresh", "cache_read", "cache_write", "output")


def _sum(session: Session) -> int | None:
    """Tokens of all requests of a session: prompts and answers. Reasoning is part of the answers."""
    known = [session.totals[name] for name in SUMMED if isinstance(session.totals.get(name), int)]
    return sum(known) if known else None


def _drops(row: Listed) -> list[float]:
    """Places of the compactions along the sparkline, as shares of the way."""
    if len(row.seqs) < 2:
        return []
    places = []
    for at_seq in row.compactions:
        before = sum(1 for seq in row.seqs if seq <= at_seq)
        if 0 < before <= len(row.seqs):
            places.append(min(1.0, max(0.0, (before - 0.5) / (len(row.seqs) - 1))))
    return places


# -- one session ------------------------------------------------------------------------------------------------------


def session_page(session: Session, query: Mapping[str, str], request: Request) -> dict[str, Any]:
    """The whole page. Nothing here grows with the session: what does has an address of its own and comes after."""
    at = query.get("at", "")
    seen = queries.reading(session, _int(query.get("v")))
    model = query.get("view") == "model"
    context: dict[str, Any] = {
        "session": session,
        "agent": agent_label(session.agent),
        "totals": [(name, session.totals[name]) for name in (*SUMMED, "reasoning") if isinstance(session.totals.get(name), int)],
        "took": session.last_at - session.started_at if session.last_at and session.started_at else None,
        "may_operate": may_operate(request),
        "view": "model" if model else "transcript",
        "at": at,
        "seen": seen,
        "kinds": {"folds": FOLDS},
        "since": _since_parted(seen),
        **goals(session),
        **version_line(seen, request),
    }
    # Where the agent's own figures hold, the meter is one short look; else it has to sum the context, and comes after.
    context["metered"] = not (seen.parted or seen.looks_back)
    if context["metered"]:
        context.update(meter(seen))
    context.update(model_window(seen, query) if model else transcript_window(seen, query))
    selected = queries.place_of(session, at) if at else None
    context["selected"] = selected
    if selected is not None:
        row = queries.entry_of(session, selected)
        if row is not None:
            context.update(inspector(seen, row, heavy=False))
    context["goal_now"] = next((goal.path for goal in context["goals"] if goal.status == "in_progress"), None)
    return context


def _since_parted(seen: Reading) -> int | None:
    """Entries the agent added to its own context since the heads parted."""
    if not seen.parted or seen.current is None:
        return None
    return queries.arrived(seen.session, seen.current)[0]


def window_page(session: Session, query: Mapping[str, str], request: Request) -> dict[str, Any]:
    """A window of the transcript, or of the model's view, by itself."""
    seen = queries.reading(session, _int(query.get("v")))
    model = query.get("view") == "model"
    shown = model_window(seen, query) if model else transcript_window(seen, query)
    return {
        "session": session,
        "seen": seen,
        "view": "model" if model else "transcript",
        "may_operate": may_operate(request),
        **shown,
    }


def transcript_window(seen: Reading, query: Mapping[str, str]) -> dict[str, Any]:
    """Entries around `at`, behind `after` or in front of `before`; with neither, from the beginning."""
    session = seen.session
    total = session.entries_count
    hidden = seen.hidden
    selected = queries.place_of(session, query["at"]) if query.get("at") else None
    after, before = _int(query.get("after")), _int(query.get("before"))
    opened: dict[int, Ghost] = {}
    if before is not None:
        stretch = stretch_before(hidden, total, before, queries.RECORDS)
        stretch, rows = queries.cut_before(stretch, queries.rows_of(session, stretch.seqs))
    else:
        if selected is not None and after is None:
            after = _lead(seen, selected, query["at"])
            band = band_of(seen.bands, selected)
            if band is not None:
                opened[band.number] = opened_ghost(seen, band, max(band.start, selected - LEAD) - 1, selected=selected)
        stretch = stretch_after(hidden, total, after if after is not None else -1, queries.RECORDS)
        stretch, rows = queries.cut_after(stretch, queries.rows_of(session, stretch.seqs))
        if selected is not None and query.get("after") is None:
            stretch, rows = queries.from_a_call(stretch, rows, selected)
    added, bodies = queries.inserted(seen.version, stretch, stretch.seqs)
    lines = list(
        lines_of(
            rows,
            bodies=bodies,
            pins=queries.pins_of(session),
            children=queries.children_by_call(
                session, [call for row in rows if row.kind == "tool_call" for call in row.call_ids or ()]
            ),
        )
    )
    for line in lines:
        if isinstance(line, Line):
            line.selected = selected is not None and (line.seq == selected or selected in line.results)
    turns = queries.turns_of(session, [line.turn for line in lines if isinstance(line, Line) and line.turn is not None])
    return {
        "blocks": blocks_of(lines, stretch=stretch, bands=seen.bands, added=added, turns=turns, opened=opened),
        "stretch": stretch,
        "before": stretch.low + 1 if stretch.earlier else None,
        "after": stretch.high if stretch.later else None,
        "v": seen.version.n if seen.looks_back and seen.version is not None else None,
        "selected": selected,
        "total": total,
        "goal_names": _goal_names(session, lines),
    }


def _goal_names(session: Session, lines: Sequence[Any]) -> dict[str, str]:
    paths = {line.goal for line in lines if isinstance(line, Line) and line.goal}
    return dict(session.goals.filter(path__in=paths, inferred=False).values_list("path", "text")) if paths else {}


def _lead(seen: Reading, selected: int, at: str) -> int:
    """The entry behind which a window around `selected` begins: a few entries earlier, or right at the turn that is meant."""
    band = band_of(seen.bands, selected)
    place = band.start if band is not None else selected
    lead = 0 if at.startswith("t") else LEAD
    return stretch_before(seen.hidden, seen.session.entries_count, place, max(1, lead)).low if lead else place - 1


def opened_ghost(seen: Reading, band: Band, after: int, *, selected: int | None = None) -> Ghost:
    """A band with the entries behind `after`, in the ghost style."""
    session = seen.session
    start = max(band.start, after + 1)
    seqs = range(start, min(band.stop, start + queries.RECORDS))
    stretch = Stretch(
        tuple(seqs),
        start - 1,
        seqs[-1] if seqs else start - 1,
        start > band.start,
        bool(seqs) and seqs[-1] + 1 < band.stop,
    )
    stretch, rows = queries.cut_after(stretch, queries.rows_of(session, stretch.seqs))
    lines = list(lines_of(rows, bodies={}, pins=queries.pins_of(session), children={}))
    for line in lines:
        if isinstance(line, Line):
            line.ghost = True
            line.selected = selected is not None and (line.seq == selected or selected in line.results)
    return Ghost(band, None, tuple(lines), stretch.high if stretch.later else None)


def fold_page(session: Session, number: int, query: Mapping[str, str]) -> dict[str, Any]:
    """A ghost opened, or (with `closed`) its band alone."""
    seen = queries.reading(session, _int(query.get("v")))
    band = next((band for band in seen.bands if band.number == number), None)
    if band is None:
        raise Http404
    after = _int(query.get("after"))
    ghost = (
        Ghost(band) if query.get("closed") else opened_ghost(seen, band, after if after is not None else band.start - 1)
    )
    return {"session": session, "seen": seen, "ghost": ghost, "v": _int(query.get("v"))}


def fold_figures(session: Session, number: int, query: Mapping[str, str]) -> dict[str, Any]:
    seen = queries.reading(session, _int(query.get("v")))
    band = next((band for band in seen.bands if band.number == number), None)
    if band is None:
        raise Http404
    count, tokens = queries.band_figures(session, band)
    return {"session": session, "ghost": Ghost(band), "count": count, "tokens": tokens}


def entry_page(session: Session, seq: int, query: Mapping[str, str]) -> dict[str, Any]:
    """One entry laid open, with the results of its calls."""
    row = queries.entry_of(session, seq)
    if row is None:
        raise Http404
    seen = queries.reading(session, _int(query.get("v")))
    results = queries.results_of(session, row)
    parts = unpack(row.parts)
    row.small = row.parts  # type: ignore[attr-defined] -- the annotation that lists carry; here the parts are at hand
    for result in results:
        result.small = result.parts  # type: ignore[attr-defined] -- as above
    stretch = Stretch((seq,), seq - 1, seq, True, True)
    _, bodies = queries.inserted(seen.version, stretch, [seq, *(result.seq for result in results)])
    drawn = list(lines_of([row, *results], bodies=bodies, pins=queries.pins_of(session), children={}))
    line = next((line for line in drawn if isinstance(line, Line)), None) or line_of(row, parts)
    line.ghost = seq in seen.hidden
    whole = bool(query.get("whole"))
    context: dict[str, Any] = {
        "session": session,
        "line": line,
        "v": _int(query.get("v")),
        "whole": whole,
        "seen": seen,
    }
    if query.get("closed"):
        return context
    text = "\n".join(part.text for part in parts if part.text)
    if line.form in ("message", "prompt"):
        line.body = render.markdown(text) if line.form == "message" else render.words(text[: render.WHOLE])
        line.cut = ""
        context["pieces"] = []
    else:
        context["pieces"] = pieces_of(parts, [part for result in results for part in unpack(result.parts)], whole=whole)
    context["cut"] = any(piece.excerpt is not None and piece.excerpt.missing for piece in context["pieces"])
    context["open"] = True
    return context


def insertion_page(session: Session, version: int, position: int) -> dict[str, Any]:
    row = (
        Insertion.objects.filter(version__session=session, version__n=version, position=position)
        .select_related("version")
        .first()
    )
    if row is None:
        raise Http404
    text = "\n".join(part.text for part in unpack(row.parts) if part.text)
    row.small = row.parts  # type: ignore[attr-defined] -- the annotation that lists carry; here the parts are at hand
    return {
        "session": session,
        "added": added_block(row),
        "seen": queries.reading(session, version),
        "body": render.markdown(text) if row.kind in ("summary", "notice", "plan", "memory") else render.code(text),
        "prose": row.kind in ("summary", "notice", "plan", "memory"),
        "made_by": row.version,
    }


# -- the model's view -------------------------------------------------------------------------------------------------


def model_window(seen: Reading, query: Mapping[str, str]) -> dict[str, Any]:
    """The context item by item, as the agent would send it: at the version looked at, or as it was before step `step`."""
    session = seen.session
    step = _int(query.get("step"))
    version, until = seen.version, None
    if step is not None:
        first = session.steps.filter(n=step).values_list("first_seq", flat=True).first()
        if first is not None:
            version, until = version_at(session, first), first - 1
    items = context_items(session, version, until_seq=until)
    start = max(0, _int(query.get("from")) or 0)
    if query.get("at", "").startswith("e") and "from" not in query:
        wanted = _int(query["at"][1:])
        start = next(
            (n for n, item in enumerate(items) if item.seq is not None and wanted is not None and item.seq >= wanted), 0
        )
    page = items[start : start + MODEL_ITEMS]
    return {
        "items": [_model_item(start + n, item) for n, item in enumerate(page, start=1)],
        "items_total": len(items),
        "items_tokens": sum(item.sizes.tokens for item in items),
        "from": start,
        "next": start + MODEL_ITEMS if start + MODEL_ITEMS < len(items) else None,
        "step": step,
        "model_version": version,
        "v": seen.version.n if seen.looks_back and seen.version is not None else None,
        "total": session.entries_count,
    }


def _model_item(n: int, item: Item) -> dict[str, Any]:
    text = item.text
    cut = render.excerpt(text, head=14, tail=8)
    calls = [part for part in item.parts if part.kind.value == "tool_call"]
    return {
        "n": n,
        "item": item,
        "role": item.role.value if item.role else "",
        "kind": item.kind.value.replace("_", " "),
        "tools": [part.tool for part in calls if part.tool],
        "head": render.words(cut.head),
        "tail": render.words(cut.tail) if cut.missing else "",
        "cut": cut,
    }


# -- parts of the page ------------------------------------------------------------------------------------------------

SHOWN_THRESHOLDS = ("compaction", "block", "input_limit", "total")
THRESHOLD_WORDS = {
    "compaction": "compaction", "block": "hard block", "input_limit": "input limit", "total": "total window", "masking": "masking",
    "warning": "warning", "predictive": "compaction ahead of need",
}  # fmt: skip


def meter(seen: Reading) -> dict[str, Any]:
    """The context meter: what is used, the thresholds with whose rule they are, the forecast in words."""
    said = gauge(seen.session, seen.version)
    parts: list[tuple[str, str, int]] = []
    step = said.step
    if step is not None and step.total is None and step.prompt is not None:
        parts.append(("cached", "prompt, cached", step.cache_read or 0))
        parts.append(("fresh", "prompt, fresh", (step.fresh or 0) + (step.cache_write or 0)))
        if step.output is not None and not step.estimated:
            parts.append(("output", "output of the last step", step.output))
    elif said.used.recorded is not None:
        parts.append(("cached", "as the agent recorded it", said.used.recorded))
    if said.used.estimated:
        parts.append(("estimate", "estimated" if step is None else "came since, estimated", said.used.estimated))
    window = said.window
    limits: list[tuple[str, str, str, int]] = []
    if window is not None:
        for one in window.thresholds:
            if one.name.value in SHOWN_THRESHOLDS and one.measure.value == "context":
                rule = _limit_source(window.limits.source) if one.name.value == "total" else one.formula
                if one.name.value == "compaction":
                    rule = f"{window.rule.label}: {rule}"
                limits.append((one.name.value, THRESHOLD_WORDS[one.name.value], rule, one.tokens))
    return {
        "bar": figures.meter(parts, limits, window.total if window is not None else None),
        "gauge": said,
        "forecast": said.forecast,
        "window": window,
        "thresholds": [
            (THRESHOLD_WORDS.get(one.name.value, one.name.value), one, one.source or window.rule.source)
            for one in window.thresholds
        ]
        if window is not None
        else [],
        "numbers": {one.key: one for one in said.numbers},
    }


def _limit_source(source: str) -> str:
    """Whose word a window's size is, short enough for the bar; the list under it has the source in full."""
    return "recorded in the session" if "recorded" in source else "model catalogue"


def goals(session: Session) -> dict[str, Any]:
    """The goal tree, with its bars on the scale of the largest goal."""
    found = queries.goals_of(session)
    largest = max((goal.tokens for goal in found), default=0) or 1
    counts = {
        status: sum(goal.status == status for goal in found)
        for status in ("completed", "in_progress", "pending", "abandoned")
    }
    return {
        "goals": found,
        "goal_rows": [(goal, goal.path.count(".") + 1, round(goal.tokens * 100 / largest, 1)) for goal in found],
        "goal_counts": [(status, count) for status, count in counts.items() if count],
        "goals_inferred": bool(found) and found[0].inferred,
        "goals_cut": len(found) == queries.GOALS,
    }


def version_line(seen: Reading, request: Request) -> dict[str, Any]:
    """Versions, newest first, with where undo and redo lead."""
    session = seen.session
    by_id = {version.pk: version for version in seen.versions}
    now, native = seen.current, seen.native
    line: set[int] = set()
    at = now
    while at is not None:
        line.add(at.pk)
        at = by_id.get(at.parent_id) if at.parent_id else None
    rows = []
    for version in reversed(seen.versions):
        parent = by_id.get(version.parent_id) if version.parent_id else None
        off = version.pk not in line
        rows.append(
            {
                "version": version,
                "current": now is not None and version.pk == now.pk,
                "native_head": native is not None and version.pk == native.pk and seen.parted,
                "off": off,
                "node": _node(version, now, off),
                "change": None
                if parent is None or version.tokens is None or parent.tokens is None or parent.at_seq != version.at_seq
                else version.tokens - parent.tokens,
                "hides": len(version.hidden),
                "shown": seen.version is not None and version.pk == seen.version.pk,
            }
        )
    last_redo = session.redo[-1] if session.redo else None
    return {
        "session": session,
        "seen": seen,
        "versions": rows,
        "undo_to": by_id.get(now.parent_id) if now is not None and now.parent_id else None,
        "redo_to": by_id.get(last_redo) if last_redo is not None else None,
        "may_operate": may_operate(request),
        "v": seen.version.n if seen.looks_back and seen.version is not None else None,
    }


def _node(version: Version, now: Version | None, off: bool) -> str:
    if now is not None and version.pk == now.pk:
        return "head"
    if version.origin in (Version.Origin.NATIVE, Version.Origin.RECORDED):
        return "native"
    return "undone" if off else "made"


def chart(seen: Reading) -> dict[str, Any]:
    """The series of the token chart with its flags, turns and thresholds."""
    session = seen.session
    compactions: list[tuple[int, str, int, int | None, int | None]] = []
    for version in seen.chain:
        if version.kind in FOLDS or version.origin == Version.Origin.RUN:
            facts = version.facts
            compactions.append(
                (
                    version.n,
                    version.label,
                    version.at_seq,
                    _fact(facts, "preTokens", "tokens_before"),
                    _fact(facts, "postTokens", "tokens_after"),
                )
            )
    gone = [
        (band.start, band.stop, "Rolled back" if band.maker.kind in ROLLBACKS else "Branch not taken")
        for band in seen.bands
        if band.maker.kind in ROLLBACKS | BRANCHES
    ]
    drawn = figures.chart(queries.series(session), compactions, gone).to_json()
    window = window_of(session, queries.last_step(session))
    drawn["thresholds"] = [
        {
            "name": one.name.value,
            "label": THRESHOLD_WORDS[one.name.value],
            "tokens": one.tokens,
            "rule": f"{window.rule.label}: {one.formula}",
            "whose": _limit_source(window.limits.source) if one.name.value == "total" else window.rule.label,
        }
        for one in (window.thresholds if window is not None else ())
        if one.name.value in SHOWN_THRESHOLDS and one.measure.value == "context"
    ]
    return drawn


def _fact(facts: Mapping[str, Any], *names: str) -> int | None:
    return next((facts[name] for name in names if isinstance(facts.get(name), int)), None)


def inspector(seen: Reading, row: Entry, *, heavy: bool = True) -> dict[str, Any]:
    """All about one entry. `heavy`: with what has to be looked up around it."""
    session = seen.session
    seq = row.seq
    version = seen.version
    body = version.insertions.filter(replaces=seq).first() if version is not None and seq in version.masked else None
    band = band_of(seen.bands, seq)
    vector = sizes_of(row)
    by_meter = [(one, one.of(vector)) for one in meters().values()] if row.sent else []
    most = max((tokens for _, tokens in by_meter), default=0) or 1
    row.small = row.parts  # type: ignore[attr-defined] -- the annotation that lists carry; here the parts are at hand
    parts = parts_of(row) or ()
    answer = "not_sent" if not row.sent else "no" if band is not None else "masked" if body is not None else "yes"
    return {
        "session": session,
        "seen": seen,
        "entry": row,
        "line": line_of(row, parts),
        "answer": answer,
        "band": band,
        "placeholder": "\n".join(part.text for part in unpack(body.parts) if part.text)[:400]
        if body is not None
        else "",
        "masked_tokens": body.tokens if body is not None else None,
        "visible_in": [v for v in seen.versions if row.sent and seq not in v.hidden] if heavy else [],
        "meters": [(one, tokens, round(tokens * 100 / most, 1)) for one, tokens in by_meter],
        "step": session.steps.filter(n=row.step).first() if row.step is not None else None,
        "partners": queries.partners_of(session, row),
        "calls": row.call_ids or [],
        "signed": any(part.signed for part in parts),
        "pinned": seq in queries.pins_of(session),
        "heavy": heavy,
        "v": seen.version.n if seen.looks_back and seen.version is not None else None,
    }


def _int(text: Any) -> int | None:
    try:
        return int(text)
    except (TypeError, ValueError):
        return None
