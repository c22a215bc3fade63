"""What the reading pages show, put together from queries and pure parts: one function a page or fragment, each a template's context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sessions import charts as figures
from sessions import panels, queries, render, timeline
from sessions.adapters import by_agent
from sessions.contexts import Item
from sessions.costs import SessionCost, cost_of
from sessions.forecast import State, forecast
from sessions.gauge import window_of
from sessions.http import Request, integer, may_operate
from sessions.listing import Listed
from sessions.measuring import measured
from sessions.meters import by_id
from sessions.models import Session, Version
from sessions.projection import context_items, version_at
from sessions.queries import STATUSES, Reading
from sessions.ranges import Ranges
from sessions.reader import reader_window
from sessions.windows.overrides import Override

NEAR_END = 0.05  # share of the way to compaction from which a session is marked in the list
MODEL_ITEMS = 80  # items of one page of the model's view
VERSIONS = 6  # newest versions beside the transcript; all of them have a page
LONG = 2_000  # entries beyond which the model's view reads only as far as its page needs


def agent_label(agent: str) -> str:
    """An agent's name for people; its id where no adapter knows it."""
    try:
        return by_agent(agent).label
    except KeyError:
        return agent


# -- the list ---------------------------------------------------------------------------------------------------------


def list_row(row: Listed, cost: SessionCost, overrides: Sequence[Override]) -> dict[str, Any]:
    """A session's row: its sparkline against the agent's own threshold, its goals, its ghosts, what comes next."""
    session = row.session
    window = window_of(session, overrides=overrides)
    parted = session.head is not None and session.head_id != session.native_head_id and session.head.tokens is not None
    used = session.head.tokens if parted and session.head is not None else row.points[-1] if row.points else None
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
        "about": parted,
        "goals": [(status, counts[status]) for status in STATUSES if counts[status]],
        "goal_bar": figures.shares([(status, counts[status]) for status in STATUSES]),
        "inferred": row.inferred if not row.goals else 0,
        "ghosts": row.ghosts,
        "folds": row.folds,
        "rollbacks": row.rollbacks,
        "others": row.others,
        "tokens": _sum(session),
        "cost": cost,
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
    seen = queries.reading(session, integer(query.get("v")))
    model = query.get("view") == "model"
    context: dict[str, Any] = {
        "session": session,
        "agent": agent_label(session.agent),
        "totals": [
            (name, session.totals[name]) for name in (*SUMMED, "reasoning") if isinstance(session.totals.get(name), int)
        ],
        "took": session.last_at - session.started_at if session.last_at and session.started_at else None,
        "may_operate": may_operate(request),
        "view": "model" if model else "transcript",
        "at": at,
        "seen": seen,
        "since": _since_parted(seen),
        **panels.goals(session),
        **panels.version_line(seen, request, limit=VERSIONS, sums=False),
        **timeline.around(session, query),
    }
    # The inspector, which may stand beside it, has a line of its own.
    context["version_line"] = context["line"]
    # A sum over all steps is part of the page where it is short; else it comes after.
    context["cost"] = cost_of(session) if session.steps_count <= LONG else None
    # Where the agent's own figures hold, the meter is one short look; else it has to sum the context, and comes after.
    context["metered"] = not (seen.parted or seen.looks_back)
    if context["metered"]:
        context.update(panels.meter(seen))
    context.update(model_window(seen, query) if model else reader_window(seen, query))
    selected = queries.place_of(session, at) if at else None
    context["selected"] = selected
    if selected is not None:
        row = queries.entry_of(session, selected)
        if row is not None:
            context.update(panels.inspector(seen, row, heavy=False))
    return context


def _since_parted(seen: Reading) -> int | None:
    """Entries the agent added to its own context since the heads parted."""
    if not seen.parted or seen.current is None:
        return None
    return queries.arrived(seen.session, seen.current)[0]


def window_page(session: Session, query: Mapping[str, str], request: Request) -> dict[str, Any]:
    """A window of the transcript, or of the model's view, by itself."""
    seen = queries.reading(session, integer(query.get("v")))
    model = query.get("view") == "model"
    shown = model_window(seen, query) if model else reader_window(seen, query)
    return {
        "session": session,
        "seen": seen,
        "view": "model" if model else "transcript",
        "may_operate": may_operate(request),
        **shown,
    }


# -- the model's view -------------------------------------------------------------------------------------------------


def model_window(seen: Reading, query: Mapping[str, str]) -> dict[str, Any]:
    """The context item by item, as the agent would send it: at the version looked at, or as it was before step `step`."""
    session = seen.session
    step = integer(query.get("step"))
    version, until = seen.version, None
    if step is not None:
        first = session.steps.filter(n=step).values_list("first_seq", flat=True).first()
        if first is not None:
            version, until = version_at(session, first), first - 1
    start = max(0, integer(query.get("from")) or 0)
    total, tokens, about = None, None, False
    if until is None and session.entries_count > LONG and not query.get("at"):
        until, total, tokens = _reach(seen, version, start)
        about = until is not None
    items = context_items(session, version, until_seq=until)
    if query.get("at", "").startswith("e") and "from" not in query:
        wanted = integer(query["at"][1:])
        start = next(
            (n for n, item in enumerate(items) if item.seq is not None and wanted is not None and item.seq >= wanted), 0
        )
    page = items[start : start + MODEL_ITEMS]
    return {
        "items": [_model_item(start + n, item) for n, item in enumerate(page, start=1)],
        "items_total": len(items) if total is None else total,
        "items_tokens": sum(item.sizes.tokens for item in items) if tokens is None else tokens,
        "items_about": about,
        "from": start,
        "next": start + MODEL_ITEMS if start + MODEL_ITEMS < len(items) else None,
        "step": step,
        "model_version": version,
        "v": seen.version.n if seen.looks_back and seen.version is not None else None,
        "total": session.entries_count,
    }


def _reach(seen: Reading, version: Version | None, start: int) -> tuple[int | None, int | None, int | None]:
    """Up to which entry a long context must be read for the page of items from `start`, and its items and tokens as summed.

    Some hundreds of entries more than the page needs: the agent's own order moves items only inside one answer, and a result is looked
    for only so far behind its call. None where the whole context is to be read anyway.
    """
    session = seen.session
    hidden = version.hidden if version is not None else Ranges()
    ahead = queries.seq_of_sent(session, hidden, start + MODEL_ITEMS + queries.NEAR)
    if ahead is None:
        return None, None, None
    total = queries.sent_count(session, hidden) + (
        version.insertions.filter(replaces=None).count() if version is not None else 0
    )
    return ahead, total, measured(session.pk, version, [by_id("o200k")])["o200k"]


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
