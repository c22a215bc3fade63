"""UniversalAIClient: its history of AI SDK Core messages, in which one summary stands for all that it compacted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from sessions.adapters.base import Follow, Link, NativeVersion, PartsOf
from sessions.adapters.following import Held
from sessions.adapters.generic.adapter import Messages
from sessions.adapters.generic.forms import SUMMARY, Form
from sessions.adapters.generic.messages import Reader as MessageReader
from sessions.adapters.generic.wiring import paired
from sessions.contexts import Item
from sessions.entries import Entry, Facts, Kind


class Reader(MessageReader):
    """Reads Core messages; the one that begins with the mark is the summary, whatever its role."""

    def message(self, record: Mapping[str, Any]) -> Entry | None:
        entry = super().message(record)
        if entry is None or not entry.text.lstrip().startswith(SUMMARY):
            return entry
        return replace(entry, kind=Kind.SUMMARY, opens_turn=False, step_key=None)


class UniversalAIClient(Messages):
    """`/compress` puts one message in the place of all but the last two: a file holds what was left, and each summary is a version."""

    def reader(self, path: PurePath, state: Mapping[str, Any] | None = None) -> Reader:
        return Reader(path, state)

    def follow(self, parts_of: PartsOf, *, whole: bool = False) -> Follow:
        return Held(self, parts_of)

    def steady(self, tip: Mapping[str, Any], link: Link, *, repeated: bool) -> dict[str, Any] | None:
        return None

    def history(self, links: Sequence[Link], parts_of: PartsOf, facts: Facts) -> Sequence[NativeVersion]:
        marks = [link.seq for link in links if link.kind is Kind.SUMMARY and link.sent]
        return [
            NativeVersion(
                "compaction", seq, (), "Compacted; what the summary stands for is no longer in the file", {"n": n}
            )
            for n, seq in enumerate(marks, 1)
        ]

    def wire(self, items: Sequence[Item], facts: Facts) -> list[Item]:
        # The cut that it makes does not look at calls and their results.
        return paired(items)


ADAPTER = UniversalAIClient(Form.UNIVERSAL, "UniversalAIClient")
