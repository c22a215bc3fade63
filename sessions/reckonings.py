"""What is reckoned from a session, as JSON, once for the command line and the API: costs, suppositions, limits. Dollars are US dollars."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date as day_of
from decimal import Decimal
from typing import Any

from sessions.asif import MARKED, AsIf
from sessions.costs import Broken, ModelCost, SessionCost
from sessions.models import ModelLimit
from sessions.prices import Cost
from sessions.supposing import Supposed
from sessions.windows import Rule, Threshold, Window, presets, rules

type Row = dict[str, Any]


def dollars(value: Decimal | None) -> float | None:
    """US dollars to a millionth."""
    return None if value is None else float(round(value, 6))


def cost_row(found: SessionCost) -> Row:
    """A session's cost. `usd` is null where no model has a price; `complete` says whether all have."""
    whole = found.priced
    known = found.usd is not None
    return {
        "usd": dollars(found.usd),
        "complete": found.complete,
        "lower_bound": found.lower,
        "parts": _parts(whole) if known else None,
        "uncached_usd": dollars(whole.uncached) if known else None,
        "saved_by_cache_usd": dollars(whole.uncached - whole.total) if known else None,
        "models": [_model(one) for one in found.models],
        "unknown": found.unknown,
        "notes": found.notes,
    }


def _parts(cost: Cost) -> Row:
    return {
        "fresh": dollars(cost.fresh),
        "cache_read": dollars(cost.cache_read),
        "cache_write": dollars(cost.cache_write),
        "output": dollars(cost.output),
    }


def _model(one: ModelCost) -> Row:
    return {
        "model": one.model,
        "usd": None if one.cost is None else dollars(one.cost.total),
        "requests": one.requests,
        "fresh": one.spent.fresh,
        "cache_read": one.spent.cache_read,
        "cache_write": one.spent.cache_write,
        "output": one.spent.output,
        "source": one.source,
        "since": _day(one.days[0] if one.days else None),
        "until": _day(one.days[1] if one.days else None),
    }


def _day(day: day_of | None) -> str | None:
    return None if day is None else day.isoformat()


def broken_row(found: Broken) -> Row:
    """What a change of version costs at the provider's cache."""
    kept, anew, before = found.tokens
    cost = found.cost
    return {
        "from": found.was.n,
        "to": found.now.n,
        "first_seq": found.first,
        "meter": found.meter.id,
        "kept": kept,
        "anew": anew,
        "before": before,
        "usd_next": None if cost is None else dollars(cost.following),
        "usd_intact": None if cost is None else dollars(cost.intact),
        "usd_extra": None if cost is None else dollars(cost.extra),
        "usd_saved_later": None if cost is None else dollars(cost.later),
        "pays_after": None if cost is None else cost.even,
        "model": None if found.price is None else found.price.model,
        "source": None if found.price is None else found.price.source,
        "date": None if found.price is None else found.price.date,
        "sentence": _broken_words(found),
    }


def _broken_words(found: Broken) -> str:
    kept, anew, _ = found.tokens
    if found.first is None:
        return "Both contexts are the same: the cache holds."
    words = f"{kept:,} tokens are read from the cache as before, {anew:,} are read anew."
    cost = found.cost
    if cost is None:
        return f"{words} What that costs is not known: the model has no price."
    if cost.extra <= 0:
        return f"{words} The next prompt costs ${-cost.extra:.4f} less than it would have."
    words += f" The next prompt costs ${cost.extra:.4f} more than it would have"
    if cost.even is None:
        return f"{words}, and the ones after it cost no less."
    return f"{words}; each one after it costs ${cost.later:.4f} less: {cost.even:,} of them pay for it."


def supposed_row(session_id: Any, found: Supposed, window: Row) -> Row:
    """What would have happened under a window. `window`: that window as `answers.window_row` makes it."""
    said = found.found
    return {
        "session": str(session_id),
        "rule": found.window.rule.id,
        "label": found.window.rule.label,
        "window": window,
        "sentence": said.sentence,
        "requests": len(said.points),
        "requests_estimated": found.growth.estimated,
        "compactions": said.compactions,
        "own_compactions": found.growth.folds,
        "counts": {name.value: count for name, count in said.counts.items()},
        "stuck": said.stuck,
        "beyond": said.beyond,
        "first_beyond": said.first_beyond,
        "thresholds": [_line(found.window, one) for one in found.window.thresholds if one.measure.value == "context"],
        "marks": marks_of(said),
        "marks_left_out": max(0, sum(said.counts.values()) - MARKED),
        "points": [list(point) for point in said.sampled()],
        "assumes": list(found.assumes),
        "notes": list(found.window.limits.notes),
    }


def marks_of(said: AsIf) -> list[Row]:
    return [
        {
            "step": mark.n,
            "turn": mark.turn,
            "seq": mark.seq,
            "name": mark.name.value,
            "before": mark.before,
            "after": mark.after,
        }
        for mark in said.marks
    ]


def _line(window: Window, one: Threshold) -> Row:
    return {
        "name": one.name.value,
        "tokens": one.tokens,
        "formula": one.formula,
        "acts": one.acts,
        "strict": one.strict,
        "whose": f"{window.rule.label}: {one.formula}",
    }


def limit_row(row: ModelLimit) -> Row:
    """What a workspace says of a model."""
    return {
        "pattern": row.pattern,
        "context": row.context,
        "input": row.input,
        "output": row.output,
        "price_input": dollars(row.price_input),
        "price_output": dollars(row.price_output),
        "price_cache_read": dollars(row.price_cache_read),
        "price_cache_write": dollars(row.price_cache_write),
        "source": row.source,
        "date": row.date.isoformat(),
        "by": None if row.by is None else row.by.get_username(),
    }


def limit_rows(rows: Sequence[ModelLimit]) -> list[Row]:
    return [limit_row(row) for row in rows]


def rule_row(rule: Rule) -> Row:
    """A rule to choose from."""
    return {
        "id": rule.id,
        "agent": rule.agent,
        "label": rule.label,
        "source": rule.source,
        "date": rule.date,
        "counts": rule.counts,
        "holds": rule.holds,
        "meter": rule.meter,
        "leaves": rule.leaves,
    }


def rules_row() -> Row:
    """Every rule and preset, in order of their tables."""
    return {
        "rules": [rule_row(rule) for rule in rules().values()],
        "presets": [
            {
                "id": preset.id,
                "label": preset.label,
                "rule": preset.rule.id,
                "context": preset.limits.context,
                "input": preset.limits.input,
                "output": preset.limits.output,
                "source": preset.limits.source,
                "date": preset.limits.date,
                "thresholds": [_line(preset.window(), one) for one in preset.window().thresholds],
            }
            for preset in presets().values()
        ],
    }
