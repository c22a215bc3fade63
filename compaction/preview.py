"""What a strategy would do to a context, whole: plan, answers, edits, the context after, its tokens, checks and retention.

Pure and deterministic: the same snapshot, parameters and pins give the same preview, by `digest`. The run calls this same function, so it
does what the preview showed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import orjson

from compaction.answers import along, answer, beside, refilled
from compaction.checks import Check, checks, failures, words_of
from compaction.difference import difference
from compaction.fates import Change, Fate, changes_of, fates_of, tokens_after
from compaction.masks import calls_of
from compaction.merge import applied
from compaction.plan import (
    Answer,
    Ask,
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
from compaction.reinject.reading import DiskNote
from compaction.retention import Retention, retention
from compaction.strategies.base import Strategy
from compaction.summary.extractive import relisted
from compaction.summary.shapes import CONCLUSION, NINE
from compaction.summary.survey import Survey, survey
from compaction.summary.template import parse
from sessions.contexts import Edit, Insert, Item
from sessions.entries import Part, PartKind

LANDS = (Status.COMPLETED, Status.PRUNED_ONLY)

TOLD = 20
"""Summaries of one plan of which is told as they are written, about."""

PROGRESS = 0.05
"""A compaction that takes away less than this share is said to be hardly worth it."""


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
            "fates": [[first, last, str(fate)] for first, last, fate in self.fates],
            "counts": dict(self.counts),
            "changes": [asdict(change) for change in self.changes],
            "checks": [{"id": c.id, "label": c.label, "ok": c.ok, "detail": c.detail} for c in self.checks],
            "retention": None if self.retention is None else self.retention.to_json(),
            "summary": None if summary is None else _summary_json(summary),
            "files": None if files is None else _files_json(files),
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


def _summary_json(summary: SummaryAnswer) -> dict[str, Any]:
    return {
        "summariser": summary.summariser,
        "text": summary.text,
        "sections": [
            {"title": section.title, "lines": [{"text": text, "seqs": list(seqs)} for text, seqs in section.lines]}
            for section in summary.sections
        ],
        "cost": dict(summary.cost),
        "stands_in": summary.stands_in,
    }


def _files_json(files: FilesAnswer) -> dict[str, Any]:
    return {
        "given": [
            {
                "path": file.path,
                "tokens": file.tokens,
                "cut": file.cut,
                "seqs": list(file.seqs),
                "known_lines": [list(span) for span in file.known_lines],
                "disk": None if file.disk is None else _disk_json(file.disk),
            }
            for file in files.files
        ],
        "left_out": [{"path": path, "reason": reason} for path, reason in files.left_out],
    }


def _disk_json(note: DiskNote) -> dict[str, Any]:
    return {"modified_at": note.modified_at.isoformat(), "added": note.added, "removed": note.removed}


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
    surveyed = _survey_of(snapshot)
    gone = frozenset(without)
    asks = [replace(ask, without=ask.without | gone) if isinstance(ask, FilesAsk) else ask for ask in plan.asks]
    answering = _Answering(snapshot, budget, surveyed, told, writer, instructions, edited_summary)
    try:
        answers = answering.all(asks)
    except NotWritten as failure:
        nothing = Outcome(snapshot.edits, failure.status, str(failure))
        return _result(snapshot, budget, params, plan, tuple(answering.answers), nothing, summariser=summariser)
    told("check", "checking the new context")
    outcome = strategy.finish(plan, snapshot, answers)
    notes = _notes(answers, instructions)
    return _result(snapshot, budget, params, plan, tuple(answers), outcome, surveyed, notes, summariser=summariser)


@dataclass(slots=True)
class _Answering:
    """The asks of one plan as they are answered, in their order: what files bring back is known to the summaries after them."""

    snapshot: Snapshot
    budget: Budget
    surveyed: Survey
    told: Callable[[str, str], None]
    writer: Writer | None
    instructions: str
    edited: str | None
    answers: list[Answer] = field(default_factory=list)
    brought: list[Answer] = field(default_factory=list)

    def all(self, asks: Sequence[Ask]) -> list[Answer]:
        """The answers; those so far stand in `answers` where a writer raises NotWritten."""
        summaries = [ask for ask in asks if isinstance(ask, SummaryAsk)]
        news = {id(ask) for ask in summaries[:: 1 + len(summaries) // TOLD]}  # of thousands of folds not every one is
        for ask in asks:
            match ask:
                case SummaryAsk():
                    if id(ask) in news:
                        words = f"summarising {len(ask.items):,} items in at most {ask.max_tokens:,} tokens"
                        self.told("summary", words)
                    self.answers.append(self._summary(ask))
                case FilesAsk():
                    self.told("files", "reconstructing files from the transcript")
                    self.brought.append(self._answer(ask))
                    self.answers.append(self.brought[-1])
                case _:
                    self.told("again", "finding skills, plan, goals and memory")
                    self.answers.append(self._answer(along(ask, self.brought) if isinstance(ask, LayersAsk) else ask))
        if (
            self.writer is not None
        ):  # a model's summary has another length each time: what it leaves is not known beforehand
            return self.answers
        return refilled(asks, self.answers, self.snapshot, self.budget.count, surveyed=self.surveyed)

    def _answer(self, ask: Ask) -> Answer:
        return answer(ask, self.snapshot, self.budget.count, surveyed=self.surveyed)

    def _summary(self, ask: SummaryAsk) -> Answer:
        """A person's words for the first summary where there are any, else what the writer writes, else the extractive one."""
        if self.edited is not None and not any(isinstance(one, SummaryAnswer) for one in self.answers):
            words = _relisted(self.edited.strip(), ask, self.snapshot, self.surveyed, self.budget)
            return SummaryAnswer(ask.key, words, "edited", tuple(parse(words)))
        asked = beside(replace(ask, instructions=self.instructions) if self.instructions else ask, self.brought)
        if self.writer is None:
            return self._answer(asked)
        return self.writer(asked, self.snapshot, self.budget.count, self.surveyed)


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


