"""The panels of a session's page, each the context of its fragment: meter, goals, version line, chart, inspector."""

from __future__ import annotations

from typing import Any

from sessions import charts as figures
from sessions import queries, versionline
from sessions.carrying import left_open_before
from sessions.costs import cost_of_step
from sessions.entryline import line_of
from sessions.gauge import gauge
from sessions.ghosts import band_of
from sessions.goalshown import as_they_stand, now_of, revision_of
from sessions.http import Request, may_operate
from sessions.limits import overrides_of
from sessions.lines import parts_of, with_parts
from sessions.meters import meters
from sessions.models import Entry, Session, Step
from sessions.packing import unpack
from sessions.prices import price_of
from sessions.queries import STATUSES, Reading
from sessions.sourcebytes import place
from sessions.store import sizes_of
from sessions.whatif import THRESHOLD_WORDS, is_shown, limit_source

ASSUMED = "Taken as on"  # how a note begins that warns of nothing: it says what is assumed


METERS_FIRST = ("o200k", "codex-bytes4", "opencode-chars4", "claude-rough", "gemini")  # the rest opens below them


def meter(seen: Reading, at: Step | None = None) -> dict[str, Any]:
    """The context meter: what is used, the thresholds with whose rule they are, the forecast in words. With `at`: right after that step."""
    said = gauge(seen.session, seen.version, step=at)
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
            if is_shown(one):
                rule = limit_source(window.limits.source) if one.name.value == "total" else one.formula
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
        "five": said.numbers,
        "warnings": [note for note in said.forecast.notes if not note.startswith(ASSUMED)],
        "at_step": at,
    }


def goals(session: Session, *, after: str | None = None, before: str | None = None) -> dict[str, Any]:
    """A window of the goal tree, with its bars on the scale of the session's largest goal."""
    found = queries.goals_of(session, after=after, before=before)
    largest = found.largest or 1
    shown = as_they_stand(session, found.rows)
    return {
        "goals": shown,
        "goal_now": now_of(shown),
        "goal_rows": [(goal, goal.path.count(".") + 1, round(goal.tokens * 100 / largest, 1)) for goal in shown],
        "goal_counts": [(status, found.counts[status]) for status in STATUSES if found.counts.get(status)],
        "goals_inferred": bool(found.rows) and found.rows[0].inferred,
        "goals_earlier": found.earlier,
        "goals_later": found.later,
        "goals_rev": revision_of(session),
        "goals_whole": after is None and before is None,
        "goals_before": left_open_before(session) if after is None and before is None else [],
    }


def version_line(seen: Reading, request: Request, *, limit: int | None = None, sums: bool = True) -> dict[str, Any]:
    """Versions, newest first (the head among them, however old), with where undo and redo lead. `sums`: with what each weighs and weighed."""
    line = versionline.line(seen.session, shown=seen.version, newest=limit, measure=versionline.MEASURED if sums else 0)
    return {
        "session": seen.session,
        "seen": seen,
        "line": line,
        "undo_to": line.undo,
        "redo_to": line.redo,
        "may_operate": may_operate(request),
        "may_act": may_operate(request),
        "v": seen.version.n if seen.looks_back and seen.version is not None else None,
    }


def inspector(seen: Reading, row: Entry, *, heavy: bool = True) -> dict[str, Any]:
    """All about one entry. `heavy`: with what has to be looked up around it."""
    session = seen.session
    seq = row.seq
    version = seen.version
    body = version.insertions.filter(replaces=seq).first() if version is not None and seq in version.masked else None
    band = band_of(seen.bands, seq)
    vector = sizes_of(row)
    step = session.steps.filter(n=row.step).first() if row.step is not None else None
    overrides = overrides_of(session.workspace_id) if step is not None else ()
    by_meter = [(one, one.of(vector)) for one in meters().values()] if row.sent else []
    most = max((tokens for _, tokens in by_meter), default=0) or 1
    weighed = [(one, tokens, round(tokens * 100 / most, 1)) for one, tokens in by_meter]
    with_parts(row)
    parts = parts_of(row) or ()
    answer = "not_sent" if not row.sent else "no" if band is not None else "masked" if body is not None else "yes"
    return {
        "session": session,
        "seen": seen,
        "entry": row,
        "offset": place(session.source, seq, row.byte_offset)
        if row.source_id == session.source_id
        else row.byte_offset,
        "line": line_of(row, parts),
        "answer": answer,
        "band": band,
        "placeholder": "\n".join(part.text for part in unpack(body.parts) if part.text)[:400]
        if body is not None
        else "",
        "masked_tokens": body.tokens if body is not None else None,
        "visible_in": [v for v in seen.versions if row.sent and seq not in v.hidden] if heavy else [],
        "meters": [one for one in weighed if one[0].id in METERS_FIRST],
        "more_meters": [one for one in weighed if one[0].id not in METERS_FIRST],
        "step": step,
        "step_cost": cost_of_step(step, overrides) if step is not None else None,
        "step_price": price_of(step.model, step.at.date() if step.at else None, overrides)
        if step is not None
        else None,
        "five": gauge(session, step=step).numbers if heavy and step is not None else (),
        "partners": queries.partners_of(session, row),
        "calls": row.call_ids or [],
        "signed": any(part.signed for part in parts),
        "pinned": seq in queries.pins_of(session),
        "heavy": heavy,
        "v": seen.version.n if seen.looks_back and seen.version is not None else None,
    }
