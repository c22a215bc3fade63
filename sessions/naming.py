"""From what a person types to the session they mean: a short unique prefix of our id, or the agent's own id."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from sessions.models import Session
from sessions.store import clean

NATIVE_PREFIX = (
    6  # characters of an agent's id from which a prefix names it; shorter ones are prefixes of our ids alone
)
SHORT = 8  # characters of our id that are printed; longer where that is not unique
_LISTED = 8  # candidates that an error names

_HEX = re.compile(r"[0-9a-f]{1,32}")


class NoSuchSession(LookupError):
    """No session goes by that name in this workspace."""


class Ambiguous(LookupError):
    """Several sessions go by that name; `candidates` are the first of them, newest first."""

    def __init__(self, text: str, candidates: Iterable[Session]) -> None:
        self.candidates = list(candidates)
        listed = "; ".join(f"{one.id} ({one.agent}, {one.title[:40] or 'no title'})" for one in self.candidates)
        super().__init__(f"{text!r} names several sessions: {listed}. Give more of the id.")


def find_session(text: str, *, workspace: Any = None) -> Session:
    """The session that `text` names, of `workspace` (None: of any).

    Tried in this order: our whole id; the agent's whole id (the newest revision where a file was rewritten, and where the agent itself
    reverted the session into another file, that one, as the agent would go on there); a prefix of our id,
    dashes or not; a prefix of the agent's id from 6 characters on. A name that fits several sessions raises Ambiguous and none
    NoSuchSession; both say so in words for a person.
    """
    name = clean(text.strip()) or ""  # as the database would have it: it holds no NUL
    if not name:
        raise NoSuchSession("An empty name names no session.")
    known = Session.objects.select_related("source", "head", "native_head")
    if workspace is not None:
        known = known.filter(workspace=workspace)
    for wanted in _readings(name):
        found = _current(_newest(known.filter(wanted)))
        if len(found) == 1:
            return found[0]
        if found:
            raise Ambiguous(name, found)
    raise NoSuchSession(f"No session is named {name!r}: neither our id, nor its beginning, nor the agent's own id.")


def _readings(name: str) -> Iterable[Q]:
    bare = name.replace("-", "").lower()
    is_hex = _HEX.fullmatch(bare) is not None
    if is_hex and len(bare) == 32:
        yield Q(pk=UUID(bare))
    yield Q(native_id=name, superseded_by=None)
    if is_hex and len(bare) < 32:
        # a range of ids, which the key serves, instead of comparing their text
        ours = Q(pk__gte=UUID(bare.ljust(32, "0")), pk__lte=UUID(bare.ljust(32, "f")))
    else:
        ours = Q(pk__in=())
    if len(name) >= NATIVE_PREFIX:
        yield ours | Q(native_id__startswith=name, superseded_by=None)
    else:
        yield ours


def _current(found: list[Session]) -> list[Session]:
    """Without those that were reverted into another of them."""
    left = {session.parent_id for session in found if session.parent_kind == "revert"}
    return [session for session in found if session.pk not in left]


def _newest(found: QuerySet[Session]) -> list[Session]:
    return list(found.order_by("-last_at", "pk")[:_LISTED])
