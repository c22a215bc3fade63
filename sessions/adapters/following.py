"""How a history is followed by adapters that look at all entries at once: the links are held until the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sessions.adapters.base import Adapter, Follow, Following, Link, NativeVersion, PartsOf
from sessions.entries import Facts

type TipOf = Callable[[Sequence[Link]], dict[str, Any] | None]


class Held:
    """A follow that holds every link. `tip_of` says from them by what `steady` goes on."""

    def __init__(self, adapter: Adapter, parts_of: PartsOf, tip_of: TipOf = lambda _: None) -> None:
        self._adapter = adapter
        self._parts_of = parts_of
        self._tip_of = tip_of
        self._links: list[Link] = []

    def add(self, link: Link) -> None:
        self._links.append(link)

    def end(self, facts: Facts) -> tuple[Sequence[NativeVersion], dict[str, Any] | None]:
        return self._adapter.history(self._links, self._parts_of, facts), self._tip_of(self._links)


def follow(adapter: Adapter, parts_of: PartsOf, *, whole: bool = False) -> Follow:
    """The adapter's own follow, or one that holds all."""
    return adapter.follow(parts_of, whole=whole) if isinstance(adapter, Following) else Held(adapter, parts_of)


class Unversioned:
    """What an adapter has of history where its format knows of none."""

    def history(self, links: Sequence[Link], parts_of: PartsOf, facts: Facts) -> Sequence[NativeVersion]:
        return ()

    def follow(self, parts_of: PartsOf, *, whole: bool = False) -> Follow:
        return _Nothing()

    def steady(self, tip: Mapping[str, Any], link: Link, *, repeated: bool) -> dict[str, Any] | None:
        return {}


class _Nothing:
    def add(self, link: Link) -> None:
        pass

    def end(self, facts: Facts) -> tuple[Sequence[NativeVersion], dict[str, Any] | None]:
        return (), {}
