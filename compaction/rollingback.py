"""Rolling back with its consequences: what would go, then the version, the goal that is given up with it, and the notice. One verb for all doors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from compaction.budget import meter_for
from compaction.goingback import Gone, gone_json, gone_of, notice_of
from compaction.snapshots import reading
from sessions import goalmarks
from sessions.entries import GoalStatus
from sessions.gauge import window_of
from sessions.models import Goal, Session
from sessions.models_goals import GoalMark
from sessions.projection import context_items, log_items
from sessions.versions import Moved, Refused, WayBack, roll_back, way_back

POINTS = ("to_turn", "to_step", "to_entry", "to_goal")


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a roll back would do. `before`, `after`: tokens by `meter`; `goal`: the one that would be given up with it, None: there is
    none; `notice`: the words that would be put in.
    """

    session: Session
    way: WayBack
    gone: Gone
    meter: str
    before: int
    after: int
    window: int | None
    threshold: int | None
    goal: Goal | None
    notice: str

    @property
    def report(self) -> dict[str, Any]:
        """As a preview's report has it: for the gauge."""
        tokens = {"meter": self.meter, "before": self.before, "after": self.after}
        return {"tokens": {**tokens, "window": self.window, "threshold": self.threshold}, "lands": True}

    def to_json(self) -> dict[str, Any]:
        return {
            "session": str(self.session.pk),
            "base": self.way.was.n,
            "point": self.way.point,
            "to": self.way.where,
            "notes": list(self.way.notes),
            "tokens": self.report["tokens"],
            "goes": gone_json(self.gone),
            "goal": None if self.goal is None else {"path": self.goal.path, "text": self.goal.text},
            "notice": self.notice,
        }


def foresee(session: Session, *, reason: str = "", **to: Any) -> Foreseen:
    """What a roll back to a point (one of `to_turn`, `to_step`, `to_entry`, `to_goal`) takes away. Writes nothing. Refused as `roll_back`."""
    with reading():
        session = Session.objects.select_related("head", "native_head").get(pk=session.pk)
        return _foreseen(session, reason, to)


@transaction.atomic
def go_back(
    session_id: UUID,
    *,
    reason: str = "",
    abandon: bool = False,
    notice: bool = False,
    through: str = GoalMark.Through.PAGE,
    by: Any = None,
    **to: Any,
) -> Moved:
    """Roll back. `abandon`: the goal that was worked on is given up for `reason`; `notice`: the agent is told what was tried and why it
    was taken back. Both need a reason: Refused (no_reason) without one, (no_goal) where no goal is open. `undo` takes the version back,
    not the mark on the goal: that is reopened by hand.
    """
    reason = reason.strip()
    if (abandon or notice) and not reason:
        raise Refused("no_reason", _("Say why it is rolled back: the goal and the notice carry the reason."))
    session = Session.objects.select_related("head", "native_head").get(pk=session_id)
    words, goal = "", None
    if abandon or notice:
        seen = _foreseen(session, reason, to)
        goal = seen.goal
        words = seen.notice if notice else ""
    if abandon:
        if goal is None:
            raise Refused("no_goal", _("No goal is open at the end of this session: there is none to give up."))
        goalmarks.abandon(session_id, path=goal.path, reason=reason, by=by, through=through)
    return roll_back(session_id, reason=reason, notice=words, by=by, **to)


def _foreseen(session: Session, reason: str, to: Mapping[str, Any]) -> Foreseen:
    way = way_back(session, **to)
    log = log_items(session, session.entries_count - 1)
    gone = gone_of(log, way.gone, way.point, session.cwd)
    goal = _goal(session, to.get("to_goal"))
    notice = notice_of(gone, where=way.where, reason=reason, goal=None if goal is None else goal.text)
    meter = meter_for(session.agent, session.agent_version)
    its = window_of(session)
    return Foreseen(
        session=session,
        way=way,
        gone=gone,
        meter=meter.id,
        before=sum(meter.of(item.sizes) for item in context_items(session, way.was)),
        after=sum(meter.of(item.sizes) for item in context_items(session, way.was, edits=list(way.edits))),
        window=session.window if its is None else its.total,
        threshold=None if its is None else its.compaction,
        goal=goal,
        notice=notice,
    )


def _goal(session: Session, named: str | None) -> Goal | None:
    """The goal that is given up with what goes: the one named, else the one in progress last."""
    if named is not None:
        return session.goals.filter(path=named).first()
    open_ones = [
        goal
        for goal in session.goals.order_by("-last_seq", "-position")
        if goalmarks.standing(goal) == GoalStatus.IN_PROGRESS
    ]
    return open_ones[0] if open_ones else None
