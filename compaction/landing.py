"""Landing: the one transaction in which a run's version is written and the head moves to it, or neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from compaction import progress
from compaction.models import Run
from compaction.progress import CancelAsked, Claim, Lost
from compaction.snapshots import hash_at
from sessions.contexts import Edit, hidden_by
from sessions.entries import Kind
from sessions.models import Entry, Session, Version
from sessions.ranges import Ranges
from sessions.versions import locked, make, set_head


class Stale(Exception):
    """The context is no longer the one the run started from; the message says what moved. Nothing was written."""


def check_base(run: Run, session: Session) -> None:
    """Raise Stale unless `session` still stands where the run started from. Entries that came since are no reason.

    Tells for sure only under the session's lock.
    """
    current = session.current
    if current is None or current.pk != run.base_id:
        now = "has no context any more" if current is None else f"stands at v{current.n}"
        raise Stale(f"The session {now}; the run started from v{run.base.n}. The head stays; ask for the run again.")
    if hash_at(session, current, run.last_seq) != run.base_hash:
        raise Stale(
            "The entries under the run have changed since it was asked for. The head stays; ask for the run again."
        )


@transaction.atomic
def land(
    held: Claim, *, edits: Sequence[Edit], status: str, label: str, report: Mapping[str, Any], **fields: Any
) -> Version:
    """Write the version that `edits` make, point the head at it and end the run as completed.

    Takes the session's lock, then the run's. Raises Stale, CancelAsked or Lost, and then nothing is written.
    """
    session = locked(held.run.session_id)
    run = Run.objects.select_for_update().get(pk=held.run.pk)
    if run.state != Run.State.RUNNING or run.attempts != held.attempt:
        raise Lost(run.pk)
    if run.cancel_asked:
        raise CancelAsked(run.pk)
    check_base(run, session)
    _check_newcomers(run, session, hidden_by(edits) - run.base.hidden)
    version = make(
        session,
        parent=run.base,
        edits=edits,
        origin=Version.Origin.RUN,
        kind="compaction",
        label=label,
        at_seq=run.last_seq,
        facts={"strategy": run.strategy, "summariser": run.summariser, "status": status},
        by=run.by,
        run=run.pk,
    )
    set_head(session, version, by=run.by, what="compacted", redo=[], facts={"run": run.pk, "strategy": run.strategy})
    Run.objects.filter(pk=run.pk).update(
        state=Run.State.COMPLETED,
        phase=Run.State.COMPLETED,
        status=status,
        version=version,
        report=report,
        ended_at=Now(),
        heartbeat_at=Now(),
        **fields,
    )
    progress.tell(run.pk)
    return version


def _check_newcomers(run: Run, session: Session, folded: Ranges) -> None:
    """Raise Stale where an entry that arrived meanwhile answers a call that this run folds: the result would stand alone."""
    newcomers = Entry.objects.filter(
        session=session, sent=True, seq__gt=run.last_seq, kind=Kind.TOOL_RESULT, call_ids__isnull=False
    )
    answered = {call for calls in newcomers.values_list("call_ids", flat=True) for call in calls or ()}
    if not answered:
        return
    calls = Entry.objects.filter(
        session=session, sent=True, seq__lte=run.last_seq, kind=Kind.TOOL_CALL, call_ids__isnull=False
    )
    for seq, ids in calls.values_list("seq", "call_ids"):
        if seq in folded and not answered.isdisjoint(ids or ()):
            raise Stale(
                f"The result of a tool call that the run folds (entry {seq}) has arrived. The head stays; ask for the run again."
            )
