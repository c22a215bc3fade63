"""What a strategy works on and what it returns: snapshot, budget, plan, asks, answers, outcome. Pure values.

A strategy never calls a model and never opens a file. Its plan says what to keep, mask, fold and what it asks; the shell answers;
`finish` returns edits. So a strategy is tested with plain lists, and previewing a plan costs no model token.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from compaction.reinject.reading import DiskNote, Reading
from sessions.contexts import Edit, Insert, InsertKind, Item
from sessions.entries import Part
from sessions.goals import Goal
from sessions.ranges import Ranges

type Count = Callable[[Sequence[str]], list[int]]
"""Tokens of each text, by one meter: the same before and after."""


class Status(StrEnum):
    """How a run ends. Only `completed` and `pruned_only` move the head."""

    COMPLETED = "completed"
    PRUNED_ONLY = "pruned_only"  # masks alone sufficed: nothing was folded
    NOOP_BELOW_THRESHOLD = "noop_below_threshold"
    NOOP_NOTHING_TO_DO = "noop_nothing_to_do"
    FAILED_INFLATED = "failed_inflated"
    FAILED_EMPTY_SUMMARY = "failed_empty_summary"
    FAILED_BAD_TEMPLATE = "failed_bad_template"
    FAILED_CONTEXT_OVERFLOW = "failed_context_overflow"
    FAILED_TOKEN_COUNT = "failed_token_count"  # noqa: S105 -- tokens of a text
    FAILED_PROVIDER = "failed_provider"
    FAILED_INVARIANT = "failed_invariant"  # a check of `compaction.checks` does not hold
    BLOCKED_BY_HOOK = "blocked_by_hook"
    INTERRUPTED = "interrupted"  # cancelled, or its worker died too often
    STALE = "stale"  # the context moved on before the run could land
    BREAKER_OPEN = "breaker_open"


@dataclass(frozen=True, slots=True)
class KeptMemory:
    """The memory of a session, kept while it went on: `text` in its ten sections, `until` the newest entry that is in it."""

    text: str
    until: int


@dataclass(frozen=True, slots=True)
class Learned:
    """One note of a project's memory. `kind`: user, feedback, project or reference."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The context a run starts from, frozen.

    `items`: as the agent would send them (paired, in order). `tokens`: of each item by the run's meter, same order. `ghosts`: what the
    version already hides. `pinned`: entries that must stay word for word. `log`: all sent entries of the active path up to the
    snapshot, also hidden ones, for what needs the whole transcript (files, errors, requests); lazily loaded. `goals`: the session's tree,
    in its order, lazily loaded too; an item's own `goal` names the path it belongs to. `memory`: the session's kept memory; None where
    none is kept, and a strategy that would build on it summarises instead. `disk`: what may be read of this machine's disk for the session; None: nothing. `learned`: what
    a person accepted of what the project's sessions taught. `now`: the time by which a provider's cache has gone cold or
    not; None: the time of the newest entry.
    """

    items: tuple[Item, ...]
    tokens: tuple[int, ...]
    last_seq: int
    edits: tuple[Edit, ...] = ()
    ghosts: Ranges = field(default_factory=Ranges)
    pinned: frozenset[int] = frozenset()
    log: Callable[[], Sequence[Item]] = lambda: ()
    goals: Callable[[], Sequence[Goal]] = lambda: ()
    memory: KeptMemory | None = None
    disk: Reading | None = None
    learned: Callable[[], Sequence[Learned]] = lambda: ()
    now: datetime | None = None
    agent: str = ""
    cwd: str | None = None
    memo: dict[str, Any] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )  # what was derived from `items` once

    @property
    def total(self) -> int:
        return sum(self.tokens)


@dataclass(frozen=True, slots=True)
class Budget:
    """How large a context may be. `window`: the model's, in tokens; `threshold`: where the session's own agent compacts (None: not
    known). `count` is the run's meter, named `meter`.
    """

    meter: str
    count: Count
    window: int | None = None
    threshold: int | None = None


@dataclass(frozen=True, slots=True)
class SummaryAsk:
    """Write the summary of `items`. `kept`: what stays word for word beside it (it need not be repeated). At most `max_tokens`.

    `instructions`: a person's wishes, handed over as data. Earlier summaries among `items` are to be carried on, not paraphrased.
    `focus`: what the reader of the summary wants to do; what bears on it comes first.

    `template`: the shape a model is to write in, by its id in `compaction.summary.shapes`; the extractive summariser writes its nine
    sections whatever is asked. `previous`: the earlier summary that the new one carries on, "" where it is written anew (that summary stands
    among `items` too). `critique`: a model is to read its draft once more against `items` and to hand in the better one; a summariser
    without drafts takes no notice. `shared`: tokens beyond `max_tokens` that it has together with the files brought back: what those leave
    of them is the summary's. `brought`: the texts that are brought back, which it need not repeat. A strategy asks for files first then;
    `compaction.answers.beside` fills both in. `fill`: a summariser that chooses lines spends all its tokens, on lines of code that use a name
    likely to be needed where nothing else is left to be said; a writer takes no notice.
    """

    key: str
    items: tuple[Item, ...]
    kept: tuple[Item, ...]
    max_tokens: int
    template: str = "nine-sections"
    instructions: str = ""
    previous: str = ""
    critique: bool = False
    focus: str = ""
    shared: int = 0
    brought: tuple[str, ...] = ()
    fill: bool = False


@dataclass(frozen=True, slots=True)
class FilesAsk:
    """Give back the newest state of files the session worked on, most recently used first.

    `each` and `total` are token budgets, `count` the largest number of files; `without`: paths not to give back. `kept`: entries that
    stay word for word; a file that can be read off them alone is not repeated. `pieces`: instead of files by last use, the pieces of any
    file that are most likely to be worked on next; `cut`: entries that stay with less: what they show still is not repeated. `spare`: they may also take what the summary leaves of its own tokens.
    """

    key: str
    count: int
    each: int
    total: int
    without: frozenset[str] = frozenset()
    kept: Ranges = field(default_factory=Ranges)
    pieces: bool = False
    cut: tuple[Item, ...] = ()
    spare: bool = False


@dataclass(frozen=True, slots=True)
class SkillsAsk:
    """Give back the skills the session invoked, the latest first: of each at most `each` tokens from its head, `total` in all.

    `kept`: entries that stay word for word; a skill that stands there is not repeated.
    """

    key: str
    each: int
    total: int
    kept: Ranges = field(default_factory=Ranges)


@dataclass(frozen=True, slots=True)
class PlanAsk:
    """Give back the plan the session works by, as it was last written, in at most `most` tokens. `kept`: as in `SkillsAsk`."""

    key: str
    most: int
    kept: Ranges = field(default_factory=Ranges)


@dataclass(frozen=True, slots=True)
class GoalsAsk:
    """Give back the open goals of the session's own tree, the one in progress marked, in at most `most` tokens."""

    key: str
    most: int


