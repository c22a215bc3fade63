"""What a window is: an agent's limits for one model and the thresholds that follow from them, each with its rule and source.

A rule is one agent's arithmetic in one era. It turns a model's limits (C, I, O) and the person's settings (R and others) into named
thresholds. Nothing here guesses: where a figure is not known, what depends on it is not there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal


class Name(StrEnum):
    """What is reached where a threshold lies."""

    MASKING = "masking"  # old tool results are replaced by less
    WARNING = "warning"  # the agent's screen warns
    PREDICTIVE = "predictive"  # it compacts ahead, expecting the next results
    COMPACTION = "compaction"  # it compacts before it sends
    BLOCK = "block"  # it refuses to send
    INPUT_LIMIT = "input_limit"  # the most a prompt may hold
    TOTAL = "total"  # prompt and output together
    MANUAL = "manual"  # it compacts only when it is told to, and from here on


class Measure(StrEnum):
    """What is held against a threshold. What of a context counts, the rule says (`Rule.holds`)."""

    CONTEXT = "context"  # the last prompt, its output, and what came after it
    TOOL_OUTPUT = "tool_output"  # results of tools that masking could take


@dataclass(frozen=True, slots=True)
class Limits:
    """A model's limits in tokens, and who says so. None: not known (or, for `input`, no limit of its own)."""

    model: str | None = None
    context: int | None = None  # C
    input: int | None = None  # I
    output: int | None = None  # O
    source: str = ""
    date: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """What a person may have set in the agent. None: not set, or not known."""

    reserve: int | None = None  # R
    window: int | None = None  # a smaller window to compact by (Claude Code)
    percent: int | None = None  # of the effective window (Claude Code)
    limit: int | None = None  # tokens at which to compact (Codex)
    max_output: int | None = None  # in place of O
    prefill: int | None = None  # tokens of the first prompt of a window, which one of Codex's scopes leaves out
    automatic: bool | None = None  # whether compaction happens by itself; None: the session does not say, taken as yes


@dataclass(frozen=True, slots=True)
class Threshold:
    """One limit. `formula` in the letters C, I, O, R, E; `acts`: whether the rule does something there, or the number only informs.

    `strict`: it is reached by one token more, not by as many.
    """

    name: Name
    tokens: int
    formula: str
    measure: Measure = Measure.CONTEXT
    acts: bool = True
    source: str = ""
    strict: bool = False

    def reached(self, used: int) -> bool:
        return used > self.tokens if self.strict else used >= self.tokens


@dataclass(frozen=True, slots=True)
class Held:
    """What a compaction finds, for a rule to say what it leaves: all in tokens.

    `prefix`: the fixed beginning (system prompt, tool schemas, memory); `context`: all there is; `usable`: what
    the window holds before compaction (None: not known); `prompts`: of the person's messages so far, newest last.
    """

    prefix: int
    context: int
    usable: int | None = None
    prompts: Sequence[int] = ()

    @property
    def history(self) -> int:
        return max(0, self.context - self.prefix)


@dataclass(frozen=True, slots=True)
class Screen:
    """The agent's own display of a fill level, which is seldom what its runtime acts on."""

    text: str  # as it is shown: "70%", "24% left"
    numerator: int
    denominator: int
    counts: str


type Draw = Callable[[Limits, Settings], Sequence[Threshold]]
type Show = Callable[[Limits, int | None, int | None], Screen | None]
"""Of limits, prompt and context (prompt and output) of the last step."""


SUMMARY = 3_000
"""Tokens of a summary where a rule does not say how long it gets: an assumption, said wherever it is used."""

type Left = Callable[[Held], int]
"""Tokens that stay behind the prefix once a rule has compacted."""


def summary_alone(held: Held) -> int:
    return SUMMARY


def _blank(limits: Limits, prompt: int | None, context: int | None) -> Screen | None:
    return None


def _as_it_is(window: int, agent_version: str | None) -> int:
    return window


