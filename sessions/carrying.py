"""Goals carried over: through each compaction of a session, and from a project's earlier sessions to a new one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from sessions.abandonment import CUTS, FOLDS, Text, taken_up
from sessions.carried import Carried, fate_of
from sessions.fields import to_multirange
from sessions.goals import OPEN
from sessions.models import Goal, Session, Version
from sessions.packing import unpack

ENTRIES = 3_000  # newest entries behind a compaction's folds that are looked through
GOALS = 200  # open goals of one compaction
EARLIER, SHOWN = 4, 6  # earlier sessions of a project whose open goals are shown, and how many of those
COMPACTS = (FOLDS | {"run", "fold", "goal", "microcompaction"}) - CUTS


@dataclass(frozen=True, slots=True)
class Over:
    """A compaction and the goals that were open at it."""

    version: Version
    goals: tuple[Carried, ...]

    def count(self, fate: str) -> int:
        return sum(1 for one in self.goals if one.fate == fate)


def compacts(version: Version) -> bool:
    """Whether a version is a compaction: the agent's own, or a run's."""
    return version.kind in COMPACTS


def carried_over(session: Session, version: Version) -> Over:
    """What became of the goals that were open when a version was made. Reads what that version sends, bounded."""
    at = version.at_seq
    still_open = Q(closed_seq__isnull=True) | Q(closed_seq__gt=at)
    goals = list(session.goals.filter(still_open, inferred=False, first_seq__lte=at).order_by("position")[:GOALS])
    if not goals:
        return Over(version, ())
    sent = _sent(session, version)
    return Over(
        version,
        tuple(
            fate_of(goal.path, [goal.text, *([goal.was] if goal.was else [])], sent, _again(goal, at)) for goal in goals
        ),
    )


def _again(goal: Goal, at: int) -> int | None:
    stated = goal.figures.get("stated_seq") or goal.first_seq
    return stated if stated > at + 1 else None


def _sent(session: Session, version: Version) -> list[Text]:
    """What the version put in, then what it keeps, the newest first. An agent may log its summary as the entry right behind."""
    inserted = version.insertions.filter(replaces=None).order_by("position").values_list("parts", flat=True)
    out = [Text.of("\n".join(part.text for part in unpack(parts) if part.text)) for parts in inserted]
    kept = (
        session.entries.filter(sent=True, seq__lte=version.at_seq + 1)
        .extra(where=["NOT (%s::int4multirange @> seq)"], params=[to_multirange(version.hidden | version.masked)])
        .order_by("-seq")
        .values_list("seq", "text")[:ENTRIES]
    )
    return [*out, *(Text.of(text, seq) for seq, text in kept)]


def left_open_before(session: Session) -> list[Goal]:
    """Goals that the project's sessions before this one left open and that this one has not taken up, the newest first."""
    began = session.started_at
    if began is None or session.parent_id is not None or not (session.cwd or session.project):
        return []
    place = Q(cwd=session.cwd) if session.cwd else Q(project=session.project)
    earlier = list(
        Session.objects.filter(
            place, workspace_id=session.workspace_id, superseded_by=None, parent=None, last_at__lt=began
        )
        .order_by("-last_at")
        .values_list("pk", flat=True)[:EARLIER]
    )
    if not earlier:
        return []
    mine = list(session.goals.filter(inferred=False).values_list("text", flat=True)[:1_000])
    between = list(
        Goal.objects.filter(session__in=earlier, inferred=False, status="completed").values_list("text", flat=True)[
            :1_000
        ]
    )
    rows = Goal.objects.filter(
        Q(marked__isnull=True) | Q(marked__in=[status.value for status in OPEN]),
        session__in=earlier,
        inferred=False,
        status__in=[status.value for status in OPEN],
    ).select_related("session")
    found: list[Goal] = []
    for goal in rows.order_by("-session__last_at", "position")[: SHOWN * 10]:
        if not taken_up(goal.text, [*mine, *between, *(one.text for one in found)]):
            found.append(goal)
        if len(found) == SHOWN:
            break
    return found


def carried_of(session: Session) -> list[dict[str, Any]]:
    """The carry-over of every compaction of a session, in order, for programs."""
    versions = session.versions.filter(kind__in=COMPACTS).order_by("n")
    return [carried_row(carried_over(session, version)) for version in versions]


def carried_row(over: Over) -> dict[str, Any]:
    """A compaction's carry-over for programs."""
    return {
        "version": over.version.n,
        "kind": over.version.kind,
        "at_seq": over.version.at_seq,
        **{fate: over.count(fate) for fate in ("carried", "reworded", "lost")},
        "goals": [
            {"path": one.path, "text": one.text, "fate": one.fate.value, "seq": None if one.seq == -1 else one.seq, "inserted": one.seq == -1, "stated_again": one.again_seq}
            for one in over.goals
        ],
    }  # fmt: skip
