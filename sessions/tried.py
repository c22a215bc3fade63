"""What was tried for a goal that was given up: attempt by attempt, the ghosts of that work, its errors, what came in its place.

An attempt is a stretch of entries in which the goal (or one under it) was worked on. Its words are quoted, never made up: what the agent
said first in it, and the line that says most of how it ended. Read when a row is opened, bounded by that goal's own entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from sessions import queries
from sessions.entryline import Line
from sessions.families import others, why_of
from sessions.ghosts import Band
from sessions.goal_answers import family_spans
from sessions.lines import lines_of
from sessions.models import Goal, Session
from sessions.models_goals import Abandonment
from sessions.ranges import Ranges
from sessions.reasons import short, telling
from sessions.reviewing import history_of

ATTEMPTS = 12  # that are told one by one
ERRORS = 8
GHOSTS = 3  # lines of a band that are shown
BANDS = 4
_BEGINNING = 1_500  # characters of an entry that are looked at


@dataclass(frozen=True, slots=True)
class Attempt:
    """Entries `first` to `last`. `said`: the agent's first words in it; `ended`: the line of its last error, or the agent's last words.

    `failed`: that line is an error's. `steps` None where the agent records none.
    """

    n: int
    first: int
    last: int
    entries: int
    steps: int
    tokens: int
    said: str
    ended: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Ghosts:
    """Entries of the goal that lie in one band: how many are sent no longer, their tokens, the first lines of them."""

    band: Band
    entries: int
    tokens: int
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """An entry that failed, and the line of it that says most."""

    seq: int
    tool: str | None
    line: str


@dataclass(frozen=True, slots=True)
class Tried:
    """All that a row opens to. `more_attempts`: those that are not told; `instead`: goals that came with the list from which it vanished."""

    row: Abandonment
    goal: Goal | None
    attempts: tuple[Attempt, ...]
    more_attempts: int
    ghosts: tuple[Ghosts, ...]
    errors: tuple[Failure, ...]
    more_errors: int
    instead: tuple[Goal, ...]
    elsewhere: tuple[Abandonment, ...]
    together_by: str
    history: tuple[Any, ...]


def tried(row: Abandonment) -> Tried:
    """Open a row."""
    session = row.session
    goal = session.goals.filter(path=row.path).first()
    spans = family_spans(session, row.path)
    told = spans.spans[:ATTEMPTS]
    errors, failures = _failures(session, spans)
    instead: Sequence[Goal] = ()
    if goal is not None and goal.closed_seq is not None and row.how == Abandonment.How.VANISHED:
        instead = list(session.goals.filter(first_seq=goal.closed_seq, inferred=False).order_by("position")[:5])
    elsewhere = others(row)
    return Tried(
        row,
        goal,
        tuple(_attempts(session, told)),
        len(spans.spans) - len(told),
        tuple(_ghosts(session, spans)),
        tuple(failures),
        max(0, errors - len(failures)),
        tuple(instead),
        tuple(elsewhere),
        why_of(row) if elsewhere else "",
        tuple(history_of(row)),
    )


_ATTEMPT = """
SELECT r.first, r.stop, f.entries, f.steps, f.tokens, said.text, said.seq, ended.text, ended.seq, failed.text, failed.seq
FROM unnest(%s::int[], %s::int[]) AS r(first, stop)
CROSS JOIN LATERAL (SELECT count(*) AS entries, count(DISTINCT e.step) AS steps, coalesce(sum(e.tokens) FILTER (WHERE e.sent), 0) AS tokens
    FROM agent_sessions_entry e WHERE e.session_id = %s AND e.seq >= r.first AND e.seq < r.stop) f
LEFT JOIN LATERAL (SELECT left(e.text, %s) AS text, e.seq FROM agent_sessions_entry e WHERE e.session_id = %s AND e.seq >= r.first AND e.seq < r.stop
    AND e.kind IN ('message', 'reasoning') AND e.text <> '' ORDER BY e.seq LIMIT 1) said ON true
LEFT JOIN LATERAL (SELECT left(e.text, %s) AS text, e.seq FROM agent_sessions_entry e WHERE e.session_id = %s AND e.seq >= r.first AND e.seq < r.stop
    AND e.kind = 'message' AND e.text <> '' ORDER BY e.seq DESC LIMIT 1) ended ON true
LEFT JOIN LATERAL (SELECT left(e.text, %s) AS text, e.seq FROM agent_sessions_entry e WHERE e.session_id = %s AND e.seq >= r.first AND e.seq < r.stop
    AND e.is_error AND e.text <> '' ORDER BY e.seq DESC LIMIT 1) failed ON true
ORDER BY r.first
"""


def _attempts(session: Session, spans: Sequence[tuple[int, int]]) -> list[Attempt]:
    if not spans:
        return []
    firsts, stops = [first for first, _ in spans], [stop for _, stop in spans]
    key = session.pk
    with connection.cursor() as cursor:
        cursor.execute(_ATTEMPT, [firsts, stops, key, *(value for _ in range(3) for value in (_BEGINNING, key))])
        rows = cursor.fetchall()
    out = []
    for n, (first, stop, entries, steps, tokens, said, said_at, ended, ended_at, failed, failed_at) in enumerate(
        rows, 1
    ):
        # What failed last says how it ended, unless the agent spoke again behind it.
        by_error = failed is not None and (ended_at is None or failed_at > ended_at or ended_at == said_at)
        last = telling(failed) if by_error else short(ended or "") if ended_at != said_at else ""
        out.append(Attempt(n, first, stop - 1, entries, steps, tokens, short(said or ""), last, by_error))
    return out


def _failures(session: Session, spans: Ranges) -> tuple[int, list[Failure]]:
    """How many entries of the work failed, and the last of them."""
    if not spans:
        return 0, []
    wanted = session.entries.filter(is_error=True, seq__gte=spans.spans[0][0], seq__lt=spans.spans[-1][1])
    seqs = [seq for seq in wanted.order_by("seq").values_list("seq", flat=True)[:5_000] if seq in spans]
    rows = session.entries.filter(seq__in=seqs[-ERRORS:]).order_by("seq").values_list("seq", "tool", "text")
    return len(seqs), [Failure(seq, tool, telling(text[:_BEGINNING])) for seq, tool, text in rows]


def _ghosts(session: Session, spans: Ranges) -> list[Ghosts]:
    """What of the work the model no longer sees, by the versions that took it away."""
    seen = queries.reading(session)
    out: list[Ghosts] = []
    for band in seen.bands:
        part = spans & Ranges.of([(band.start, band.stop)])
        if not part:
            continue
        if len(out) == BANDS:
            break
        low, high = part.spans[0][0], part.spans[-1][1]
        rows = (
            session.entries.filter(sent=True, seq__gte=low, seq__lt=high).order_by("seq").values_list("seq", "tokens")
        )
        mine = [(seq, tokens) for seq, tokens in rows if seq in part]
        if not mine:
            continue
        first = [seq for seq, _ in mine[: GHOSTS * 4]]
        lines = lines_of(queries.rows_of(session, first), bodies={}, pins=frozenset(), children={})
        shown = [line for line in lines if isinstance(line, Line)][:GHOSTS]
        for line in shown:
            line.ghost = True
        out.append(Ghosts(band, len(mine), sum(tokens for _, tokens in mine), tuple(shown)))
    return out
