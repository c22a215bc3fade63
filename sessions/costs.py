"""What sessions cost: sums of their steps by model, day and length of prompt, priced when they are read. One query for many sessions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from datetime import date as day_of
from decimal import Decimal
from typing import Any

from django.db import connection

from sessions.contexts import Edit, Hide, Insert, Replace, hidden_by
from sessions.gauge import model_of
from sessions.limits import overrides_of
from sessions.measuring import measured
from sessions.meters import Meter
from sessions.meters.tokens import sizes
from sessions.models import Session, Step, Version
from sessions.prices import Break, Cost, Price, Spent, break_of, cost_at, long_prompts, price_of
from sessions.queries import last_step
from sessions.store import edits_of
from sessions.versions import Refused
from sessions.windows.overrides import Override


@dataclass(slots=True)
class ModelCost:
    """A model's share of a session. `cost` None: it has no price. `days`: first and last of its requests (None: they have no time)."""

    model: str | None
    cost: Cost | None = None
    requests: int = 0
    spent: Spent = field(default_factory=Spent)
    source: str | None = None
    days: tuple[day_of, day_of] | None = None


@dataclass(slots=True)
class SessionCost:
    """`usd`: of what has a price (None: nothing has). `complete`: whether all has. `lower`: some outputs are recorded as placeholders."""

    models: list[ModelCost] = field(default_factory=list)
    lower: bool = False

    @property
    def priced(self) -> Cost:
        return sum((one.cost for one in self.models if one.cost is not None), Cost())

    @property
    def usd(self) -> Decimal | None:
        return self.priced.total if any(one.cost is not None for one in self.models) else None

    @property
    def complete(self) -> bool:
        return bool(self.models) and all(one.cost is not None for one in self.models)

    @property
    def unknown(self) -> list[str]:
        return [one.model or "a model that is not recorded" for one in self.models if one.cost is None]

    @property
    def notes(self) -> list[str]:
        said = []
        if self.unknown:
            said.append(f"No price is known for {', '.join(self.unknown)}: its requests are not in the sum.")
        if self.lower:
            said.append("Some answers' lengths are recorded as placeholders: the cost is a lower bound.")
        if any(one.spent.cache_write for one in self.models):
            said.append("Writes to the cache are priced as those for five minutes; those for an hour cost more.")
        if self.models:
            said.append("Sub-agents that are sessions of their own are priced there.")
        return said


_PROMPT = "coalesce(fresh, 0) + coalesce(cache_read, 0) + coalesce(cache_write, 0)"
_SUMS = f"""
SELECT session_id, model, (at AT TIME ZONE 'UTC')::date AS day, width_bucket(({_PROMPT})::bigint - 1, %s::bigint[]) AS long,
       count(*), bool_or(estimated), sum(coalesce(fresh, 0)), sum(coalesce(cache_read, 0)), sum(coalesce(cache_write, 0)),
       sum(coalesce(output, 0))
FROM agent_sessions_step
WHERE session_id = ANY(%s) AND NOT copied AND ({_PROMPT} > 0 OR output > 0)
GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
"""  # noqa: S608 -- _PROMPT is a constant


def costs_of(sessions: Iterable[Session], overrides: Sequence[Override] | None = None) -> dict[Any, SessionCost]:
    """The cost of each session by its id, of its own requests alone (copied ones were paid for elsewhere).

    `overrides`: what the sessions' workspace says of models, where that is known already.
    """
    wanted = list(sessions)
    found: dict[Any, SessionCost] = {session.pk: SessionCost() for session in wanted}
    if not wanted:
        return found
    said = {
        pk: overrides_of(pk) if overrides is None else tuple(overrides)
        for pk in {session.workspace_id for session in wanted}
    }
    workspace = {session.pk: session.workspace_id for session in wanted}
    starts = long_prompts()
    shares: dict[tuple[Any, str | None], ModelCost] = {}
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, [list(starts), list(found)])
        rows = cursor.fetchall()
    for session, model, day, long, requests, estimated, fresh, read, write, output in rows:
        share = shares.get((session, model))
        if share is None:
            share = shares[session, model] = ModelCost(model)
            found[session].models.append(share)
        spent = Spent(int(fresh), int(read), int(write), int(output))
        share.requests += requests
        share.spent = _plus(share.spent, spent)
        share.days = _days(share.days, day)
        found[session].lower |= estimated
        price = price_of(model, day, said[workspace[session]])
        if price is not None:
            cost = cost_at(price.at(starts[long - 1] + 1 if long else 0), spent)
            share.cost = cost if share.cost is None else share.cost + cost
            share.source = price.source
    return found


