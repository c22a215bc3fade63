"""Follows a transcript as it is read, holding no more of it than its last stretch, where that will do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sessions.adapters.base import Link, NativeVersion, PartsOf, Unfollowed
from sessions.adapters.claude_code.history import Follower, follow_all
from sessions.adapters.claude_code.tip import Tip
from sessions.entries import Facts

_AT_HAND = 20_000  # links that are held, so that a session of common length is followed once whatever it holds


class ClaudeFollow:
    """See `Follow`. `whole`: all links are held, and the history is followed once they are there."""

    def __init__(self, parts_of: PartsOf, *, whole: bool) -> None:
        self._parts_of = parts_of
        self._whole = whole
        self._links: list[Link] | None = []
        self._follower: Follower | None = None if whole else Follower(parts_of)

    def add(self, link: Link) -> None:
        if self._links is not None:
            self._links.append(link)
            if len(self._links) > _AT_HAND and not self._whole:
                self._links = None
        if self._follower is not None:
            try:
                self._follower.add(link)
            except Unfollowed:
                self._follower = None

    def end(self, facts: Facts) -> tuple[Sequence[NativeVersion], dict[str, Any] | None]:
        del facts
        follower = self._settled()
        tip = follower.tip
        tip.astray = follower.settled or bool(follower.skipped)
        return follower.versions, tip.to_json()

    def _settled(self) -> Follower:
        if self._follower is not None:
            try:
                self._follower.settle()
            except Unfollowed:
                pass
            else:
                return self._follower
        if self._links is None:
            raise Unfollowed
        return follow_all(self._links, self._parts_of)


def steady(tip: Mapping[str, Any], link: Link, *, repeated: bool) -> dict[str, Any] | None:
    """See `Following.steady`."""
    if repeated:
        return None
    here = Tip.of(tip)
    return here.to_json() if here.add(link) else None
