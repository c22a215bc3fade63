"""The whole session at one glance: weight, errors, changes, prompts, compactions, ghosts and goals along its entries. One drawing, one read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Q

from sessions.filters import EDITS
from sessions.ghosts import FOLDS
from sessions.models import Entry, Session, Version
from sessions.queries import Reading

ROWS = 300  # rows of the drawing: entries are merged to so many
WIDTH = 40  # of the drawing, in its own units; its height is ROWS

_SUMS = """
SELECT (seq::bigint * %(rows)s / %(total)s)::int AS row,
       coalesce(sum(tokens) FILTER (WHERE sent), 0),
       bool_or(is_error OR kind = 'malformed' OR problem IS NOT NULL),
       bool_or(kind = 'tool_call' AND lower(tool) = ANY(%(edits)s)),
       bool_or(opens_turn AND lane = ''),
       mode() WITHIN GROUP (ORDER BY goal)
FROM agent_sessions_entry WHERE session_id = %(session)s GROUP BY 1 ORDER BY 1
"""


@dataclass(frozen=True, slots=True)
class Map:
    """Paths of an SVG, WIDTH by `rows`. `seq` = row · total / rows. `words` says the same for those who do not see it."""

    total: int
    rows: int
    weight: str
    errors: str
    edits: str
    prompts: str
    folds: str
    ghosts: str
    done: str
    doing: str
    dropped: str
    counts: tuple[tuple[str, int], ...]

    @property
    def width(self) -> int:
        return WIDTH


def map_of(seen: Reading) -> Map:
    """The map of a session as one of its versions shows it. As long as the session: asked for after the page stands."""
    session = seen.session
    total = max(1, session.entries_count)
    rows = min(ROWS, total)
    given: dict[str, Any] = {"session": session.pk, "rows": rows, "total": total, "edits": list(EDITS)}
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, given)
        sums = cursor.fetchall()
    most = max((tokens for _, tokens, *_ in sums), default=0) or 1
    folds = [v for v in seen.chain if v.kind in FOLDS or v.origin == Version.Origin.RUN]

    def y(seq: int) -> float:
        return round(seq * rows / total, 2)

    # Each row belongs to the goal that most of its entries serve: plans are stated in one go, so that first and last entries overlap.
    status = dict(session.goals.values_list("path", "status"))
    stretches = list(_stretches([(row, goal) for row, *_, goal in sums], status))
    return Map(
        total,
        rows,
        "".join(_bar(10, row, max(0.6, 18 * (tokens / most) ** 0.5), 1) for row, tokens, *_ in sums if tokens),
        _ticks((row for row, _, failed, *_ in sums if failed), 34, 6),
        _ticks((row for row, _, _, edited, *_ in sums if edited), 30, 3),
        _ticks((row for row, _, _, _, opened, _ in sums if opened), 6, 3),
        "".join(_bar(0, y(v.at_seq + 1), WIDTH, 1) for v in folds),
        "".join(_bar(5, y(band.start), WIDTH - 5, max(0.5, y(band.stop) - y(band.start))) for band in seen.bands),
        _spans(stretches, "completed"),
        _spans(stretches, "in_progress"),
        _spans(stretches, "abandoned"),
        (
            ("error,errors", sum(1 for row in sums if row[2])),
            ("edit,edits", sum(1 for row in sums if row[3])),
            ("prompt,prompts", sum(1 for row in sums if row[4])),
            ("compaction,compactions", len(folds)),
            ("ghost,ghosts", len(seen.bands)),
        ),
    )


def _bar(x: float, y: float, width: float, height: float) -> str:
    return f"M{x:g} {y:g}h{width:.3g}v{height:.4g}h-{width:.3g}z"


def _ticks(rows: Iterable[int], x: int, width: int) -> str:
    return "".join(_bar(x, row, width, 1) for row in rows)


def _stretches(rows: Sequence[tuple[int, str | None]], status: Mapping[str, str]) -> Iterator[tuple[str, int, int]]:
    """Rows of one goal that follow one another: its status, first row, and the row behind the last."""
    start = 0
    for at in range(1, len(rows) + 1):
        if at == len(rows) or rows[at][1] != rows[start][1] or rows[at][0] != rows[at - 1][0] + 1:
            goal = rows[start][1]
            if goal is not None and goal in status:
                yield status[goal], rows[start][0], rows[at - 1][0] + 1
            start = at


def _spans(stretches: Sequence[tuple[str, int, int]], status: str) -> str:
    """Goals of one status as bars at the left edge, a gap between neighbours."""
    return "".join(
        _bar(0, first, 4, max(0.6, stop - first - 0.4)) for known, first, stop in stretches if known == status
    )


def nearest_of(seen: Reading, what: str, seq: int, *, back: bool) -> int | None:
    """The next error, prompt or compaction behind an entry, or the last one before it; None where there is none or nothing of that name."""
    if what == "compaction":
        places = sorted(
            {
                min(v.at_seq + 1, seen.session.entries_count - 1)
                for v in seen.chain
                if v.at_seq >= 0 and v.kind != "recorded"
            }
        )
        near = [at for at in places if (at < seq if back else at > seq)]
        return None if not near else near[-1 if back else 0]
    kinds = {
        "error": Q(is_error=True) | Q(kind="malformed") | Q(problem__isnull=False),
        "prompt": Q(opens_turn=True, lane=""),
    }
    if what not in kinds:
        return None
    return _nearest(seen.session, kinds[what], seq, back=back)


def _nearest(session: Session, wanted: Q, seq: int, *, back: bool) -> int | None:
    found = Entry.objects.filter(wanted, session=session, **({"seq__lt": seq} if back else {"seq__gt": seq}))
    return found.order_by("-seq" if back else "seq").values_list("seq", flat=True).first()
