"""Brings a session's native versions up to date with what its adapter makes of its entries."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from sessions.adapters.base import Adapter, NativeVersion
from sessions.entries import Part
from sessions.models import Entry, Session, Version
from sessions.packing import unpack
from sessions.projection import facts_of
from sessions.store import links_of, native_key
from sessions.versions import make


def derive(session: Session, adapter: Adapter) -> None:
    """Make the versions that the agent's own compactions, rewinds and rollbacks amount to, and move the native head.

    Versions are immutable: those that still hold stay, new ones are added after the last that does. The caller holds a transaction.
    """

    @cache
    def parts_of(seq: int) -> tuple[Part, ...]:
        packed = Entry.objects.filter(session=session, seq=seq).values_list("parts", flat=True).first()
        return () if packed is None else unpack(packed)

    found = list(adapter.history(links_of(session.pk), parts_of, facts_of(session)))
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
