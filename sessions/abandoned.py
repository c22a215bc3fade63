"""The audit of goals that were given up, over all sessions of a workspace: rows by keyset, the counts of every facet, sums, weeks, repeats.

Everything it filters, counts and sorts by stands in `Abandonment` rows (`abandoning` keeps them), so that no question touches entries.
A facet's own choice does not narrow its own counts: they say what another choice would give.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Coalesce

from sessions.audittally import FACETS, Cell, counted, tallied
from sessions.models_goals import Abandonment

NONE = "-"  # stands for the absence of a value in an address
PAGE, MOST = 50, 500
LONGEST = 200  # characters of a search
REVIEWED = frozenset({Abandonment.Review.ACCEPTED.value, Abandonment.Review.NOT_ABANDONED.value})
SPENT = frozenset(Abandonment.Review.values) - {Abandonment.Review.NOT_ABANDONED.value}
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


_KEYS = {"recent": "at", "tokens": "tokens", "attempts": "attempts"}  # orders by a column as it is


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


@dataclass(frozen=True, slots=True)
class Overview:
    """`weeks` of what matches; `trend` and `classes` (label, tokens, the largest first) of it whatever the review states chosen, but for
    goals that turned out not to be abandoned.
    """

    sums: Sums
    facets: dict[str, list[Choice]]
    weeks: list[Week]
    trend: list[Week]
    classes: list[tuple[str, int]]


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
    rows = found(workspace, wanted)
    name = _KEYS.get(wanted.sort, "key")
    if name == "key":
        rows = rows.annotate(key=SORTS[wanted.sort])
    if after:
        value, pk = _cursor(after, wanted.sort)
        rows = rows.filter(Q(**{f"{name}__lt": value}) | Q(**{name: value, "id__lt": pk}))
    # The keys first, and the rows with what they refer to by those: joined before they are cut, every match would be.
    keys = list(rows.order_by(f"-{name}", "-id").values_list("pk", flat=True)[: count + 1])
    by_key = Abandonment.objects.select_related("session", "owner", "cause_by", "assignee").in_bulk(keys)
    got = [by_key[pk] for pk in keys if pk in by_key]
    more = len(got) > count
    return Page(got[:count], cursor_of(got[count - 1], wanted.sort) if more else None)


def wordless(wanted: Wanted) -> Wanted:
    """The same without what asks for words or for one session: by trying them, one could learn what was said."""
    return replace(wanted, q="", session=None)


def sums(workspace: Any, wanted: Wanted, seen: Overview | None = None) -> Sums:
    """What all that match come to."""
    said = (seen or overview(workspace, wanted)).sums
    sessions = (
        found(workspace, wanted).order_by().values("session_id").distinct().count()
    )  # hashed; a distinct aggregate would sort
    return replace(said, sessions=sessions)


def facets(workspace: Any, wanted: Wanted) -> dict[str, list[Choice]]:
    """Of every facet its values with their counts, the most frequent first; chosen ones are there even where nothing matches."""
    return overview(workspace, wanted).facets


def weeks(workspace: Any, wanted: Wanted) -> list[Week]:
    """What was given up in each week, oldest first."""
    return overview(workspace, wanted).weeks


def overview(workspace: Any, wanted: Wanted) -> Overview:
    """Sums, facets and weeks at once: one pass over what matches, and none where nothing but review states is chosen (`AuditTally`).

    A facet's own choice does not narrow its own counts; each other facet of which something is chosen costs one pass more.
    """
    states = frozenset(wanted.chosen.get("review", Abandonment.Review.values))
    cells = _cells(workspace, wanted, FACETS)
    out: dict[str, list[Choice]] = {}
    for name in FACETS:
        chosen = wanted.chosen.get(name, ())
        own = _cells(workspace, wanted, [name], without=name) if chosen and name != "review" else cells
        counted = _added(cell for cell in own if cell.facet == name and (name == "review" or cell.review in states))
        out[name] = _choices(name, counted, chosen)
    _name_owners(workspace, out["owner"])
    total = _Sum()
    for cell in cells:
        if cell.facet == "review" and cell.review in states:
            total.add(cell)
    unreviewed = sum(
        cell.goals for cell in cells if cell.facet == "review" and cell.value == Abandonment.Review.UNREVIEWED in states
    )
    said = Sums(total.goals, total.tokens, total.known_cost, total.known_seconds, unreviewed, 0)
    return Overview(said, out, _weeks(cells, states), _weeks(cells, SPENT), _classes(cells, SPENT))


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


@dataclass(slots=True)
class _Sum:
    goals: int = 0
    tokens: int = 0
    cost: Decimal = Decimal(0)
    costed: int = 0
    seconds: int = 0
    timed: int = 0

    def add(self, cell: Cell) -> None:
        self.goals += cell.goals
        self.tokens += cell.tokens
        self.cost += cell.cost
        self.costed += cell.costed
        self.seconds += cell.seconds
        self.timed += cell.timed

    @property
    def known_cost(self) -> Decimal | None:
        return self.cost if self.costed else None

    @property
    def known_seconds(self) -> int | None:
        return self.seconds if self.timed else None


def _added(cells: Iterable[Cell]) -> dict[str | None, _Sum]:
    """Cells added up by their values; those of which nothing is left go."""
    out: dict[str | None, _Sum] = {}
    for cell in cells:
        out.setdefault(cell.value, _Sum()).add(cell)
    return {value: one for value, one in out.items() if one.goals}


def _cells(workspace: Any, wanted: Wanted, names: Sequence[str], *, without: str | None = None) -> list[Cell]:
    """Sums by these facets' values and review states, of all that match whatever their review state."""
    left = {name: values for name, values in wanted.chosen.items() if name not in ("review", without)}
    wider = replace(wanted, chosen=left)
    return tallied(workspace, names) if not wider.narrowed else counted(found(workspace, wider), names)


