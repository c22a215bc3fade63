"""What the agent's own history of a session is, told while it is read: followed from the start, or seen to be as it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sessions.adapters.base import Adapter, Follow, Following, Link, NativeVersion, PartsOf, Unfollowed
from sessions.adapters.following import follow
from sessions.assembly import Placed
from sessions.entries import Facts
from sessions.models import Entry, Session
from sessions.store import clean, links_of

_FEW = 1000  # new entries of which it is looked whether they leave the versions as they are


class Telling:
    """Takes the entries that come. `begun`: they are all there are; else `tip` is what was told last of those before.

    The tip that is told is of the entries that last: a provisional one is read again.
    """

    def __init__(
        self, session: Session, adapter: Adapter, parts_of: PartsOf, *, begun: bool, tip: dict[str, Any] | None
    ) -> None:
        self._session = session
        self._adapter = adapter
        self._parts_of = parts_of
        self._tip = tip
        self._follow: Follow | None = follow(adapter, parts_of) if begun else None
        self._new: list[tuple[Link, bool]] | None = [] if not begun and tip is not None else None

    def add(self, placed: Placed, *, lasting: bool) -> None:
        """The next entry."""
        if self._follow is not None:
            self._follow.add(placed.link())
        elif self._new is not None:
            self._new.append((placed.link(), lasting))
            if len(self._new) > _FEW:
                self._new = None

    def told(self, facts: Facts, *, lasting: bool) -> tuple[Sequence[NativeVersion] | None, dict[str, Any] | None]:
        """The versions, None where they are as they were; and the tip for those that come next. All entries are in the database."""
        if self._follow is not None:
            try:
                versions, tip = self._follow.end(facts)
            except Unfollowed:
                versions, tip = self._whole(facts)
            return versions, tip if lasting else None
        if self._new is not None and (tip := self._steady(self._new)) is not None:
            return None, tip
        versions, tip = self._whole(facts)
        return versions, tip if lasting else None

    def _steady(self, new: Sequence[tuple[Link, bool]]) -> dict[str, Any] | None:
        """The tip behind the new entries that last, where all of them leave the versions as they are."""
        if self._tip is None or not isinstance(self._adapter, Following):
            return None
        names = {clean(link.native_id) for link, _ in new if link.native_id}
        first = new[0][0].seq if new else 0
        before = Entry.objects.filter(session=self._session, native_id__in=names, seq__lt=first)
        seen = set(before.values_list("native_id", flat=True)) if names else set()
        tip = kept = self._tip
        for link, lasting in new:
            name = clean(link.native_id)
            after = self._adapter.steady(tip, link, repeated=name is not None and name in seen)
            if after is None:
                return None
            tip = after
            kept = tip if lasting else kept
            seen.add(name)
        return kept

    def _whole(self, facts: Facts) -> tuple[Sequence[NativeVersion], dict[str, Any] | None]:
        """The history of all entries, read from the database: without holding them where that will do."""
        for whole in (False, True):
            one = follow(self._adapter, self._parts_of, whole=whole)
            for link in links_of(self._session.pk):
                one.add(link)
            try:
                return one.end(facts)
            except Unfollowed:
                if whole:
                    raise
        raise AssertionError
