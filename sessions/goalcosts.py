"""What the requests made for some entries took: tokens as recorded, cost by the day's prices, and the model that answered most of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import connection

from sessions.fields import to_multirange
from sessions.limits import overrides_of
from sessions.models import Session
from sessions.prices import Spent, cost_at, long_prompts, price_of
from sessions.ranges import Ranges

_PROMPT = "coalesce(fresh, 0) + coalesce(cache_read, 0) + coalesce(cache_write, 0)"
_SUMS = f"""
SELECT model, (at AT TIME ZONE 'UTC')::date AS day, width_bucket(({_PROMPT})::bigint - 1, %s::bigint[]) AS long,
       count(*), sum(coalesce(fresh, 0)), sum(coalesce(cache_read, 0)), sum(coalesce(cache_write, 0)), sum(coalesce(output, 0))
FROM agent_sessions_step
WHERE session_id = %s AND NOT copied AND %s::int4multirange @> first_seq AND ({_PROMPT} > 0 OR output > 0)
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""  # noqa: S608 -- _PROMPT is a constant


@dataclass(frozen=True, slots=True)
class Took:
    """`tokens`: of requests and answers (None: none is recorded). `cost` None: no model of them has a price. `whole`: all have one."""

    tokens: int | None = None
    cost: Decimal | None = None
    whole: bool = False
    model: str | None = None


def took(session: Session, entries: Ranges) -> Took:
    """What the steps that begin in `entries` took. Copied steps were paid for elsewhere."""
    if not entries:
        return Took()
    starts = long_prompts()
    with connection.cursor() as cursor:
        values: list[Any] = [list(starts), session.pk, to_multirange(entries)]
        cursor.execute(_SUMS, values)
        rows = cursor.fetchall()
    if not rows:
        return Took()
    overrides = overrides_of(session.workspace_id)
    requests: Counter[str] = Counter()
    tokens = 0
    cost: Decimal | None = None
    whole = True
    for model, day, long, count, fresh, read, write, output in rows:
        requests[model or ""] += count
        spent = Spent(int(fresh), int(read), int(write), int(output))
        tokens += spent.prompt + spent.output
        price = price_of(model, day, overrides)
        if price is None:
            whole = False
        else:
            cost = (cost or Decimal(0)) + cost_at(price.at(starts[long - 1] + 1 if long else 0), spent).total
    return Took(tokens, cost, whole, requests.most_common(1)[0][0] or None)
