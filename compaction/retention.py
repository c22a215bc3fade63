"""What of a context is still there after a compaction, fact by fact and by kind, and what of it will probably be missed.

The headline is the predicted share of future use whose names survive (with its usual error); below it the facts of each kind: kept
verbatim, kept in part, only pointed at, lost. The facts are those the summariser could have written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from math import ceil
from typing import Any

from compaction.difference import WHOLE, Difference, difference
from compaction.summary.events import Voice
from compaction.summary.items import PATH, path_term, shown, terms, weight, words
from compaction.summary.need import TYPICAL_ERROR, predicted_recall
from compaction.summary.survey import Survey
from compaction.tools import one_line
from sessions.contexts import Item

MOST = 1_000  # facts of one kind that are looked at, newest first
SHOWN_LOSSES = 300
_FACT = 4_000  # characters of one fact that are compared
_NEAR = 0.6  # of a fact's words, in one line: it is there in part
_EVERYWHERE = 400  # lines with a word from which it says nothing


class State(StrEnum):
    VERBATIM = "verbatim"
    PART = "part"
    POINTER = "pointer"
    LOST = "lost"


KINDS: tuple[tuple[str, str, float], ...] = (
    ("instruction", "user instructions", 3),
    ("message", "other user messages", 3),
    ("edited", "files edited", 3),
    ("read", "files read", 1),
    ("error", "errors", 2),
    ("failed", "commands that failed", 1),
    ("passed", "commands that passed", 1),
    ("todo", "open todos", 3),
    ("done", "todos done", 1),
    ("decision", "decisions", 2),
    ("dropped", "approaches dropped", 2),
    ("last", "the last events", 2),
)


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact: `need` is how likely it is to be needed again (0…1), `hit` how much of it is there (0…1)."""

    kind: str
    text: str
    seqs: tuple[int, ...]
    weight: float
    need: float
    hit: float
    state: State


@dataclass(frozen=True, slots=True)
class KindReport:
    kind: str
    label: str
    total: int
    verbatim: int
    part: int
    pointer: int
    lost: int
    share: float  # weighted, 0…1


@dataclass(frozen=True, slots=True)
class Loss:
    """A fact or name that is lost or only pointed at; `seq`: the entry to pin. `uses`: of a name, events that used it."""

    kind: str
    text: str
    seq: int | None
    seqs: tuple[int, ...]
    weight: float
    need: float
    state: State
    uses: int | None = None


@dataclass(frozen=True, slots=True)
class Retention:
    """The report. `future_use`: predicted share kept, ± `future_use_error` (None: nothing to expect); `expected_names`: about how many
    will be needed; `names_kept` of `names`. `static`: all kinds by weight, for comparing methods only. `unread`: events too old to be read
    for names.
    """

    future_use: float | None
    future_use_error: float
    expected_names: float
    names: int
    names_kept: int
    instructions: int
    instructions_kept: int
    kinds: tuple[KindReport, ...]
    losses: tuple[Loss, ...]
    losses_total: int
    static: float | None
    unread: int = 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def retention(
    survey: Survey, before: Sequence[Item], after: Sequence[Item], changed: Difference | None = None
) -> Retention:
    """The report on `after`, the survey being of `before`. `changed`: their difference, where the caller has it already."""
    there = _There(survey, difference(before, after) if changed is None else changed)
    facts = list(_facts(survey, there))
    needed = survey.needs
    share = predicted_recall(needed, there.terms)
    missing = [term for term in needed.p if term not in there.terms]
    kinds = tuple(report for kind, label, _ in KINDS if (report := _report(kind, label, facts)).total)
    weights = {kind: w for kind, _, w in KINDS}
    sums = [(weights[report.kind], report.share) for report in kinds]
    losses = _losses(facts, missing, survey)
    rules = [fact for fact in facts if fact.kind == "instruction"]
    return Retention(
        future_use=share,
        future_use_error=TYPICAL_ERROR,
        expected_names=round(needed.expected, 1),
        names=len(needed.p),
        names_kept=len(needed.p) - len(missing),
        instructions=len(rules),
        instructions_kept=sum(fact.state is State.VERBATIM for fact in rules),
        kinds=kinds,
        losses=tuple(losses[:SHOWN_LOSSES]),
        losses_total=len(losses),
        static=sum(w * s for w, s in sums) / sum(w for w, _ in sums) if sums else None,
        unread=needed.unread,
    )


READ_ADDED = 1_000_000
"""Characters of summaries, masks and files that are read word by word, the newest: more than the largest window of today would hold of them."""


