"""Sub-agents as lanes of the conversation that started them: each in its own context, drawn in place, loaded when it is opened.

Some agents write a sub-agent's records among the others (a lane of entries), some as a session of its own. Both are drawn alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import QuerySet

from sessions.ansi import plain
from sessions.entryline import Line
from sessions.http import integer
from sessions.lines import Quiet, lines_of, with_parts
from sessions.models import Entry, Session

SHOWN = 40  # rows of a lane that are drawn at once
LOOKED = 160  # records that are looked through for them
TASK = 200  # characters of a task that name a lane

SPOKEN = ("prompt", "command", "message", "reasoning", "tool_call", "tool_result", "summary", "media", "malformed")
"""Kinds of a lane's entries that have a row: the others are the harness's."""


@dataclass(frozen=True, slots=True)
class Lane:
    """Some rows of a lane. `after`: the entry behind which it goes on; None at its end. `left`: records behind it."""

    lines: tuple[Line, ...]
    after: int | None
    left: int


def lane_of(session: Session, query: Mapping[str, str]) -> Lane:
    """The rows of an inline lane (`lane`, from entry `first` to `last`), or of a sub-agent's whole session, behind entry `after`."""
    lane = query.get("lane", "")
    first, last = integer(query.get("first")), integer(query.get("last"))
    low = max(first - 1 if first is not None else -1, integer(query.get("after")) or -1)
    high = min(last if last is not None else session.entries_count - 1, session.entries_count - 1)
    found = Entry.objects.filter(session=session, lane=lane, seq__gt=low, seq__lte=high).order_by("seq")
    rows = list(found.filter(kind__in=SPOKEN)[:LOOKED])
    for row in rows:
        with_parts(row)
    lines = [
        line for line in lines_of(rows, bodies={}, pins=frozenset(), children={}, every=True) if isinstance(line, Line)
    ]
    whole = len(rows) < LOOKED and len(lines) <= SHOWN
    kept = lines if whole else lines[:SHOWN]
    weights = {row.seq: row.tokens for row in rows}
    for line in kept:
        # It was sent, in the sub-agent's own context; among another's records it is not counted.
        line.tokens = sum(weights.get(seq, 0) for seq in (line.seq, *line.results)) or None
    if whole or not kept:
        return Lane(tuple(kept), None, 0)
    end = max(max(line.seq, *line.results, line.seq) for line in kept)
    return Lane(tuple(kept), end, _left(found, end))


def _left(found: QuerySet[Entry], after: int) -> int:
    return found.filter(seq__gt=after).count()


def named(session: Session, lines: Sequence[Line | Quiet]) -> list[Line | Quiet]:
    """The same rows with each lane called by the task that begins it, where it begins here."""
    begins = [line.first for line in lines if isinstance(line, Quiet) and line.lane]
    if not begins:
        return list(lines)
    tasks: dict[int, Any] = dict(
        Entry.objects.filter(session=session, seq__in=begins, kind="prompt").values_list("seq", "text")
    )
    return [
        replace(line, name=_task(tasks[line.first])) if isinstance(line, Quiet) and line.first in tasks else line
        for line in lines
    ]


def _task(text: str) -> str:
    first = next((line for line in plain(text[: 4 * TASK]).split("\n") if line.strip()), "").strip()
    return first if len(first) <= TASK else first[:TASK].rsplit(" ", 1)[0] + " …"