@dataclass(frozen=True, slots=True)
class LayersAsk:
    """Give back the memory files that hold where the work goes on: a person's own, the project's, and those of the folders of `paths`, which are
    the files that are brought back (`compaction.answers.beside` fills them in). Of each at most `each` tokens, `total` in all. `kept`: as in
    `SkillsAsk`. `down`: folders below the session's own that are looked into besides.
    """

    key: str
    each: int
    total: int
    kept: Ranges = field(default_factory=Ranges)
    paths: tuple[str, ...] = ()
    down: int = 0


@dataclass(frozen=True, slots=True)
class LearnedAsk:
    """Give back the index of the project's memory, in at most `most` tokens."""

    key: str
    most: int


type Ask = SummaryAsk | FilesAsk | SkillsAsk | PlanAsk | GoalsAsk | LayersAsk | LearnedAsk


@dataclass(frozen=True, slots=True)
class Section:
    """One section of a structured summary; `lines` name the entries they come from."""

    title: str
    lines: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def text(self) -> str:
        return "\n".join(line for line, _ in self.lines)


@dataclass(frozen=True, slots=True)
class SummaryAnswer:
    """A written summary. `text` is exactly what will be sent; `sections` the same in structure, where the writer has one.

    `stands_in`: a model will write it when the run is carried out, and until then this text stands in its place. `notes`: what is worth
    saying of how it was written. `listed`: the list of files and commands at the end of a model's text, which is not the model's.
    """

    key: str
    text: str
    summariser: str
    sections: tuple[Section, ...] = ()
    cost: Mapping[str, Any] = field(default_factory=dict)
    stands_in: bool = False
    notes: tuple[str, ...] = ()
    listed: str = ""


