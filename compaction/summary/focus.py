"""A survey seen from what its reader wants to do: names that stand near the words of a goal are the likelier to be needed."""

from __future__ import annotations

from dataclasses import replace

from compaction.summary.items import terms, words
from compaction.summary.need import Needs
from compaction.summary.survey import Survey

NAMED = 0.95  # P of a name that the goal itself names
_NEAR = 0.5  # share of the goal's rare words in an event from which all its names count as near
_COMMON = 0.2  # a word in more than this share of the events says nothing about the goal
_LOOKED_AT = 4_000  # characters of an event


def focused(survey: Survey, goal: str) -> Survey:
    """The survey with the needs raised of what bears on `goal`: names in it, and names in events that speak of it.

    An event speaks of the goal as far as it holds the goal's words, without those that many events hold. One pass over the events.
    """
    wanted = {word for word in words(goal) if len(word) > 2 or not word.isascii()}
    named = terms(goal)
    here = [wanted.intersection(words(event.text[:_LOOKED_AT])) for event in survey.events]
    often: dict[str, int] = {}
    for found in here:
        for word in found:
            often[word] = often.get(word, 0) + 1
    rare = {word for word, times in often.items() if times <= max(2, len(here) * _COMMON)}
    raised: dict[str, float] = {term: NAMED for term in named if term in survey.needs.p}
    if rare:
        for found, names in zip(here, survey.needs.terms_at, strict=True):
            share = len(found & rare) / len(rare)
            for term in names if share else ():
                p = survey.needs.p.get(term)
                if p is not None:
                    near = min(1.0, share / _NEAR)
                    raised[term] = max(raised.get(term, 0.0), p + (NAMED - p) * near * 0.5)
    old = survey.needs
    return replace(survey, needs=Needs(old.uses, {**old.p, **raised}, old.terms_at, old.unread))
