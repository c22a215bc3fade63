"""What the model sees, from the database: a version's context, its hash and its tokens."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from heapq import merge
from operator import attrgetter
from typing import Any

from django.db.models import QuerySet

from sessions.adapters import by_agent
from sessions.contexts import Edit, Insert, Item, Replace, hidden_by, project
from sessions.entries import Facts, SizeVector, digest_of
from sessions.fields import to_multirange
from sessions.meters.tokens import sizes
from sessions.models import Entry, Session, Version
from sessions.ranges import Ranges
from sessions.store import ITEM_COLUMNS, edits_of, item_of, visible_digests


def version_at(session: Session, seq: int) -> Version | None:
    """The native version in force when entry `seq` was written."""
    natives = session.versions.filter(origin__in=[Version.Origin.NATIVE, Version.Origin.RECORDED], at_seq__lt=seq)
    chain = {version.pk for version in ancestry(session.native_head)} if session.native_head else set()
    return natives.filter(pk__in=chain).order_by("-at_seq", "-n").first() or session.versions.filter(n=0).first()


def ancestry(version: Version | None) -> list[Version]:
    """A version and all before it, oldest first, by one query for the session."""
    if version is None:
        return []
    by_id = {row.pk: row for row in Version.objects.filter(session_id=version.session_id)}
    chain: list[Version] = []
    at: Version | None = by_id.get(version.pk)
    while at is not None:
        chain.append(at)
        at = by_id.get(at.parent_id) if at.parent_id is not None else None
    return chain[::-1]


def context_items(
    session: Session,
    version: Version | None = None,
    *,
    until_seq: int | None = None,
    edits: Sequence[Edit] | None = None,
) -> list[Item]:
    """The context of a version (None: the one in force) as the agent would send it, item for item.

    `until_seq`: as of that entry, it included. `edits`: project these instead of a stored version's (a preview).
    """
    if edits is None:
        version = version or session.current
        edits = edits_of(version) if version is not None else []
    return as_sent(session, projected(session, edits, until_seq=until_seq))


def as_sent(session: Session, items: Sequence[Item]) -> list[Item]:
    """What edits made of a session's entries (`projected`), as its agent would send it."""
    parts = {item.key: item.parts for item in items}
    wired = by_agent(session.agent).wire(items, facts_of(session))
    return sized(wired, [n for n, item in enumerate(wired) if parts.get(item.key) is not item.parts])


def projected(session: Session, edits: Sequence[Edit], *, until_seq: int | None = None) -> list[Item]:
    """What edits make of a session's entries, before the agent's own wiring; `until_seq`: as of that entry, it included."""
    visible = Entry.objects.filter(session=session, sent=True)
    hidden = hidden_by(edits)
    if hidden:
        visible = visible.extra(where=["NOT (%s::int4multirange @> seq)"], params=[to_multirange(hidden)])
    if until_seq is not None:
        visible = visible.filter(seq__lte=until_seq)
    pins = set(session.pins.values_list("seq", flat=True))
    items = project(_read(visible), edits)
    items = sized(items, [n for n, item in enumerate(items) if item.masked or item.inserted])
    if pins:
        items = [replace(item, pinned=True) if item.seq in pins else item for item in items]
    return items


def log_items(session: Session, until_seq: int) -> list[Item]:
    """Every sent entry up to `until_seq`, hidden ones too: the transcript as it was written."""
    rows = Entry.objects.filter(session=session, sent=True, seq__lte=until_seq)
    return _read(rows)


def log_beside(session: Session, until_seq: int, edits: Sequence[Edit], items: Sequence[Item]) -> list[Item]:
    """`log_items` where it is known already what `edits` made of them (`projected`): only what they hide or replace is read again."""
    changed = hidden_by(edits) | Ranges.from_numbers(edit.seq for edit in edits if isinstance(edit, Replace))
    whole = [
        replace(item, pinned=False) if item.pinned else item
        for item in items
        if item.seq is not None and not item.masked
    ]
    if not changed:
        return whole
    rows = Entry.objects.filter(session=session, sent=True, seq__lte=until_seq)
    others = _read(rows.extra(where=["%s::int4multirange @> seq"], params=[to_multirange(changed)]))
    return list(merge(whole, others, key=attrgetter("seq")))


def _read(rows: QuerySet[Entry]) -> list[Item]:
    """These entries as items, in order, whole."""
    found = rows.order_by("seq").values_list(*ITEM_COLUMNS, named=True)
    return [item_of(row) for row in found.iterator(chunk_size=2000)]


def sized(items: Sequence[Item], changed: Sequence[int]) -> list[Item]:
    """Items with the sizes of those that are not as they were stored: replaced, inserted, or made otherwise by the agent's wiring."""
    out = list(items)
    for n, vector in zip(changed, sizes([items[n].parts for n in changed]), strict=True):
        out[n] = replace(items[n], sizes=vector)
    return out


def facts_of(session: Session) -> Facts:
    """What the session's adapter learned of it, as an adapter takes it."""
    return Facts(
        native_id=session.native_id,
        title=session.title or None,
        cwd=session.cwd,
        branch=session.branch,
        agent_version=session.agent_version,
        models=list(session.models_used),
        window=session.window,
        parent_native_id=session.parent_native_id,
        parent_kind=session.parent_kind,
        parent_call_id=session.parent_call_id,
        extra=dict(session.facts),
    )


def measure(session_id: Any, edits: Sequence[Edit], until_seq: int | None = None) -> tuple[str, int]:
    """Hash and o200k tokens of the context that `edits` make of the entries up to `until_seq`, without reading their text.

    The hash runs over the projection before the agent's wiring, which is a function of it: equal hashes, equal contexts.
    """
    bodies = [edit for edit in edits if isinstance(edit, Insert | Replace)]
    vectors: dict[int, SizeVector] = {
        id(edit): size for edit, size in zip(bodies, sizes([e.parts for e in bodies]), strict=True)
    }
    replaced = {edit.seq: edit for edit in bodies if isinstance(edit, Replace)}
    waiting = sorted((edit for edit in bodies if isinstance(edit, Insert)), key=lambda edit: edit.after)
    hasher = hashlib.blake2b(digest_size=16)
    tokens = 0
    at = 0
    cuts = {edit.after + 1 for edit in waiting} | {cut for seq in replaced for cut in (seq, seq + 1)}
    for seq, digest, count in visible_digests(session_id, hidden_by(edits), until_seq, cuts=sorted(cuts)):
        while at < len(waiting) and waiting[at].after < seq:
            hasher.update(digest_of(waiting[at].role, waiting[at].parts))
            tokens += vectors[id(waiting[at])].tokens
            at += 1
        body = replaced.get(seq)
        if body is None:
            hasher.update(digest)
            tokens += count
        else:
            hasher.update(b"masked" + digest_of(None, body.parts))
            tokens += vectors[id(body)].tokens
    for edit in waiting[at:]:
        hasher.update(digest_of(edit.role, edit.parts))
        tokens += vectors[id(edit)].tokens
    return hasher.hexdigest(), tokens