class NotWritten(Exception):
    """A summary that could not be had: `status` says how the run ends, the message why."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as the transcript last knew it. `cut`: tokens left out at the budget, 0 when whole. `known_lines`: line numbers known
    (half-open, from 1) when only parts were ever read; empty = the whole file is known.
    """

    path: str
    text: str
    tokens: int
    seqs: tuple[int, ...]  # the entries it was reconstructed from
    cut: int = 0
    known_lines: tuple[tuple[int, int], ...] = ()
    disk: DiskNote | None = None  # it comes from the disk, where it is newer


@dataclass(frozen=True, slots=True)
class FilesAnswer:
    """`left_out`: paths that would have been next and are not given, each with the reason in words."""

    key: str
    files: tuple[FileState, ...]
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """One text brought back beside the summary: a skill, the plan, the open goals. `text` is exactly what will be sent; `seqs`: the entries it
    comes from; `cut`: tokens left out at the budget, 0 when whole.
    """

    kind: InsertKind
    label: str
    text: str
    tokens: int
    seqs: tuple[int, ...] = ()
    cut: int = 0


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """`given`: in the order of their worth, the first the best; `left_out`: as in `FilesAnswer`."""

    key: str
    given: tuple[Given, ...]
    left_out: tuple[tuple[str, str], ...] = ()


type Answer = SummaryAnswer | FilesAnswer | GivenAnswer


@dataclass(frozen=True, slots=True)
class Fold:
    """One of several folds of a plan: `ranges` go, and what the ask `key` brings stands behind entry `after` for them, between the texts
    `head` and `tail` of the strategy itself. Where there is no such ask, those two are all that is said. `absorb`: as in `Plan`.
    `label`: names the fold, so that a later run knows its own.
    """

    key: str
    ranges: Ranges
    after: int
    label: str
    head: str = ""
    tail: str = ""
    absorb: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What a strategy will do. `masks`: seq → placeholder text of its results; `fold`: entries to hide behind the summary.

    `absorb`: insertions of the base version, by their number among its insertions, that go with the fold (an earlier summary, re-injected
    files). `after`: the entry behind which the summary goes, `files_after` that of the files. `status` other than completed/pruned_only: nothing will be done, `reason` says
    why. `bodies`: seq → the parts that an entry is left with where a line for each result does not say it (the head and tail of an
    output). `inserts`: texts of the strategy's own that need no answer, put in behind the summary. `folds`: where there are several, each with its own place and text; `fold` and `absorb`
    are then their unions. `facts`: figures worth showing (tokens freed by masks, tail kept …). JSON-able apart from `asks`.
    """

    strategy: str  # "hybrid:1": id and version, stored with every run
    status: Status = Status.COMPLETED
    reason: str = ""
    masks: Mapping[int, str] = field(default_factory=dict)
    bodies: Mapping[int, tuple[Part, ...]] = field(default_factory=dict)
    fold: Ranges = field(default_factory=Ranges)
    absorb: tuple[int, ...] = ()
    folds: tuple[Fold, ...] = ()
    after: int = -1
    files_after: int = -1
    inserts: tuple[Insert, ...] = ()
    asks: tuple[Ask, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The new version in full: every edit against the raw log, old ones included."""

    edits: tuple[Edit, ...]
    status: Status
    reason: str = ""
    warnings: tuple[str, ...] = ()
