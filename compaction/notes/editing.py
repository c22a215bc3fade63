"""A person's hand in a session's memory: what they wrote, and what they took out, laid over the newest version. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from compaction.notes.sections import TITLES, Line, Notes, fitted, over, parse
from compaction.plan import Count


class TooLong(ValueError):
    """A person's lines alone are beyond the budgets; the message says which and by how much."""


def edited(base: Notes, newest: Notes, text: str, count: Count) -> Notes:
    """`newest` with what a person changed between `base`, which they saw, and `text`.

    A line of `base` that is not in `text` goes and does not come back; one that is in `text` alone is theirs. What came into `newest`
    meanwhile stays. Raises BadText (`sections.parse`) or TooLong.
    """
    sections, struck = [], set(newest.struck)
    for was, now, lines in zip(base.sections, parse(text), newest.sections, strict=True):
        gone = {line.text for line in was} - set(now)
        struck |= {line.name for line in was if line.text in gone}
        theirs = [one for one in dict.fromkeys(now) if one not in {line.text for line in was}]
        # What they write again is wanted again.
        struck -= set(theirs)
        names = {line.name for line in was if line.text in gone}
        kept = [line for line in lines if line.text not in gone and not (line.key and line.name in names)]
        sections.append(_placed(now, theirs, kept))
    made = replace(newest, sections=tuple(sections), struck=frozenset(struck))
    long = over([[line.text for line in lines if line.own] for lines in made.sections], count)
    if long:
        raise TooLong(f"{long}, and what a person writes is never cut")
    return fitted(made, count)


def _placed(now: Sequence[str], theirs: Sequence[str], kept: Sequence[Line]) -> tuple[Line, ...]:
    """The lines with a person's new ones behind those they stand behind in the text."""
    out = [line for line in kept if line.text not in theirs]
    for text in theirs:
        before = set(now[: now.index(text)])
        places = [n for n, line in enumerate(out) if line.text in before]
        out.insert(places[-1] + 1 if places else 0, Line(text, own=True))
    return tuple(out)


@dataclass(frozen=True, slots=True)
class Changed:
    """What differs in one section: `gone` and `new` lines, and how many are the same."""

    title: str
    gone: tuple[str, ...]
    new: tuple[str, ...]
    same: int


def compare(before: Notes, after: Notes) -> list[Changed]:
    """What differs between two versions, section by section; sections without a difference too."""
    out = []
    for title, was, now in zip(TITLES, before.sections, after.sections, strict=True):
        old, new = [line.text for line in was], [line.text for line in now]
        gone: list[str] = []
        added: list[str] = []
        same = 0
        for word, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if word == "equal":
                same += b - a
            else:
                gone.extend(old[a:b])
                added.extend(new[c:d])
        out.append(Changed(title, tuple(gone), tuple(added), same))
    return out
