"""What the agents' own ways have in common: one fold behind one summary, and what comes back beside it.

An agent's compaction replaces its history; here entries stay, and what the agent would drop is folded. Three of our promises go before
an agent's rule: the newest message of a person, pinned entries and standing instructions stay word for word; results of plans, questions
and agents are never left with less; and what comes back never takes up more than half of what the fold sets free.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from compaction.folding import (
    LEAST_FOLD,
    Places,
    blocks_of,
    is_summary,
    kept_blocks,
    numbers_of,
    spans,
    standing_of,
    stays,
)
from compaction.merge import number_of
from compaction.outputs import Left
from compaction.plan import (
    Ask,
    Budget,
    FilesAsk,
    GoalsAsk,
    LayersAsk,
    LearnedAsk,
    Plan,
    PlanAsk,
    SkillsAsk,
    Snapshot,
    Status,
    SummaryAsk,
)
from compaction.reinject.cutting import LEAST
from compaction.strategies.base import Param
from sessions.contexts import Insert, InsertKind, Item
from sessions.entries import Part, PartKind, Role
from sessions.ranges import Ranges
from sessions.windows import Rule, window
from sessions.windows.base import Limits

SUMMARY, FILES, SKILLS, PLAN, GOALS, LAYERS, LEARNED = (
    "summary",
    "files",
    "skills",
    "plan",
    "goals",
    "layers",
    "learned",
)
ALWAYS, DUE, NEVER = "always", "at the threshold", "never"

LEAST_SUMMARY = 250
LEAST_GOALS = 20
TYPICAL = 3_000
"""Tokens to which the summaries of agents' own models come as a rule, far under the caps they set."""


def compact_param(default: str = ALWAYS) -> Param:
    return Param(
        "compact",
        "Compact",
        "choice",
        default,
        choices=(ALWAYS, DUE, NEVER),
        source="the agents: always when a person asks for it, else at their threshold",
    )


def threshold_param(whose: str) -> Param:
    return Param(
        "threshold",
        "Threshold",
        "tokens",
        None,
        0,
        source=whose,
        auto="by that rule for this session's window; where the window is not known, where its own agent compacts",
    )


def summary_param(cap: str) -> Param:
    return Param(
        "summary",
        "Summary, at most",
        "tokens",
        None,
        LEAST_SUMMARY,
        source=cap,
        auto=f"{TYPICAL:,}, what such summaries come to, or half of what is folded where that is less",
    )


def threshold(given: int | None, rule: Rule, budget: Budget) -> int | None:
    """Where compaction is due: as given, else by the rule for the window at hand, else where the session's own agent compacts."""
    if given is not None:
        return given
    known = None
    if budget.window is not None or not rule.bound:
        known = window(rule, Limits(None, budget.window)).compaction
    return budget.threshold if known is None else known


def light(name: str, compact: str, total: int, at: int | None, left: Left, facts: dict[str, Any]) -> Plan | None:
    """The plan where nothing is folded: compaction is off, or not due yet at `total` tokens. None where it goes on."""
    if compact == ALWAYS or (compact == DUE and at is not None and total >= at):
        return None
    if left.bodies:
        return Plan(name, Status.PRUNED_ONLY, bodies=left.bodies, facts=facts)
    if compact == NEVER:
        return Plan(name, Status.NOOP_NOTHING_TO_DO, "no output may be left with less, and folding is off", facts=facts)
    reason = (
        "no threshold is known for this session: give one, or compact always"
        if at is None
        else f"the context is {total:,} tokens, under the threshold of {at:,}"
    )
    return Plan(name, Status.NOOP_BELOW_THRESHOLD, reason, facts=facts)