@dataclass(frozen=True, slots=True)
class Rule:
    """One agent's arithmetic in one era.

    `counts`: what it holds against its thresholds, in words; `holds`: whether that is the whole context, the last prompt alone, or an
    estimate of its own whatever was recorded; `meter`: the id of the meter by which it estimates what no usage says yet; `recorded`: what the C of a window recorded in the
    session is (some agents record what is left of it). `since`, `until`: versions of the agent that go by it, the second not among
    them (None: no bound). `bound`: whether its thresholds hang on C. `protects`, `protected_turns`: tokens of the newest tool results,
    and newest turns, that masking leaves alone. `left`, `leaves`: what a compaction leaves behind, as tokens and in words.
    """

    id: str
    agent: str
    label: str
    source: str
    date: str
    counts: str
    meter: str
    draw: Draw
    show: Show = _blank
    recorded: Callable[[int, str | None], int] = _as_it_is
    holds: Literal["context", "prompt", "estimate"] = "context"
    since: tuple[int, ...] | None = None
    until: tuple[int, ...] | None = None
    bound: bool = True
    protects: int = 0
    protected_turns: int = 0
    left: Left = summary_alone
    leaves: str = f"a summary of {SUMMARY:,} tokens (assumed)"

    def fits(self, version: str | None) -> bool:
        """Whether the agent went by this rule at `version`; of a version that is not known, only where the rule has no end."""
        numbers = numbers_of(version)
        if numbers is None:
            return self.until is None
        return (self.since is None or numbers >= self.since) and (self.until is None or numbers < self.until)


@dataclass(frozen=True, slots=True)
class Window:
    """A rule applied to a model. `thresholds` in order of tokens; empty where C is not known (`unknown` says why)."""

    rule: Rule
    limits: Limits
    settings: Settings
    thresholds: tuple[Threshold, ...]
    unknown: str | None = None

    @property
    def total(self) -> int | None:
        """The total window, C."""
        return self.limits.context

    @property
    def input_limit(self) -> int | None:
        return self.tokens_at(Name.INPUT_LIMIT)

    @property
    def compaction(self) -> int | None:
        return self.tokens_at(Name.COMPACTION)

    @property
    def output_limit(self) -> int | None:
        """The most tokens of one answer: O, or what the person set in its place."""
        return self.limits.output if self.settings.max_output is None else self.settings.max_output

    def at(self, name: Name) -> Threshold | None:
        return next((one for one in self.thresholds if one.name is name), None)

    def tokens_at(self, name: Name) -> int | None:
        threshold = self.at(name)
        return None if threshold is None else threshold.tokens


def window(rule: Rule, limits: Limits, settings: Settings = Settings()) -> Window:
    """The window of a model by a rule."""
    if limits.context is None and rule.bound:
        model = f"the window of {limits.model!r} is not known" if limits.model else "the session names no model"
        return Window(rule, limits, settings, (), f"No thresholds: {model}, and the session records none.")
    # Where a reserve leaves nothing of a small window, what stops the agent stops it at once; what only informs is left out.
    drawn = [
        one if one.tokens > 0 else replace(one, tokens=0)
        for one in rule.draw(limits, settings)
        if one.tokens > 0 or one.name in (Name.COMPACTION, Name.BLOCK, Name.INPUT_LIMIT)
    ]
    return Window(rule, limits, settings, tuple(sorted(drawn, key=lambda one: one.tokens)))


def numbers_of(version: str | None) -> tuple[int, ...] | None:
    """The numbers a version begins with: (0, 61, 0) of "0.61.0-nightly"; None where it has none."""
    found = re.match(r"v?(\d+(?:\.\d+)*)", version or "")
    return None if found is None else tuple(int(part) for part in found[1].split("."))


def shown_percent(part: int, whole: int) -> int:
    """A percentage as screens round it: half up."""
    return (200 * part + whole) // (2 * whole)
