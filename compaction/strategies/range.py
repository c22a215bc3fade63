"""Range: a person chooses entries or turns, and each range becomes a fold of its own, so that it can be taken back alone.

What is chosen is widened to whole answers, since a call cannot go without its result; what may never be folded stays where it is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from compaction.finishing import finished
from compaction.folding import Places, blocks_of, fold_of, hopeless, numbers_of, spans
from compaction.plan import Answer, Budget, Fold, Outcome, Plan, Snapshot, Status, SummaryAsk
from compaction.strategies.base import Param, read_ranges, written_ranges
from compaction.summary.shapes import CONCLUSION
from sessions.contexts import Item

LEAST_SUMMARY = 40
_LINE = 24  # tokens, about: what says that a range is gone


class Range:
    id = "range"
    version = 1
    label = "Chosen ranges"
    about = "Folds the entries or turns you choose; each range is a fold of its own and can be taken back alone."
    params: Sequence[Param] = (
        Param("ranges", "Entries, as 12-40,55", "ranges", "", source="opencode-dcp, 2026: ranges by id"),
        Param("turns", "Turns, as 3-5", "ranges", "", source="this product's own"),
        Param("summary", "Of each range, at most (0: one line)", "tokens", 800, 0, source="this product's own"),
    )
    presets: Mapping[str, Mapping[str, Any]] = {"with a conclusion": {}, "one line": {"summary": 0}}

    def plan(self, snapshot: Snapshot, budget: Budget, params: Mapping[str, Any]) -> Plan:
        """A fold for each range. Ranges that share an answer become one. Linear in items and ranges."""
        name = f"{self.id}:{self.version}"
        refused = hopeless(name, snapshot, budget)
        if refused is not None:
            return refused
        facts: dict[str, Any] = {"used": dict(params), "before": snapshot.total}
        if not params["ranges"] and not params["turns"]:
            return Plan(name, Status.NOOP_NOTHING_TO_DO, "no entries and no turns are chosen", facts=facts)
        ranges = read_ranges(params["ranges"])
        turns = read_ranges(params["turns"])
        chosen = [part for part in _chosen(snapshot, ranges, turns) if _pays(snapshot, part)]
        if not chosen:
            said = written_ranges(ranges) or f"turns {written_ranges(turns)}"
            reason = f"nothing in {said} can be folded: it is hidden already, kept for good, or shorter than a line"
            return Plan(name, Status.NOOP_NOTHING_TO_DO, reason, facts=facts)
        return _folded(name, snapshot, params["summary"], chosen, facts)

    def finish(self, plan: Plan, snapshot: Snapshot, answers: Sequence[Answer]) -> Outcome:
        """The folds as edits."""
        return finished(plan, snapshot, answers)


STRATEGY = Range()


type _Spans = Sequence[tuple[int, int]]


def _chosen(snapshot: Snapshot, ranges: _Spans, turns: _Spans) -> list[set[int]]:
    """The positions of each range, widened to whole blocks; ranges that meet in an answer are one. In order of place.

    What an earlier fold put in goes with the range that holds all it stood for.
    """
    of = blocks_of(snapshot).of
    entries, spoken = _apart(ranges), _apart(turns)
    owner: dict[int, int] = {}  # block → the range it belongs to
    same = list(range(len(entries) + len(spoken)))  # range → an earlier one that it meets, or itself

    def root(n: int) -> int:
        while same[n] != n:
            n = same[n]
        return n

    for n, item in enumerate(snapshot.items):
        by_entry, by_turn = _number(entries, _bounds(item)), _number(spoken, (item.turn, item.turn))
        for number in (by_entry, None if by_turn is None else len(entries) + by_turn):
            if number is not None:
                one, other = root(owner.setdefault(of[n], number)), root(number)
                same[max(one, other)] = min(one, other)
    found: dict[int, set[int]] = {}
    for n in fold_of(snapshot, (n for n in range(len(of)) if of[n] in owner)):
        found.setdefault(root(owner[of[n]]), set()).add(n)
    return sorted(found.values(), key=min)


def _apart(spans_of: _Spans) -> list[tuple[int, int]]:
    """Ranges in order, those that overlap made one; those that only touch stay two."""
    out: list[tuple[int, int]] = []
    for first, last in sorted(spans_of):
        if out and first <= out[-1][1]:
            out[-1] = (out[-1][0], max(last, out[-1][1]))
        else:
            out.append((first, last))
    return out


def _bounds(item: Item) -> tuple[int | None, int | None]:
    """First and last entry that an item is, or stands for; None where it stands for none."""
    if item.seq is not None:
        return item.seq, item.seq
    stood = item.stands_for.spans
    return (stood[0][0], stood[-1][1] - 1) if stood else (None, None)


def _number(spans_of: _Spans, bounds: tuple[int | None, int | None]) -> int | None:
    """Which of the ranges holds both bounds."""
    first, last = bounds
    if first is None or last is None:
        return None
    at = bisect_right(spans_of, (first, float("inf"))) - 1
    return at if at >= 0 and spans_of[at][0] <= first and last <= spans_of[at][1] else None


def _pays(snapshot: Snapshot, part: set[int]) -> bool:
    """Whether a range holds an entry that is not folded yet, and more tokens than a line that says it is gone."""
    return any(snapshot.items[n].seq is not None for n in part) and sum(snapshot.tokens[n] for n in part) > 2 * _LINE


def _folded(name: str, snapshot: Snapshot, summary: int, chosen: Sequence[set[int]], facts: dict[str, Any]) -> Plan:
    items = snapshot.items
    gone = set().union(*chosen)
    places = Places(snapshot, gone)
    folds: list[Fold] = []
    asks: list[SummaryAsk] = []
    for number, part in enumerate(chosen, 1):
        seqs = [items[n].seq for n in sorted(part) if items[n].seq is not None]
        title = f"Entries {seqs[0]}–{seqs[-1]}" if len(seqs) > 1 else f"Entry {seqs[0]}"
        size = sum(snapshot.tokens[n] for n in part)
        key = f"range-{number}"
        most = min(summary, size // 2 - _LINE)
        if most >= LEAST_SUMMARY:
            asks.append(SummaryAsk(key, tuple(items[n] for n in sorted(part)), (), most, template=CONCLUSION))
            head = f"[{title} of this session, in short:]"
        else:
            head = f"[{title} of this session: left out]"
        folds.append(Fold(key, spans(part, items), places.before(min(part)), title, head, "", numbers_of(items, part)))
    facts |= {
        "folds": len(folds),
        "folded_entries": sum(1 for n in gone if items[n].seq is not None),
        "folded_tokens": sum(snapshot.tokens[n] for n in gone),
    }
    return Plan(
        name,
        fold=spans(gone, items),
        absorb=numbers_of(items, gone),
        folds=tuple(folds),
        after=folds[0].after,
        asks=tuple(asks),
        facts=facts,
    )
