"""What a strategy would do to a context, whole: plan, answers, edits, the context after, its tokens, checks and retention.

Pure and deterministic: the same snapshot, parameters and pins give the same preview, by `digest`. The run calls this same function, so it
does what the preview showed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

import orjson

from compaction.answers import along, answer, beside, refilled
from compaction.checks import Check, checks, failures
from compaction.masks import calls_of
from compaction.merge import applied
from compaction.plan import (
    Answer,
    Budget,
    Count,
    FilesAnswer,
    FilesAsk,
    Given,
    GivenAnswer,
    LayersAsk,
    NotWritten,
    Outcome,
    Plan,
    Snapshot,
    Status,
    SummaryAnswer,
    SummaryAsk,
)
from compaction.retention import Retention, retention
from compaction.strategies.base import Strategy
from compaction.summary.extractive import relisted
from compaction.summary.shapes import CONCLUSION, NINE
from compaction.summary.survey import Survey, survey
from compaction.summary.template import parse
from sessions.contexts import Edit, Insert, InsertKind, Item
from sessions.entries import Part, PartKind
from sessions.meters.tokens import sent_texts

LANDS = (Status.COMPLETED, Status.PRUNED_ONLY)

AGAIN = (
    *(InsertKind.FILE, InsertKind.SKILL, InsertKind.PLAN, InsertKind.GOALS),
    *(InsertKind.LAYER, InsertKind.LEARNED),
)

TOLD = 20
"""Summaries of one plan of which is told as they are written, about."""

PROGRESS = 0.05
"""A compaction that takes away less than this share is said to be hardly worth it."""


class Fate(StrEnum):
    KEPT = "kept"
    MASKED = "masked"
    FOLDED = "folded"
    PINNED = "pinned"
    GHOST = "ghost"  # hidden already before


@dataclass(frozen=True, slots=True)
class Change:
    """A row of the table of what changes: `n` things and the tokens they add (or take away, negative)."""

    what: str
    n: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Preview:
    """`items` and `tokens` are the context after (the one before, where nothing would be done). `fates`: stretches (first, last, fate) over
    the sent entries, both ends included; entries never sent do not interrupt one. `edits`: the new version in full.
    """

    strategy: str
    params: Mapping[str, Any]
    meter: str
    plan: Plan
    answers: tuple[Answer, ...]
    outcome: Outcome
    items: tuple[Item, ...]
    tokens: tuple[int, ...]
    tokens_before: int
    tokens_after: int
    window: int | None
    threshold: int | None
    fates: tuple[tuple[int, int, Fate], ...]
    counts: Mapping[str, int]
    changes: tuple[Change, ...]
    checks: tuple[Check, ...]
    retention: Retention | None
    warnings: tuple[str, ...]
    status: Status
    reason: str
    digest: str

    @property
    def edits(self) -> tuple[Edit, ...]:
        return self.outcome.edits

    @property
    def lands(self) -> bool:
        """Whether a run of it would move the head."""
        return self.status in LANDS

    @property
    def summary(self) -> SummaryAnswer | None:
        return next((a for a in self.answers if isinstance(a, SummaryAnswer)), None)

    @property
    def files(self) -> FilesAnswer | None:
        return next((a for a in self.answers if isinstance(a, FilesAnswer)), None)

    @property
    def given(self) -> tuple[Given, ...]:
        """Skills, plan and goals that are brought back."""
        return tuple(one for a in self.answers if isinstance(a, GivenAnswer) for one in a.given)

    def to_json(self) -> dict[str, Any]:
        """Everything a page or a script needs, without the kept entries' text."""
        summary, files = self.summary, self.files
        return {
            "status": self.status.value,
            "reason": self.reason,
            "lands": self.lands,
            "tokens": {
                "meter": self.meter,
                "before": self.tokens_before,
                "after": self.tokens_after,
                "window": self.window,
                "threshold": self.threshold,
            },
            "facts": dict(self.plan.facts),
            "masks": {str(seq): text for seq, text in self.plan.masks.items()}
            | {str(seq): _words(parts) for seq, parts in self.plan.bodies.items()},
            "fold": [list(span) for span in self.plan.fold.spans],
            "after": self.plan.after,
            "files_after": self.plan.files_after,
            "fates": [[first, last, fate.value] for first, last, fate in self.fates],
            "counts": dict(self.counts),
            "changes": [asdict(change) for change in self.changes],
            "checks": [{"id": c.id, "label": c.label, "ok": c.ok, "detail": c.detail} for c in self.checks],
            "retention": None if self.retention is None else self.retention.to_json(),
            "summary": None
            if summary is None
            else {
                "summariser": summary.summariser,
                "text": summary.text,
                "sections": [
                    {"title": s.title, "lines": [{"text": text, "seqs": list(seqs)} for text, seqs in s.lines]}
                    for s in summary.sections
                ],
                "cost": dict(summary.cost),
                "stands_in": summary.stands_in,
            },
            "files": None
            if files is None
            else {
                "given": [
                    {
                        "path": f.path,
                        "tokens": f.tokens,
                        "cut": f.cut,
                        "seqs": list(f.seqs),
                        "known_lines": [list(span) for span in f.known_lines],
                        "disk": None
                        if f.disk is None
                        else {
                            "modified_at": f.disk.modified_at.isoformat(),
                            "added": f.disk.added,
                            "removed": f.disk.removed,
                        },
                    }
                    for f in files.files
                ],
                "left_out": [{"path": path, "reason": reason} for path, reason in files.left_out],
            },
            "given": [
                {
                    "kind": one.kind.value,
                    "label": one.label,
                    "tokens": one.tokens,
                    "cut": one.cut,
                    "seqs": list(one.seqs),
                }
                for one in self.given
            ],
            "warnings": list(self.warnings),
        }


