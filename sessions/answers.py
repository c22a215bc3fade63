"""Rows as JSON, once, for the command line and the API alike: tokens are integers, times ISO 8601 in UTC, ranges [first, last]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from sessions import versionline
from sessions.contexts import Item, content_hash
from sessions.costs import broken, cost_of, cost_of_step
from sessions.forecast import Forecast
from sessions.gauge import Gauge, gauge
from sessions.ingest import Taken
from sessions.limits import limits_for, overrides_of
from sessions.metering import metered
from sessions.meters import DEFAULT, by_id, meters
from sessions.models import Entry, Goal, Session, Source, Step, Version
from sessions.packing import unpack
from sessions.prices import Cost, price_of
from sessions.projection import context_items, version_at
from sessions.ranges import Ranges
from sessions.reckonings import broken_row, cost_row, dollars, supposed_row
from sessions.sourcebytes import digest_of, place
from sessions.supposing import supposed, window_as
from sessions.versions import Moved, Refused
from sessions.windows import Window, rule_of

type Row = dict[str, Any]


def time_of(at: datetime | None) -> str | None:
    """ISO 8601 in UTC, with Z."""
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def ranges_of(ranges: Ranges) -> list[list[int]]:
    """Ranges as [first, last], both of them in it."""
    return [[start, stop - 1] for start, stop in ranges.spans]


def session_row(session: Session) -> Row:
    """A session in a list."""
    current, native = session.current, session.native_head
    return {
        "id": str(session.pk),
        "agent": session.agent,
        "agent_version": session.agent_version,
        "native_id": session.native_id,
        "title": session.title,
        "project": session.project,
        "cwd": session.cwd,
        "branch": session.branch,
        "models": session.models_used,
        "parent": None if session.parent_id is None else str(session.parent_id),
        "parent_kind": session.parent_kind,
        "parent_native_id": session.parent_native_id,
        "started_at": time_of(session.started_at),
        "last_at": time_of(session.last_at),
        "entries": session.entries_count,
        "turns": session.turns,
        "steps": session.steps_count,
        "malformed": session.malformed,
        "tokens": session.totals,
        "head": None if current is None else current.n,
        "native_head": None if native is None else native.n,
        "superseded_by": None if session.superseded_by_id is None else str(session.superseded_by_id),
        "problems": session.problems,
    }


def session_whole(session: Session) -> Row:
    """A session by itself: its list row, its sources and its gauge at the head."""
    return {
        **session_row(session),
        "sources": sources_of(session),
        "gauge": gauge_row(gauge(session)),
        "cost": cost_row(cost_of(session)),
    }


def entry_row(entry: Entry, source: Source) -> Row:
    """An entry, whole, with the place of its bytes. `source`: its session's own."""
    return {
        "seq": entry.seq,
        "kind": entry.kind,
        "role": entry.role,
        "turn": entry.turn,
        "step": entry.step,
        "goal": entry.goal,
        "at": time_of(entry.at),
        "native_id": entry.native_id,
        "native_parent": entry.native_parent,
        "sent": entry.sent,
        "lane": entry.lane,
        "is_error": entry.is_error,
        "copied": entry.copied,
        "tokens": entry.tokens,
        "parts": [part.to_json() for part in unpack(entry.parts)],
        "source": entry.source_id,
        "byte_offset": place(source, entry.seq, entry.byte_offset)
        if entry.source_id == source.pk
        else entry.byte_offset,
        "byte_length": entry.byte_length,
        "problem": entry.problem,
    }


def step_row(step: Step, cost: Cost | None = None) -> Row:
    """A step; `cost`: what it cost, where that is known."""
    return {
        "n": step.n,
        "turn": step.turn,
        "first_seq": step.first_seq,
        "last_seq": step.last_seq,
        "response_id": step.response_id,
        "model": step.model,
        "at": time_of(step.at),
        "fresh": step.fresh,
        "cache_read": step.cache_read,
        "cache_write": step.cache_write,
        "prompt": step.prompt,
        "output": step.output,
        "reasoning": step.reasoning,
        "context": step.context,
        "window": step.window,
        "estimated": step.estimated,
        "copied": step.copied,
        "usd": dollars(None if cost is None else cost.total),
    }


