"""How a session grew, request by request, as amounts for `asif`: from its steps' own figures, estimated where there are none. A few queries."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db import connection

from sessions.asif import Taken
from sessions.ghosts import BRANCHES, ROLLBACKS
from sessions.measuring import weight_of
from sessions.meters import Meter
from sessions.models import Entry, Session, Version
from sessions.projection import ancestry

_ANSWERS = ("message", "reasoning", "tool_call")


@dataclass(frozen=True, slots=True)
class Growth:
    """`recorded`, `estimated`: requests whose amounts are the agent's own figures, and ours. `folds`: compactions the agent made itself."""

    requests: tuple[Taken, ...]
    meter: Meter
    recorded: int
    estimated: int
    folds: int


@dataclass(slots=True)
class _Between:
    """Estimated tokens between two requests."""

    entered: int = 0
    said: int = 0
    results: int = 0


@dataclass(slots=True)
class _Estimates:
    between: dict[int, _Between] = field(default_factory=dict)  # by place: 0 is before the first request
    answers: dict[int, int] = field(default_factory=dict)  # by step


def growth_of(session: Session, meter: Meter, *, own_estimate: bool = False) -> Growth:
    """The requests of the main conversation in order. `own_estimate`: by the meter alone, whatever was recorded."""
    steps = _steps(session)
    estimates = _estimates(session, meter, [step.seq for step in steps])
    chain = [version for version in ancestry(session.native_head) if version.kind != "recorded"]
    resets = sorted(version.at_seq for version in chain if not _takes_back(version))
    requests: list[Taken] = []
    recorded = 0
    context: int | None = None  # after the answer before, as recorded
    last = -1
    for place, step in enumerate(steps):
        between = estimates.between.get(place, _Between())
        answer = estimates.answers.get(step.n, 0)
        entered, answered = between.entered, answer
        reset = bisect_left(resets, last) < bisect_left(resets, step.seq)
        if own_estimate or step.context is None:
            context = None if context is None else context + entered + answered
        else:
            prompt = step.prompt if step.prompt is not None else max(0, step.context - answer)
            whole = prompt + answer if step.placeholder else step.context
            if not requests:
                entered = prompt
            elif context is not None and not reset:
                entered = prompt - context
            answered = max(0, whole - prompt)
            context = whole
            recorded += 1
        requests.append(Taken(step.n, step.turn, step.seq, entered, answered, between.said, between.results))
        last = step.seq
    return Growth(tuple(requests), meter, recorded, len(requests) - recorded, len(resets))


def _takes_back(version: Version) -> bool:
    return version.kind in ROLLBACKS or version.kind in BRANCHES


class _Step(NamedTuple):
    """A request's own figures. `placeholder`: its output is none, so that only the prompt can be believed."""

    n: int
    turn: int | None
    seq: int
    prompt: int | None
    context: int | None
    placeholder: bool


def _steps(session: Session) -> list[_Step]:
    """The requests of the main conversation: plain rows, for there may be very many."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT n, turn, first_seq, prompt, coalesce(total, prompt + coalesce(output, 0)), estimated AND total IS NULL
            FROM (
                SELECT s.*, CASE WHEN s.fresh IS NOT NULL OR s.cache_read IS NOT NULL OR s.cache_write IS NOT NULL
                    THEN coalesce(s.fresh, 0) + coalesce(s.cache_read, 0) + coalesce(s.cache_write, 0) END AS prompt
                FROM agent_sessions_step s JOIN agent_sessions_entry e ON e.session_id = s.session_id AND e.seq = s.first_seq
                WHERE s.session_id = %s AND e.lane = ''
            ) AS main ORDER BY n
            """,
            [session.pk],
        )
        return [_Step(*row) for row in cursor]


def _estimates(session: Session, meter: Meter, starts: Sequence[int]) -> _Estimates:
    """What came between requests and what each answered, by `meter`, in one query. Summaries are the agent's own doing: left out."""
    out = _Estimates()
    value, below = weight_of(meter)
    with connection.cursor() as cursor:
        # The expression is built from the meter's own numbers; everything else is a parameter.
        cursor.execute(
            f"""
            SELECT CASE WHEN step IS NOT NULL AND kind = ANY(%s) THEN step END AS answer,
                   width_bucket(seq, %s::int[]) AS place, kind = 'prompt', kind = 'tool_result', sum({value})
            FROM {Entry._meta.db_table} WHERE session_id = %s AND sent AND lane = '' AND kind <> 'summary'
            GROUP BY 1, 2, 3, 4
            """,  # noqa: S608
            [list(_ANSWERS), list(starts) or [0], session.pk],
        )
        for step, place, prompt, result, weight in cursor:
            tokens = -(-int(weight) // below)
            if step is not None:
                out.answers[step] = out.answers.get(step, 0) + tokens
                continue
            between = out.between.setdefault(place, _Between())
            between.entered += tokens
            between.said += tokens if prompt else 0
            between.results += tokens if result else 0
    return out
