"""Strategies dry-run side by side on one snapshot: the verb behind the page, the command and the API."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import F

from compaction.choosing import Choice, choose
from compaction.plan import Snapshot, SummaryAnswer
from compaction.preview import Preview, Writer, preview
from compaction.snapshots import Base, base_of, budget_of, pins_of, reading, snapshot_of
from compaction.strategies import RECOMMENDED, strategies
from compaction.summarisers.configured import Target
from compaction.summarisers.writers import foretelling
from sessions.collecting import held_back
from sessions.limits import overrides_of
from sessions.models import Session
from sessions.versions import Refused

logger = logging.getLogger(__name__)

MOST = 24
"""Dry runs of one comparison."""

SEPARATOR = ":"
"""Between strategy and preset in a name: `codex:local`."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A strategy, with the figures of a preset of it where one is named."""

    strategy: str
    preset: str = ""

    @property
    def name(self) -> str:
        return f"{self.strategy}{SEPARATOR}{self.preset}" if self.preset else self.strategy

    @classmethod
    def read(cls, name: str) -> Wanted:
        """From `strategy` or `strategy:preset`; nothing is checked here."""
        strategy, _, preset = name.strip().partition(SEPARATOR)
        return cls(strategy, preset)


GOAL = "goal"
"""The parameter in which a strategy takes what a person wants to go on with."""


@dataclass(frozen=True, slots=True)
class Foretold:
    """What a model would take for all summaries of a plan. `usd`: at most, None where nobody says; `price`: by whose price."""

    model: str
    calls: int
    prompt: int
    output: int
    usd: Decimal | None
    price: str | None


@dataclass(frozen=True, slots=True)
class DryRun:
    """One of them. Without a `preview`, `refused` says why there is none. `seconds`: what planning and summarising took."""

    wanted: Wanted
    label: str
    preview: Preview | None
    refused: str
    seconds: float

    @property
    def lands(self) -> bool:
        return self.preview is not None and self.preview.lands

    @property
    def foretold(self) -> Foretold | None:
        return None if self.preview is None else foretold(self.preview)


