"""Every meter over a session at one place, and the adaptive weight that one agent learns from its requests."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from django.db import connection

from sessions.fields import to_multirange
from sessions.measuring import measured, weight_of
from sessions.meters import Meter, by_id, meters
from sessions.meters.adaptive import Adaptive, learned
from sessions.models import Session, Step, Version
from sessions.projection import ancestry

STATIC = "gemini"  # the rule whose estimate the adaptive weight multiplies


@dataclass(frozen=True, slots=True)
class Metered:
    """Tokens of a context by every meter, by id. `adaptive`: the weight learned up to there, and the tokens by it."""

    tokens: dict[str, int]
    adaptive: Adaptive
    adaptive_tokens: int


def metered(session: Session, version: Version | None, *, until: Step | None = None) -> Metered:
    """Every meter over a version's context, as of the request of `until` where one is given: one query; and a few for the weight."""
    known = list(meters().values())
    until_seq = None if until is None else until.first_seq - 1
    tokens = measured(session.pk, version, known, until_seq=until_seq)
    state = weight_at(session, None if until is None else until.n)
    return Metered(tokens, state, state.of(tokens[STATIC]))


def weight_at(session: Session, step: int | None = None) -> Adaptive:
    """The adaptive weight before request `step` (None: after all), learned from each recorded prompt before it."""
    state = Adaptive()
    for state in learned(_shown(session, by_id(STATIC), step)):  # noqa: B007 -- the last one is meant
        pass
    return state


def _shown(session: Session, meter: Meter, before: int | None) -> list[tuple[int, int]]:
    """What each request was estimated at, and its recorded prompt."""
    steps = session.steps.order_by("n").values_list("first_seq", "fresh", "cache_read", "cache_write")
    if before is not None:
        steps = steps.filter(n__lt=before)
    # Plain rows: there may be very many.
    prompts = [
        (first, None if fresh is read is write is None else (fresh or 0) + (read or 0) + (write or 0))
        for first, fresh, read, write in steps
    ]
    estimates = contexts_at(session, meter, [first for first, _ in prompts])
    return [(estimate, prompt) for estimate, (_, prompt) in zip(estimates, prompts, strict=True) if prompt is not None]


def contexts_at(session: Session, meter: Meter, firsts: list[int]) -> list[int]:
    """The context in front of each of these entries (in order) by `meter`, as the agent had it then. Two queries a native version."""
    if not firsts:
        return []
    value, below = weight_of(meter)
    chain = ancestry(session.native_head)
    bounds = [*(version.at_seq for version in chain), session.entries_count]
    out: list[int] = []
    for version, (low, high) in zip(chain, pairwise(bounds), strict=True):
        own = [first for first in firsts if low < first <= high]
        if not own:
            continue
        total = measured(session.pk, version, [meter], until_seq=low)[meter.id] * below if low >= 0 else 0
        added = _between(session, version, value, own, low)
        for place in range(len(own)):
            total += added.get(place, 0)
            out.append(total // below)
    return out


def _between(session: Session, version: Version, value: str, firsts: list[int], after: int) -> dict[int, int]:
    """What came in behind entry `after`, by how many of `firsts` it does not come before."""
    given: list[Any] = [firsts, session.pk, after, to_multirange(version.hidden)]
    with connection.cursor() as cursor:
        # The expression is built from the meter's own numbers; everything else is a parameter.
        cursor.execute(
            f"SELECT width_bucket(seq, %s::int[]), sum({value}) FROM agent_sessions_entry "  # noqa: S608
            "WHERE session_id = %s AND sent AND seq > %s AND NOT (%s::int4multirange @> seq) GROUP BY 1",
            given,
        )
        return {place: int(weight) for place, weight in cursor}
