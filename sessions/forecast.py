"""What happens before the next message is sent, by the session's own rule: one state, one sentence, and the numbers behind it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sessions.windows.base import Measure, Name, Threshold, Window


class State(StrEnum):
    SENT = "sent"
    MASKS = "masks"
    COMPACTS = "compacts"
    BLOCKED = "blocked"
    UNKNOWN = "unknown"


WORDS = {
    State.SENT: "sent as is",
    State.MASKS: "masks first",
    State.COMPACTS: "compacts first",
    State.BLOCKED: "blocked",
    State.UNKNOWN: "not known",
}


@dataclass(frozen=True, slots=True)
class Distance:
    """How far a threshold is: `left` tokens until it, negative where it is passed."""

    name: Name
    tokens: int
    left: int
    formula: str


@dataclass(frozen=True, slots=True)
class Forecast:
    """`reason`: the inequality that decided, both numbers in it. `threshold`: the one it names. `distances` in order of tokens."""

    state: State
    sentence: str
    reason: str
    threshold: Name | None = None
    distances: tuple[Distance, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        return WORDS[self.state]


def forecast(window: Window | None, used: int | None, *, tool_output: int | None = None) -> Forecast:
    """What the agent does before it sends the next message.

    `used`: tokens as the window's rule counts them (`Rule.holds`); `tool_output`: tokens of results that masking could take. The order
    is that of the agents: they compact, then look whether they are blocked, so that a block is reached only where compaction is off.
    """
    if window is None:
        return Forecast(State.UNKNOWN, "Not known: no rule of this agent is known here.", "no rule")
    if window.unknown is not None:
        return Forecast(State.UNKNOWN, window.unknown, "no window")
    if used is None:
        return Forecast(State.UNKNOWN, "Not known: nothing says how much is in use.", "no figure of what is used")
    distances = tuple(
        Distance(one.name, one.tokens, one.tokens - used, one.formula)
        for one in window.thresholds
        if one.measure is Measure.CONTEXT
    )
    label = window.rule.label
    notes = _notes(window, used)
    ahead = _acting(window, Name.PREDICTIVE)
    compaction = _acting(window, Name.COMPACTION)
    if ahead is not None and compaction is not None and ahead.reached(used) and not compaction.reached(used):
        compaction = ahead
    if compaction is not None and compaction.reached(used):
        reason = f"{used:,} {_sign(compaction)} {compaction.tokens:,} ({compaction.name}: {compaction.formula})"
        sentence = f"Compacts first: {label} compacts at {compaction.tokens:,} tokens and counts {used:,}."
        return Forecast(State.COMPACTS, sentence, reason, compaction.name, distances, notes)
    block = _acting(window, Name.BLOCK) or _acting(window, Name.INPUT_LIMIT)
    if block is not None and block.reached(used):
        reason = f"{used:,} {_sign(block)} {block.tokens:,} ({block.name}: {block.formula})"
        sentence = f"Blocked: {label} refuses from {block.tokens:,} tokens on and counts {used:,}; automatic compaction is off."
        return Forecast(State.BLOCKED, sentence, reason, block.name, distances, notes)
    masking = _acting(window, Name.MASKING)
    held = tool_output if masking is not None and masking.measure is Measure.TOOL_OUTPUT else used
    if masking is not None and held is not None and masking.reached(held):
        reason = f"{held:,} {_sign(masking)} {masking.tokens:,} ({masking.name}: {masking.formula})"
        sentence = f"Masks first: {label} masks old tool results from {masking.tokens:,} tokens on and counts {held:,}."
        return Forecast(State.MASKS, sentence, reason, masking.name, distances, notes)
    nearest = compaction or block
    if nearest is None:
        manual = window.at(Name.MANUAL)
        words = "has no threshold here" if manual is None else "compacts only when it is told to"
        return Forecast(State.SENT, f"Sent as is: {label} {words}.", "no threshold", None, distances, notes)
    reason = f"{used:,} {'≤' if nearest.strict else '<'} {nearest.tokens:,} ({nearest.name}: {nearest.formula})"
    sentence = f"Sent as is: {nearest.tokens - used:,} tokens until {_WHAT[nearest.name]}, by {label}."
    return Forecast(State.SENT, sentence, reason, nearest.name, distances, notes)


_WHAT = {
    Name.COMPACTION: "compaction",
    Name.PREDICTIVE: "compaction ahead of need",
    Name.BLOCK: "the block",
    Name.INPUT_LIMIT: "the input limit",
}


def _sign(threshold: Threshold) -> str:
    return ">" if threshold.strict else "≥"


def _acting(window: Window, name: Name) -> Threshold | None:
    found = window.at(name)
    return found if found is not None and found.acts else None


def _notes(window: Window, used: int) -> tuple[str, ...]:
    notes: list[str] = []
    total = window.total
    if total is not None:
        if used > total * 3 // 2:
            notes.append(
                f"{used:,} tokens are more than 1.5 times the window of {total:,}: the window is probably not this one."
            )
        elif used > total:
            notes.append(f"{used:,} tokens are more than the window of {total:,}.")
        compaction = window.compaction
        if compaction is not None and compaction < total // 4:
            notes.append(f"Only {compaction:,} of {total:,} tokens are usable before compaction.")
        if compaction is not None and compaction > total:
            notes.append(f"Compaction at {compaction:,} tokens lies beyond the window of {total:,}: it comes too late.")
    if window.settings.automatic is None and window.compaction is not None:
        notes.append("Taken as on: the session does not record whether automatic compaction is.")
    return tuple(notes)
