"""The index of a project's memory: what a person accepted of what its sessions taught, by kind, as one text."""

from __future__ import annotations

from collections.abc import Sequence

from compaction.plan import Count, Given, GivenAnswer, Learned, LearnedAsk
from compaction.tools import one_line
from sessions.contexts import InsertKind

HEADINGS = {
    "user": "About the person",
    "feedback": "Feedback",
    "project": "About the project",
    "reference": "References",
}
_HEADER = "What earlier sessions of this project taught, as a person accepted it:"
_LONGEST = 400  # characters of one note


def index(notes: Sequence[Learned]) -> str:
    """All notes under their kinds; "" where there are none."""
    blocks = []
    for kind, heading in HEADINGS.items():
        lines = [f"- {one_line(note.text, _LONGEST)}" for note in notes if note.kind == kind]
        if lines:
            blocks.append("\n".join([f"## {heading}", *lines]))
    return "\n\n".join([_HEADER, *blocks]) if blocks else ""


def answer_learned(ask: LearnedAsk, notes: Sequence[Learned], count: Count) -> GivenAnswer:
    """The index within the ask's budget: as many notes as it holds, and how many it does not."""
    kept = list(notes)
    while kept and count([index(kept)])[0] > ask.most:
        kept.pop()
    missing = len(notes) - len(kept)
    left = (("project memory", f"no room for {missing:,} of {len(notes):,} notes"),) if missing else ()
    if not kept:
        return GivenAnswer(ask.key, (), left)
    text = index(kept)
    return GivenAnswer(ask.key, (Given(InsertKind.LEARNED, "project memory", text, count([text])[0]),), left)
