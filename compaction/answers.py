"""Answers that need neither a model nor a disk: the extractive summary; files, skills, plan and goals from the transcript."""

from __future__ import annotations

from compaction.files import answer_files
from compaction.masks import calls_of
from compaction.plan import (
    Answer,
    Ask,
    Count,
    FilesAsk,
    GoalsAsk,
    PlanAsk,
    SkillsAsk,
    Snapshot,
    SummaryAnswer,
    SummaryAsk,
)
from compaction.reinject.goals import answer_goals
from compaction.reinject.plans import answer_plan
from compaction.reinject.skills import answer_skills
from compaction.summary.conclusion import conclude
from compaction.summary.extractive import summarise
from compaction.summary.focus import focused
from compaction.summary.items import terms
from compaction.summary.shapes import CONCLUSION
from compaction.summary.survey import Survey, survey


def answer(ask: Ask, snapshot: Snapshot, count: Count, *, surveyed: Survey | None = None) -> Answer:
    """The answer to `ask`, deterministic. `surveyed`: the survey of the snapshot's items, where the caller has it already."""
    match ask:
        case SummaryAsk():
            return _summary(ask, snapshot, count, surveyed)
        case FilesAsk():
            return answer_files(ask, snapshot.log() or snapshot.items, snapshot.cwd, count)
        case SkillsAsk():
            return answer_skills(ask, snapshot.log() or snapshot.items, count)
        case PlanAsk():
            return answer_plan(ask, snapshot.log() or snapshot.items, snapshot.cwd, count)
        case GoalsAsk():
            return answer_goals(ask, snapshot.goals(), count)


def _summary(ask: SummaryAsk, snapshot: Snapshot, count: Count, surveyed: Survey | None) -> SummaryAnswer:
    if ask.template == CONCLUSION:
        return conclude(ask.items, key=ask.key, max_tokens=ask.max_tokens, count=count, calls=calls_of(snapshot))
    places = {item.key: n for n, item in enumerate(snapshot.items)}
    items = snapshot.items
    if any(item.key not in places for item in ask.items):  # it asks about entries the context no longer holds
        items = (*ask.items, *ask.kept)
        places = {item.key: n for n, item in enumerate(items)}
        surveyed = None
    found = surveyed if surveyed is not None else survey(items)
    if ask.focus:
        found = focused(found, ask.focus)
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
