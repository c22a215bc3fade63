"""Gemini CLI's adaptive weight: what a static estimate is multiplied by, learned from each request's own count.

Source: Gemini CLI's own source, August 2026. The weight moves a fifth of the way towards what the last request showed, by at most
0.15, and stays between a half and two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

RATE = 0.2
STEP = 0.15
LEAST, MOST = 0.5, 2.0


@dataclass(frozen=True, slots=True)
class Adaptive:
    """The weight after `seen` requests."""

    weight: float = 1.0
    seen: int = 0

    def after(self, estimate: int, recorded: int) -> Adaptive:
        """The weight once a request that was estimated at `estimate` (by the static rule) turned out to hold `recorded` tokens.

        Nothing is learned where either is 0: such a record says nothing.
        """
        if estimate <= 0 or recorded <= 0:
            return self
        target = min(max(recorded / estimate, self.weight * 0.5), self.weight * 2)
        moved = min(max(RATE * (target - self.weight), -STEP), STEP)
        return Adaptive(min(max(self.weight + moved, LEAST), MOST), self.seen + 1)

    def of(self, estimate: int) -> int:
        """The tokens of what the static rule estimates at `estimate`."""
        return int(estimate * self.weight)


def learned(requests: Iterable[tuple[int, int]]) -> Iterator[Adaptive]:
    """The weight after each of `requests` (static estimate, recorded prompt), in order."""
    state = Adaptive()
    for estimate, recorded in requests:
        state = state.after(estimate, recorded)
        yield state
