"""The audit of goals that were given up, over all sessions of a workspace: rows by keyset, the counts of every facet, sums, weeks, repeats.

Everything it filters, counts and sorts by stands in `Abandonment` rows (`abandoning` keeps them), so that no question touches entries.
A facet's own choice does not narrow its own counts: they say what another choice would give.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

from django.db import connection
from django.db.models import Count, F, Q, QuerySet, Sum, Value
from django.db.models.functions import Coalesce

from sessions.models_goals import Abandonment

FACETS = ("review", "cause", "how", "agent", "project", "owner", "model", "week")
NONE = "-"  # stands for the absence of a value in an address
PAGE, MOST = 50, 500
LONGEST = 200  # characters of a search
_LABELS: Mapping[str, Any] = {
    "review": Abandonment.Review,
    "cause": Abandonment.Cause,
    "how": Abandonment.How,
}
_COLUMNS = {"owner": "owner_id"}
SORTS: Mapping[str, Any] = {
    "recent": F("at"),
    "tokens": F("tokens"),
    "cost": Coalesce(F("cost"), Value(Decimal(-1))),
    "time": Coalesce(F("seconds"), Value(-1)),
    "attempts": F("attempts"),
}


class BadCursor(ValueError):
    """The cursor is none of ours, or of another order."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for. `chosen`: of each facet the values wanted (any of them); weeks as ISO dates of their Mondays."""

    chosen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    q: str = ""
    sort: str = "recent"
    session: UUID | None = None
    since: date | None = None
    until: date | None = None
    confidence: float = 0.0

    @classmethod
    def of(cls, given: Mapping[str, Sequence[str]]) -> Wanted:
        """Read an address's query, each name with all its values. What means nothing is left out."""
        chosen: dict[str, tuple[str, ...]] = {}
        for name in FACETS:
            values = tuple(value for value in given.get(name, ()) if value and _fits(name, value))
            if values:
                chosen[name] = values
        sort = _last(given, "sort")
        return cls(
            chosen,
            _last(given, "q")[:LONGEST].replace("\x00", "").strip(),
            sort if sort in SORTS else "recent",
            _uuid(_last(given, "session")),
            _day(_last(given, "since")),
            _day(_last(given, "until")),
            _share(_last(given, "confidence")),
        )

    @property
    def narrowed(self) -> bool:
        return bool(self.chosen or self.q or self.session or self.since or self.until or self.confidence)


@dataclass(frozen=True, slots=True)
class Page:
    """`next`: the cursor of the rows behind these; None at the end."""

    rows: list[Abandonment]
    next: str | None


