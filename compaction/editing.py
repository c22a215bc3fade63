"""Editing a context by hand: what a change would weigh, and the version it makes. One verb for page, command and API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction

from compaction.budget import meter_for
from compaction.checks import checks, failures, words_of
from compaction.handwork import Change, Done, Impossible, by_hand
from compaction.snapshots import Base, base_of, budget_of, pins_of, reading, snapshot_of
from sessions.contexts import Item
from sessions.models import Session, Version
from sessions.projection import context_items
from sessions.versions import Moved, Refused, locked, make, set_head

HOLDS = frozenset({"pairing", "reasoning", "opening", "pins"})
"""Checks a change by hand must pass. A person may mask what no strategy may, and make a context larger."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a change would make of the context in force. `before`, `after`: tokens, both by `meter`."""

    session: Session
    base: Base
    done: Done
    items: tuple[Item, ...]
    meter: str
    before: int
    after: int
    window: int | None
    threshold: int | None

    @property
    def report(self) -> dict[str, Any]:
        """As a preview's report has it: for the gauge."""
        tokens = {"meter": self.meter, "before": self.before, "after": self.after}
        return {"tokens": {**tokens, "window": self.window, "threshold": self.threshold}, "lands": True}

    def to_json(self) -> dict[str, Any]:
        return {
            "session": str(self.session.pk),
            "base": self.base.version.n,
            "base_hash": self.base.content_hash,
            "does": self.done.label,
            "notes": list(self.done.notes),
            "tokens": self.report["tokens"],
        }


def foresee(session: Session, change: Change) -> Foreseen:
    """What `change` would do to the context in force. Writes nothing. Refused (impossible, unsound) where it cannot be made."""
    with reading():
        session = Session.objects.select_related("head", "native_head").get(pk=session.pk)
        return _foreseen(session, change)


@transaction.atomic
def edit(session_id: UUID, change: Change, *, expected_hash: str | None = None, by: Any = None) -> Moved:
    """Make the version that `change` amounts to, and make it the head; `undo` takes it back.

    `expected_hash`: the base that was looked at; Refused (stale) where the context is another by now.
    """
    locked(session_id)
    session = Session.objects.select_related("head", "native_head").get(pk=session_id)
    seen = _foreseen(session, change)
    if expected_hash is not None and expected_hash != seen.base.content_hash:
        raise Refused("stale", "The context has moved on since it was looked at; nothing was changed. Look again.")
    done = seen.done
    version = make(
        session,
        parent=seen.base.version,
        edits=done.edits,
        origin=Version.Origin.PERSON,
        kind=done.kind,
        label=done.label,
        at_seq=seen.base.last_seq,
        facts={"by_hand": True, "notes": list(done.notes)},
        by=by,
    )
    set_head(session, version, by=by, what="edited", redo=[], facts={"does": done.label})
    return Moved(session, seen.base.version, version, notes=done.notes)


def _foreseen(session: Session, change: Change) -> Foreseen:
    base = base_of(session)
    snapshot = snapshot_of(session, base, pins=pins_of(session))
    budget = budget_of(session)
    try:
        done = by_hand(snapshot, change)
    except Impossible as error:
        raise Refused("impossible", f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
    items = tuple(context_items(session, base.version, until_seq=base.last_seq, edits=list(done.edits)))
    meter = meter_for(session.agent, session.agent_version)
    after = sum(meter.of(item.sizes) for item in items)
    found = checks(
        snapshot.items, items, tokens_before=snapshot.total, tokens_after=after, pinned=snapshot.pinned, shape="plain"
    )
    wrong = [check for check in failures(found) if check.id in HOLDS]
    if wrong:
        raise Refused("unsound", f"The agent could not go on from that context. This {words_of(wrong)}.")
    return Foreseen(session, base, done, items, budget.meter, snapshot.total, after, budget.window, budget.threshold)
