"""From scores to tables: means over sessions of each session's mean, with intervals by drawing sessions again."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import StatisticsError, correlation, fmean
from typing import Any

from compaction.measure.scoring import Score

DRAWS = 1_000
DECIDING = ("supported", "edits", "static")
GAMING = "bag-of-names"
SEED = 20_260

MEASURES: dict[str, Callable[[Score], float | None]] = {
    "supported": lambda s: s.supported,
    "edits": lambda s: s.edits,
    "static": lambda s: s.static.get("all"),
    "recall": lambda s: s.recall,
    "calls": lambda s: s.calls,
    "messages": lambda s: s.messages,
    "predicted": lambda s: s.predicted,
    "novel": lambda s: s.novel,
}


def table(scores: Iterable[Score]) -> list[dict[str, Any]]:
    """A row for each budget and method, in the order in which they come: mean and 95 % interval of each measure, tokens, milliseconds."""
    groups: dict[tuple[int, str], list[Score]] = {}
    for score in scores:
        groups.setdefault((score.budget, score.method), []).append(score)
    rows = []
    for (budget, method), mine in groups.items():
        row: dict[str, Any] = {
            "budget": budget,
            "method": method,
            "cases": len(mine),
            "sessions": len({score.session for score in mine}),
            "tokens": round(fmean(score.tokens for score in mine)),
            "milliseconds": round(fmean(score.milliseconds for score in mine), 1),
            "trimmed": round(fmean(score.trimmed for score in mine), 3),
        }
        for name, of in MEASURES.items():
            row[name] = interval(by_session((score.session, of(score)) for score in mine))
        kinds = sorted({kind for score in mine for kind in score.static if kind != "all"})
        row["kinds"] = {
            kind: rounded(mean(by_session((s.session, s.static.get(kind)) for s in mine))) for kind in kinds
        }
        rows.append(row)
    return rows


def differences(scores: Sequence[Score], ours: str, measure: str) -> list[dict[str, Any]]:
    """Ours minus each other method, case by case, by budget: mean and 95 % interval over sessions."""
    of = MEASURES[measure]
    mine = {(s.session, s.at, s.budget): of(s) for s in scores if s.method == ours}
    groups: dict[tuple[int, str], list[tuple[str, float | None]]] = {}
    for s in scores:
        own, other = mine.get((s.session, s.at, s.budget)), of(s)
        if s.method != ours and own is not None and other is not None:
            groups.setdefault((s.budget, s.method), []).append((s.session, own - other))
    return [
        {"budget": budget, "method": method, **interval(by_session(rows))} for (budget, method), rows in groups.items()
    ]


def prediction(scores: Sequence[Score]) -> dict[str, float | None]:
    """How far the predicted share of future use was off the real one, over all strategies and budgets (names counted as the prediction counts
    them, support aside): mean error, bias and correlation.
    """
    pairs = [
        (s.predicted, s.recall)
        for s in scores
        if s.predicted is not None and s.recall is not None and s.method != GAMING
    ]
    if len(pairs) < 2:
        return {"cases": len(pairs), "error": None, "bias": None, "correlation": None}
    try:
        together = correlation([p for p, _ in pairs], [r for _, r in pairs])
    except StatisticsError:  # all the same
        together = None
    return {
        "cases": len(pairs),
        "error": round(fmean(abs(p - r) for p, r in pairs), 4),
        "bias": round(fmean(p - r for p, r in pairs), 4),
        "correlation": None if together is None else round(together, 4),
    }


def told(found: Mapping[str, Any]) -> Iterator[str]:
    """The tables as lines of text."""
    yield (
        f"{found['cases']} cuts of {found['sessions']} sessions ({found['files']} files), {found['seconds']:.0f} s. Means over sessions; "
        "in brackets 95 % intervals by drawing sessions again."
    )
    for budget in dict.fromkeys(row["budget"] for row in found["rows"]):
        yield ""
        yield (
            f"{budget:,} tokens".ljust(18)
            + "".join(f"{name:>22}" for name in _TITLES)
            + f"{'tokens':>8}{'ms':>7}{'cut':>6}"
        )
        for row in found["rows"]:
            if row["budget"] == budget:
                cells = "".join(f"{_cell(row[name]):>22}" for name in DECIDING)
                said = f"{row['tokens']:>8,}{row['milliseconds']:>7.0f}{row['trimmed']:>6.0%}"
                yield f"{row['method']:<18}{cells}{said}"
    off = found["prediction"]
    if off["error"] is not None:
        yield ""
        yield (
            f"Predicted against real future use, {off['cases']:,} contexts: mean error {off['error']:.3f}, bias {off['bias']:+.3f}, "
            f"correlation {off['correlation'] or 0:.2f}"
        )


_TITLES = ("supported future use", "edits word for word", "static recall")


def _cell(value: Mapping[str, float | None]) -> str:
    if value["mean"] is None:
        return "–"
    return f"{value['mean']:.3f} [{value['low']:.3f}, {value['high']:.3f}]"


def by_session(values: Iterable[tuple[str, float | None]]) -> list[float]:
    """The mean of each session that has a value."""
    found: dict[str, list[float]] = {}
    for session, value in values:
        if value is not None:
            found.setdefault(session, []).append(value)
    return [fmean(found[session]) for session in sorted(found)]


def interval(means: Sequence[float]) -> dict[str, float | None]:
    """Mean and 95 % interval, by drawing as many sessions again DRAWS times. The same values give the same interval."""
    if not means:
        return {"mean": None, "low": None, "high": None}
    rng = random.Random(SEED)  # noqa: S311 -- a resampling, no secret
    drawn = sorted(fmean(rng.choices(means, k=len(means))) for _ in range(DRAWS))
    return {
        "mean": round(fmean(means), 4),
        "low": round(drawn[int(DRAWS * 0.025)], 4),
        "high": round(drawn[int(DRAWS * 0.975) - 1], 4),
    }


def mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
