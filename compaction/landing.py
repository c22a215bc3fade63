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
    current = _base_in_force(run, session)
    if hash_at(session, current, run.last_seq) != run.base_hash:
        raise Stale(
            "The entries under the run have changed since it was asked for. The head stays; ask for the run again."
        )


def look_at_head(run: Run) -> None:
    """Raise Stale where the head has left the run's base: what is still being written for it could not land. A draft may wait for it to come
    back.
    """
    if run.hold:
        return
    head, native = Session.objects.values_list("head_id", "native_head_id").get(pk=run.session_id)
    if (head or native) != run.base_id:
        _base_in_force(run, Session.objects.select_related("head", "native_head").get(pk=run.session_id))


def _base_in_force(run: Run, session: Session) -> Version:
    current = session.current
    if current is None or current.pk != run.base_id:
        now = "has no context any more" if current is None else f"stands at v{current.n}"
        raise Stale(f"The session {now}; the run started from v{run.base.n}. The head stays; ask for the run again.")
    return current


@transaction.atomic
def land(
    held: Claim,
    *,
    edits: Sequence[Edit],
    status: str,
    label: str,
    report: Mapping[str, Any],
    open_end: bool = False,
    **fields: Any,
) -> Version:
    """Write the version that `edits` make, point the head at it and end the run as completed.

    `open_end`: the run goes on as running with its version set, and is to be ended by whoever tells its hooks.
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
    version = _written(session, run, edits, label, status)
    set_head(session, version, by=run.by, what="compacted", redo=[], facts={"run": run.pk, "strategy": run.strategy})
    end: dict[str, Any] = (
        {} if open_end else {"state": Run.State.COMPLETED, "phase": Run.State.COMPLETED, "ended_at": Now()}
    )
    Run.objects.filter(pk=run.pk).update(
        status=status, version=version, report=report, heartbeat_at=Now(), **end, **fields
    )
    progress.tell(run.pk)
    return version


@transaction.atomic
def append(held: Claim, *, edits: Sequence[Edit], label: str, **fields: Any) -> Version | None:
    """Put the version that `edits` make in the place of the one that the run has landed: the same with what hooks appended. None, and nothing
    written, where the head is no longer that one.

    Its parent is the run's base, so that one undo still brings that back.
    """
    session = locked(held.run.session_id)
    run = Run.objects.select_for_update().get(pk=held.run.pk)
    if run.state != Run.State.RUNNING or run.attempts != held.attempt:
        raise Lost(run.pk)
    if session.current is None or session.current.pk != run.version_id:
        return None
    version = _written(session, run, edits, label, run.status or "")
    set_head(session, version, by=run.by, what="appended by hooks", redo=[], facts={"run": run.pk})
    Run.objects.filter(pk=run.pk).update(version=version, heartbeat_at=Now(), **fields)
    return version


def _written(session: Session, run: Run, edits: Sequence[Edit], label: str, status: str) -> Version:
    return make(
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
