"""Each strategy cut to the same budget in its own way.

A strategy that has an `aim` of its own (ours) is given the budget as its aim. Any other keeps its proportions: all its figures in tokens,
its shares and the largest size of its summary are multiplied by one factor, the largest with which what it keeps and its summary fit, and
the summary may fill what is left. Counts (turns, results, files) stay as the agent has them, until no factor fits: then they are lowered
to the least they can be. What still does not fit is cut as agents cut: single results to a quarter of the budget, then the oldest kept
items go, the newest message and what was inserted last. Nothing is ever scored above its budget; `trimmed` says that the last rule was
needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compaction.answers import answer, beside, refilled
from compaction.blocks import newest_boundary
from compaction.budget import budget_for
from compaction.masks import masked_parts
from compaction.merge import applied
from compaction.plan import (
    Answer,
    Ask,
    Budget,
    Count,
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
from compaction.strategies.base import Strategy, settled
from compaction.summary.survey import Survey
from sessions.contexts import Item
from sessions.entries import Part, PartKind
from sessions.meters import DEFAULT, by_id
from sessions.meters.tokens import sent_texts

LANDS = (Status.COMPLETED, Status.PRUNED_ONLY)
FACTORS = 9  # halvings of the factor's range
LEAST_SUMMARY = 150
THINGS = 100  # a larger count is one of characters, which stays


@dataclass(frozen=True, slots=True)
class Fitted:
    """A context within its budget. `trimmed`: it had to be cut beyond what the strategy itself would do."""

    items: tuple[Item, ...]
    tokens: int
    trimmed: bool = False


def fitted(strategy: Strategy, snapshot: Snapshot, budget: int, survey: Survey) -> Fitted:
    """The context `strategy` makes of `snapshot` in at most `budget` o200k tokens, its summary by the extractive summariser."""
    rule = budget_for(by_id(DEFAULT))
    if any(param.name == "aim" for param in strategy.params):
        params = settled(strategy.params, _aimed(strategy, budget))
        plan = strategy.plan(snapshot, rule, params)
        made = _carried(strategy, snapshot, plan, rule, survey, None)
    else:
        plan, most = _scaled(strategy, snapshot, budget, rule)
        made = _carried(strategy, snapshot, plan, rule, survey, most)
    tokens = _tokens(snapshot, made, rule.count)
    if sum(tokens) <= budget:
        return Fitted(tuple(made), sum(tokens))
    return _trimmed(made, tokens, budget, rule.count)


def _scaled(strategy: Strategy, snapshot: Snapshot, budget: int, rule: Budget) -> tuple[Plan, int]:
    """The plan with the largest factor that fits, and the most its summary may take."""

    def at(factor: float, *, counts: bool = True) -> tuple[Plan, int, int]:
        params = _params(strategy, factor, counts=counts)
        plan = strategy.plan(snapshot, rule, params)
        kept = _kept(snapshot, plan, rule.count) if plan.status in LANDS else snapshot.total
        own = sum(_own(ask) for ask in plan.asks)
        return plan, kept, max(LEAST_SUMMARY if plan.asks else 0, int(own * min(1.0, factor)))

    plan, kept, own = at(1.0)
    if kept + own <= budget:
        return plan, budget - kept
    for counts in (True, False):
        low, high = 0.0, 1.0
        best: tuple[Plan, int] | None = None
        for _ in range(FACTORS):
            middle = (low + high) / 2
            plan, kept, own = at(middle, counts=counts)
            if plan.status in LANDS and kept + own <= budget:
                best, low = (plan, budget - kept), middle
            else:
                high = middle
        if best is not None:
            return best
    plan, kept, own = at(high, counts=False)
    return plan, max(LEAST_SUMMARY, budget // 2, budget - kept)


def _own(ask: Ask) -> int:
    """The most tokens that what is asked for may take."""
    match ask:
        case SummaryAsk():
            return ask.max_tokens
        case FilesAsk() | SkillsAsk() | LayersAsk():
            return ask.total
        case PlanAsk() | GoalsAsk() | LearnedAsk():
            return ask.most


def _aimed(strategy: Strategy, budget: int) -> dict[str, Any]:
    """The budget as the aim; a fixed size of the summary is at most a quarter of it."""
    most = max(LEAST_SUMMARY, budget // 4)
    large = (p for p in strategy.params if p.name == "summary" and isinstance(p.default, int) and p.default > most)
    return {"aim": budget} | {param.name: most for param in large}


def _params(strategy: Strategy, factor: float, *, counts: bool) -> Mapping[str, Any]:
    given: dict[str, Any] = {}
    for param in strategy.params:
        default = param.default
        if isinstance(default, bool) or not isinstance(default, int | float):
            continue
        if param.kind in ("tokens", "share"):
            value = default * factor if param.kind == "share" else int(default * factor)
        elif param.kind == "count" and not counts and default < THINGS:
            value = 1
        else:
            continue
        value = value if param.low is None else max(param.low, value)
        given[param.name] = value if param.high is None else min(param.high, value)
    return settled(strategy.params, given)


def _kept(snapshot: Snapshot, plan: Plan, count: Count) -> int:
    """Tokens of what the plan leaves of the context, before anything is put in."""
    total = 0
    masked: list[Item] = []
    absorbed = {f"i{n}" for n in plan.absorb}
    for item, tokens in zip(snapshot.items, snapshot.tokens, strict=True):
        if (item.seq is not None and item.seq in plan.fold) or item.key in absorbed:
            continue
        text = None if item.seq is None else plan.masks.get(item.seq)
        if item.seq is not None and item.seq in plan.bodies:
            masked.append(replace(item, parts=plan.bodies[item.seq]))
        elif text is None:
            total += tokens
        else:
            masked.append(replace(item, parts=masked_parts(item, text)))
    return total + sum(tokens_of(masked, count))


def _carried(
    strategy: Strategy, snapshot: Snapshot, plan: Plan, rule: Budget, survey: Survey, most: int | None
) -> list[Item]:
    """The context after the plan. `most`: tokens for all it puts in, parted as the strategy parts them; None: as it asks."""
    if plan.status not in LANDS:
        return list(snapshot.items)
    answers: list[Answer] = []
    own = sum(_own(ask) for ask in plan.asks)
    for ask in sorted(plan.asks, key=lambda ask: isinstance(ask, SummaryAsk)):
        if not isinstance(ask, SummaryAsk | FilesAsk):
            answers.append(answer(ask, snapshot, rule.count, surveyed=survey))
        elif isinstance(ask, FilesAsk):
            if most is not None:
                share = min(1.0, most / own)
                ask = replace(ask, each=int(ask.each * share), total=int(ask.total * share))  # noqa: PLW2901
            answers.append(answer(ask, snapshot, rule.count, surveyed=survey))
            if most is not None:
                most -= sum(state.tokens for state in getattr(answers[-1], "files", ()))
        else:
            if most is not None:
                ask = replace(ask, max_tokens=max(LEAST_SUMMARY, most))  # noqa: PLW2901
            answers.append(answer(beside(ask, answers), snapshot, rule.count, surveyed=survey))
    answers = refilled(plan.asks, answers, snapshot, rule.count, surveyed=survey)
    outcome = strategy.finish(plan, snapshot, answers)
    return applied(snapshot, outcome.edits) if outcome.status in LANDS else list(snapshot.items)


def tokens_of(items: Sequence[Item], count: Count) -> list[int]:
    """Tokens of each item as it is sent."""
    texts = [[text for part in item.parts for text in sent_texts(part)] for item in items]
    counted = iter(count([text for many in texts for text in many]))
    return [sum(next(counted) for _ in many) for many in texts]


def _tokens(snapshot: Snapshot, items: Sequence[Item], count: Count) -> list[int]:
    known = {id(item.parts): tokens for item, tokens in zip(snapshot.items, snapshot.tokens, strict=True)}
    new = [item for item in items if id(item.parts) not in known]
    counted = dict(zip(map(id, new), tokens_of(new, count), strict=True))
    return [known[id(item.parts)] if id(item.parts) in known else counted[id(item)] for item in items]


def newest_within(items: list[Item], tokens: list[int], budget: int, count: Count) -> Fitted:
    """The newest items that fit, and the end of the one that does not."""
    left = budget
    out: list[Item] = []
    for item, size in zip(reversed(items), reversed(tokens), strict=True):
        if size > left:
            if left > 20:
                cut = _cut(item, left, size, count, tail=True)
                left -= tokens_of([cut], count)[0]
                out.append(cut)
            break
        out.append(item)
        left -= size
    return Fitted(tuple(reversed(out)), budget - left, trimmed=len(out) < len(items))


def _trimmed(items: Sequence[Item], tokens: Sequence[int], budget: int, count: Count) -> Fitted:
    quarter = budget // 4
    body, sizes = list(items), list(tokens)
    over = [n for n, item in enumerate(body) if item.results and sizes[n] > quarter]
    for n in over:
        body[n] = _cut(body[n], quarter, sizes[n], count)
    for n, size in zip(over, tokens_of([body[n] for n in over], count), strict=True):
        sizes[n] = size
    last = newest_boundary(body)
    first = [n for n, item in enumerate(body) if n == last or item.inserted]  # they stay longest
    left = budget
    kept: dict[int, Item] = {}
    for n in [*reversed(first), *(n for n in range(len(body) - 1, -1, -1) if n not in set(first))]:
        if sizes[n] <= left:
            kept[n] = body[n]
            left -= sizes[n]
        elif left > 20:
            kept[n] = _cut(body[n], left, sizes[n], count, tail=n not in first)
            left -= tokens_of([kept[n]], count)[0]
            break
        else:
            break
    return Fitted(tuple(kept[n] for n in sorted(kept)), budget - left, trimmed=True)


def _cut(item: Item, most: int, size: int, count: Count, *, tail: bool = False) -> Item:
    """The item in at most `most` tokens: each text with its head and tail, or its tail alone."""
    share = most / max(1, size)
    while True:
        parts = tuple(
            _shorter(part, share, tail=tail) if part.text else part
            for part in item.parts
            if part.kind is not PartKind.MEDIA
        )
        out = replace(item, parts=parts, masked=True)
        if tokens_of([out], count)[0] <= most or share < 0.001:
            return out
        share *= 0.9


def _shorter(part: Part, share: float, *, tail: bool) -> Part:
    room = int(len(part.text) * share)
    if tail:
        return replace(part, text=part.text[-room:] if room else "")
    head = room * 7 // 10
    return replace(part, text=part.text[:head] + "\n…\n" + part.text[len(part.text) - (room - head) :])
