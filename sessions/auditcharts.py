"""The drawings of the audit: tokens spent on goals given up, by week and by class. Pure geometry, in shares of the width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

WEEKS = 26  # newest weeks that are drawn
HEIGHT, FOOT, HEAD = 150, 24, 20  # of the drawing, its labels below and above, in pixels
LABELS = 10  # week labels that fit
CLASSES = 5


@dataclass(frozen=True, slots=True)
class Spent:
    """A week of the trend: its Monday, goals and tokens; `waiting`: tokens of those that are still to review."""

    week: date
    goals: int
    tokens: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Bar:
    """`x`, `width`: percent. `done` and `waiting`: top and height in pixels. `label`: of the week, "" where there is no room for it."""

    x: float
    width: float
    middle: float
    done: tuple[float, float]
    waiting: tuple[float, float]
    top: float
    spent: Spent
    label: bool
    said: bool
    alternate: bool  # every second label: a narrow page leaves it out


@dataclass(frozen=True, slots=True)
class Trend:
    """`ticks`: height in pixels and tokens of each line. `earlier`: goals of weeks before those drawn."""

    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, int], ...]
    base: float
    earlier: int


def trend(weeks: Sequence[Spent]) -> Trend:
    """Bars of the newest weeks, those without a goal among them; their scale ends at a round number."""
    if not weeks:
        return Trend((), (), HEIGHT - FOOT, 0)
    by_week = {one.week: one for one in weeks}
    last = max(by_week)
    first = max(min(by_week), last - timedelta(weeks=WEEKS - 1))
    days = [first + timedelta(weeks=n) for n in range((last - first).days // 7 + 1)]
    shown = [by_week.get(day, Spent(day, 0, 0, 0)) for day in days]
    top = rounded(max(one.tokens for one in shown))
    base = HEIGHT - FOOT
    scale = (base - HEAD) / top
    slot = 100 / max(len(shown), 4)
    every = -(-len(shown) // LABELS)
    bars = []
    for n, one in enumerate(shown):
        done, waiting = (one.tokens - one.waiting) * scale, one.waiting * scale
        x = n * slot + slot * 0.22
        labelled = (len(shown) - 1 - n) % every == 0
        bars.append(
            Bar(
                round(x, 3),
                round(slot * 0.56, 3),
                round(x + slot * 0.28, 3),
                (round(base - done, 2), round(done, 2)),
                (round(base - done - waiting, 2), round(waiting, 2)),
                round(base - done - waiting, 2),
                one,
                labelled,
                labelled and one.tokens > 0,
                (len(shown) - 1 - n) // every % 2 == 1,
            )
        )
    steps = 3
    ticks = tuple((round(base - (base - HEAD) * n / steps, 2), round(top * n / steps)) for n in range(steps + 1))
    return Trend(tuple(bars), ticks, base, sum(one.goals for one in weeks if one.week < first))


def rounded(value: int) -> int:
    """The next number of 3, 6, 9, 12, 15, 18, 24, 30 times a power of ten: a third of it is a round number too."""
    if value <= 3:
        return 3
    power = 10 ** (len(str(value)) - 2) if value >= 10 else 1
    for factor in (3, 6, 9, 12, 15, 18, 24, 30, 45, 60, 75, 90, 120):
        if factor * power >= value:
            return factor * power
    return 120 * power


def classes(found: Sequence[tuple[str, int]]) -> tuple[list[tuple[str, int, float]], tuple[int, int, float] | None]:
    """The largest classes with tokens and share of the largest; of the others how many, their tokens and share. None: there are none."""
    most = max((tokens for _, tokens in found), default=0) or 1
    room = CLASSES if len(found) > CLASSES + 1 else CLASSES + 1
    shown = [(label, tokens, round(tokens * 100 / most, 1)) for label, tokens in found[:room]]
    others = found[room:]
    if not others:
        return shown, None
    tokens = sum(one for _, one in others)
    return shown, (len(others), tokens, min(100.0, round(tokens * 100 / most, 1)))
