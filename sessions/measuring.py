"""Tokens of a version by any meters, summed in the database from the size vectors: one query, no text read."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any

from django.db import connection

from sessions.fields import to_multirange
from sessions.meters import Meter
from sessions.meters.base import TERMS
from sessions.models import Version
from sessions.ranges import Ranges

_SIZES = ", ".join((*TERMS, "images", "documents"))
# Names of columns alone are put into these; everything else is a parameter.
_ENTRIES = (
    f"SELECT {_SIZES} FROM agent_sessions_entry WHERE session_id = %s AND sent"  # noqa: S608
    " AND NOT (%s::int4multirange @> seq) AND NOT (%s::int4multirange @> seq)"
)
_BODIES = (
    f"SELECT {_SIZES} FROM agent_sessions_insertion WHERE version_id = %s"  # noqa: S608
    " AND (replaces IS NULL OR NOT (%s::int4multirange @> replaces))"
)


def measured(
    session_id: Any,
    version: Version | None,
    meters: Sequence[Meter],
    *,
    until_seq: int | None = None,
    after_seq: int | None = None,
    but_step: int | None = None,
) -> dict[str, int]:
    """Tokens of a version's context by each of `meters`, by id, before the agent's own wiring.

    `until_seq`: as of that entry, it included. `after_seq`: only what stands behind that entry, and then without `but_step`'s entries.
    """
    hidden = to_multirange(version.hidden if version is not None else Ranges())
    masked = to_multirange(version.masked if version is not None else Ranges())
    entries, bodies = _ENTRIES, _BODIES
    values: list[Any] = [session_id, hidden, masked]
    more: list[Any] = [None if version is None else version.pk, hidden]
    if until_seq is not None:
        entries, values = f"{entries} AND seq <= %s", [*values, until_seq]
        bodies, more = f"{bodies} AND after <= %s", [*more, until_seq]
    if after_seq is not None:
        entries, values = f"{entries} AND seq > %s", [*values, after_seq]
        bodies, more = f"{bodies} AND after > %s", [*more, after_seq]
        if but_step is not None:
            entries, values = f"{entries} AND step IS DISTINCT FROM %s", [*values, but_step]
    sums = ", ".join(_sum(meter) for meter in meters)
    with connection.cursor() as cursor:
        # The expressions are built from the meters' own numbers; everything else is a parameter.
        cursor.execute(f"SELECT {sums} FROM ({entries} UNION ALL {bodies}) AS sizes", [*values, *more])  # noqa: S608
        row = cursor.fetchone()
    assert row is not None
    return {meter.id: int(tokens) for meter, tokens in zip(meters, row, strict=True)}


def maskable(
    session_id: Any,
    version: Version | None,
    meter: Meter,
    *,
    protects: int,
    last_turn: int | None = None,
    until_seq: int | None = None,
) -> int:
    """Tokens of tool results that a rule of masking could take: those beyond the newest `protects` tokens, the one that crosses included.

    `last_turn`: no result of a later turn. Results that the version hides or masks already do not count. One query.
    """
    hidden = to_multirange(version.hidden if version is not None else Ranges())
    masked = to_multirange(version.masked if version is not None else Ranges())
    value, up, below = _value(meter)
    given: dict[str, Any] = {
        "session": session_id,
        "hidden": hidden,
        "masked": masked,
        "protects": protects,
        "until": until_seq,
        "turn": last_turn,
    }
    with connection.cursor() as cursor:
        # The expression is built from the meter's own numbers; everything else is a parameter.
        cursor.execute(
            f"""
            SELECT coalesce(sum(value) FILTER (WHERE newest > %(protects)s), 0) FROM (
                SELECT turn, value, sum(value) OVER (ORDER BY seq DESC) AS newest FROM (
                    SELECT seq, turn, ({value} + {up}) / {below} AS value FROM agent_sessions_entry
                    WHERE session_id = %(session)s AND sent AND kind = 'tool_result'
                      AND NOT (%(hidden)s::int4multirange @> seq) AND NOT (%(masked)s::int4multirange @> seq)
                      AND (%(until)s::int IS NULL OR seq <= %(until)s)
                      AND (%(turn)s::int IS NULL OR turn IS NULL OR turn <= %(turn)s)
                ) AS results
            ) AS counted
            """,  # noqa: S608
            given,
        )
        row = cursor.fetchone()
    assert row is not None
    return int(row[0])


def _sum(meter: Meter) -> str:
    """The SQL of a meter's total: its fractions over one denominator, so that all is done in whole numbers."""
    value, up, below = _value(meter)
    if meter.whole:
        once = int(meter.once * below)
        return f"CASE WHEN count(*) = 0 THEN 0 ELSE greatest(0, div(sum({value}) + {once} + {up}, {below})) END"
    # The weight is never negative, so that whole-number division rounds down.
    return f"coalesce(sum(({value} + {up}) / {below}), 0)"


def weight_of(meter: Meter) -> tuple[str, int]:
    """A row's weight as SQL, and by what a sum of such has to be divided."""
    value, _, below = _value(meter)
    return value, below


def _value(meter: Meter) -> tuple[str, int, int]:
    """A row's weight as SQL, in parts of the third figure; the second is what makes rounding down round as the meter does."""
    terms: dict[str, Fraction] = {name: getattr(meter, name) for name in TERMS}
    terms |= {"images": meter.image, "documents": meter.document}
    below = lcm(4, *(term.denominator for term in (*terms.values(), meter.each, meter.once)))
    if meter.rounding == "half_up":
        below = lcm(2, below)

    def weight(names: Sequence[str]) -> str:
        parts = [f"{int(terms[name] * below)} * {name}::bigint" for name in names if terms[name]]
        return " + ".join([str(int(meter.each * below)), *parts])

    value = weight(list(terms))
    if meter.cliff is not None:
        long = f"{below // 4} * utf16::bigint + {weight(['images', 'documents'])}"
        value = f"CASE WHEN utf16 > {meter.cliff} THEN {long} ELSE {value} END"
    return value, {"ceil": below - 1, "floor": 0, "half_up": below // 2}[meter.rounding], below
