"""The summariser without a model: chooses lines of the session itself, under a budget. Same input, same bytes out.

Every candidate line is a unit. Units that must not be missing come first, in at most MANDATORY of the budget; the rest are chosen greedily by
what they cover (the terms likely to be needed again, not yet covered by the kept part or by a chosen line) per token. Coverage is
submodular, so the greedy choice is near the best one. An earlier summary's lines are candidates again, word for word, marked
"(earlier)": nothing is ever paraphrased twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from math import fsum

from compaction.plan import Count, Section, SummaryAnswer
from compaction.summary.events import Voice
from compaction.summary.items import terms
from compaction.summary.manifest import LARGEST, listed, manifest
from compaction.summary.survey import Survey
from compaction.summary.template import LISTED, TITLES, bullet, frame, render
from compaction.summary.units import Unit, gather

NAME = "extractive"

MANDATORY = 0.6  # of the budget, at most, for what must not be missing
USAGES = 0.3  # of the budget, at most, for usage lines: more covers a little more and reads much worse
NAMING = 8  # tokens that the name of a file before its first line costs, about
BARE = 0.35  # worth of a line that only lists terms, against one that uses them
PRIOR = 0.6
WORTH = 5e-4  # gain per token below which a line is left out, even where there is room
OVERHEAD = 3  # tokens a line costs beside its words
LIST = 0.12  # of the tokens, at most, for the list of files and commands below it


def summarise(
    survey: Survey, folded: set[int], covered: set[str], *, key: str, max_tokens: int, count: Count, fill: bool = False
) -> SummaryAnswer:
    """The summary of the events whose items are at the positions `folded`, in at most `max_tokens`.

    `survey` is of the whole context, so that an error solved later or a plan rewritten later is reported as it stands now. `covered`: terms of
    the kept part. `fill`: what the sections leave of the tokens goes to more lines that use a name likely to be needed. Where even the frame does not fit, the answer's text is empty.
    """
    budget = max_tokens - count([frame()])[0]
    if budget <= 0:
        return SummaryAnswer(key, "", NAME)
    below = listing(survey, folded, room=min(LARGEST, int(budget * LIST)), count=count)
    if below:
        covered = covered | terms(below)
        below = f"\n\n{below}"
        max_tokens -= count([below])[0]
        budget = max_tokens - count([frame()])[0]
    units = gather(survey, folded, room=budget, count=count, listed=listed(below))
    for unit, tokens in zip(units, count([bullet(unit.text) + "\n" for unit in units]), strict=True):
        unit.tokens = tokens
    chosen = _choose(units, survey, set(covered), budget, fill=fill) or _clipped(units, budget, count)
    while True:
        sections = _sections(chosen)
        text = render(sections)
        if count([text])[0] <= max_tokens or not chosen:
            return SummaryAnswer(key, text + below if chosen else "", NAME, sections)
        chosen.pop()  # the last one chosen is the one that adds least


def listing(survey: Survey, folded: set[int], *, room: int, count: Count) -> str:
    """The list of files, commands and exit codes for the events whose items are at `folded`; those of earlier summaries are carried on."""
    events = [event for event in survey.events if event.pos in folded]
    earlier = dict.fromkeys(event.text for event in events if event.voice is Voice.SUMMARY)
    return manifest(survey.findings, {event.n for event in events}, earlier, room=room, count=count, said="")


def relisted(text: str, survey: Survey, folded: set[int], *, max_tokens: int, count: Count) -> str:
    """A person's words with the list below them: that list is nobody's to lose. As it is where it has one, or says nothing."""
    if not text.strip() or LISTED in text:
        return text
    below = listing(survey, folded, room=min(LARGEST, int(max_tokens * LIST)), count=count)
    return f"{text}\n\n{below}" if below else text


def _clipped(units: Sequence[Unit], budget: int, count: Count) -> list[Unit]:
    """The weightiest unit cut to what there is room for: where none fits whole, a part of one is better than nothing."""
    best = min(units, key=lambda unit: (unit.rank is None, unit.rank, -unit.prior), default=None)
    if best is None or budget < 8:
        return []
    text = best.text[: max(8, len(best.text) * (budget - 6) // max(1, best.tokens))] + "…"
    while len(text) > 8 and count([bullet(text) + "\n"])[0] > budget:
        text = text[: len(text) * 3 // 4] + "…"
    return [replace(best, text=text)]


def _choose(units: Sequence[Unit], survey: Survey, covered: set[str], budget: int, *, fill: bool) -> list[Unit]:
    chosen: list[Unit] = []
    taken: set[int] = set()
    texts: set[str] = set()
    used = 0
    usages = 0
    named: set[str] = set()

    def take(n: int) -> None:
        nonlocal used, usages
        unit = units[n]
        chosen.append(unit)
        taken.add(n)
        texts.add(unit.text)
        covered.update(unit.terms)
        used += unit.tokens
        if unit.usage:
            usages += unit.tokens
        if unit.file is not None and unit.file not in named:
            named.add(unit.file)
            used += 0 if unit.head else NAMING

    ranked = sorted((n for n, unit in enumerate(units) if unit.rank is not None), key=lambda n: (units[n].rank, n))
    for n in ranked:
        if used + units[n].tokens <= budget * MANDATORY and units[n].text not in texts:
            take(n)

    worth = {term: survey.needs.value(term) for unit in units for term in unit.terms}

    def score(unit: Unit) -> float:
        gain = PRIOR * unit.prior + fsum(
            [worth[term] for term in unit.terms if term not in covered]
        )  # in any order the same
        return gain * (BARE if unit.bare else 1.0) / (unit.tokens + OVERHEAD)

    def greedily(candidates: Iterable[int], most: float) -> list[int]:
        """Takes what is worth most per token as long as there is room; usage lines up to `most` tokens. Gives those that passed it."""
        over: list[int] = []
        heap = [(-score(units[n]), n) for n in candidates]
        heapify(heap)
        while heap:
            old, n = heappop(heap)
            unit = units[n]
            if used + unit.tokens > budget or unit.text in texts:
                continue
            if unit.usage and usages + unit.tokens > most:
                over.append(n)
                continue
            now = score(unit)
            if now <= WORTH:
                continue
            if heap and -now > heap[0][0] + 1e-12 and now < -old - 1e-12:
                heappush(heap, (-now, n))  # it covers less than when it was scored: let the next one compete
                continue
            take(n)
        return over

    over = greedily((n for n, unit in enumerate(units) if n not in taken and unit.tokens <= budget), budget * USAGES)
    if fill:
        greedily(over, budget)
    return chosen


def _sections(chosen: Sequence[Unit]) -> tuple[Section, ...]:
    out = []
    for number, title in enumerate(TITLES):
        lines = sorted((unit for unit in chosen if unit.section == number), key=lambda unit: (unit.order, unit.text))
        out.append(Section(title, tuple(_named(lines))))
    return tuple(out)


def _named(lines: Sequence[Unit]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The lines of a section; before the first of a file's lines stands its name, unless the file's own line does."""
    here: str | None = None
    for unit in lines:
        if unit.file is None or unit.head or unit.file == here:
            yield unit.text, unit.seqs
        else:
            yield f"{unit.file.rpartition('/')[2]}: {unit.text}", unit.seqs
        here = unit.file
