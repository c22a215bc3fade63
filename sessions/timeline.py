"""The steps of a session as a chart: read in windows, down-sampled by the database to the largest of each pixel, and put together."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db import connection
from django.db.models import Max
from django.utils.translation import gettext as _

from sessions import queries
from sessions.ansi import plain, visible
from sessions.ghosts import BRANCHES, FOLDS, ROLLBACKS
from sessions.models import Session, Step, Version
from sessions.queries import Reading
from sessions.saying import said
from sessions.templatetags.palimpsest import brief
from sessions.tokenchart import LAYERS, Bar, Chart, Drawing, Flag, Fork, Rolled, draw
from sessions.whatif import Asked, Chosen, choices

WIDTH, HEIGHT = 1392, 240  # of a drawing where nobody says
WIDTHS, HEIGHTS = (280, 2400), (120, 600)
SPANS = 200  # stretches rolled back, and forks, of one drawing
BLOCK = 2_000  # steps of one read of an export

_CONTEXT = (
    "coalesce(total, coalesce(fresh, 0) + coalesce(cache_read, 0) + coalesce(cache_write, 0) + coalesce(output, 0))"
)
# The step of each stretch is found in one aggregate: its context in the upper bits, its number in the lower ones.
_BARS = f"""
WITH peak AS (
    SELECT (n - %(first)s)::bigint * %(bars)s / %(span)s AS place, bool_or(estimated) AS estimated,
           (max(({_CONTEXT})::bigint << 31 | n) & 2147483647)::int AS n
    FROM agent_sessions_step
    WHERE session_id = %(session)s AND n BETWEEN %(first)s AND %(last)s
      AND (fresh IS NOT NULL OR cache_read IS NOT NULL OR cache_write IS NOT NULL OR total IS NOT NULL)
    GROUP BY 1)
SELECT p.place, p.estimated, s.n, s.turn, s.first_seq, s.cache_read, s.cache_write, s.fresh, s.output, s.reasoning, s.total
FROM peak p JOIN agent_sessions_step s ON s.session_id = %(session)s AND s.n = p.n
ORDER BY p.place
"""  # noqa: S608 -- _CONTEXT is a constant


@dataclass(frozen=True, slots=True)
class Stretch:
    """Steps `first` to `last` of a session, for a drawing of so many pixels."""

    first: int
    last: int
    width: int = WIDTH
    height: int = HEIGHT

    @classmethod
    def of(cls, session: Session, query: Mapping[str, str]) -> Stretch:
        """Read `from`, `to`, `w` and `h` of a query, each held within what there is."""
        last = max(1, session.steps_count)
        low = _held(query.get("from"), 1, 1, last)
        high = _held(query.get("to"), last, low, last)
        return cls(low, high, _held(query.get("w"), WIDTH, *WIDTHS), _held(query.get("h"), HEIGHT, *HEIGHTS))


def _held(text: str | None, otherwise: int, low: int, high: int) -> int:
    try:
        value = int(text or "")
    except ValueError:
        value = otherwise
    return max(low, min(high, value))


def bars_of(session: Session, first: int, last: int, most: int) -> list[Bar]:
    """The steps with usage from `first` to `last`, at most `most` bars: of each stretch the step with the largest context.

    What nearly overflowed must not average away. One read, whose answer is as long as the chart is wide.
    """
    span = last - first + 1
    bars = min(span, max(1, most))
    given: dict[str, Any] = {"session": session.pk, "first": first, "last": last, "span": span, "bars": bars}
    with connection.cursor() as cursor:
        cursor.execute(_BARS, given)
        return [_bar(first, span, bars, row) for row in cursor.fetchall()]


def _bar(first: int, span: int, bars: int, row: Sequence[Any]) -> Bar:
    place, estimated, n, turn, seq, read, write, fresh, output, reasoning, total = row
    start, stop = first - (-place * span // bars), first - (-(place + 1) * span // bars)
    whole = None
    if total is not None and fresh is None and read is None and write is None:
        whole = max(0, total - (output or 0))
    return Bar(n, turn, seq, start, stop, read, write, fresh, output, reasoning, whole, estimated)


def chart_of(seen: Reading, stretch: Stretch, chosen: Chosen) -> Chart:
    """A stretch of the session's steps with everything that is marked in it."""
    session = seen.session
    bars = bars_of(session, stretch.first, stretch.last, stretch.width)
    made = [one for one in seen.chain if one.kind in FOLDS or one.origin == Version.Origin.RUN]
    gone = [band for band in seen.bands if band.maker.kind in ROLLBACKS | BRANCHES][:SPANS]
    places = _steps_behind(session, [one.at_seq for one in made] + [band.stop - 1 for band in gone])
    starts = _steps_behind(session, [band.start - 1 for band in gone])
    ends = places[len(made) :]
    beside = {at + by for at in (*places, *starts) for by in (-1, 0)}
    figures = {step.n: step for step in session.steps.filter(n__in=beside)}
    flags = [
        _flag(number, one, at, figures) for number, (one, at) in enumerate(zip(made, places, strict=False), start=1)
    ]
    rolled = [
        Rolled(
            start,
            end - 1,
            "Rolled back" if band.maker.kind in ROLLBACKS else "Branch not taken",
            _context(figures.get(end - 1)),
            _prompt(figures.get(end)),
        )
        for band, start, end in zip(gone, starts, ends, strict=True)
        if start < end
    ]
    return Chart(
        tuple(bars),
        stretch.first,
        stretch.last,
        session.steps_count,
        tuple(chosen.limits),
        tuple(flags),
        tuple(rolled),
        tuple(_forks(session)),
        tuple(chosen.marks),
    )


