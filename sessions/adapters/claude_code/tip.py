"""The end of a transcript in a few words: enough to see that an appended record goes on from it, and no more.

While records go on, one behind the other, the versions stay as they are. Records of one answer and the results of its calls name one
another as parents in any order; they are one place. Whatever is not of that kind is left to the history, which knows the whole tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sessions.adapters.base import Link
from sessions.entries import Kind

WHOLE_FILE = 5 * 1024 * 1024  # bytes above which the agent reads a file from its last boundary on
_PLACE = 256  # ids of one place that are remembered


@dataclass(slots=True)
class Tip:
    """`tail`: id of the last record of the tree. `place`: ids of records that stand where it stands, of the answer `response`.

    `astray`: what the agent goes on from is not the tail, or may not be. `size`: bytes of all records.
    """

    tail: str | None = None
    place: list[str] = field(default_factory=list)
    response: str | None = None
    waiting: bool = False  # a boundary's summary has not come yet
    astray: bool = False
    size: int = 0

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Tip:
        return cls(**{**raw, "place": list(raw["place"])})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def add(self, link: Link) -> bool:
        """Take in the next record; whether it leaves the versions as they are."""
        crosses = self.size <= WHOLE_FILE < self.size + link.length
        self.size += link.length
        if link.lane:
            return not crosses
        steady = self._record(link) if "t" in link.facts else self._loose(link)
        return steady and not crosses and not self.astray

    def _loose(self, link: Link) -> bool:
        facts = link.facts
        mark = facts.get("bookmark")
        if mark is not None:
            # A bookmark of the place where the conversation stands says nothing new.
            return mark.get("leaf") in self.place and not mark.get("start")
        return not facts.get("swap") and "collapse" not in facts

    def _record(self, link: Link) -> bool:
        facts, own, parent = link.facts, link.native_id, link.native_parent
        first = self.tail is None
        waited, self.waiting = self.waiting, "boundary" in facts
        marks = self.waiting or waited or "micro" in facts or "retract" in facts or link.kind is Kind.SUMMARY
        if own is None:
            return False
        goes_on = first or parent == self.tail
        same = self._of_the_place(link)
        steady = not marks and (goes_on or (parent in self.place and (same or facts["t"] in ("u", "a"))))
        if first and parent:
            steady = False
        if same and (goes_on or parent in self.place):
            self.place = [*self.place, own][-_PLACE:]
        else:
            self.place = [own]
            self.response = link.response_id if facts["t"] == "a" else None
        self.tail = own
        return steady

    def _of_the_place(self, link: Link) -> bool:
        """Whether a record stands where the last ones stand: of their answer, a result of its calls, or nothing that is sent."""
        letter = link.facts["t"]
        if letter == "a":
            return link.response_id is not None and link.response_id == self.response
        if link.kind is Kind.TOOL_RESULT:
            return self.response is not None
        return letter not in ("u", "a") and not link.sent
