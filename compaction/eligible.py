"""Entries that a change by hand can name: the largest that may be masked or dropped, those that are masked, turns that may be folded."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Max, Min, QuerySet, Sum

from sessions.entries import Kind
from sessions.fields import to_multirange
from sessions.models import Entry, Session, Version
from sessions.ranges import Ranges

MOST = 12
WORDS = 80  # characters of what each says


@dataclass(frozen=True, slots=True)
class Eligible:
    """`value`: as the field takes it. `tokens`: of what is sent there now."""

    value: str
    words: str
    tokens: int


def eligible(session: Session, do: str) -> list[Eligible]:
    """What may be named for this verb, the largest first; [] for one that names none, and where there is nothing."""
    head = session.current
    if head is None:
        return []
    match do:
        case "mask" | "drop":
            return _entries(_results(session, head.hidden | head.masked))
        case "unmask":
            return _entries(_results(session, head.hidden, within=head.masked)) if head.masked else []
        case "fold":
            return _turns(session, head)
        case _:
            return []


def _seen(session: Session, hidden: Ranges) -> QuerySet[Entry]:
    found = session.entries.filter(sent=True, lane="")
    return found.extra(where=["NOT (%s::int4multirange @> seq)"], params=[to_multirange(hidden)])


def _results(session: Session, hidden: Ranges, *, within: Ranges | None = None) -> QuerySet[Entry]:
    found = _seen(session, hidden).filter(kind=Kind.TOOL_RESULT, tokens__gt=0)
    if within is not None:
        found = found.extra(where=["%s::int4multirange @> seq"], params=[to_multirange(within)])
    return found


def _entries(found: QuerySet[Entry]) -> list[Eligible]:
    rows = found.order_by("-tokens", "seq").values_list("seq", "tool", "text", "tokens")[:MOST]
    return [
        Eligible(str(seq), " ".join(f"{tool or ''} {text[: WORDS * 2]}".split())[:WORDS], tokens)
        for seq, tool, text, tokens in rows
    ]


def _turns(session: Session, head: Version) -> list[Eligible]:
    """Whole turns but the newest, whose message stays word for word."""
    newest = session.entries.filter(opens_turn=True, lane="").aggregate(turn=Max("turn"))["turn"]
    if newest is None:
        return []
    sums = (
        _seen(session, head.hidden)
        .filter(turn__lt=newest)
        .values("turn")
        .annotate(first=Min("seq"), last=Max("seq"), size=Sum("tokens"))
        .order_by("-size", "turn")[:MOST]
    )
    found = [(row["turn"], row["first"], row["last"], row["size"]) for row in sums if row["last"] > row["first"]]
    opening = session.entries.filter(opens_turn=True, lane="", turn__in=[turn for turn, *_ in found])
    texts = dict(opening.values_list("turn", "text"))
    return [
        Eligible(f"{first}-{last}", " ".join(texts.get(turn, "")[: WORDS * 2].split())[:WORDS], size or 0)
        for turn, first, last, size in found
    ]
