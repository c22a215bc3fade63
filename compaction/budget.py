"""Which meter a session is counted by, and how large its context may be."""

from __future__ import annotations

from compaction.plan import Budget
from sessions.meters import DEFAULT, Meter, by_id
from sessions.meters.tokens import counter

METERS = {
    "claude-code": "o200k",  # an estimate: its maker publishes no vocabulary; the session's own usage figures are the truth
    "codex": "o200k",  # its models' own vocabulary
    "opencode": "opencode-chars4",
    "gemini-cli": "gemini",
}


def meter_for(agent: str) -> Meter:
    """The meter a session of this agent is counted by unless a person chooses another."""
    return by_id(METERS.get(agent, DEFAULT))


def budget_for(meter: Meter, *, window: int | None = None, threshold: int | None = None) -> Budget:
    """The budget of a session: `window` of its model, `threshold` at which its own agent compacts (None: not known)."""
    return Budget(meter.id, counter(meter), window, threshold)
