"""Which goals were given up, how that is known, and how sure it is. Pure: over goals, the agent's versions and what was said.

Six ways, the surest first; a goal is found in the first that holds. `person`, `stated`: somebody said so. `vanished`: it was open and is
gone from a list that was rewritten whole. `cut_off`: all of its entries are hidden by a rewind or rollback. `compacted`: it was open, its
entries are ghosts of a compaction, neither the summary nor what is still sent names it, and nothing behind does (that is the follow-up
check: without entries behind it the finding is weak). `left_open`: the session ended with it open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from sessions.entries import GoalStatus
from sessions.goals import OPEN
from sessions.matching import folded, likeness, marks
from sessions.ranges import Ranges
from sessions.reasons import Cause, Reason

CUTS = frozenset({"rewind", "rollback", "revert", "branch"})
FOLDS = frozenset({"compaction", "cut", "replacement"})
ENOUGH = 12  # entries behind a compaction from which silence about a goal says something
NAMED = 0.6  # share of a goal's telling words that names it


class How(StrEnum):
    """In which way it was found, as stored."""

    PERSON = "person"
    STATED = "stated"
    VANISHED = "vanished"
    CUT_OFF = "cut_off"
    COMPACTED = "compacted"
    LEFT_OPEN = "left_open"


@dataclass(frozen=True, slots=True)
class Case:
    """A goal to be judged. `entries`: how many belong to it. `marked`: the status given here over the agent's own.

    `stated_seq`: the last entry that stated it; of a list that is rewritten whole, the last list that had it.
    """

    path: str
    text: str
    status: GoalStatus
    note: str | None
    first_seq: int
    last_seq: int
    closed_seq: int | None
    stated_seq: int
    spans: Ranges
    entries: int
    inferred: bool = False
    marked: str | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A text made ready to be looked through for many goals."""

    seq: int
    folded: str
    lines: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, text: str, seq: int = -1) -> Text:
        return cls(seq, folded(text), tuple(marks(line) for line in text.splitlines() if line.strip()))


@dataclass(frozen=True, slots=True)
class Change:
    """A version that the agent, or a person here, made: what it newly hides, over entries up to `at_seq`. `summary`: what it put in."""

    n: int
    kind: str
    at_seq: int
    hidden: Ranges
    summary: Text = field(default_factory=lambda: Text.of(""))


