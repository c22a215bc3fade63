"""Who writes a run's summaries: a model, through an asker; and until then the extractive text in its place, with what the model would take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Count as Rows
from django.db.models import Sum

from compaction.answers import answer
from compaction.models_calls import ModelCall
from compaction.plan import Count, NotWritten, Snapshot, SummaryAnswer, SummaryAsk
from compaction.preview import Writer
from compaction.summarisers import configured
from compaction.summarisers.asking import Asker, worth
from compaction.summarisers.configured import Target
from compaction.summarisers.writing import Job, figures, forecast, job, write
from compaction.summary.shapes import CONCLUSION
from compaction.summary.survey import Survey, survey
from sessions.meters import tokens
from sessions.windows.overrides import Override

SMALL = 2_000
"""Tokens of a closed stretch below which no model is asked for its conclusion: a strategy may fold hundreds of them."""


def foretelling(target: Target, overrides: Sequence[Override], *, critique: bool = False) -> Writer:
    """The extractive text in the place of the model's, with the calls, tokens and money the model would take. Asks nobody."""

    def stand_in(ask: SummaryAsk, snapshot: Snapshot, count: Count, surveyed: Survey) -> SummaryAnswer:
        todo = _job(ask, snapshot, surveyed, target, overrides, critique=critique)
        if _small(todo):
            return _extractive(ask, snapshot, count, surveyed)
        found = forecast(todo)
        price = worth(target, overrides, prompt=found.prompt, output=found.output)
        cost: dict[str, Any] = {"model": target.name, **figures(found)}
        cost |= {"usd": None if price is None else str(price[0]), "price": None if price is None else price[1]}
        written = _extractive(ask, snapshot, count, surveyed)
        return replace(written, summariser=f"llm:{target.name}", cost=cost, stands_in=True)

    return stand_in


def by_model(asker: Asker, *, critique: bool = False, extractive_allowed: bool = False) -> Writer:
    """The model's text. Where it cannot be had: the extractive one if the person allowed it, and that is said; else NotWritten."""
    run_id = asker.run_id
    assert run_id is not None  # summaries are written for runs

    def written(ask: SummaryAsk, snapshot: Snapshot, count: Count, surveyed: Survey) -> SummaryAnswer:
        try:
            todo = _job(ask, snapshot, surveyed, asker.model, asker.overrides, critique=critique)
            if _small(todo):
                return _extractive(ask, snapshot, count, surveyed)
            found = write(todo, asker.ask, name="")
            return replace(found, summariser=f"llm:{asker.model.name}", cost=spent(run_id))
        except NotWritten as failure:
            if not extractive_allowed:
                raise
            stood_in = _extractive(ask, snapshot, count, surveyed)
            asker.told(f"no summary by the model ({failure.status}): the extractive one stands in, as allowed")
            note = f"the model wrote no summary ({failure}); the extractive summariser wrote it, as was allowed"
            return replace(stood_in, notes=(note,), cost=spent(run_id))

    return written


def spent(run_id: int) -> dict[str, Any]:
    """What a run's calls used so far; null where no provider said, or nobody knows a price."""
    sums = ModelCall.objects.filter(run_id=run_id).aggregate(
        calls=Rows("pk"),
        fresh=Sum("fresh"),
        cache_read=Sum("cache_read"),
        cache_write=Sum("cache_write"),
        output=Sum("output"),
        usd=Sum("usd"),
    )
    return {**sums, "usd": None if sums["usd"] is None else str(sums["usd"].normalize())}


def _small(todo: Job) -> bool:
    return todo.ask.template == CONCLUSION and todo.part < SMALL


def _extractive(ask: SummaryAsk, snapshot: Snapshot, count: Count, surveyed: Survey) -> SummaryAnswer:
    written = answer(ask, snapshot, count, surveyed=surveyed)
    assert isinstance(written, SummaryAnswer)
    return written


def _job(
    ask: SummaryAsk,
    snapshot: Snapshot,
    surveyed: Survey,
    target: Target,
    overrides: Sequence[Override],
    *,
    critique: bool,
) -> Job:
    places = {item.key: n for n, item in enumerate(snapshot.items)}
    if any(item.key not in places for item in ask.items):  # it asks about entries the context no longer holds
        places = {item.key: n for n, item in enumerate(ask.items)}
        surveyed = survey(ask.items)
    wanted = replace(ask, critique=True) if critique else ask
    folded = {places[item.key] for item in ask.items}
    # By one vocabulary whatever the run's meter is: what is laid out here is a model's prompt.
    return job(wanted, surveyed, folded, configured.capacity(target, overrides), tokens.count)