def _weeks(cells: Iterable[Cell], states: frozenset[str]) -> list[Week]:
    sums: dict[str, _Sum] = {}
    waiting: dict[str, _Sum] = {}
    for cell in cells:
        if cell.facet == "week" and cell.value is not None and cell.review in states:
            sums.setdefault(cell.value, _Sum()).add(cell)
            if cell.review not in REVIEWED:
                waiting.setdefault(cell.value, _Sum()).add(cell)
    return [
        Week(
            date.fromisoformat(monday),
            one.goals,
            one.tokens,
            (left := waiting.get(monday, _Sum())).goals,
            left.tokens,
            one.known_cost,
        )
        for monday, one in sorted(sums.items())
        if one.goals
    ]


def _classes(cells: Iterable[Cell], states: frozenset[str]) -> list[tuple[str, int]]:
    labels = dict(Abandonment.Cause.choices)
    sums = _added(cell for cell in cells if cell.facet == "cause" and cell.review in states)
    found = [(str(labels.get(value or "", value)), one.tokens) for value, one in sums.items()]
    return sorted(found, key=lambda one: (-one[1], one[0]))


def _choices(name: str, counted: Mapping[str | None, _Sum], chosen: tuple[str, ...]) -> list[Choice]:
    labels = dict(_LABELS[name].choices) if name in _LABELS else {}
    known = {NONE if value is None else value: (one.goals, one.tokens) for value, one in counted.items()}
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
    if name == "week":  # by the times, of which there is an index
        chosen = Q(at__isnull=True) if NONE in values else Q()
        for day in (date.fromisoformat(value) for value in values if value != NONE):
            monday = day - timedelta(days=min(day.weekday(), day.toordinal() - 1))
            chosen |= Q(at__gte=_start(monday), at__lt=_start(monday) + timedelta(weeks=1))
        return chosen
    column = _COLUMNS.get(name, name)
    wanted = Q(**{f"{column}__in": [value for value in values if value != NONE]})
    return wanted | Q(**{f"{column}__isnull": True}) if NONE in values else wanted


def _fits(name: str, value: str) -> bool:
    if value == NONE:
        return True
    if name == "owner":
        return value.isdigit() and len(value) < 10
    if name == "week":
        return (day := _day(value)) is not None and day.year < 9999
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
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
