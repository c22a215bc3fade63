"""The registry of meters: rules that count tokens. Each is a few coefficients over the size vector, so SQL can sum it too."""

from __future__ import annotations

from sessions.meters.base import Meter
from sessions.meters.rules import BUILT_IN

DEFAULT = "o200k"


def meters() -> dict[str, Meter]:
    """Every meter by id, in order of the table."""
    return {meter.id: meter for meter in BUILT_IN}


def by_id(name: str) -> Meter:
    """The meter called `name`; KeyError where there is none."""
    return meters()[name]


__all__ = ["DEFAULT", "Meter", "by_id", "meters"]
