"""Sums over goals that were given up, by facet, value and review state: kept ones for all of a workspace, or counted in one pass over some.

Kept ones are differences that triggers leave (`audit_sql`); `merge` puts them together now and then, so that reading them stays a few
hundred rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet, Sum

from sessions.models_goals import Abandonment, AuditTally

FACETS = ("review", "cause", "how", "agent", "project", "owner", "model", "week")
_COLUMNS = {"owner": "owner_id"}
_LOCK = 0x7A11  # of `merge`, with the workspace
LEFT = 2_000  # rows of differences beyond which they are put together


@dataclass(frozen=True, slots=True)
class Cell:
    """What the goals of one facet's value and one review state come to. `costed`, `timed`: of how many cost and time are known."""

    facet: str
    value: str | None
    review: str
    goals: int
    tokens: int
    cost: Decimal
    costed: int
    seconds: int
    timed: int


def tallied(workspace: Any, names: Sequence[str]) -> list[Cell]:
    """The kept sums of a workspace by these facets."""
    rows = (
        AuditTally.objects.filter(workspace=workspace, facet__in=list(names))
        .values("facet", "value", "review")
        .annotate(
            n=Sum("goals"),
            sum=Sum("tokens"),
            spent=Sum("cost"),
            of=Sum("costed"),
            took=Sum("seconds"),
            timed_of=Sum("timed"),
        )
        .filter(n__gt=0)
        .values_list("facet", "value", "review", "n", "sum", "spent", "of", "took", "timed_of")
    )
    return [Cell(*row) for row in rows]


def counted(rows: QuerySet[Abandonment], names: Sequence[str]) -> list[Cell]:
    """The same of these rows, in one pass over them."""
    columns = [_COLUMNS.get(name, name) for name in names]
    plain = rows.order_by().values(*dict.fromkeys([*columns, "review"]), "tokens", "cost", "seconds")
    query, values = plain.query.sql_with_params()
    listed = ", ".join(f'"{column}"' for column in columns)
    sets = ", ".join(f'("{column}", "review")' for column in columns)
    sql = (
        f'SELECT GROUPING({listed}), {listed}, "review", count(*), sum("tokens"), coalesce(sum("cost"), 0), count("cost"), '  # noqa: S608 -- columns of ours
        f'coalesce(sum("seconds"), 0), count("seconds") FROM ({query}) found GROUP BY GROUPING SETS ({sets})'
    )
    out: list[Cell] = []
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        for mask, *rest in cursor.fetchall():
            at = _grouped_by(mask, names)
            review, goals, tokens, cost, costed, seconds, timed = rest[len(names) :]
            value = rest[at]
            word = None if value is None else value.isoformat() if isinstance(value, date) else str(value)
            out.append(Cell(names[at], word, review, goals, int(tokens or 0), cost, costed, int(seconds), timed))
    return out


def _grouped_by(mask: int, names: Sequence[str]) -> int:
    """Which column a row was grouped by: of the bits of GROUPING the one that is not set. `review` is in every set."""
    free = [n for n in range(len(names)) if not mask >> (len(names) - 1 - n) & 1]
    return next((n for n in free if names[n] != "review"), free[0])


def merge(workspace: Any) -> int:
    """Put a workspace's differences together where there are many; how many rows went. Nobody waits: whoever comes second leaves it."""
    if AuditTally.objects.filter(workspace=workspace).count() <= LEFT:
        return 0
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [_LOCK, workspace.pk % 2**31])
        if not cursor.fetchone()[0]:
            return 0
        cursor.execute(
            "WITH gone AS (DELETE FROM agent_sessions_audittally WHERE workspace_id = %s RETURNING *) "
            "INSERT INTO agent_sessions_audittally (workspace_id, facet, value, review, goals, tokens, cost, costed, seconds, timed) "
            "SELECT workspace_id, facet, value, review, sum(goals), sum(tokens), sum(cost), sum(costed), sum(seconds), sum(timed) FROM gone "
            "GROUP BY workspace_id, facet, value, review HAVING sum(goals) <> 0 RETURNING 1",
            [workspace.pk],
        )
        return int(cursor.rowcount)
