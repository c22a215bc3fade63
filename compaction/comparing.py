"""Strategies dry-run side by side on one snapshot: the verb behind the page, the command and the API."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F

from compaction.choosing import Choice, choose
from compaction.plan import Snapshot
from compaction.preview import Preview, preview
from compaction.snapshots import Base, base_of, budget_of, pins_of, reading, snapshot_of
from compaction.strategies import RECOMMENDED, by_id, strategies
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
            "strategies": [_row_json(row) for row in self.rows],
        }


def offered() -> list[Wanted]:
    """What is compared when nobody says what: every strategy that needs no wish of a person, the recommended first."""
    found = [Wanted(name) for name, one in strategies().items() if all(param.kind != "ranges" for param in one.params)]
    return sorted(found, key=lambda wanted: wanted.strategy != RECOMMENDED)


def compare(session: Session, names: Iterable[str] = (), *, pins: Iterable[int] = ()) -> Compared:
    """Dry-run the strategies called `names` (`offered()` where there are none) on the context in force. Writes nothing.

    Refused for a session without entries, a name that means nothing, or more than `MOST`. A strategy that cannot be previewed is a row
    with the reason; it does not take the others with it.
    """
    wanted = list(dict.fromkeys(Wanted.read(name) for name in names)) or offered()
    if len(wanted) > MOST:
        raise Refused("too_many", f"{len(wanted)} strategies are more than the {MOST} that are compared at once.")
    choices = [_choice(one) for one in wanted]
    with reading():
        session = Session.objects.select_related("head", "native_head").get(pk=session.pk)
        base = base_of(session)
        kept = pins_of(session, pins)
        snapshot = snapshot_of(session, base, pins=kept)
        budget = budget_of(session)
        rows = []
        for one, choice in zip(wanted, choices, strict=True):
            started = time.perf_counter()
            made: Preview | None = None
            refused = ""
            try:
                made = preview(choice.strategy, snapshot, budget, choice.params, pins=kept)
                refused = "" if made.lands else made.reason or made.status.value
            except Refused as refusal:
                refused = str(refusal)
            except Exception:
                # One that others wrote may fail on a session nobody thought of; its row says so, the rest is shown.
                logger.exception("strategy %s could not be previewed on session %s", choice.name, session.pk)
                refused = f"{choice.strategy.label} failed on this session; the server's log says where."
            rows.append(DryRun(one, choice.strategy.label, made, refused, time.perf_counter() - started))
    return Compared(session, base, snapshot, budget.meter, snapshot.total, budget.window, budget.threshold, tuple(rows))


def recent(workspace: Any, most: int = 20) -> list[Session]:
    """The sessions of a workspace worked on last, with entries: those a comparison may begin with."""
    found = Session.objects.filter(workspace=workspace, entries_count__gt=0, parent=None)
    return list(found.order_by(F("last_at").desc(nulls_last=True), "-pk")[:most])


def _choice(wanted: Wanted) -> Choice:
    choice = choose(strategy=wanted.strategy)
    if not wanted.preset:
        return choice
    presets = by_id(wanted.strategy).presets
    if wanted.preset not in presets:
        known = ", ".join(presets) or "none"
        raise Refused("no_such_preset", f"{wanted.strategy} has no preset {wanted.preset!r}; there are: {known}.")
    return choose(strategy=wanted.strategy, params=presets[wanted.preset])


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
        "plan_digest": None if made is None else made.digest,
        "seconds": round(row.seconds, 3),
    }


def _kind_json(kind: Any) -> dict[str, Any]:
    return {"kind": kind.kind, "kept": kind.verbatim, "of": kind.total, "share": kind.share}


def by_order(rows: Sequence[DryRun], key: str) -> list[DryRun]:
    """The rows by `key`: "after", "retention", "time"; else as they are. Refused ones come last."""
    worst = float("inf")
    match key:
        case "after":
            return sorted(rows, key=lambda row: row.preview.tokens_after if row.preview and row.lands else worst)
        case "retention":
            return sorted(rows, key=lambda row: -_future(row) if row.lands else worst)
        case "time":
            return sorted(rows, key=lambda row: row.seconds if row.lands else worst)
        case _:
            return sorted(rows, key=lambda row: not row.lands)


def _future(row: DryRun) -> float:
    report = None if row.preview is None else row.preview.retention
    return -1.0 if report is None or report.future_use is None else report.future_use