def _steps_behind(session: Session, seqs: Sequence[int]) -> list[int]:
    """For each entry, the first step that begins behind it; one more than there are where none does."""
    if not seqs:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce((SELECT e.step FROM agent_sessions_entry e WHERE e.session_id = %s AND e.seq > w.seq "
            "AND e.step IS NOT NULL ORDER BY e.seq LIMIT 1), %s), w.seq FROM unnest(%s::int[]) WITH ORDINALITY AS w(seq, place) "
            "ORDER BY w.place",
            [session.pk, session.steps_count + 1, list(seqs)],
        )
        found = [(n, seq) for n, seq in cursor.fetchall()]
    # The first entry behind may still belong to a step that began before it.
    begun = {
        step.n: step.first_seq for step in session.steps.filter(n__in={n for n, _ in found}).only("n", "first_seq")
    }
    return [n + (n in begun and begun[n] <= seq) for n, seq in found]


def _flag(number: int, version: Version, at: int, figures: Mapping[int, Step]) -> Flag:
    said_before = _fact(version.facts, "preTokens", "tokens_before")
    said_after = _fact(version.facts, "postTokens", "tokens_after")
    return Flag(
        number,
        at,
        inert(brief(version.label))[:60],
        version.at_seq,
        _context(figures.get(at - 1)) if said_before is None else said_before,
        _prompt(figures.get(at)) if said_after is None else said_after,
    )


def _fact(facts: Mapping[str, Any], *names: str) -> int | None:
    return next((facts[name] for name in names if isinstance(facts.get(name), int)), None)


def _context(step: Step | None) -> int | None:
    return None if step is None else step.context


def _prompt(step: Step | None) -> int | None:
    if step is None:
        return None
    return step.prompt if step.total is None else step.total - (step.output or 0)


def _forks(session: Session) -> list[Fork]:
    """Where this session left another, and where others left it: behind the last step that both hold."""
    out: list[Fork] = []
    if session.parent_kind in ("fork", "branch", "continued"):
        last = session.steps.filter(copied=True).aggregate(n=Max("n"))["n"]
        if last:
            words = (
                "Continued from here" if session.parent_kind == "continued" else "Forked: before this it is another's"
            )
            out.append(Fork(last + 1, words, str(session.parent_id or "")))
    children = list(
        session.children.filter(parent_kind__in=("fork", "branch"), superseded_by=None).only("id", "title")[:SPANS]
    )
    if not children:
        return out
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.session_id, max(s.n) FROM agent_sessions_step c JOIN agent_sessions_step s "
            "ON s.response_id = c.response_id AND s.session_id = %s WHERE c.session_id = ANY(%s) AND c.copied GROUP BY 1",
            [session.pk, [child.pk for child in children]],
        )
        shared = dict(cursor.fetchall())
    names = {child.pk: inert(child.title)[:40] for child in children}
    out.extend(Fork(n + 1, f"Fork: {names[pk] or 'untitled'}", str(pk)) for pk, n in shared.items())
    return sorted(out, key=lambda fork: fork.at)[:SPANS]


_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def inert(text: str) -> str:
    """Words of a session for a drawing: no control characters, and nothing that XML cannot hold."""
    return _NO_XML.sub("", visible(plain(text)))


# -- what pages and scripts take of it -----------------------------------------------------------------------------------


def context_of_chart(seen: Reading, query: Mapping[str, str]) -> dict[str, Any]:
    """The context of the drawing's template, and of the page around it."""
    stretch = Stretch.of(seen.session, query)
    chosen = Asked.of(query).of_session(seen.session)
    made = chart_of(seen, stretch, chosen)
    return {
        "session": seen.session,
        "seen": seen,
        "chart": made,
        "drawing": draw(made, stretch.width, stretch.height),
        "chosen": chosen,
        "words": words_of(made),
        "title": inert(seen.session.title),
        "v": seen.version.n if seen.looks_back and seen.version is not None else None,
    }


def around(session: Session, query: Mapping[str, str]) -> dict[str, Any]:
    """What the session's page puts around the drawing, which comes after the page: the form, and the addresses to ask.

    What would have happened to a long session takes as long as it is; the drawing brings it then.
    """
    chosen = Asked.of(query).of_session(session, told=session.steps_count <= BLOCK)
    low, dash, high = query.get("zoom", "").partition("-")
    ends = {"from": low, "to": high} if dash and low.isdigit() and high.isdigit() else {}
    return {
        "chosen": chosen,
        "as_if": choices(session),
        "chart_query": query_of(query, "v", "rule", "model"),
        "here_query": query_of(query, "v", "rule", "model", **ends),
    }


