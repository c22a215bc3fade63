"""One agent's context for another agent's writer."""

from __future__ import annotations

from collections.abc import Sequence

from sessions.contexts import Item
from sessions.writers.base import Draft


def crossed(draft: Draft, wired: Sequence[Item], agent: str) -> Draft:
    return draft
