"""When a session's memory is to be brought up to date. Pure; figures as write-ups of Claude Code 2.1 give them, save where it says otherwise."""

from __future__ import annotations

from dataclasses import dataclass

FIRST = 10_000
"""Tokens a context has before a memory is begun."""

MORE = 5_000
"""Tokens it has to have grown by before it is brought up to date."""

CALLS = 3
"""Tool calls that growth has to have brought, where the assistant has not come to a pause."""

GOING = 3
"""Results that clearing would take and that are in no memory yet: this product's own figure."""

WHOLE = 12
"""Newest results that clearing by count leaves whole."""

WAIT = 15.0
"""Seconds that a run waits for the memory before it goes on without."""


@dataclass(frozen=True, slots=True)
class Since:
    """What has come since the memory was last brought up to date. `tokens`: of sent entries, by o200k; `results`: of tools whose results may be
    cleared; `pause`: the assistant's last turn is over, it called nothing in its last answer. `begun`: there is a memory already.
    """

    tokens: int
    calls: int
    results: int
    pause: bool
    begun: bool

    @property
    def going(self) -> int:
        """Results that clearing all but the newest would take, and that are in no memory."""
        return max(0, self.results - WHOLE)


def due(since: Since) -> str:
    """Why it is to be brought up to date now, in words; "" where it is not."""
    if since.going >= GOING:
        return f"{since.going} results that clearing would take are in no memory yet"
    if not since.begun:
        return f"the context has reached {since.tokens:,} tokens" if since.tokens >= FIRST else ""
    if since.tokens < MORE:
        return ""
    if since.calls >= CALLS:
        return f"{since.tokens:,} tokens and {since.calls} calls have come since"
    return f"{since.tokens:,} tokens have come since, and the assistant has come to a pause" if since.pause else ""