@dataclass(frozen=True, slots=True)
class Sums:
    """`cost` and `seconds` None: of none is it known. `unreviewed`: of `goals`, how many nobody has looked at."""

    goals: int
    tokens: int
    cost: Decimal | None
    seconds: int | None
    unreviewed: int
    sessions: int


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a facet, how many goals it has, and what they took."""

    value: str
    label: str
    goals: int
    tokens: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class Week:
    """A week, its Monday, and what of it is reviewed."""

    week: date
    goals: int
    tokens: int
    to_review: int
    tokens_to_review: int
    cost: Decimal | None


def found(workspace: Any, wanted: Wanted, *, without: str | None = None) -> QuerySet[Abandonment]:
    """All that match, in no order; `without`: but for the choice of that facet."""
    rows = Abandonment.objects.filter(workspace=workspace, stands=True)
    if wanted.session is not None:
        rows = rows.filter(session_id=wanted.session)
    if wanted.since is not None:
        rows = rows.filter(at__gte=_start(wanted.since))
    if wanted.until is not None:
        rows = rows.filter(at__lt=_start(wanted.until))
    if wanted.confidence:
        rows = rows.filter(confidence__gte=wanted.confidence)
    for name, values in wanted.chosen.items():
        if name != without:
            rows = rows.filter(_any_of(name, values))
    for word in wanted.q.split()[:8]:
        rows = rows.filter(Q(text__icontains=word) | Q(reason__icontains=word))
    return rows


def page(workspace: Any, wanted: Wanted, *, after: str | None = None, count: int = PAGE) -> Page:
    """Rows in the order asked for, by keyset. Raises BadCursor."""
    count = max(1, min(MOST, count))
    rows = found(workspace, wanted).select_related("session", "owner", "cause_by")
    if wanted.sort == "recent":
        ordered = rows.order_by("-at", "-id")
    elif wanted.sort == "tokens":
        ordered = rows.order_by("-tokens", "-id")
    else:
        ordered = rows.annotate(key=SORTS[wanted.sort]).order_by("-key", "-id")
    if after:
        name = {"recent": "at", "tokens": "tokens"}.get(wanted.sort, "key")
        value, pk = _cursor(after, wanted.sort)
        ordered = ordered.filter(Q(**{f"{name}__lt": value}) | Q(**{name: value, "id__lt": pk}))
    got = list(ordered[: count + 1])
    more = len(got) > count
    return Page(got[:count], cursor_of(got[count - 1], wanted.sort) if more else None)


def sums(workspace: Any, wanted: Wanted) -> Sums:
    """What all that match come to."""
    rows = found(workspace, wanted)
    said = rows.aggregate(
        goals=Count("id"),
        tokens=Sum("tokens"),
        cost=Sum("cost"),
        seconds=Sum("seconds"),
        unreviewed=Count("id", filter=Q(review=Abandonment.Review.UNREVIEWED)),
    )
    sessions = rows.order_by().values("session_id").distinct().count()  # hashed; a distinct aggregate would sort
    return Sums(said["goals"], said["tokens"] or 0, said["cost"], said["seconds"], said["unreviewed"], sessions)


def facets(workspace: Any, wanted: Wanted) -> dict[str, list[Choice]]:
    """Of every facet its values with their counts, the most frequent first; chosen ones are there even where nothing matches.

    One pass counts all facets of which nothing is chosen; each of the others is counted without its own choice.
    """
    out: dict[str, list[Choice]] = {}
    free = [name for name in FACETS if name not in wanted.chosen]
    for name, counted in _grouped(found(workspace, wanted), free).items():
        out[name] = _choices(name, counted, ())
    for name, chosen in wanted.chosen.items():
        counted = _grouped(found(workspace, wanted, without=name), [name])[name]
        out[name] = _choices(name, counted, chosen)
    _name_owners(workspace, out.get("owner", []))
    return {name: out[name] for name in FACETS}


def weeks(workspace: Any, wanted: Wanted) -> list[Week]:
    """What was given up in each week, oldest first."""
    to_review = ~Q(review__in=(Abandonment.Review.ACCEPTED, Abandonment.Review.NOT_ABANDONED))
    rows = (
        found(workspace, wanted)
        .filter(week__isnull=False)
        .values("week")
        .annotate(
            goals=Count("id"),
            sum=Sum("tokens"),
            cost_sum=Sum("cost"),
            to_review=Count("id", filter=to_review),
            sum_to_review=Sum("tokens", filter=to_review),
        )
        .order_by("week")
    )
    return [
        Week(
            cast("date", row["week"]),
            row["goals"],
            row["sum"] or 0,
            row["to_review"],
            row["sum_to_review"] or 0,
            row["cost_sum"],
        )
        for row in rows
    ]


def repeats(workspace: Any, rows: Iterable[Abandonment]) -> dict[str, int]:
    """Of each of these goals' texts, in how many sessions of the workspace a goal of the same words was given up, where it is several."""
    texts = {row.folded for row in rows if row.folded}
    counted = (
        Abandonment.objects.filter(workspace=workspace, stands=True, folded__in=texts)
        .values("folded")
        .annotate(n=Count("session_id", distinct=True))
        .filter(n__gt=1)
    )
    return dict(counted.values_list("folded", "n"))


