"""What became of open goals in a compaction: carried in their words, carried in others, or lost. Pure.

A goal is carried where its words stand in what is sent right behind the compaction; reworded where most of the words that tell it apart
stand there in one line; else it is lost. That an agent states it again later is said beside, and changes nothing of this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sessions.abandonment import Text, names
from sessions.matching import folded


class Fate(StrEnum):
    """As programs read it."""

    CARRIED = "carried"
    REWORDED = "reworded"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Carried:
    """`seq`: the entry that has it; -1 where a text that the compaction put in does; None where it is lost.

    `again_seq`: the last entry behind the compaction that states it, None where none does.
    """

    path: str
    text: str
    fate: Fate
    seq: int | None
    again_seq: int | None = None


def fate_of(path: str, wordings: Sequence[str], sent: Sequence[Text], again_seq: int | None = None) -> Carried:
    """What became of a goal, by any of its wordings (the present one first), among the texts that are sent."""
    for wording in wordings:
        words = folded(wording)
        found = next((text for text in sent if words and words in text.folded), None)
        if found is not None:
            return Carried(path, wordings[0], Fate.CARRIED, found.seq, again_seq)
    for wording in wordings:
        found = next((text for text in sent if names(wording, text)), None)
        if found is not None:
            return Carried(path, wordings[0], Fate.REWORDED, found.seq, again_seq)
    return Carried(path, wordings[0], Fate.LOST, None, again_seq)