class _There:
    """What a context holds: positions kept whole, positions masked, and the text that was put in."""

    def __init__(self, survey: Survey, changed: Difference) -> None:
        self.whole = {n for n, stands in enumerate(changed.stands) if stands == WHOLE}
        self.masked = {n for n, _ in changed.less}
        added = [item.text for item in changed.new] + [changed.after[n].text for _, n in changed.less]
        self.terms = survey.terms_of(self.whole)
        added = _newest(dict.fromkeys(added))  # many masks say the same
        for text in added:
            self.terms |= terms(text)
        self.lines: list[frozenset[str]] = []
        self.by_word: dict[str, list[int]] = {}
        self.texts: list[list[str]] = []  # the words of each added text
        self.grams: dict[int, set[tuple[str, ...]]] = {}
        for text in added:
            found: list[str] = []
            for line in text.split("\n"):  # no word goes on into the next line
                here = words(line)
                if here:
                    found.extend(here)
                    self.lines.append(frozenset(here))
            self.texts.append(found)

    def look_for(self, texts: Iterable[str]) -> None:
        """Make ready what `near` is asked of these texts: it is asked of few, and lines that were added are many."""
        wanted = {word for text in texts for word in words(text[:_FACT])}
        for n, line in enumerate(self.lines):
            for word in line & wanted:
                self.by_word.setdefault(word, []).append(n)

    def cover(self, text: str, k: int) -> float:
        """The share of the text's word k-shingles that the added text holds; fewer words than k are compared one by one."""
        found = words(text[:_FACT])
        if not found:
            return 1.0
        size = k if len(found) >= k else 1
        grams = list(_grams(found, size))
        held = self.grams.get(size)
        if held is None:
            held = self.grams[size] = {gram for text in self.texts for gram in _grams(text, size)}
        return sum(gram in held for gram in grams) / len(grams)

    def near(self, text: str) -> bool:
        """Whether one added line holds most of the text's words: three fifths of them, those that are everywhere not counted as there.

        The text is one of those that were looked for.
        """
        wanted = set(words(text[:_FACT]))
        if not wanted or len(wanted) > 120:
            return False
        there = [
            (len(lines), word) for word in wanted if (lines := self.by_word.get(word)) and len(lines) <= _EVERYWHERE
        ]
        least = ceil(_NEAR * len(wanted) - 1e-9)
        if len(there) < least:
            return False
        there.sort()  # a line with `least` of them has one of the rarest `spare`
        counted = frozenset(word for _, word in there)
        spare = len(there) - least + 1
        looked: set[int] = set()
        for _, word in there[:spare]:
            for line in self.by_word[word]:
                if line not in looked:
                    looked.add(line)
                    if len(counted & self.lines[line]) >= least:
                        return True
        return False


def _newest(texts: Iterable[str]) -> list[str]:
    """The last of the texts, as many as hold READ_ADDED characters, in their order."""
    left = READ_ADDED
    out: list[str] = []
    for text in reversed([*texts]):
        if left <= 0:
            break
        out.append(text)
        left -= len(text)
    return out[::-1]


def _grams(found: Sequence[str], k: int) -> Iterator[tuple[str, ...]]:
    return zip(*(found[n:] for n in range(k)), strict=False)


@dataclass(frozen=True, slots=True)
class _Claim:
    """A fact before it is looked up: said at event `n`, compared by `k` words in a row; from the share `floor` on it is there in part."""

    kind: str
    n: int
    text: str
    seqs: tuple[int, ...]
    weight: float
    k: int
    floor: float
    need: float


def _facts(survey: Survey, there: _There) -> Iterator[Fact]:
    found = [*_claims(survey, there)]
    whole = there.whole
    there.look_for(one.text for one in found if isinstance(one, _Claim) and survey.events[one.n].pos not in whole)
    for one in found:
        yield _judged(one, survey, there) if isinstance(one, _Claim) else one


def _judged(claim: _Claim, survey: Survey, there: _There) -> Fact:
    place = survey.events[claim.n].pos
    if place in there.whole:
        hit, state = 1.0, State.VERBATIM
    else:
        hit = max(there.cover(claim.text, claim.k), 0.0)
        if hit >= 0.9:
            state = State.VERBATIM
        elif hit >= claim.floor or there.near(claim.text):
            state = State.PART
            hit = max(hit, 0.5)
        elif place in there.masked or _pointed(claim.text, there):
            state = State.POINTER
        else:
            state = State.LOST
    likely = max([claim.need, *(survey.needs.p.get(term, 0.0) for term in terms(claim.text[:_FACT]))])
    text = one_line(claim.text, 240)
    return Fact(claim.kind, text, claim.seqs, claim.weight, round(likely, 3), round(hit, 3), state)