def steps_of(session: Session, *, after: int, count: int) -> Row:
    """A page of steps, each with what it cost."""
    found = list(session.steps.filter(n__gt=after).order_by("n")[: count + 1])
    overrides = overrides_of(session.workspace_id)
    return {
        "items": [step_row(step, cost_of_step(step, overrides)) for step in found[:count]],
        "next": found[count - 1].n if len(found) > count else None,
    }


def goal_row(goal: Goal) -> Row:
    return {
        "path": goal.path,
        "parent": goal.parent,
        "text": goal.text,
        "status": goal.status,
        "note": goal.note,
        "first_seq": goal.first_seq,
        "last_seq": goal.last_seq,
        "inferred": goal.inferred,
        "entries": goal.entries_count,
        "tokens": goal.tokens,
    }


def versions_of(session: Session) -> Row:
    """All versions of a session, oldest first, and where its heads and its undo and redo stand."""
    rows = list(session.versions.select_related("parent", "by").order_by("n"))
    number = {row.pk: row.n for row in rows}
    current = session.current
    ends = {node.version.pk: node.tokens for node in versionline.line(session).nodes}
    return {
        "session": str(session.pk),
        "head": None if current is None else current.n,
        "native_head": None if session.native_head is None else session.native_head.n,
        "follows_native": session.head_id is None,
        "undo_to": number.get(current.parent_id) if current is not None and current.parent_id is not None else None,
        "redo_to": number.get(session.redo[-1]) if session.redo else None,
        "versions": [version_row(row) | {"tokens_at_end": ends.get(row.pk)} for row in rows],
    }


def version_row(version: Version) -> Row:
    return {
        "n": version.n,
        "parent": None if version.parent is None else version.parent.n,
        "origin": version.origin,
        "kind": version.kind,
        "label": version.label,
        "name": version.name,
        "at_seq": version.at_seq,
        "hidden": ranges_of(version.hidden),
        "masked": ranges_of(version.masked),
        "tokens": version.tokens,
        "content_hash": version.content_hash,
        "run": version.run,
        "by": None if version.by is None else version.by.get_username(),
        "made_at": time_of(version.made_at),
        "facts": {name: value for name, value in version.facts.items() if name != "key"},
    }


def files_of(session: Session) -> list[Source]:
    """The files of a session: the chain it is read from, its own last, then what is kept with it."""
    chain = [link.source for link in session.chain.select_related("source").order_by("position")]
    return [*chain, *session.sidecars.order_by("path", "revision")]


def source_of(session: Session, file: int | None = None) -> Source:
    """The session's own source, or the file of that number in `sources_of`. Refused where there is none."""
    if file is None:
        return session.source
    files = files_of(session)
    if not 0 <= file < len(files):
        raise Refused("no_such_file", f"This session has files 0 to {len(files) - 1}; {file} is none of them.")
    return files[file]


def sources_of(session: Session) -> list[Row]:
    """The files of a session, numbered by `file` as `source` takes them."""
    return [source_row(n, source, session) for n, source in enumerate(files_of(session))]


def source_row(n: int, source: Source, session: Session) -> Row:
    return {
        "file": n,
        "own": source.pk == session.source_id,
        "role": source.role,
        "path": source.path,
        "size": source.size,
        "sha256": None if source.digest is None else digest_of(source).hex(),
        "encoding": source.encoding or None,
        "revision": source.revision,
        "superseded": source.superseded,
        "modified_at": time_of(source.modified_at),
    }


def context_of(session: Session, *, version: int | None = None, step: int | None = None) -> Row:
    """What the model would be sent: at the head, at a version, or what it was sent at a step.

    Refused where the session has no such version or step.
    """
    until: int | None = None
    if step is not None:
        asked = _step(session, step)
        at = version_at(session, asked.first_seq)
        until = asked.first_seq - 1
        measured = gauge(session, step=asked)
    else:
        at = session.current if version is None else _version(session, version)
        measured = gauge(session, at)
    items = context_items(session, at, until_seq=until)
    rows = item_rows(items)
    return {
        "session": str(session.pk),
        "agent": session.agent,
        "native_id": session.native_id,
        "version": None if at is None else at.n,
        "head": None if session.current is None else session.current.n,
        "native_head": None if session.native_head is None else session.native_head.n,
        "step": step,
        "until_seq": until,
        "content_hash": content_hash(items),
        "meter": DEFAULT,
        "tokens": sum(row["tokens"] for row in rows),
        "gauge": gauge_row(measured),
        "items": rows,
    }