def cost_of(session: Session) -> SessionCost:
    return costs_of([session])[session.pk]


def cost_of_step(step: Step, overrides: Sequence[Override] = ()) -> Cost | None:
    """What one request cost; None where its model has no price or nothing of it is recorded. A copied one cost nothing here."""
    spent = Spent(step.fresh or 0, step.cache_read or 0, step.cache_write or 0, step.output or 0)
    if not (spent.prompt or spent.output):
        return None
    price = price_of(step.model, step.at.astimezone(UTC).date() if step.at else None, overrides)
    if price is None:
        return None
    return Cost() if step.copied else cost_at(price.at(spent.prompt), spent)


def _plus(one: Spent, other: Spent) -> Spent:
    return Spent(
        one.fresh + other.fresh,
        one.cache_read + other.cache_read,
        one.cache_write + other.cache_write,
        one.output + other.output,
    )


def _days(days: tuple[day_of, day_of] | None, day: day_of | None) -> tuple[day_of, day_of] | None:
    if day is None:
        return days
    return (day, day) if days is None else (min(days[0], day), max(days[1], day))


# -- a broken cache prefix ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Broken:
    """What moving from one version to another costs at the provider's cache. `first`: the entry from which on the contexts differ (None: nowhere).

    `cost` None: the model has no price; the tokens of `tokens` (kept, anew, before) stand all the same.
    """

    was: Version
    now: Version
    first: int | None
    meter: Meter
    tokens: tuple[int, int, int]
    price: Price | None
    cost: Break | None


def broken(session: Session, was: Version, now: Version, meter: Meter) -> Broken:
    """The cost of the next request once `now` is sent where `was` was: what both begin with is in the cache, the rest is written anew.

    Of the context's own tokens, by `meter`; the system prompt and tool schemas stay in the cache either way.
    """
    if was.session_id != session.pk or now.session_id != session.pk:
        raise Refused("no_such_version", "Both versions must be this session's.")
    first = first_change(edits_of(was), edits_of(now))
    before = measured(session.pk, was, [meter])[meter.id]
    whole = measured(session.pk, now, [meter])[meter.id] if first is not None else before
    kept = whole if first is None else _kept(session, was, now, first, meter)
    step = last_step(session)
    day = step.at.astimezone(UTC).date() if step is not None and step.at is not None else None
    price = price_of(model_of(session, step), day, overrides_of(session.workspace_id))
    tokens = (kept, whole - kept, before)
    cost = None if price is None else break_of(price, kept=kept, anew=whole - kept, before=before)
    return Broken(was, now, first, meter, tokens, price, cost)


def _kept(session: Session, was: Version, now: Version, first: int, meter: Meter) -> int:
    """Tokens of `now` in front of entry `first`, but for texts put in right before it that `was` does not have."""
    older = edits_of(was)
    new = [edit for edit in edits_of(now) if isinstance(edit, Insert) and _behind(edit) == first and edit not in older]
    added = sum(meter.of(size) for size in sizes([edit.parts for edit in new]))
    return max(0, measured(session.pk, now, [meter], until_seq=first - 1)[meter.id] - added)


def first_change(was: Sequence[Edit], now: Sequence[Edit]) -> int | None:
    """The first entry at or behind which two contexts of one log differ; None where they are equal."""
    one, other = hidden_by(was), hidden_by(now)
    places = [span[0] for span in ((one - other) | (other - one)).spans[:1]]
    for mine, theirs in ((was, now), (now, was)):
        for edit in mine:
            if isinstance(edit, Hide) or edit in theirs:
                continue
            places.append(edit.seq if isinstance(edit, Replace) else _behind(edit))
    return min(places, default=None)


def _behind(edit: Insert) -> int:
    return edit.after + 1
