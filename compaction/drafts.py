"""A model's summaries, written down and taken again: what a held run keeps, and a writer that asks nobody.

Pure: values in, JSON values out and back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from compaction.plan import Count, NotWritten, Section, Snapshot, Status, SummaryAnswer, SummaryAsk
from compaction.preview import Writer
from compaction.summary.survey import Survey
from sessions.ranges import Ranges


@dataclass(slots=True)
class Recorder:
    """Keeps what `writer` writes, with the items each text was asked for."""

    writer: Writer
    written: list[tuple[SummaryAsk, SummaryAnswer]] = field(default_factory=list)

    def write(self, ask: SummaryAsk, snapshot: Snapshot, count: Count, surveyed: Survey) -> SummaryAnswer:
        found = self.writer(ask, snapshot, count, surveyed)
        self.written.append((ask, found))
        return found

    def to_json(self, made_at: datetime) -> dict[str, Any] | None:
        """The draft as a run keeps it; None where nothing was written. `made_at`: as of when the session's memory was read."""
        if not self.written:
            return None
        return {"at": made_at.isoformat(), "summaries": [_kept(ask, found) for ask, found in self.written]}


def made_at(draft: Mapping[str, Any]) -> datetime:
    """The moment whose memory the draft was made with."""
    return datetime.fromisoformat(draft["at"])


def texts(draft: Mapping[str, Any]) -> list[str]:
    """The summaries of a draft, in the order in which they were asked for."""
    return [one["text"] for one in draft["summaries"]]


def with_list(draft: Mapping[str, Any], edited: str | None) -> str | None:
    """A person's words for the first summary of a draft, with the list of files and commands behind them: that list is nobody's to lose."""
    listed = draft["summaries"][0]["listed"]
    if edited is None or not listed or listed in edited:
        return edited
    return f"{edited.rstrip()}\n\n{listed}"


def replaying(draft: Mapping[str, Any]) -> Writer:
    """A writer that gives the texts of a draft. Raises NotWritten (stale) for one that is not there, or that would have to stand for more
    than it was written for: an entry that is folded now and was not then would vanish unsaid.
    """
    known = {one["key"]: one for one in draft["summaries"]}

    def again(ask: SummaryAsk, _snapshot: Snapshot, _count: Count, _surveyed: Survey) -> SummaryAnswer:
        found = known.get(ask.key)
        if found is None:
            raise NotWritten(Status.STALE, "the draft has no text for what would be folded now; have it written again")
        covered, keys = Ranges.of((first, stop) for first, stop in found["seqs"]), frozenset(found["keys"])
        new = [
            item.key for item in ask.items if (item.key not in keys if item.seq is None else item.seq not in covered)
        ]
        if new:
            more = f" and {len(new) - 1:,} more" if len(new) > 1 else ""
            words = f"the draft says nothing of {new[0]}{more}, which would be folded now; have it written again"
            raise NotWritten(Status.STALE, words)
        return SummaryAnswer(
            ask.key,
            found["text"],
            found["summariser"],
            tuple(
                Section(title, tuple((text, tuple(seqs)) for text, seqs in lines)) for title, lines in found["sections"]
            ),
            found["cost"],
            notes=tuple(found["notes"]),
            listed=found["listed"],
        )

    return again


def _kept(ask: SummaryAsk, found: SummaryAnswer) -> dict[str, Any]:
    seqs = [item.seq for item in ask.items if item.seq is not None]
    return {
        "key": found.key,
        "text": found.text,
        "summariser": found.summariser,
        "sections": [[one.title, [[text, list(seqs)] for text, seqs in one.lines]] for one in found.sections],
        "cost": dict(found.cost),
        "notes": list(found.notes),
        "listed": found.listed,
        "seqs": [list(span) for span in Ranges.from_numbers(seqs).spans],
        "keys": [item.key for item in ask.items if item.seq is None],
    }