@dataclass(frozen=True, slots=True)
class Again:
    """What comes back beside the summary, in tokens; 0: nothing of it."""

    files: int = 0  # how many
    file_each: int = 0
    file_total: int = 0
    skill_each: int = 0
    skill_total: int = 0
    plan: int = 0
    goals: int = 0
    layer_each: int = 0
    layer_total: int = 0
    layer_down: int = 0  # folders below the session's own that are looked into
    learned: int = 0

    @property
    def kinds(self) -> set[InsertKind]:
        """Kinds of insertions that give way to newer ones."""
        wanted = {
            InsertKind.FILE: self.files,
            InsertKind.SKILL: self.skill_total,
            InsertKind.PLAN: self.plan,
            InsertKind.GOALS: self.goals,
            InsertKind.LAYER: self.layer_total,
            InsertKind.LEARNED: self.learned,
        }
        return {kind for kind, any_ in wanted.items() if any_}

    def within(self, room: int) -> Again:
        """The same in no more than `room` tokens: where that is too little, each kind takes the same share less."""
        wanted = (
            *(self.file_total if self.files else 0, self.skill_total, self.plan, self.goals),
            *(self.layer_total, self.learned),
        )
        files, skills, plan, goals, layers, learned = (min(one, one * room // max(1, sum(wanted))) for one in wanted)
        return replace(
            self,
            file_each=min(self.file_each, files),
            file_total=files,
            skill_each=min(self.skill_each, skills),
            skill_total=skills,
            plan=plan,
            goals=goals,
            layer_each=min(self.layer_each, layers),
            layer_total=layers,
            learned=learned,
        )

    def asks(self, kept: Ranges) -> list[Ask]:
        out: list[Ask] = []
        if self.files and self.file_total >= LEAST:
            out.append(FilesAsk(FILES, self.files, self.file_each, self.file_total, kept=kept))
        if self.skill_total >= LEAST:
            out.append(SkillsAsk(SKILLS, self.skill_each, self.skill_total, kept))
        if self.plan >= LEAST:
            out.append(PlanAsk(PLAN, self.plan, kept))
        if self.goals >= LEAST_GOALS:
            out.append(GoalsAsk(GOALS, self.goals))
        if self.layer_total >= LEAST:
            out.append(LayersAsk(LAYERS, self.layer_each, self.layer_total, kept, down=self.layer_down))
        if self.learned >= LEAST:
            out.append(LearnedAsk(LEARNED, self.learned))
        return out


def _as_they_are(items: Sequence[Item]) -> Sequence[Item]:
    return items


@dataclass(frozen=True, slots=True)
class Way:
    """How an agent compacts. `shape`: of its summary, by id; `most`: tokens of it, None as `summary_param` says. `anchored`: the earlier summary
    is carried on, not summarised like the rest. `behind`: the summary stands where the fold ends, not where it begins; it does so anyway where nothing
    is kept behind the fold, since the newest message would else read as if nothing had been done about it. `reads`: what the agent shows its
    summariser of the folded items. `answer`: the model's words with which the new history begins, "" where there are none. `again_last`: what comes back stands at
    the end, not right behind the summary. `window`: as far as what comes back is to know it.
    """

    shape: str
    most: int | None = None
    anchored: bool = True
    critique: bool = False
    behind: bool = False
    reads: Callable[[Sequence[Item]], Sequence[Item]] = _as_they_are
    answer: str = ""
    again: Again = field(default_factory=Again)
    again_last: bool = False
    window: int | None = None


def room_again(snapshot: Snapshot, left: Left, told: Collection[int], written: int, window: int | None) -> int:
    """Tokens that what comes back may take together: half of what goes, so that no run is for nothing.

    Where the window is known that is half of what stood there before outputs were cleared, up to half of the window: agents set their budgets
    whatever was cleared. Where it is not known, half of what stands there now.
    """
    now = max(0, sum(left.tokens[n] for n in told) - written) // 2
    if window is None:
        return now
    before = max(0, sum(snapshot.tokens[n] for n in told) - written) // 2
    return max(now, min(before, window // 2))


def folded(name: str, snapshot: Snapshot, left: Left, way: Way, keep: Collection[int], facts: dict[str, Any]) -> Plan:
    """The plan that folds all but the positions `keep`, with their whole answers, and what no fold may take. Linear in the items."""
    items = snapshot.items
    of = blocks_of(snapshot).of
    whole = kept_blocks(snapshot) | {of[n] for n in keep}
    kinds = way.again.kinds
    superseded = {n for n, item in enumerate(items) if item.kind in kinds and number_of(item) is not None}
    gone = {n for n in range(len(items)) if (of[n] not in whole or n in superseded) and not stays(items[n])}
    old = {n for n in gone if is_summary(items[n])}
    told = gone - superseded
    fresh = sum(snapshot.tokens[n] for n in told - old)
    if fresh < LEAST_FOLD:
        return _too_little(name, left, fresh, facts, again=bool(old))
    if not any(part.text and part.kind is not PartKind.MEDIA for n in told for part in items[n].parts):
        reason = "only pictures and documents would be folded: there are no words to summarise"
        return Plan(name, Status.NOOP_NOTHING_TO_DO, reason, facts=facts)
    size = sum(left.tokens[n] for n in told)
    most = min(TYPICAL if way.most is None else way.most, max(LEAST_SUMMARY, size // 2))
    again = way.again.within(room_again(snapshot, left, told, most, way.window))
    kept = tuple(left.items[n] for n in range(len(items)) if n not in gone)
    hidden = spans(gone, items)
    ask = SummaryAsk(
        SUMMARY,
        tuple(way.reads([left.items[n] for n in sorted(told)])),
        kept,
        most,
        way.shape,
        previous="\n\n".join(items[n].text for n in sorted(old)) if way.anchored else "",
        critique=way.critique,
    )
    places = Places(snapshot, gone)
    end = end_of(snapshot, gone)
    last = max(told)
    behind = way.behind or all(n in gone or n in standing_of(snapshot) for n in range(last + 1, len(items)))
    behind = behind and opens(kept)
    after = places.before(last + 1 if behind else min(told))
    facts |= {
        "folded_entries": sum(1 for n in told if items[n].seq is not None),
        "folded_tokens": size,
        "kept_word_for_word": sum(left.tokens[n] for n in range(len(items)) if n not in gone),
        "summary_max": most,
    }
    facts.setdefault("used", {}).update(file_each=again.file_each, file_total=again.file_total)
    return Plan(
        name,
        bodies={seq: parts for seq, parts in left.bodies.items() if seq not in hidden},
        fold=hidden,
        absorb=numbers_of(items, gone),
        after=after,
        files_after=places.before(end) if way.again_last else after,
        inserts=(answered(after, way.answer),) if way.answer else (),
        asks=(ask, *again.asks(untouched(kept))),
        facts=facts,
    )


def opens(kept: Sequence[Item]) -> bool:
    """Whether a user speaks first in what is kept: else the summary must, and stands in front."""
    first = next((item.role for item in kept if item.role not in (Role.SYSTEM, Role.DEVELOPER, None)), None)
    return first is None or first is Role.USER


def answered(after: int, words: str) -> Insert:
    """What an agent lets the model say to its summary, so that the roles go on in turn."""
    return Insert(
        after, Role.ASSISTANT, InsertKind.MESSAGE, (Part(PartKind.TEXT, words),), label="Answer to the summary"
    )


def untouched(kept: Sequence[Item]) -> Ranges:
    """The entries among these that stand there whole."""
    return Ranges.from_numbers(item.seq for item in kept if item.seq is not None and not item.masked)


def _too_little(name: str, left: Left, fresh: int, facts: dict[str, Any], *, again: bool) -> Plan:
    if left.bodies:
        return Plan(name, Status.PRUNED_ONLY, bodies=left.bodies, facts=facts)
    reason = (
        "nothing came since the last compaction that would be folded"
        if again
        else f"only {fresh:,} tokens would be folded: a summary would not be smaller"
    )
    return Plan(name, Status.NOOP_NOTHING_TO_DO, reason, facts=facts)


def end_of(snapshot: Snapshot, gone: Collection[int]) -> int:
    """The position before which text stands that goes to the end: behind everything, but before an answer whose calls still wait for results."""
    of, first = blocks_of(snapshot).of, blocks_of(snapshot).first
    kept = next((n for n in range(len(snapshot.items) - 1, -1, -1) if n not in gone), None)
    if kept is None or not snapshot.items[kept].calls:
        return len(snapshot.items)
    return first[of[kept]]


def used(params: Mapping[str, Any], **found: Any) -> dict[str, Any]:
    """The figures a plan went by: the parameters, and what was found for those left open."""
    return {name: value for name, value in params.items() if value is not None} | {
        name: value for name, value in found.items() if value is not None
    }


def costs_of(snapshot: Snapshot) -> dict[str, int]:
    """Tokens of each item by its key, for what is shown to a summariser."""
    return {item.key: tokens for item, tokens in zip(snapshot.items, snapshot.tokens, strict=True)}


def tail_from(cuts: Sequence[bool], position: int) -> int:
    """The nearest place at or after `position` where a context may be cut; its end where there is none."""
    return next((n for n in range(position, len(cuts)) if cuts[n]), len(cuts) - 1)


def tail_to(cuts: Sequence[bool], position: int) -> int:
    """The nearest place at or before `position` where a context may be cut."""
    return next((n for n in range(position, -1, -1) if cuts[n]), 0)
