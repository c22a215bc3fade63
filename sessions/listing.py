"""What the list of sessions reads: filters, pages by keyset, and a few figures for the sessions of one page, each by one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db import connection
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from sessions.charts import sample
from sessions.ghosts import FOLDS, ROLLBACKS
from sessions.goalshown import in_force
from sessions.models import Goal, Session, Version
from sessions.models_archive import Archived
from sessions.store import clean

PAGE = 25
CHOICES = 40  # projects offered by the filter

WHEN: dict[str, timedelta] = {"day": timedelta(days=1), "week": timedelta(days=7), "month": timedelta(days=30)}

GOALS: dict[str, tuple[str, ...]] = {
    "open": ("pending", "in_progress"),
    "abandoned": ("abandoned", "dropped"),
    "none": (),
}
"""What the filter on goals asks for: a goal of the plan in one of these states; of "none", that there is no plan."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The filters of the list; "" is no filter. `owner`: a name, "-" nobody's. `goals`: some open, some given up, or no plan.

    `ghosts`: with or without. `subs`: sub-agents too. `archived`: those that were put away, alone. `cursor`: where the page goes on.
    """

    text: str = ""
    agent: str = ""
    project: str = ""
    owner: str = ""
    goals: str = ""
    when: str = ""
    ghosts: str = ""
    subs: bool = False
    archived: bool = False
    cursor: tuple[datetime | None, UUID] | None = None

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Wanted:
        """Read from a query string; what makes no sense is no filter."""
        when = query.get("when", "")
        ghosts = query.get("ghosts", "")
        goals = query.get("goals", "")
        return cls(
            text=(clean(query.get("q")) or "").strip()[:200],
            agent=(clean(query.get("agent")) or "")[:40],
            project=(clean(query.get("project")) or "")[:200],
            owner=(clean(query.get("owner")) or "")[:150],
            goals=goals if goals in GOALS else "",
            when=when if when in WHEN else "",
            ghosts=ghosts if ghosts in ("with", "without") else "",
            subs=query.get("subs", "") == "1",
            archived=query.get("archived", "") == "1",
            cursor=_cursor(query.get("after", "")),
        )

    @property
    def narrowed(self) -> bool:
        filters = (self.text, self.agent, self.project, self.owner, self.goals, self.when, self.ghosts, self.archived)
        return any(filters)

    @property
    def query(self) -> str:
        """The filters as part of an address; "" where there is none."""
        given = {
            "q": self.text,
            "agent": self.agent,
            "project": self.project,
            "owner": self.owner,
            "goals": self.goals,
            "when": self.when,
            "ghosts": self.ghosts,
            "subs": "1" if self.subs else "",
            "archived": "1" if self.archived else "",
        }
        return urlencode({name: value for name, value in given.items() if value})


def _cursor(text: str) -> tuple[datetime | None, UUID] | None:
    moment, _, pk = text.partition("_")
    try:
        return (datetime.fromisoformat(moment) if moment else None), UUID(pk)
    except ValueError:
        return None


def cursor_of(session: Session) -> str:
    return f"{session.last_at.isoformat() if session.last_at else ''}_{session.pk}"


@dataclass(slots=True)
class Listed:
    """A session with the figures of its row. `points`: context tokens of sampled steps, `seqs` their first entries."""

    session: Session
    goals: dict[str, int] = field(default_factory=dict)
    inferred: int = 0
    folds: int = 0
    rollbacks: int = 0
    others: int = 0
    compactions: list[int] = field(default_factory=list)
    ghosts: int = 0
    points: list[int] = field(default_factory=list)
    seqs: list[int] = field(default_factory=list)


def sessions_of(workspace: Any, wanted: Wanted) -> QuerySet[Session]:
    """Sessions that match, newest first. Rewritten ones are left out (their newest revision stands for them), and those put away."""
    found = Session.objects.filter(workspace_id=workspace.pk, superseded_by=None)
    away = Archived.objects.filter(session=OuterRef("pk"))
    found = found.filter(Exists(away) if wanted.archived else ~Exists(away))
    if not wanted.subs:
        found = found.exclude(parent_kind="subagent", parent__isnull=False)
    if wanted.text:
        found = found.filter(
            Q(title__icontains=wanted.text)
            | Q(project__icontains=wanted.text)
            | Q(branch__icontains=wanted.text)
            | Q(cwd__icontains=wanted.text)
            | Q(native_id__startswith=wanted.text)
        )
    if wanted.agent:
        found = found.filter(agent=wanted.agent)
    if wanted.project:
        found = found.filter(project=wanted.project)
    if wanted.owner:
        found = found.filter(owner=None) if wanted.owner == "-" else found.filter(owner__username=wanted.owner)
    if wanted.goals:
        planned = Goal.objects.filter(session=OuterRef("pk"), inferred=False)
        if wanted.goals == "none":
            found = found.filter(~Exists(planned))
        else:
            found = found.filter(Exists(planned.annotate(stands=in_force()).filter(stands__in=GOALS[wanted.goals])))
    if wanted.when:
        found = found.filter(last_at__gte=timezone.now() - WHEN[wanted.when])
    if wanted.ghosts:
        has = Q(_ghosts=True)
        current = Version.objects.filter(
            Q(pk=OuterRef("head")) | Q(pk=OuterRef("native_head"), session__head=None)
        ).extra(where=["NOT isempty(hidden)"])
        found = found.annotate(_ghosts=Exists(current)).filter(has if wanted.ghosts == "with" else ~has)
    return found.order_by(F("last_at").desc(), "pk")


def page_of(found: QuerySet[Session], wanted: Wanted) -> tuple[list[Session], bool]:
    """One page behind the cursor, and whether more follow. Sessions without a time stand first, as the index has them."""
    if wanted.cursor is not None:
        moment, pk = wanted.cursor
        if moment is None:
            found = found.filter(Q(last_at=None, pk__gt=pk) | Q(last_at__isnull=False))
        else:
            found = found.filter(Q(last_at__lt=moment) | Q(last_at=moment, pk__gt=pk))
    rows = list(found.select_related("owner", "head", "native_head", "parent")[: PAGE + 1])
    return rows[:PAGE], len(rows) > PAGE


def listed(sessions: Sequence[Session]) -> list[Listed]:
    """The figures of these sessions: three queries, however many."""
    rows = {session.pk: Listed(session) for session in sessions}
    _goals(rows)
    _versions(rows)
    _points(rows)
    return list(rows.values())


def _goals(rows: Mapping[Any, Listed]) -> None:
    counted = (
        Goal.objects.filter(session__in=list(rows))
        .annotate(stands=in_force())
        .values_list("session_id", "stands", "inferred")
        .annotate(n=Count("path"))
    )
    for session, status, inferred, n in counted:
        if inferred:
            rows[session].inferred += n
        else:
            rows[session].goals[status] = n


def _versions(rows: Mapping[Any, Listed]) -> None:
    versions: dict[int, tuple[int | None, str, str, int]] = {}
    for pk, parent, kind, origin, at_seq in Version.objects.filter(session__in=list(rows)).values_list(
        "pk", "parent_id", "kind", "origin", "at_seq"
    ):
        versions[pk] = (parent, kind, origin, at_seq)
    for row in rows.values():
        current = row.session.current
        if current is None:
            continue
        row.ghosts = len(current.hidden)
        at: int | None = current.pk
        while at is not None and at in versions:
            at, kind, origin, at_seq = versions[at]
            if kind in FOLDS or origin == Version.Origin.RUN:
                row.folds += 1
                row.compactions.append(at_seq)
            elif kind in ROLLBACKS:
                row.rollbacks += 1
            elif kind != "recorded":
                row.others += 1


def _points(rows: Mapping[Any, Listed]) -> None:
    """Sampled steps by key: sixty of a session, whatever its length."""
    wanted = [(pk, n) for pk, row in rows.items() for n in sample(row.session.steps_count)]
    if not wanted:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT s.session_id, s.first_seq, coalesce(s.total, coalesce(s.fresh, 0) + coalesce(s.cache_read, 0) "
            "+ coalesce(s.cache_write, 0) + coalesce(s.output, 0)) "
            "FROM unnest(%s::uuid[], %s::int[]) WITH ORDINALITY AS w(session_id, n, place) "
            "JOIN agent_sessions_step s ON s.session_id = w.session_id AND s.n = w.n "
            "WHERE s.total IS NOT NULL OR s.fresh IS NOT NULL OR s.cache_read IS NOT NULL ORDER BY w.place",
            [[pk for pk, _ in wanted], [n for _, n in wanted]],
        )
        for session, seq, tokens in cursor:
            rows[session].points.append(tokens)
            rows[session].seqs.append(seq)


def owners(workspace: Any) -> list[str]:
    """Names of those whose sessions there are."""
    own = Session.objects.filter(workspace_id=workspace.pk, superseded_by=None, owner__isnull=False)
    return list(own.order_by("owner__username").values_list("owner__username", flat=True).distinct()[:200])


def choices(workspace: Any) -> tuple[list[str], list[str]]:
    """Agents and projects to choose from."""
    own = Session.objects.filter(workspace_id=workspace.pk, superseded_by=None)
    agents = list(own.order_by("agent").values_list("agent", flat=True).distinct())
    projects = (
        own.exclude(project=None).values_list("project").annotate(n=Count("pk")).order_by("-n", "project")[:CHOICES]
    )
    return agents, [name for name, _ in projects]


def put_away(workspace: Any) -> int:
    """How many sessions are put away."""
    return Archived.objects.filter(session__workspace_id=workspace.pk, session__superseded_by=None).count()