def _words(parts: Sequence[Part]) -> str:
    """What is left of an entry's words, results first of all."""
    results = [part.text for part in parts if part.kind is PartKind.TOOL_RESULT]
    return "\n".join(results or [part.text for part in parts if part.text])


def _nobody(_phase: str, _words: str) -> None:
    pass


type Writer = Callable[[SummaryAsk, Snapshot, Count, Survey], SummaryAnswer]
"""Writes a summary in the place of the extractive summariser. May raise NotWritten."""


def preview(
    strategy: Strategy,
    snapshot: Snapshot,
    budget: Budget,
    params: Mapping[str, Any],
    *,
    pins: Iterable[int] = (),
    without: Iterable[str] = (),
    edited_summary: str | None = None,
    instructions: str = "",
    told: Callable[[str, str], None] = _nobody,
    summariser: str = "extractive",
    writer: Writer | None = None,
) -> Preview:
    """The preview of `strategy` on `snapshot`. `params`: settled ones. `pins`: kept word for word besides those of the snapshot.
    `without`: paths of files not to bring back.

    `edited_summary`: a person's text in the place of the summariser's. `told(phase, words)` is called as it goes on. `writer`: writes the
    summary where `summariser` is not the extractive one; what a model writes is no part of the digest, since it is another each time.
    """
    snapshot = _pinned(snapshot, pins)
    told("plan", f"planning over {len(snapshot.items):,} items, {snapshot.total:,} tokens")
    plan = strategy.plan(snapshot, budget, params)
    if plan.status not in LANDS:
        return _result(snapshot, budget, params, plan, (), Outcome(snapshot.edits, plan.status, plan.reason))
    told("survey", "reading what the context holds")
    surveyed = survey(snapshot.items, calls_of(snapshot))
    answers: list[Answer] = []
    gone = frozenset(without)
    asks = [replace(ask, without=ask.without | gone) if isinstance(ask, FilesAsk) else ask for ask in plan.asks]
    brought: list[Answer] = []
    summaries = [ask for ask in asks if isinstance(ask, SummaryAsk)]
    said = {id(ask) for ask in summaries[:: 1 + len(summaries) // TOLD]}  # of thousands of folds not every one is news
    for ask in asks:
        if isinstance(ask, SummaryAsk):
            if id(ask) in said:
                told("summary", f"summarising {len(ask.items):,} items in at most {ask.max_tokens:,} tokens")
            if edited_summary is not None and not any(isinstance(a, SummaryAnswer) for a in answers):
                words = _relisted(edited_summary.strip(), ask, snapshot, surveyed, budget)
                answers.append(SummaryAnswer(ask.key, words, "edited", tuple(parse(words))))
                continue
            asked = beside(replace(ask, instructions=instructions) if instructions else ask, brought)
            if writer is None:
                answers.append(answer(asked, snapshot, budget.count, surveyed=surveyed))
                continue
            try:
                answers.append(writer(asked, snapshot, budget.count, surveyed))
            except NotWritten as failure:
                nothing = Outcome(snapshot.edits, failure.status, str(failure))
                return _result(snapshot, budget, params, plan, tuple(answers), nothing, summariser=summariser)
        elif not isinstance(ask, FilesAsk):
            told("again", "finding skills, plan, goals and memory")
            ask = along(ask, brought) if isinstance(ask, LayersAsk) else ask  # noqa: PLW2901 -- the same ask, filled in
            answers.append(answer(ask, snapshot, budget.count, surveyed=surveyed))
        else:
            told("files", "reconstructing files from the transcript")
            brought.append(answer(ask, snapshot, budget.count, surveyed=surveyed))
            answers.append(brought[-1])
    if writer is None:  # a model's summary has another length each time: what it leaves is not known beforehand
        answers = refilled(asks, answers, snapshot, budget.count, surveyed=surveyed)
    told("check", "checking the new context")
    outcome = strategy.finish(plan, snapshot, answers)
    return _result(
        snapshot,
        budget,
        params,
        plan,
        tuple(answers),
        outcome,
        surveyed,
        _notes(answers, instructions),
        summariser=summariser,
    )


def _relisted(words: str, ask: SummaryAsk, snapshot: Snapshot, surveyed: Survey, budget: Budget) -> str:
    """A person's words for `ask`, with the list of files and commands below them where they are a summary's; a note on a goal has none."""
    if ask.template == CONCLUSION:
        return words
    keys = {item.key for item in ask.items}
    folded = {n for n, item in enumerate(snapshot.items) if item.key in keys}
    return relisted(words, surveyed, folded, max_tokens=ask.max_tokens, count=budget.count)


def _notes(answers: Sequence[Answer], instructions: str) -> tuple[str, ...]:
    """What is worth saying of how the summaries were written."""
    written = [one for one in answers if isinstance(one, SummaryAnswer)]
    out = [note for one in written for note in one.notes]
    if instructions and any(one.summariser == "extractive" for one in written):
        out.append("the extractive summariser takes no instructions: they had no effect")
    return tuple(dict.fromkeys(out))


def with_inserts(made: Preview, snapshot: Snapshot, budget: Budget, inserts: Sequence[Insert]) -> Preview:
    """A preview that lands, with more text in its context: counted and checked anew, its retention as it was. Its digest stays that of the
    plan: what is added is no part of it.
    """
    outcome = replace(made.outcome, edits=(*made.outcome.edits, *inserts))
    longer = _result(snapshot, budget, made.params, made.plan, made.answers, outcome)
    return replace(longer, retention=made.retention, warnings=made.warnings, digest=made.digest)


def _pinned(snapshot: Snapshot, pins: Iterable[int]) -> Snapshot:
    wanted = snapshot.pinned | frozenset(pins)
    if not wanted or all(item.pinned for item in snapshot.items if item.seq in wanted):
        return replace(snapshot, pinned=wanted)
    items = tuple(replace(i, pinned=True) if i.seq in wanted and not i.pinned else i for i in snapshot.items)
    return replace(snapshot, items=items, pinned=wanted)


def _result(
    snapshot: Snapshot,
    budget: Budget,
    params: Mapping[str, Any],
    plan: Plan,
    answers: tuple[Answer, ...],
    outcome: Outcome,
    surveyed: Survey | None = None,
    warnings: tuple[str, ...] = (),
    *,
    summariser: str = "extractive",
) -> Preview:
    before = snapshot.total
    lands = outcome.status in LANDS
    items = tuple(applied(snapshot, outcome.edits)) if lands else snapshot.items
    tokens = _tokens(snapshot, items, budget) if lands else snapshot.tokens
    after = sum(tokens)
    found: tuple[Check, ...] = ()
    report: Retention | None = None
    status, reason = outcome.status, outcome.reason
    if lands:
        shape = next((ask.template for ask in plan.asks if isinstance(ask, SummaryAsk)), NINE)
        found = tuple(
            checks(snapshot.items, items, tokens_before=before, tokens_after=after, pinned=snapshot.pinned, shape=shape)
        )
        wrong = failures(found)
        if wrong:
            status, reason = wrong[0].status, "; ".join(f"{check.label}: {check.detail}" for check in wrong)
        if surveyed is not None:
            report = retention(surveyed, snapshot.items, items)
    fates, counts = _fates(snapshot, items)
    return Preview(
        strategy=plan.strategy,
        params=params,
        meter=budget.meter,
        plan=plan,
        answers=answers,
        outcome=outcome,
        items=items,
        tokens=tokens,
        tokens_before=before,
        tokens_after=after,
        window=budget.window,
        threshold=budget.threshold,
        fates=fates,
        counts=counts,
        changes=tuple(_changes(snapshot, items, tokens)) if lands else (),
        checks=found,
        retention=report,
        warnings=(*warnings, *outcome.warnings, *_warnings(plan, before, after, report, lands=lands)),
        status=status,
        reason=reason,
        digest=_digest(plan, answers, outcome, snapshot, summariser),
    )


def _tokens(snapshot: Snapshot, items: Sequence[Item], budget: Budget) -> tuple[int, ...]:
    """Tokens of each item after: as measured before where it is the same, else counted anew by the same meter."""
    known = {id(item.parts): tokens for item, tokens in zip(snapshot.items, snapshot.tokens, strict=True)}
    counted: Mapping[str, int] = snapshot.memo.get("counted", {})  # the lines of masks
    out: list[int] = []
    texts: list[str] = []
    owners: list[int] = []
    for n, item in enumerate(items):
        tokens = known.get(id(item.parts))
        out.append(tokens or 0)
        if tokens is None:
            for part in item.parts:
                for text in sent_texts(part):
                    cost = counted.get(text)
                    if cost is not None:
                        out[n] += cost
                        continue
                    texts.append(text)
                    owners.append(n)
    for n, tokens in zip(owners, budget.count(texts), strict=True):
        out[n] += tokens
    return tuple(out)


def _fates(snapshot: Snapshot, after: Sequence[Item]) -> tuple[tuple[tuple[int, int, Fate], ...], dict[str, int]]:
    bodies = {item.seq: item for item in after if item.seq is not None}
    by_seq: dict[int, Fate] = {}
    for item in snapshot.items:
        seq = item.seq
        if seq is None:
            continue
        new = bodies.get(seq)
        if new is None:
            by_seq[seq] = Fate.FOLDED
        elif item.pinned:
            by_seq[seq] = Fate.PINNED
        else:
            by_seq[seq] = Fate.MASKED if new.masked else Fate.KEPT
    if snapshot.ghosts:
        for item in snapshot.log():
            if item.seq is not None and item.seq not in by_seq and item.seq in snapshot.ghosts:
                by_seq[item.seq] = Fate.GHOST
    stretches: list[tuple[int, int, Fate]] = []
    for seq in sorted(by_seq):
        fate = by_seq[seq]
        if stretches and stretches[-1][2] is fate and fate is not Fate.PINNED:
            stretches[-1] = (stretches[-1][0], seq, fate)
        else:
            stretches.append((seq, seq, fate))
    counts = {fate.value: 0 for fate in Fate} | {fate.value: n for fate, n in Counter(by_seq.values()).items()}
    old = {id(item.parts) for item in snapshot.items if item.inserted}
    counts["re-injected"] = sum(1 for item in after if item.kind in AGAIN and id(item.parts) not in old)
    return tuple(stretches), counts


_ADDED = {
    InsertKind.SUMMARY: "summary",
    InsertKind.MEMORY: "memory",
    InsertKind.FILE: "files",
    InsertKind.SKILL: "skills",
    InsertKind.PLAN: "plan",
    InsertKind.GOALS: "goals",
    InsertKind.LAYER: "memory files",
    InsertKind.LEARNED: "project memory",
}
"""Under which name the table of changes counts a new insertion."""


def _changes(snapshot: Snapshot, items: Sequence[Item], tokens: Sequence[int]) -> list[Change]:
    was = {item.seq: n for n, item in enumerate(snapshot.items) if item.seq is not None}
    old = {id(item.parts): n for n, item in enumerate(snapshot.items) if item.inserted}
    rows = {name: [0, 0] for name in ("masked", "folded", "superseded", *_ADDED.values(), "other")}

    def count(name: str, tokens: int) -> None:
        rows[name][0] += 1
        rows[name][1] += tokens

    seen: set[int] = set()
    for item, now in zip(items, tokens, strict=True):
        if item.seq is None:
            place = old.get(id(item.parts))
            if place is not None:
                seen.add(place)
            else:
                count(_ADDED.get(InsertKind(item.kind), "other"), now)
            continue
        place = was[item.seq]
        seen.add(place)
        if item.parts is not snapshot.items[place].parts:
            count("masked", now - snapshot.tokens[place])
    for n, item in enumerate(snapshot.items):
        if n not in seen:
            count("folded" if item.seq is not None else "superseded", -snapshot.tokens[n])
    return [Change(name, n, delta) for name, (n, delta) in rows.items() if n]


def _warnings(plan: Plan, before: int, after: int, report: Retention | None, *, lands: bool) -> list[str]:
    out: list[str] = []
    if not lands:
        return out
    aim = plan.facts.get("used", {}).get("aim")
    if aim is not None and after > aim:
        out.append(f"{after:,} tokens are more than the {aim:,} aimed for: what may be folded is folded")
    if 0 < before - after < before * PROGRESS:
        out.append(f"it takes away only {before - after:,} of {before:,} tokens")
    if report is None:
        return out
    if report.instructions and report.instructions_kept < report.instructions * 0.9:
        lost = report.instructions - report.instructions_kept
        out.append(
            f"{lost} of {report.instructions} instructions of the user are not kept word for word: pin them, or allow a longer summary"
        )
    for kind in report.kinds:
        if kind.kind in ("todo", "edited") and kind.lost:
            out.append(f"{kind.lost} of {kind.total} {kind.label} would be lost: pin them, or allow a longer summary")
    return out


def _digest(plan: Plan, answers: Sequence[Answer], outcome: Outcome, snapshot: Snapshot, summariser: str) -> str:
    """Of all that is done. Of a text that a model writes only its place: the text is another each time."""
    by_model = summariser != "extractive"
    open_texts = [
        one.text for one in answers if by_model and isinstance(one, SummaryAnswer) and one.summariser != "edited"
    ]
    inserts = [
        [
            edit.after,
            edit.role.value,
            edit.kind.value,
            summariser
            if any(text and text in edit.text for text in open_texts)
            else [part.to_json() for part in edit.parts],
            edit.stands_for.spans,
            edit.label,
        ]
        for edit in outcome.edits
        if isinstance(edit, Insert)
    ]
    said = [
        plan.strategy,
        (plan if open_texts else outcome).status.value,
        snapshot.last_seq,
        sorted(plan.masks.items()),
        [[seq, [part.to_json() for part in parts]] for seq, parts in sorted(plan.bodies.items())],
        plan.fold.spans,
        plan.absorb,
        plan.after,
        plan.files_after,
        inserts,
        [summariser if by_model else a.summariser for a in answers if isinstance(a, SummaryAnswer)],
    ]
    return hashlib.blake2b(orjson.dumps(said), digest_size=16).hexdigest()