@dataclass(frozen=True, slots=True)
class World:
    """What surrounds the goals of a session. `later`: what sent entries behind the first compaction say, in order.

    `prompts`: a person's messages by seq. `ended`: no more is to come. `entries`: of the session. `added_at`: of an entry that stated
    goals, the texts of those that were new.
    """

    changes: Sequence[Change] = ()
    later: Sequence[Text] = ()
    prompts: Sequence[tuple[int, str]] = ()
    ended: bool = False
    entries: int = 0
    added_at: dict[int, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evidence:
    """An entry, and what it shows."""

    seq: int
    what: str


@dataclass(frozen=True, slots=True)
class Found:
    """A goal that was given up. `cause`: where the way itself says why; else it follows from the reason."""

    how: How
    status: GoalStatus
    confidence: float
    why: str
    evidence: tuple[Evidence, ...]
    cause: Cause | None = None
    reason: Reason | None = None


def judged(case: Case, world: World) -> Found | None:
    """How the goal was given up; None where it was not."""
    if case.marked is not None:
        if case.marked != GoalStatus.ABANDONED:
            return None
        return Found(How.PERSON, GoalStatus.ABANDONED, 1.0, "It was abandoned here.", _work(case))
    if case.status is GoalStatus.ABANDONED:
        proof = (Evidence(_closed(case), "the agent abandons it"), *_work(case))
        return Found(How.STATED, GoalStatus.ABANDONED, 1.0 if case.note else 0.95, "The agent itself says so.", proof)
    if case.status is GoalStatus.DROPPED:
        return _vanished(case, world)
    return _cut_off(case, world) or (_open(case, world) if case.status in OPEN and not case.inferred else None)


def _vanished(case: Case, world: World) -> Found:
    closed = _closed(case)
    new = world.added_at.get(closed, [])
    confidence = 0.9 if case.entries else 0.75
    why = "It was open and is gone from the list that this entry rewrote."
    cause: Cause | None = None
    if any(_akin(case.text, text) for text in new):
        confidence -= 0.25
        why += " A new item of the same list shares words with it: it may have been reworded beyond recognition."
        cause = Cause.SUPERSEDED
    elif new:
        cause = Cause.SUPERSEDED
        why += (
            f" {len(new)} new items came with the same list."
            if len(new) > 1
            else " A new item came with the same list."
        )
    between = [
        one
        for one in world.changes
        if one.kind in FOLDS and case.stated_seq <= one.at_seq < closed and not names(case.text, one.summary)
    ]
    if between:
        cause = Cause.FORGOTTEN
        why += f" Between its last mention and that list stands the compaction of v{between[-1].n}, whose summary does not name it."
    proof = (Evidence(closed, "the list without it"), *_work(case))
    return Found(How.VANISHED, GoalStatus.DROPPED, round(confidence, 2), why, proof, cause)


def _cut_off(case: Case, world: World) -> Found | None:
    if case.status is GoalStatus.COMPLETED and not case.inferred:
        return None
    own = case.spans or Ranges.of([(case.first_seq, case.first_seq + 1)])
    for change in world.changes:
        if change.kind not in CUTS or case.first_seq not in change.hidden or own - change.hidden:
            continue
        following = next(
            ((seq, text) for seq, text in world.prompts if seq > max(case.last_seq, change.at_seq - 1)), None
        )
        confidence, cause = 0.9, Cause.CHANGED_MIND
        why = f"All of its entries are hidden by the {change.kind} of v{change.n}."
        proof = [Evidence(max(0, min(change.at_seq, world.entries - 1)), f"the {change.kind}"), *_work(case)]
        if following is not None:
            proof.append(Evidence(following[0], "what was asked next"))
            if likeness(case.text, following[1][:400]) > 0 or _akin(case.text, following[1][:400]):
                confidence, cause = 0.6, Cause.SUPERSEDED
                why += " What was asked next is much the same in other words: the request was put anew."
        return Found(How.CUT_OFF, GoalStatus.DROPPED, confidence, why, tuple(proof), cause)
    return None


def _open(case: Case, world: World) -> Found | None:
    if not world.ended:
        return None
    return _compacted(case, world) or Found(
        How.LEFT_OPEN,
        GoalStatus.DROPPED,
        0.6 if case.entries else 0.5,
        "The session ended with it open, and no later session of the project takes it up.",
        (*_work(case), Evidence(max(0, world.entries - 1), "the last entry")),
    )


def _compacted(case: Case, world: World) -> Found | None:
    for change in world.changes:
        if change.kind not in FOLDS or case.first_seq not in change.hidden or case.stated_seq > change.at_seq:
            continue
        if names(case.text, change.summary):
            continue
        sent = [text for text in world.later if text.seq > case.first_seq and text.seq not in change.hidden]
        if any(names(case.text, text) for text in sent):
            continue
        behind = [text for text in sent if text.seq > change.at_seq]
        checked = len(behind) >= ENOUGH
        why = f"It is in the entries that the compaction of v{change.n} folded, and neither its summary nor anything behind names it."
        why += (
            f" Looked at: {len(behind)} entries."
            if checked
            else " Hardly anything came behind it, so that says little."
        )
        proof = (*_work(case), Evidence(max(0, min(change.at_seq, world.entries - 1)), "the compaction"))
        return Found(How.COMPACTED, GoalStatus.DROPPED, 0.8 if checked else 0.5, why, proof, Cause.FORGOTTEN)
    return None


def names(goal: str, text: Text) -> bool:
    """Whether a text names a goal: by its words as they are, or by most of those that tell it apart, in one line."""
    wanted = folded(goal)
    if not wanted:
        return False
    if wanted in text.folded:
        return True
    telling = marks(goal)
    if len(telling) < 2:
        return any(telling and telling <= line for line in text.lines)
    return any(len(telling & line) >= NAMED * len(telling) for line in text.lines)


def taken_up(text: str, later: Sequence[str]) -> bool:
    """Whether one of the goals of later sessions is the same goal."""
    return any(likeness(text, other) > 0 for other in later)


def _akin(one: str, other: str) -> bool:
    mine, theirs = marks(one), marks(other)
    return bool(mine) and bool(theirs) and len(mine & theirs) / min(len(mine), len(theirs)) >= 0.5


def _closed(case: Case) -> int:
    return case.closed_seq if case.closed_seq is not None else case.last_seq


def _work(case: Case) -> tuple[Evidence, ...]:
    out = [Evidence(case.first_seq, "where it was stated")]
    if case.spans and case.spans.spans[-1][1] - 1 != case.first_seq:
        out.append(Evidence(case.spans.spans[-1][1] - 1, "the last entry of the work on it"))
    return tuple(out)