@dataclass(frozen=True, slots=True)
class Compared:
    """All of them, on one base. `tokens`: of the context as it is, by `meter`."""

    session: Session
    base: Base
    snapshot: Snapshot
    meter: str
    tokens: int
    window: int | None
    threshold: int | None
    rows: tuple[DryRun, ...]
    model: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Figures and outcomes of each, without the texts: those are in the preview of the one that is chosen."""
        return {
            "session": str(self.session.pk),
            "base": self.base.version.n,
            "base_hash": self.base.content_hash,
            "tokens": {
                "meter": self.meter,
                "before": self.tokens,
                "window": self.window,
                "threshold": self.threshold,
            },
            "model": self.model,
            "strategies": [_row_json(row) for row in self.rows],
        }


def offered() -> list[Wanted]:
    """What is compared when nobody says what: every strategy that needs no wish of a person, the recommended first."""
    found = [Wanted(name) for name, one in strategies().items() if all(param.kind != "ranges" for param in one.params)]
    return sorted(found, key=lambda wanted: wanted.strategy != RECOMMENDED)


def foretold(made: Preview) -> Foretold | None:
    """What the model would take for all summaries of a preview; None where none would be asked."""
    found = [one.cost for one in made.answers if isinstance(one, SummaryAnswer) and one.stands_in]
    if not found:
        return None
    money = [Decimal(cost["usd"]) for cost in found if cost["usd"] is not None]
    calls, prompt, output = (sum(cost[name] for cost in found) for name in ("calls", "prompt", "output"))
    usd = sum(money, Decimal(0)) if len(money) == len(found) else None
    return Foretold(found[0]["model"], calls, prompt, output, usd, found[0]["price"])


def compare(
    session: Session,
    names: Iterable[str] = (),
    *,
    pins: Iterable[int] = (),
    summariser: str = "extractive",
    model: str | None = None,
    goal: str = "",
) -> Compared:
    """Dry-run the strategies called `names` (`offered()` where there are none) on the context in force. Writes nothing.

    `summariser` and `model`: who would write the summaries; no model is asked, what it would take is foretold. `goal`: what a strategy that
    takes one is to go on with. Refused for a session without entries, a name that means nothing, a model that is none, or more than `MOST`.
    A strategy that cannot be previewed is a row with the reason; it does not take the others with it.
    """
    wanted = list(dict.fromkeys(Wanted.read(name) for name in names)) or offered()
    if len(wanted) > MOST:
        raise Refused("too_many", f"{len(wanted)} strategies are more than the {MOST} that are compared at once.")
    choices = [_choice(one, summariser, model, goal.strip()) for one in wanted]
    target = choices[0].model
    with reading(), held_back():
        session = Session.objects.select_related("head", "native_head").get(pk=session.pk)
        base = base_of(session)
        kept = pins_of(session, pins)
        snapshot = snapshot_of(session, base, pins=kept)
        budget = budget_of(session)
        writer = None if target is None else _foretelling(session, target)
        rows = []
        for one, choice in zip(wanted, choices, strict=True):
            started = time.perf_counter()
            made: Preview | None = None
            refused = ""
            try:
                made = preview(
                    choice.strategy, snapshot, budget, choice.params, pins=kept, summariser=choice.asked, writer=writer
                )
                refused = "" if made.lands else made.reason or made.status.value
            except Refused as refusal:
                refused = str(refusal)
            except Exception:
                # One that others wrote may fail on a session nobody thought of; its row says so, the rest is shown.
                logger.exception("strategy %s could not be previewed on session %s", choice.name, session.pk)
                refused = f"{choice.strategy.label} failed on this session; the server's log says where."
            rows.append(DryRun(one, choice.strategy.label, made, refused, time.perf_counter() - started))
    return Compared(
        session,
        base,
        snapshot,
        budget.meter,
        snapshot.total,
        budget.window,
        budget.threshold,
        tuple(rows),
        None if target is None else target.name,
    )


def recent(workspace: Any, most: int = 20) -> list[Session]:
    """The sessions of a workspace worked on last, with entries: those a comparison may begin with."""
    found = Session.objects.filter(workspace=workspace, entries_count__gt=0, parent=None)
    return list(found.order_by(F("last_at").desc(nulls_last=True), "-pk")[:most])


def _foretelling(session: Session, target: Target) -> Writer:
    return foretelling(target, overrides_of(session.workspace_id))


def _choice(wanted: Wanted, summariser: str, model: str | None, goal: str) -> Choice:
    strategy = choose(strategy=wanted.strategy).strategy
    params: dict[str, Any] = {}
    if wanted.preset:
        presets = strategy.presets
        if wanted.preset not in presets:
            known = ", ".join(presets) or "none"
            raise Refused("no_such_preset", f"{wanted.strategy} has no preset {wanted.preset!r}; there are: {known}.")
        params = dict(presets[wanted.preset])
    if goal and any(param.name == GOAL and param.kind == "text" for param in strategy.params):
        params[GOAL] = goal
    return choose(strategy=wanted.strategy, params=params, summariser=summariser, model=model)


def _row_json(row: DryRun) -> dict[str, Any]:
    made = row.preview
    report = None if made is None else made.retention
    return {
        "strategy": row.wanted.strategy,
        "preset": row.wanted.preset or None,
        "label": row.label,
        "lands": row.lands,
        "status": None if made is None else made.status.value,
        "reason": row.refused,
        "after": made.tokens_after if made is not None and made.lands else None,
        "future_use": None if report is None else report.future_use,
        "future_use_error": None if report is None else report.future_use_error,
        "kinds": [] if report is None else [_kind_json(kind) for kind in report.kinds],
        "losses": None if report is None else report.losses_total,
        "warnings": [] if made is None else list(made.warnings),
        "model": None if row.foretold is None else _cost_json(row.foretold),
        "plan_digest": None if made is None else made.digest,
        "seconds": round(row.seconds, 3),
    }


def _cost_json(found: Foretold) -> dict[str, Any]:
    usd = None if found.usd is None else str(found.usd.normalize())
    return {"calls": found.calls, "prompt": found.prompt, "output": found.output, "usd": usd, "price": found.price}


def _kind_json(kind: Any) -> dict[str, Any]:
    return {"kind": kind.kind, "kept": kind.verbatim, "of": kind.total, "share": kind.share}


def by_order(rows: Sequence[DryRun], key: str) -> list[DryRun]:
    """The rows by `key`: "after", "retention", "cost" (of the model), "time"; else as they are. Refused ones come last."""
    worst = float("inf")
    match key:
        case "after":
            return sorted(rows, key=lambda row: row.preview.tokens_after if row.preview and row.lands else worst)
        case "retention":
            return sorted(rows, key=lambda row: -_future(row) if row.lands else worst)
        case "cost":
            return sorted(rows, key=lambda row: _tokens(row) if row.lands else worst)
        case "time":
            return sorted(rows, key=lambda row: row.seconds if row.lands else worst)
        case _:
            return sorted(rows, key=lambda row: not row.lands)


def _tokens(row: DryRun) -> float:
    """By tokens: the price is the same for all, where it is known."""
    return 0.0 if row.foretold is None else float(row.foretold.prompt + row.foretold.output)


def _future(row: DryRun) -> float:
    report = None if row.preview is None else row.preview.retention
    return -1.0 if report is None or report.future_use is None else report.future_use