def words_of(chart: Chart) -> str:
    """What is drawn, in words: for those who do not see it, and above a table of the same."""
    if not chart.steps:
        return _("No steps yet: nothing was sent in this session.")
    if not chart.bars:
        return _("The agent records no usage for these steps.")
    most = max(chart.bars, key=lambda bar: bar.context)
    each = max(bar.stop - bar.start for bar in chart.bars)
    places = {"first": f"{chart.first:,}", "last": f"{chart.last:,}", "steps": f"{chart.steps:,}", "each": f"{each:,}"}
    if each > 1:
        words = _("Steps {first} to {last} of {steps}, the largest of up to {each} steps in each bar.").format(**places)
    else:
        words = _("Steps {first} to {last} of {steps}.").format(**places)
    largest = {"tokens": f"{most.context:,}", "step": f"{most.n:,}"}
    words += " " + _("The largest context is {tokens} tokens, at step {step}.").format(**largest)
    if chart.limits:
        named = "; ".join(f"{said(one.label)} {one.tokens:,} ({said(one.whose)})" for one in chart.limits)
        words += " " + _("Thresholds: {named}.").format(named=named)
    return words


def columns(chart: Chart, drawing: Drawing) -> dict[str, Any]:
    """What a script needs to find a step in the drawing and to say its figures: columns by bar, None where nothing is recorded."""
    frame = drawing.frame
    bars = chart.bars
    return {
        "from": chart.first,
        "to": chart.last,
        "steps": chart.steps,
        "frame": {
            "width": frame.width,
            "height": frame.height,
            "left": frame.left,
            "top": frame.top,
            "plot_width": frame.plot_width,
            "plot_height": frame.plot_height,
            "scale": drawing.top,
        },
        "start": [bar.start for bar in bars],
        "stop": [bar.stop for bar in bars],
        "n": [bar.n for bar in bars],
        "turn": [bar.turn for bar in bars],
        "seq": [bar.seq for bar in bars],
        "context": [bar.context for bar in bars],
        "cache_read": [bar.cache_read for bar in bars],
        "cache_write": [bar.cache_write for bar in bars],
        "fresh": [bar.fresh for bar in bars],
        "whole": [bar.whole for bar in bars],
        "output": [bar.output for bar in bars],
        "reasoning": [bar.reasoning for bar in bars],
        "estimated": [at for at, bar in enumerate(bars) if bar.estimated],
        "layers": [name for at, name in enumerate(LAYERS) if any(bar.layers[at] for bar in bars)],
        "thresholds": [
            {
                "name": one.name,
                "label": said(one.label),
                "tokens": one.tokens,
                "whose": said(one.whose),
                "rule": one.rule,
            }
            for one in chart.limits
        ],
        "flags": [
            {
                "number": one.number,
                "at": one.at,
                "label": one.label,
                "seq": one.seq,
                "before": one.before,
                "after": one.after,
            }
            for one in chart.flags
        ],
        "rolled": [
            {"first": one.first, "last": one.last, "label": one.label, "before": one.before, "after": one.after}
            for one in chart.rolled
        ],
        "forks": [{"at": one.at, "label": one.label, "session": one.session} for one in chart.forks],
        "marks": len(chart.marks),
    }


def query_of(query: Mapping[str, str], *names: str, **more: Any) -> str:
    """A query string of these names as far as they are given, and more; "" where there is nothing to say."""
    kept = {name: query[name] for name in names if query.get(name)}
    kept |= {name: str(value) for name, value in more.items() if value is not None}
    return f"?{urlencode(kept)}" if kept else ""


# -- export --------------------------------------------------------------------------------------------------------------


class _Line:
    """What csv.writer writes to; it hands the line back."""

    def write(self, text: str) -> str:
        return text


COLUMNS = (
    "step", "turn", "first_entry", "last_entry", "at", "model", "fresh", "cache_read", "cache_write", "output", "reasoning", "total",
    "context", "estimated", "copied",
)  # fmt: skip


def csv_of(session: Session) -> Iterator[bytes]:
    """Every step as a line of CSV, read in blocks by key: memory does not grow with the session. Unknown is an empty field."""
    writer = csv.writer(_Line())
    yield writer.writerow(COLUMNS).encode()
    after = 0
    while True:
        rows = queries.steps_page(session, after, BLOCK)
        if not rows:
            return
        yield b"".join(writer.writerow(_fields(row)).encode() for row in rows)
        after = rows[-1].n


def _fields(row: Step) -> list[Any]:
    return [
        row.n, row.turn, row.first_seq, row.last_seq, row.at.isoformat() if row.at else None, _cell(row.model), row.fresh, row.cache_read,
        row.cache_write, row.output, row.reasoning, row.total, row.context, int(row.estimated), int(row.copied),
    ]  # fmt: skip


def _cell(text: str | None) -> str | None:
    """A text of a session that no spreadsheet takes for a formula."""
    return f"'{text}" if text and text[0] in "=+-@\t\r" else text
