"""Answers that need neither a model nor a disk: the extractive summary; files, skills, plan and goals from the transcript."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compaction.excerpts import answer_pieces
from compaction.files import answer_files
from compaction.masks import calls_of
from compaction.plan import (
    Answer,
    Ask,
    Count,
    FilesAnswer,
    FilesAsk,
    GoalsAsk,
    LayersAsk,
    LearnedAsk,
    PlanAsk,
    SkillsAsk,
    Snapshot,
    SummaryAnswer,
    SummaryAsk,
)
from compaction.reinject.goals import answer_goals
from compaction.reinject.layers import answer_layers
from compaction.reinject.learned import answer_learned
from compaction.reinject.plans import answer_plan
from compaction.reinject.skills import answer_skills
from compaction.summary.conclusion import conclude
from compaction.summary.extractive import summarise
from compaction.summary.focus import focused
from compaction.summary.items import terms
from compaction.summary.shapes import CONCLUSION
from compaction.summary.survey import Survey, survey

LEAST_MORE = 150
"""Tokens below which more pieces of files are not worth a second look."""


def answer(ask: Ask, snapshot: Snapshot, count: Count, *, surveyed: Survey | None = None) -> Answer:
    """The answer to `ask`, deterministic. `surveyed`: the survey of the snapshot's items, where the caller has it already."""
    match ask:
        case SummaryAsk():
            return _summary(ask, snapshot, count, surveyed)
        case FilesAsk(pieces=True):
            found = surveyed if surveyed is not None else survey(snapshot.items, calls_of(snapshot))
            return answer_pieces(ask, snapshot, found, count)
        case FilesAsk():
            return answer_files(ask, snapshot.log() or snapshot.items, snapshot.cwd, count, snapshot.disk)
        case SkillsAsk():
            return answer_skills(ask, snapshot.log() or snapshot.items, count)
        case PlanAsk():
            return answer_plan(ask, snapshot.log() or snapshot.items, snapshot.cwd, count)
        case GoalsAsk():
            return answer_goals(ask, snapshot.goals(), count)
        case LayersAsk():
            log = snapshot.log() or snapshot.items
            return answer_layers(ask, log, snapshot.items, snapshot.agent, snapshot.cwd, snapshot.disk, count)
        case LearnedAsk():
            return answer_learned(ask, snapshot.learned(), count)


def beside(ask: SummaryAsk, answers: Sequence[Answer]) -> SummaryAsk:
    """The ask once the files are there: it need not repeat them, and what they leave of the tokens shared with them is the summary's."""
    if not answers and not ask.shared:
        return ask  # many asks are for small folds of their own
    states = [state for one in answers if isinstance(one, FilesAnswer) for state in one.files]
    left = max(0, ask.shared - sum(state.tokens for state in states))
    return replace(ask, max_tokens=ask.max_tokens + left, shared=0, brought=tuple(state.text for state in states))


def along(ask: LayersAsk, answers: Sequence[Answer]) -> LayersAsk:
    """The ask once the files are there: the memory of their folders comes along with them."""
    paths = [state.path for one in answers if isinstance(one, FilesAnswer) for state in one.files]
    return replace(ask, paths=tuple(dict.fromkeys([*ask.paths, *paths])))


def refilled(
    asks: Sequence[Ask], answers: Sequence[Answer], snapshot: Snapshot, count: Count, *, surveyed: Survey | None = None
) -> list[Answer]:
    """The answers with more pieces of files where the summary left of the tokens it shares with them enough to be worth it, and the memory of
    folders that only these come from.
    """
    wanted = next((ask for ask in asks if isinstance(ask, SummaryAsk)), None)
    pieces = next((ask for ask in asks if isinstance(ask, FilesAsk) and ask.spare), None)
    out = list(answers)
    if wanted is None or pieces is None:
        return out
    given = next((n for n, one in enumerate(out) if isinstance(one, FilesAnswer) and one.key == pieces.key), None)
    text = next((one.text for one in out if isinstance(one, SummaryAnswer) and one.key == wanted.key), None)
    if given is None or text is None:
        return out
    left = wanted.max_tokens + pieces.total - count([text])[0]
    if left >= pieces.total + LEAST_MORE:
        out[given] = answer(
            replace(pieces, each=max(pieces.each, left), total=left), snapshot, count, surveyed=surveyed
        )
        anew = {
            ask.key: answer(along(ask, [out[given]]), snapshot, count) for ask in asks if isinstance(ask, LayersAsk)
        }
        out = [anew.get(one.key, one) for one in out]
    return out


def _summary(ask: SummaryAsk, snapshot: Snapshot, count: Count, surveyed: Survey | None) -> SummaryAnswer:
    if ask.template == CONCLUSION:
        decisions = None if surveyed is None else surveyed.findings.decided
        return conclude(
            ask.items,
            key=ask.key,
            max_tokens=ask.max_tokens,
            count=count,
            calls=calls_of(snapshot),
            decisions=decisions,
        )
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
    for text in ask.brought:
        covered |= terms(text)
    return summarise(found, folded, covered, key=ask.key, max_tokens=ask.max_tokens, count=count, fill=ask.fill)