def _survey_of(snapshot: Snapshot) -> Survey:
    """The survey of a context, made once per snapshot: strategies that are compared share it."""
    known: Survey | None = snapshot.memo.get("survey")
    if known is None:
        known = snapshot.memo["survey"] = survey(snapshot.items, calls_of(snapshot))
    return known


def _pinned(snapshot: Snapshot, pins: Iterable[int]) -> Snapshot:
    wanted = snapshot.pinned | frozenset(pins)
    if not wanted or all(item.pinned for item in snapshot.items if item.seq in wanted):
        return snapshot if wanted == snapshot.pinned else replace(snapshot, pinned=wanted)
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
    changed = difference(snapshot.items, items)
    tokens = tokens_after(snapshot, changed, budget) if lands else snapshot.tokens
    after = sum(tokens)
    found: tuple[Check, ...] = ()
    report: Retention | None = None
    status, reason = outcome.status, outcome.reason
    if lands:
        shape = next((ask.template for ask in plan.asks if isinstance(ask, SummaryAsk)), NINE)
        found = tuple(
            checks(
                snapshot.items,
                items,
                tokens_before=before,
                tokens_after=after,
                pinned=snapshot.pinned,
                shape=shape,
                changed=changed,
            )
        )
        wrong = failures(found)
        if wrong:
            status, reason = wrong[0].status, words_of(wrong)
        if surveyed is not None:
            report = retention(surveyed, snapshot.items, items, changed)
    fates, counts = fates_of(snapshot, changed)
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
        changes=tuple(changes_of(snapshot, changed, tokens)) if lands else (),
        checks=found,
        retention=report,
        warnings=(*warnings, *outcome.warnings, *_warnings(plan, before, after, report, lands=lands)),
        status=status,
        reason=reason,
        digest=_digest(plan, answers, outcome, snapshot, summariser),
    )


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
