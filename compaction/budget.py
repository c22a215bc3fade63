"""Which meter a session is counted by, and how large its context may be."""

from __future__ import annotations

from compaction.plan import Budget
from sessions.meters import DEFAULT, Meter, by_id
from sessions.meters.tokens import counter
from sessions.windows import rule_of


def meter_for(agent: str, version: str | None = None) -> Meter:
    """The meter by which the agent itself estimates (at `version` of it), so that figures stand on one scale with its thresholds.

    Before and after of a run are counted by it alike. The default where no rule of the agent is known.
    """
    rule = rule_of(agent, version)
    return by_id(DEFAULT if rule is None else rule.meter)


def budget_for(meter: Meter, *, window: int | None = None, threshold: int | None = None) -> Budget:
    """The budget of a session: `window` of its model, `threshold` at which its own agent compacts (None: not known)."""
    return Budget(meter.id, counter(meter), window, threshold)