def item_rows(items: Sequence[Item]) -> list[Row]:
    meter = by_id(DEFAULT)
    return [
        {
            "key": item.key,
            "seq": item.seq,
            "role": item.role,
            "kind": item.kind.value,
            "parts": [part.to_json() for part in item.parts],
            "tokens": meter.of(item.sizes),
            "masked": item.masked,
            "pinned": item.pinned,
            "turn": item.turn,
            "step": item.step,
            "goal": item.goal,
            "at": time_of(item.at),
            "after": item.after,
            "stands_for": ranges_of(item.stands_for),
            "label": item.label,
        }
        for item in items
    ]


def gauge_row(measured: Gauge) -> Row:
    """The five numbers, the forecast and whose rule they follow."""
    return {
        "version": None if measured.version is None else measured.version.n,
        "step": None if measured.step is None else measured.step.n,
        "rule": None if measured.window is None else measured.window.rule.id,
        "window": None if measured.window is None else window_row(measured.window),
        "used": {
            "tokens": measured.used.tokens,
            "recorded": measured.used.recorded,
            "estimated": measured.used.estimated,
            "meter": measured.used.meter,
            "whose": measured.used.whose,
            "refused": measured.used.refused,
        },
        "counted": measured.counted,
        "maskable": measured.maskable,
        "numbers": [
            {
                "key": one.key,
                "label": one.label,
                "tokens": one.tokens,
                "of": one.of,
                "whose": one.whose,
                "counts": one.counts,
            }
            for one in measured.numbers
        ],
        "screen": None
        if measured.screen is None
        else {
            "text": measured.screen.text,
            "numerator": measured.screen.numerator,
            "denominator": measured.screen.denominator,
            "counts": measured.screen.counts,
        },
        "forecast": forecast_row(measured.forecast),
    }


def window_row(drawn: Window) -> Row:
    rule, limits = drawn.rule, drawn.limits
    return {
        "label": rule.label,
        "source": rule.source,
        "date": rule.date,
        "counts": rule.counts,
        "holds": rule.holds,
        "meter": rule.meter,
        "leaves": rule.leaves,
        "model": limits.model,
        "context": limits.context,
        "input": limits.input,
        "output": limits.output,
        "reserve": drawn.settings.reserve,
        "limits_source": limits.source,
        "limits_date": limits.date,
        "notes": list(limits.notes),
        "unknown": drawn.unknown,
        "thresholds": [
            {
                "name": one.name.value,
                "tokens": one.tokens,
                "formula": one.formula,
                "measure": one.measure.value,
                "acts": one.acts,
                "strict": one.strict,
                "source": one.source or rule.source,
            }
            for one in drawn.thresholds
        ],
    }


def forecast_row(said: Forecast) -> Row:
    return {
        "state": said.state.value,
        "words": said.words,
        "sentence": said.sentence,
        "reason": said.reason,
        "threshold": None if said.threshold is None else said.threshold.value,
        "distances": [
            {"name": one.name.value, "tokens": one.tokens, "left": one.left, "formula": one.formula}
            for one in said.distances
        ],
        "notes": list(said.notes),
    }


def gauge_of(
    session: Session,
    *,
    version: int | None = None,
    step: int | None = None,
    rule: str | None = None,
    model: str | None = None,
    tokens: int | None = None,
) -> Row:
    """The five numbers and the forecast by themselves: at the head, a version or a step; by another rule, model or window if asked.

    Refused where the session has no such version or step, or the rule is not known.
    """
    drawn = window_as(session, rule=rule, model=model, tokens=tokens) if rule or model or tokens else None
    if step is not None:
        return gauge_row(gauge(session, step=_step(session, step), drawn=drawn))
    return gauge_row(gauge(session, None if version is None else _version(session, version), drawn=drawn))


def as_if_of(session: Session, *, rule: str | None = None, model: str | None = None, tokens: int | None = None) -> Row:
    """What would have happened to the session under another rule, model or window. Refused for a rule that is not known."""
    drawn = window_as(session, rule=rule, model=model, tokens=tokens)
    return supposed_row(session.pk, supposed(session, drawn), window_row(drawn))


