"""j-cli (LingoJack/j): transcripts of events that are replayed into the list of messages, from its second generation on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from sessions.adapters.base import Claim, Follow, Line, Link, NativeVersion, PartsOf
from sessions.adapters.following import Held
from sessions.adapters.generic import documents
from sessions.adapters.generic.wiring import paired
from sessions.adapters.jcli import claims, history
from sessions.adapters.jcli.reader import Reader
from sessions.contexts import Item
from sessions.entries import Facts


class JCli:
    """The adapter: `sessions.adapters.base.Adapter` says what each verb promises."""

    agent = "j-cli"
    label = "j-cli"
    version = 1

    def roots(self, home: Path, env: Mapping[str, str]) -> Sequence[Path]:
        data = Path(env["J_DATA_PATH"]) if env.get("J_DATA_PATH") else home / ".jdata"
        return (data / "agent" / "data",)

    def claim(self, path: PurePath, head: bytes) -> Claim | None:
        return claims.claim(path, head)

    def documents(self, path: PurePath, data: bytes) -> Iterator[Line]:
        return documents.records(data)

    def reader(self, path: PurePath, state: Mapping[str, Any] | None = None) -> Reader:
        return Reader(path, state)

    def history(self, links: Sequence[Link], parts_of: PartsOf, facts: Facts) -> Sequence[NativeVersion]:
        return history.versions(links, parts_of)

    def follow(self, parts_of: PartsOf, *, whole: bool = False) -> Follow:
        return Held(self, parts_of, lambda _: {})

    def steady(self, tip: Mapping[str, Any], link: Link, *, repeated: bool) -> dict[str, Any] | None:
        return {} if history.steady(link) else None

    def wire(self, items: Sequence[Item], facts: Facts) -> list[Item]:
        # On loading, calls without a result and results without a call are dropped.
        return paired(items)


ADAPTER = JCli()
