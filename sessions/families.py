"""Attempts at the same goal across sessions: goals of the same words, or of words that share most of their trigrams, are one family.

A goal joins the family of the first goal that was given up in like words, when it is written down; `kinship` says how like. With no
`pg_trgm` in the database only the same words (without case, spaces and numbers) make a family.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import connection
from django.db.models import Count, F, Func, IntegerField, Max, Min, QuerySet, Sum, Window
from django.db.models.functions import RowNumber
from django.utils.translation import gettext as _

from sessions.models_goals import Abandonment

LIKE = 0.6  # of the trigrams of two texts
SHOWN = 30  # families of one page
MEMBERS = 8  # goals of a family that are shown with it


@dataclass(frozen=True, slots=True)
class Family:
    """`rows`: its newest goals among those asked for. `goals`, `sessions`, `tokens`, `cost`: of all of them."""

    name: str
    goals: int
    sessions: int
    tokens: int
    cost: Decimal | None
    rows: tuple[Abandonment, ...]
    why: str


def join(rows: Iterable[Abandonment]) -> None:
    """Give goals that are about to be written their families. The caller holds a transaction; rows are of one workspace."""
    fresh = list(rows)
    if not fresh:
        return
    workspace = fresh[0].workspace_id
    words = {row.folded for row in fresh}
    known = Abandonment.objects.filter(workspace_id=workspace, folded__in=words)
    families: dict[str, tuple[str, float]] = {}
    for folded, family, kinship in known.order_by("pk").values_list("folded", "family", "kinship"):
        families.setdefault(folded, (family or folded, kinship))
    missing = sorted(words - families.keys())
    if missing and has_trigrams():
        families |= _nearest(workspace, missing)
    for row in fresh:
        row.family, row.kinship = families.get(row.folded, (row.folded, 1.0))


def _nearest(workspace: int, words: Sequence[str]) -> dict[str, tuple[str, float]]:
    """Of each text the family of the one that shares most trigrams with it, where that is enough."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('pg_trgm.similarity_threshold', %s, true)", [str(LIKE)])
        cursor.execute(
            "SELECT w.folded, near.family, near.kinship FROM unnest(%s::text[]) AS w(folded) CROSS JOIN LATERAL ("
            "SELECT a.family, similarity(a.folded, w.folded) AS kinship FROM agent_sessions_abandonment a "
            "WHERE a.workspace_id = %s AND a.family = a.folded AND a.folded %% w.folded ORDER BY kinship DESC, a.id LIMIT 1) near",
            [list(words), workspace],
        )
        return {folded: (family, round(kinship, 2)) for folded, family, kinship in cursor.fetchall()}


def has_trigrams() -> bool:
    """Whether the database has `pg_trgm`."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm'")
        return cursor.fetchone() is not None


def also_in(workspace: Any, rows: Iterable[Abandonment]) -> dict[str, int]:
    """Of each of these goals' families, in how many sessions of the workspace one of it was given up, where it is several."""
    names = sorted({row.family for row in rows if row.family})
    return _sessions_of(Abandonment.objects.filter(workspace=workspace, stands=True), names) if names else {}


def _sessions_of(rows: QuerySet[Abandonment], names: Sequence[str]) -> dict[str, int]:
    """Of these families the number of sessions, where it is several. Pairs are hashed before they are counted; else all would be sorted."""
    pairs = rows.order_by().filter(family__in=names).values("family", "session_id").distinct()
    query, values = pairs.query.sql_with_params()
    sql = f"SELECT family, count(*) FROM ({query}) pairs GROUP BY family HAVING count(*) > 1"  # noqa: S608 -- a query of ours
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return dict(cursor.fetchall())


def why_of(row: Abandonment) -> str:
    """Why a goal stands in its family, in words."""
    if row.kinship >= 1:
        return _("the same words, but for case, spaces and numbers")
    return _("%(share)d of 100 trigrams in common with the first wording") % {"share": round(row.kinship * 100)}


def others(row: Abandonment, most: int = 20) -> list[Abandonment]:
    """The goals of its family in other sessions, the newest first."""
    rows = Abandonment.objects.filter(workspace_id=row.workspace_id, stands=True, family=row.family)
    return list(rows.exclude(session_id=row.session_id).select_related("session").order_by("-at", "-id")[:most])


def families(rows: QuerySet[Abandonment], *, after: int = 0) -> tuple[list[Family], bool]:
    """Of goals that match, the families tried in several sessions, what took most first; and whether there are more behind these."""
    # Whether there are several sessions is seen by their hashes: to count them apart would sort every row.
    hashed = Func(F("session_id"), function="uuid_hash", output_field=IntegerField())
    summed = (
        rows.order_by()
        .exclude(family="")
        .values("family")
        .annotate(
            goals=Count("id"), sum=Sum("tokens"), paid=Sum("cost"), last=Max("id"), low=Min(hashed), high=Max(hashed)
        )
        .filter(goals__gt=1, low__lt=F("high"))
        .order_by("-sum", "-last")[after : after + SHOWN + 1]
    )
    found = list(summed)
    if not found:
        return [], False
    names = [one["family"] for one in found[:SHOWN]]
    in_sessions = _sessions_of(rows, names)
    members: dict[str, list[Abandonment]] = {}
    place = Window(RowNumber(), partition_by=F("family"), order_by=[F("at").desc(nulls_last=True), F("id").desc()])
    newest = rows.filter(family__in=names).annotate(place=place).filter(place__lte=MEMBERS).values_list("pk", flat=True)
    listed = Abandonment.objects.filter(pk__in=list(newest)).select_related("session", "owner")
    for row in listed.order_by("-at", "-id"):
        members.setdefault(row.family, []).append(row)
    out = []
    for one in found[:SHOWN]:
        mine = members.get(one["family"], [])
        alike = [row.kinship for row in mine if row.kinship < 1]
        why = (
            _("the same words, but for case, spaces and numbers")
            if not alike
            else _("the same words, or %(share)d and more of 100 trigrams in common")
            % {"share": round(min(alike) * 100)}
        )
        out.append(
            Family(
                one["family"],
                one["goals"],
                in_sessions.get(one["family"], 1),
                one["sum"] or 0,
                one["paid"],
                tuple(mine),
                why,
            )
        )
    return out, len(found) > SHOWN