def cursor_of(row: Abandonment, sort: str) -> str:
    """Where the page behind a row begins."""
    match sort:
        case "recent":
            value = "" if row.at is None else row.at.isoformat()
        case "cost":
            value = str(-1 if row.cost is None else row.cost)
        case "time":
            value = str(-1 if row.seconds is None else row.seconds)
        case _:
            value = str(getattr(row, sort))
    return f"{value}~{row.pk}"


def _cursor(text: str, sort: str) -> tuple[Any, int]:
    value, _, pk = text.rpartition("~")
    try:
        if sort == "recent":
            return datetime.fromisoformat(value.replace(" ", "+")), int(pk)
        return (Decimal(value) if sort == "cost" else int(value)), int(pk)
    except (ValueError, ArithmeticError) as error:
        raise BadCursor("This is no place in the list.") from error


def _grouped(rows: QuerySet[Abandonment], names: Sequence[str]) -> dict[str, list[tuple[Any, int, int]]]:
    """Counts and tokens by each of these columns, in one pass."""
    if not names:
        return {}
    columns = [_COLUMNS.get(name, name) for name in names]
    query, values = rows.values(*columns, "tokens").query.sql_with_params()
    listed = ", ".join(f'"{column}"' for column in columns)
    sets = ", ".join(f'("{column}")' for column in columns)
    sql = f"SELECT GROUPING({listed}), {listed}, count(*), sum(tokens) FROM ({query}) found GROUP BY GROUPING SETS ({sets})"  # noqa: S608 -- columns of ours
    out: dict[str, list[tuple[Any, int, int]]] = {name: [] for name in names}
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        for mask, *rest in cursor.fetchall():
            # Of the bits of GROUPING the one that is not set names the column that was grouped by.
            at = next(n for n in range(len(names)) if not mask >> (len(names) - 1 - n) & 1)
            out[names[at]].append((rest[at], rest[-2], int(rest[-1] or 0)))
    return out


def _choices(name: str, counted: Sequence[tuple[Any, int, int]], chosen: tuple[str, ...]) -> list[Choice]:
    labels = dict(_LABELS[name].choices) if name in _LABELS else {}
    known = {_value(value): (goals, tokens) for value, goals, tokens in counted}
    values = [*known, *(value for value in chosen if value not in known)]
    out = [
        Choice(
            value, str(labels.get(value, "" if value == NONE else value)), *known.get(value, (0, 0)), value in chosen
        )
        for value in values
    ]
    if name == "week":
        return sorted(out, key=lambda one: one.value, reverse=True)
    return sorted(out, key=lambda one: (-one.goals, one.label))


def _name_owners(workspace: Any, choices: list[Choice]) -> None:
    from django.contrib.auth import get_user_model  # noqa: PLC0415 -- models of accounts are not ready at import

    ids = [int(one.value) for one in choices if one.value.isdigit()]
    names = {str(user.pk): user.get_username() for user in get_user_model().objects.filter(pk__in=ids)}
    choices[:] = [replace(one, label=names.get(one.value, one.label)) for one in choices]


def _any_of(name: str, values: tuple[str, ...]) -> Q:
    column = _COLUMNS.get(name, name)
    wanted = Q(**{f"{column}__in": [value for value in values if value != NONE]})
    return wanted | Q(**{f"{column}__isnull": True}) if NONE in values else wanted


def _value(value: Any) -> str:
    return NONE if value is None else value.isoformat() if isinstance(value, date) else str(value)


def _fits(name: str, value: str) -> bool:
    if value == NONE:
        return True
    if name == "owner":
        return value.isdigit() and len(value) < 10
    if name == "week":
        return _day(value) is not None
    return name not in _LABELS or value in _LABELS[name].values


def _last(given: Mapping[str, Sequence[str]], name: str) -> str:
    values = given.get(name, ())
    return values[-1] if values else ""


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _share(text: str) -> float:
    try:
        return min(1.0, max(0.0, float(text)))
    except ValueError:
        return 0.0


def _start(day: date) -> datetime:
    return datetime.fromisoformat(f"{day.isoformat()}T00:00:00+00:00")
