"""Brings a session's native versions up to date with what its adapter makes of its entries."""

from __future__ import annotations

from collections.abc import Sequence

from sessions.adapters.base import NativeVersion
from sessions.goalmarks import refresh
from sessions.models import Session, Version
from sessions.store import native_key
from sessions.versions import make

_OURS = (Version.Origin.RECORDED, Version.Origin.NATIVE)


def derive(session: Session, found: Sequence[NativeVersion] | None, *, new: bool = False) -> None:
    """Make the versions that the agent's own compactions, rewinds and rollbacks amount to, move the native head, save the session.

    `found`: what its adapter makes of all its entries; None where that is as it was. Versions are immutable: those that still hold
    stay, new ones are added after the last that does. `new`: the session has none, and nothing stands over its goals. The caller holds a
    transaction.
    """
    made: list[Version] | None = None
    if found is not None:
        known = [] if new else list(session.versions.filter(origin__in=_OURS).order_by("n"))
        made = _made(session, known, found)
        at = made[-1]
        if session.native_head_id != at.pk:
            session.native_head = at
            if session.head_id == at.pk:
                session.head = None
    session.save()
    refresh(session, versions=made if new else None)


def _made(session: Session, known: Sequence[Version], found: Sequence[NativeVersion]) -> list[Version]:
    """The versions of `found` behind the one as recorded, each made where it is not among the `known`."""
    root = known[0] if known else _make_root(session)
    there = {(v.parent_id, v.facts.get("key")): v for v in known[1:]}
    line = [root]
    for native in found:
        key = native_key(native)
        version = there.get((line[-1].pk, key))
        if version is None:
            version = make(
                session,
                parent=line[-1],
                edits=native.edits,
                origin=Version.Origin.NATIVE,
                kind=native.kind,
                label=native.label,
                at_seq=native.at_seq,
                facts={**native.facts, "key": key},
                n=None if known else len(line),
            )
        line.append(version)
    return line


def _make_root(session: Session) -> Version:
    return make(
        session,
        parent=None,
        edits=[],
        origin=Version.Origin.RECORDED,
        kind="recorded",
        label="As recorded",
        at_seq=-1,
        n=0,
    )
