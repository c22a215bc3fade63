"""What a workspace says of models itself: read for windows and prices, written by people who may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date as day_of
from decimal import Decimal, InvalidOperation
from typing import Any

from django.utils import timezone

from sessions.catalogue import for_agent, limits_of
from sessions.models import ModelLimit
from sessions.versions import Refused
from sessions.windows import Limits
from sessions.windows.overrides import Override, chosen, over

TOKENS = ("context", "input", "output")
PRICES = ("price_input", "price_output", "price_cache_read", "price_cache_write")
MOST = 1 << 31
DEAREST = Decimal(100_000)


def overrides_of(workspace_id: Any) -> tuple[Override, ...]:
    """All that a workspace says of models, by one query."""
    return tuple(_override(row) for row in rows_of(workspace_id))


def rows_of(workspace_id: Any) -> list[ModelLimit]:
    return list(ModelLimit.objects.filter(workspace_id=workspace_id).select_related("by").order_by("pattern"))


def limits_for(model: str, agent: str, overrides: Sequence[Override] = ()) -> Limits:
    """A model's limits as an agent takes them: what the workspace says of it, else the catalogue's."""
    return over(for_agent(limits_of(model), agent), chosen(overrides, model))


def put(
    workspace: Any, pattern: str, given: Mapping[str, Any], *, source: str, date: day_of | None = None, by: Any = None
) -> ModelLimit:
    """Say something of the models that fit `pattern`, in place of what was said of that very pattern before.

    `given`: any of `TOKENS` (whole numbers above 0) and `PRICES` (US dollars a million tokens). `date`: as of when, today unless said.
    Refused where nothing is given, a figure is none, or nobody's word is named.
    """
    pattern = pattern.strip()
    values: dict[str, Any] = {name: _tokens(name, given.get(name)) for name in TOKENS}
    values |= {name: _price(name, given.get(name)) for name in PRICES}
    if not pattern or len(pattern) > 200:
        raise Refused("usage", "Name a model, or a pattern with * and ?, of at most 200 characters.")
    if not source.strip():
        raise Refused("usage", "Say whose word it is: a source is shown wherever the figure is used.")
    if all(value is None for value in values.values()):
        raise Refused("usage", "Give at least one limit or price.")
    if (values["price_input"] is None) != (values["price_output"] is None):
        raise Refused("usage", "A price needs both: of input and of output.")
    if values["price_input"] is None and any(values[name] is not None for name in PRICES):
        raise Refused("usage", "Prices of the cache need those of input and output beside them.")
    context, given_input = values["context"], values["input"]
    if context is not None and given_input is not None and given_input > context:
        raise Refused("usage", f"An input limit of {given_input:,} is more than the window of {context:,}.")
    row, _ = ModelLimit.objects.update_or_create(
        workspace=workspace,
        pattern=pattern,
        defaults={
            **values,
            "source": source.strip()[:400],
            "date": date or timezone.localdate(),
            "by": by if getattr(by, "pk", None) is not None else None,
            "at": timezone.now(),
        },
    )
    return row


def drop(workspace: Any, pattern: str) -> ModelLimit:
    """Take back what was said of `pattern`: the catalogue holds again. Refused where nothing was."""
    row = ModelLimit.objects.filter(workspace=workspace, pattern=pattern.strip()).first()
    if row is None:
        raise Refused("no_such_limit", f"Nothing is set for {pattern!r} in this workspace.")
    row.delete()
    return row


def _override(row: ModelLimit) -> Override:
    return Override(
        row.pattern,
        row.context,
        row.input,
        row.output,
        row.price_input,
        row.price_output,
        row.price_cache_read,
        row.price_cache_write,
        source=row.source,
        date=row.date.isoformat(),
    )


def _tokens(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < MOST:
        raise Refused("usage", f"{name}: a whole number of tokens above 0, not {value!r}.")
    return value


def _price(name: str, value: Any) -> Decimal | None:
    if value is None:
        return None
    try:
        price = Decimal(str(value))
    except InvalidOperation:
        price = Decimal(-1)
    if not price.is_finite() or not 0 <= price < DEAREST:
        raise Refused("usage", f"{name}: US dollars a million tokens, 0 or more, not {value!r}.")
    return price
