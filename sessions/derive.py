"""Brings a session's native versions up to date with what its adapter makes of its entries."""

from __future__ import annotations

from collections.abc import Sequence

from sessions.adapters.base import NativeVersion
from sessions.goalmarks import refresh
from sessions.models import Session, Version
from sessions.store import native_key
from sessions.versions import make


def derive(session: Session, found: Sequence[NativeVersion] | None) -> None:
    """Make the versions that the agent's own compactions, rewinds and rollbacks amount to, and move the native head.

    `found`: what its adapter makes of all its entries; None where that is as it was. Versions are immutable: those that still hold
    stay, new ones are added after the last that does. The caller holds a transaction.
    """
    if found is None:
        refresh(session)
        return
    root = session.versions.filter(n=0).first()
    if root is None:
        root = make(
            session,
            parent=None,
            edits=[],
            origin=Version.Origin.RECORDED,
            kind="recorded",
            label="As recorded",
            at_seq=-1,
        )
    at = _add(session, root, found)
    if session.native_head_id != at.pk:
        followed = session.head_id is None
        session.native_head = at
        if not followed and session.head_id == at.pk:
            session.head = None
        session.save(update_fields=["native_head", "head"])
    refresh(session)


def _add(session: Session, root: Version, found: Sequence[NativeVersion]) -> Version:
    """The version of the last of `found`, each made where it is not there yet."""
    known = {(v.parent_id, v.facts.get("key")): v for v in session.versions.filter(origin=Version.Origin.NATIVE)}
    at = root
    for native in found:
        key = native_key(native)
        version = known.get((at.pk, key))
        if version is None:
            version = make(
                session,
                parent=at,
                edits=native.edits,
                origin=Version.Origin.NATIVE,
                kind=native.kind,
                label=native.label,
                at_seq=native.at_seq,
                facts={**native.facts, "key": key},
            )
        at = version
    return at