def broken_of(session: Session, *, to: int, since: int | None = None) -> Row:
    """What a change to version `to` costs at the cache, from version `since` (its parent unless said)."""
    now = _version(session, to)
    was = now.parent if since is None else _version(session, since)
    if was is None:
        raise Refused("no_such_version", f"Version {to} has no parent: say which version the cache holds.")
    return broken_row(broken(session, was, now, by_id(meter_of(session))))


def meter_of(session: Session) -> str:
    """The meter by which the session's own agent estimates; the default where no rule of it is known."""
    rule = rule_of(session.agent, session.agent_version)
    return DEFAULT if rule is None else rule.meter


def meters_of(session: Session, *, version: int | None = None, step: int | None = None) -> Row:
    """Every meter over the context at the head, at a version, or as it was sent at a step."""
    asked = None if step is None else _step(session, step)
    if asked is not None:
        at = version_at(session, asked.first_seq)
    else:
        at = session.current if version is None else _version(session, version)
    found = metered(session, at, until=asked)
    return {
        "session": str(session.pk),
        "version": None if at is None else at.n,
        "step": step,
        "own": meter_of(session),
        "meters": [
            {
                "id": one.id,
                "label": one.label,
                "tokens": found.tokens[one.id],
                "exact": one.exact,
                "counts": one.counts,
                "source": one.source,
            }
            for one in meters().values()
        ],
        "adaptive": {
            "weight": round(found.adaptive.weight, 6),
            "requests": found.adaptive.seen,
            "tokens": found.adaptive_tokens,
            "counts": "Gemini CLI's heuristic times a weight learned from each recorded prompt",
        },
    }


def model_row(workspace: Any, name: str, agent: str = "") -> Row:
    """What is known of a model in a workspace, as an agent takes it: its limits and its price today, each with whose word it is."""
    overrides = overrides_of(workspace.pk)
    limits, price = limits_for(name, agent, overrides), price_of(name, None, overrides)
    rates = None if price is None else price.rates
    return {
        "model": name,
        "context": limits.context,
        "input": limits.input,
        "output": limits.output,
        "source": limits.source,
        "date": limits.date,
        "notes": list(limits.notes),
        "price_input": dollars(None if rates is None else rates.input),
        "price_output": dollars(None if rates is None else rates.output),
        "price_cache_read": dollars(None if rates is None else rates.cache_read),
        "price_cache_write": dollars(None if rates is None else rates.cache_write),
        "price_source": None if price is None else price.source,
        "price_date": None if price is None else price.date,
    }


def _step(session: Session, n: int) -> Step:
    found = session.steps.filter(n=n).first()
    if found is None:
        raise Refused("no_such_step", f"This session has steps 1 to {session.steps_count}; {n} is none of them.")
    return found


def _version(session: Session, n: int) -> Version:
    found = session.versions.filter(n=n).first()
    if found is None:
        raise Refused("no_such_version", f"This session has no version {n}.")
    return found


def moved_row(moved: Moved) -> Row:
    """A head that moved, in numbers of versions."""
    session = moved.session
    return {
        "session": str(session.pk),
        "was": moved.was.n,
        "head": moved.now.n,
        "native_head": None if session.native_head is None else session.native_head.n,
        "label": moved.now.label,
        "tokens": moved.now.tokens,
        "content_hash": moved.now.content_hash,
        "kept": moved.kept,
        "notes": list(moved.notes),
    }


def taken_all(taken: Iterable[Taken]) -> Row:
    """What became of files, and the sums over them."""
    files = [one.to_json() for one in taken]
    outcomes: dict[str, int] = {}
    for one in files:
        outcomes[one["outcome"]] = outcomes.get(one["outcome"], 0) + 1
    return {
        "files": files,
        "totals": {
            "files": len(files),
            "outcomes": outcomes,
            "sessions": len({one["session"] for one in files if one["session"] is not None}),
            "bytes": sum(one["size"] for one in files),
            "entries": sum(one["entries"] for one in files),
            "added": sum(one["added"] for one in files),
            "malformed": sum(one["malformed"] for one in files),
            "failed": outcomes.get("failed", 0),
        },
    }