def _claims(survey: Survey, there: _There) -> Iterator[_Claim | Fact]:
    """What is to be there: what was said, and of files, which are looked up by their names, what became of them."""
    findings = survey.findings
    events = survey.events
    for message in findings.messages[-MOST:]:
        kind, w, need = ("instruction", 2.0, 0.9) if message.instruction else ("message", 1.0, 0.3)
        yield _Claim(kind, message.n, _plain(message.text), message.seqs, w, 5, 0.5, need)
    named = survey.needs.uses
    for use in sorted(findings.files.values(), key=lambda use: -use.last)[:MOST]:
        term = path_term(use.path) or f"{PATH}:{use.path}"
        held = term in there.terms or any(events[n].pos in there.whole for n in (use.first, use.last))
        asked = 2.0 if term in named and named[term].user_step >= 0 else 1.0
        state = State.VERBATIM if held else State.LOST
        likely = survey.needs.p.get(term, 0.1)
        yield Fact(
            "edited" if use.changed else "read",
            use.path,
            tuple(use.seqs[-4:]),
            asked,
            round(likely, 3),
            float(held),
            state,
        )
    for failure in findings.failures[-MOST:]:
        w, need = (2.0, 0.5) if failure.solved is None else (1.0, 0.1)
        if text := " ".join(failure.lines):
            yield _Claim("error", failure.n, text, failure.seqs, w, 3, 0.6, need)
    for command in list(findings.commands.values())[-MOST:]:
        kind, w, need = ("failed", 2.0, 0.3) if command.failed else ("passed", 1.0, 0.05)
        yield _Claim(kind, command.n, one_line(command.text, 60), command.seqs, w, 3, 0.6, need)
    for todo in findings.todos[-MOST:]:
        kind, need = ("todo", 0.8) if todo.open else ("done", 0.05)
        w = 2.0 if todo.status == "in_progress" else 1.0
        yield _Claim(kind, todo.n, todo.text, todo.seqs, w, 3, 0.7, need)
    for remark in findings.decisions[-MOST:]:
        yield _Claim("decision", remark.n, remark.text, remark.seqs, 1.0, 3, 0.5, 0.2)
    for remark in findings.dropped[-MOST:]:
        yield _Claim("dropped", remark.n, remark.text, remark.seqs, 2.0, 3, 0.5, 0.3)
    for event in events[-8:]:
        if event.voice is not Voice.SUMMARY:
            yield _Claim("last", event.n, event.text[:2_000], event.seqs, 1.0, 5, 0.5, 0.4)


def _plain(text: str) -> str:
    """A message as it is compared: no fenced blocks, no very long lines, at most 40 lines."""
    out: list[str] = []
    fenced = False
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and len(line) <= 400:
            out.append(line)
    return "\n".join(out[:40]) if out else text[:400]


def _pointed(text: str, there: _There) -> bool:
    found = terms(text[:_FACT])
    return bool(found) and sum(term in there.terms for term in found) * 2 >= len(found)


def _report(kind: str, label: str, facts: Sequence[Fact]) -> KindReport:
    mine = [fact for fact in facts if fact.kind == kind]
    total = sum(fact.weight for fact in mine)
    states = [fact.state for fact in mine]
    return KindReport(
        kind,
        label,
        len(mine),
        states.count(State.VERBATIM),
        states.count(State.PART),
        states.count(State.POINTER),
        states.count(State.LOST),
        round(sum(fact.weight * fact.hit for fact in mine) / total, 4) if total else 1.0,
    )


def _losses(facts: Sequence[Fact], missing: Sequence[str], survey: Survey) -> list[Loss]:
    out = [
        Loss(fact.kind, fact.text, fact.seqs[-1] if fact.seqs else None, fact.seqs, fact.weight, fact.need, fact.state)
        for fact in facts
        if fact.state in (State.LOST, State.POINTER)
    ]
    needed = survey.needs
    for term in missing:
        p = needed.p[term]
        if p >= 0.02:
            use = needed.uses[term]
            seqs = tuple(seq for seq in dict.fromkeys((use.first_seq, use.last_seq)) if seq >= 0)
            out.append(
                Loss(
                    "name",
                    shown(term),
                    seqs[-1] if seqs else None,
                    seqs,
                    weight(term),
                    round(p, 3),
                    State.LOST,
                    use.seen,
                )
            )
    out.sort(
        key=lambda loss: (-loss.weight * loss.need * (1.0 if loss.state is State.LOST else 0.5), loss.kind, loss.text)
    )
    return out
