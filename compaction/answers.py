"""Answers that need neither a model nor a disk: the extractive summary, and files from the transcript."""

from __future__ import annotations

from compaction.files import answer_files
from compaction.plan import Answer, Ask, Count, FilesAsk, Snapshot, SummaryAnswer, SummaryAsk
from compaction.summary.extractive import summarise
from compaction.summary.items import terms
from compaction.summary.survey import Survey, survey


def answer(ask: Ask, snapshot: Snapshot, count: Count, *, surveyed: Survey | None = None) -> Answer:
    """The answer to `ask`, deterministic. `surveyed`: the survey of the snapshot's items, where the caller has it already."""
    if isinstance(ask, FilesAsk):
        return answer_files(ask, snapshot.log() or snapshot.items, snapshot.cwd, count)
    return _summary(ask, snapshot, count, surveyed)


def _summary(ask: SummaryAsk, snapshot: Snapshot, count: Count, surveyed: Survey | None) -> SummaryAnswer:
    places = {item.key: n for n, item in enumerate(snapshot.items)}
    items = snapshot.items
    if any(item.key not in places for item in ask.items):  # it asks about entries the context no longer holds
        items = (*ask.items, *ask.kept)
        places = {item.key: n for n, item in enumerate(items)}
        surveyed = None
    found = surveyed if surveyed is not None else survey(items)
    folded = {places[item.key] for item in ask.items}
    whole: set[int] = set()
    covered: set[str] = set()
    for item in ask.kept:
        place = places.get(item.key)
        if place is not None and items[place].parts is item.parts:
            whole.add(place)
        else:  # masked, or new: only what still stands there counts
            covered |= terms(item.text)
    covered |= found.terms_of(whole)
    return summarise(found, folded, covered, key=ask.key, max_tokens=ask.max_tokens, count=count)
