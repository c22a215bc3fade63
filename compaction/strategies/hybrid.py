"""Hybrid: mask old tool output, then fold what is older than the newest part behind one summary, then bring back the files in use.

Masking is free and reversible, so it goes first and often suffices; the fold keeps whole answers together, ends before a person's
message where it can, and never takes pinned entries, the newest message or standing instructions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compaction.blocks import Blocks, is_boundary
from compaction.finishing import finished
from compaction.folding import (
    LEAST_FOLD,
    Places,
    as_kept,
    blocks_of,
    hopeless,
    is_summary,
    kept_blocks,
    numbers_of,
    spans,
    stays,
)
from compaction.masks import LEAST_RESULT, calls_of, maskable, masks_at
from compaction.merge import made_at
from compaction.plan import (
    Answer,
    Ask,
    Budget,
    FilesAsk,
    Outcome,
    Plan,
    Snapshot,
    Status,
    SummaryAsk,
)
from compaction.strategies.base import Param
from sessions.contexts import InsertKind, Item
from sessions.meters import by_id
from sessions.ranges import Ranges

SUMMARY, FILES = "summary", "files"

LEAST_SUMMARY = 250

_OF_CONTEXT = 0.4  # aim: this share of the context, where it is less than the absolute figure
_OF_WINDOW = 0.5


@dataclass(frozen=True, slots=True)
class _Used:
    """The parameters in figures, defaults resolved."""

    protect: int
    free: int
    keep: int
    aim: int
    anchor: bool
    summary: int
    file_count: int
    file_each: int
    file_total: int


class Hybrid:
    id = "hybrid"
    version = 1
    label = "Hybrid mask + summary"
    about = "Masks old tool output for free, then summarises what is old and brings back the files in use."
    params: Sequence[Param] = (
        Param(
            "protect",
            "Protect newest tool output",
            "tokens",
            None,
            0,
            source="Gemini CLI 0.56: 50,000",
            auto="50,000, or five twelfths of the aim where that is less",
        ),
        Param(
            "free",
            "Mask if it frees at least",
            "tokens",
            None,
            0,
            source="Gemini CLI 0.56: 30,000",
            auto="30,000, or a quarter of the aim where that is less",
        ),
        Param(
            "keep",
            "Newest, word for word",
            "tokens",
            None,
            0,
            source="Gemini CLI's experimental pipeline, 2026: 65,000",
            auto="65,000, or half of the aim where that is less",
        ),
        Param(
            "aim",
            "Aim for at most",
            "tokens",
            None,
            0,
            source="this product's own",
            auto="120,000, or 40 % of the context, or half of the window or threshold, whichever is least",
        ),
        Param("anchor", "Update the earlier summary", "flag", True, source="Factory, December 2025"),
        Param(
            "summary",
            "Summary, at most",
            "tokens",
            None,
            LEAST_SUMMARY,
            source="this product's own",
            auto="6,000, or a quarter of the aim where that is less",
        ),
        Param("files", "Files to bring back", "count", 5, 0, 50, source="Claude Code 2.1: 5"),
        Param(
            "file_each",
            "Of each file, at most",
            "tokens",
            None,
            0,
            source="Claude Code 2.1: 5,000",
            auto="5,000, or a twenty-fourth of the aim where that is less",
        ),
        Param(
            "file_total",
            "Of all files, at most",
            "tokens",
            None,
            0,
            source="Claude Code 2.1: 50,000",
            auto="50,000, or a fifth of the aim where that is less",
        ),
    )
    presets: Mapping[str, Mapping[str, Any]] = {
        "scaled": {},
        "50K": {
            "protect": 50_000,
            "free": 30_000,
            "keep": 65_000,
            "aim": 120_000,
            "summary": 6_000,
            "file_each": 5_000,
            "file_total": 50_000,
        },
        "remember more": {"protect": 20_000, "keep": 30_000, "aim": 60_000, "summary": 10_000, "files": 3},
        "keep working code": {"protect": 60_000, "keep": 80_000, "aim": 120_000, "summary": 3_000, "files": 8},
    }

    def plan(self, snapshot: Snapshot, budget: Budget, params: Mapping[str, Any]) -> Plan:
        """Masks, fold and asks. `facts`: every figure used and what the masks free. Linear in the number of items."""
        used = resolved(params, snapshot, budget)
        facts: dict[str, Any] = {
            "used": {name: getattr(used, name) for name in _Used.__slots__},
            "before": snapshot.total,
        }
        name = f"{self.id}:{self.version}"
        tokens = snapshot.tokens
        refused = hopeless(name, snapshot, budget)
        if refused is not None:
            return refused
        if params.get("aim") is None and made_at(snapshot) == snapshot.last_seq:
            reason = f"nothing came since the compaction at entry {snapshot.last_seq}; give an aim to go further"
            return Plan(name, Status.NOOP_NOTHING_TO_DO, reason, facts=facts)
        masks, after_masks = _masks(snapshot, used, budget)
        freed = sum(tokens) - sum(after_masks)
        if freed < max(used.free, 1):
            facts["masks_not_worth"] = freed
            masks, after_masks, freed = {}, list(tokens), 0
        facts["freed_by_masks"] = freed
        total = sum(after_masks)
        if total <= used.aim:
            if masks:
                return Plan(name, Status.PRUNED_ONLY, masks=masks, facts=facts)
            reason = f"the context is {total:,} tokens, at most the {used.aim:,} aimed for"
            return Plan(name, Status.NOOP_BELOW_THRESHOLD, reason, facts=facts)
        return _fold(name, snapshot, used, masks, after_masks, facts)

    def finish(self, plan: Plan, snapshot: Snapshot, answers: Sequence[Answer]) -> Outcome:
        """The full edits. An empty or shapeless summary gives no edits and the status that says so."""
        return finished(plan, snapshot, answers)


STRATEGY = Hybrid()


def resolved(params: Mapping[str, Any], snapshot: Snapshot, budget: Budget) -> _Used:
    """All parameters as figures. Defaults scale with the context as it would be without masks, so that masking does not move them."""
    size = _unmasked(snapshot, budget)
    aims = [120_000, int(size * _OF_CONTEXT)]
    if budget.window:
        aims.append(int(budget.window * _OF_WINDOW))
    if budget.threshold:
        aims.append(int(budget.threshold * _OF_WINDOW))
    aim = _or(params.get("aim"), min(aims))
    return _Used(
        protect=_or(params.get("protect"), min(50_000, aim * 5 // 12)),
        free=_or(params.get("free"), min(30_000, aim // 4)),
        keep=_or(params.get("keep"), min(65_000, aim // 2)),
        aim=aim,
        anchor=bool(params.get("anchor", True)),
        summary=_or(params.get("summary"), max(LEAST_SUMMARY, min(6_000, aim // 4))),
        file_count=int(params.get("files", 5)),
        file_each=_or(params.get("file_each"), min(5_000, aim // 24)),
        file_total=_or(params.get("file_total"), min(50_000, aim // 5)),
    )


def _or(given: Any, default: int) -> int:
    return default if given is None else int(given)


def _unmasked(snapshot: Snapshot, budget: Budget) -> int:
    masked = {item.seq: tokens for item, tokens in zip(snapshot.items, snapshot.tokens, strict=True) if item.masked}
    if not masked:
        return snapshot.total
    rule = by_id(budget.meter)
    whole = [item for item in snapshot.log() if item.seq in masked]
    return snapshot.total + sum(rule.of(item.sizes) - masked[item.seq] for item in whole)


def _masks(snapshot: Snapshot, used: _Used, budget: Budget) -> tuple[dict[int, str], list[int]]:
    """Placeholders by seq for results older than the protected output and outside the newest part, and all tokens after them."""
    items, tokens = snapshot.items, snapshot.tokens
    calls = calls_of(snapshot)
    output = newest = 0
    candidates: list[int] = []
    for n in range(len(items) - 1, -1, -1):
        item = items[n]
        in_newest = newest < used.keep
        newest += tokens[n]
        if not item.results:
            continue
        protected = output < used.protect
        if not item.masked:
            output += tokens[n]
        if in_newest or protected or tokens[n] <= LEAST_RESULT or item.seq in snapshot.pinned:
            continue
        if maskable(item, calls):
            candidates.append(n)
    masks, left = masks_at(snapshot, budget, candidates)
    after = list(tokens)
    for n, cost in left.items():
        after[n] = cost
    return masks, after


def _fold(
    name: str,
    snapshot: Snapshot,
    used: _Used,
    masks: dict[int, str],
    tokens: list[int],
    facts: dict[str, Any],
) -> Plan:
    items = snapshot.items
    grouped = blocks_of(snapshot)
    kept = kept_blocks(snapshot)
    old = (
        {n for n, item in enumerate(items) if is_summary(item) and grouped.of[n] not in kept} if used.anchor else set()
    )
    files = {n for n, item in enumerate(items) if item.kind is InsertKind.FILE}
    fixed = sum(tokens[n] for n in range(len(items)) if grouped.of[n] in kept)
    cut = _cut(items, tokens, grouped, used, fixed)
    fold = {
        n
        for n in range(cut)
        if grouped.of[n] not in kept and (used.anchor or not is_summary(items[n])) and not stays(items[n])
    }
    fresh = sum(snapshot.tokens[n] for n in fold - old - files)
    if fresh < LEAST_FOLD:
        if masks:
            facts["aim_missed"] = sum(tokens) - used.aim
            return Plan(name, Status.PRUNED_ONLY, masks=masks, facts=facts)
        reason = (
            "nothing came since the last compaction that is older than the newest part"
            if old
            else f"only {fresh:,} tokens are older than the newest part and may be folded: a summary would not be smaller"
        )
        return Plan(name, Status.NOOP_NOTHING_TO_DO, reason, facts=facts)
    fold |= old
    folded_tokens = sum(tokens[n] for n in fold)
    seqs = spans(fold, items)
    gone = fold | files
    masks = {seq: text for seq, text in masks.items() if seq not in seqs}
    left = tuple(as_kept(item, masks) for n, item in enumerate(items) if n not in gone)
    summary = min(used.summary, max(LEAST_SUMMARY, folded_tokens // 2))
    asks: list[Ask] = [SummaryAsk(SUMMARY, tuple(items[n] for n in sorted(fold)), left, summary)]
    file_total = min(used.file_total, max(0, (folded_tokens - summary) // 2))
    if used.file_count and file_total >= 100:
        whole = Ranges.from_numbers(
            item.seq for item in left if item.seq is not None and item.seq not in masks and not item.masked
        )
        asks.append(FilesAsk(FILES, used.file_count, min(used.file_each, file_total), file_total, kept=whole))
    facts |= {
        "folded_entries": sum(1 for n in fold if items[n].seq is not None),
        "folded_tokens": folded_tokens,
        "masked": len(masks),
        "kept_word_for_word": sum(snapshot.tokens[n] for n in range(cut, len(items)) if items[n].seq not in masks),
        "tail_from": next((item.seq for item in items[cut:] if item.seq is not None), None),
        "summary_max": summary,
        "files_max": file_total,
        "ends_before_a_message": cut < len(items) and is_boundary(items[cut]),
    }
    first, last = min(fold), max(n for n in fold if n < cut)
    places = Places(snapshot, gone)
    return Plan(
        name,
        masks=masks,
        fold=seqs,
        absorb=numbers_of(items, gone),
        after=places.before(first),
        files_after=places.before(last + 1),
        asks=tuple(asks),
        facts=facts,
    )


def _cut(items: Sequence[Item], tokens: Sequence[int], grouped: Blocks, used: _Used, fixed: int) -> int:
    """The position before which is folded. The part behind it is as large as the aim allows, at least `keep`, and starts with a person's
    message where one is near enough.
    """
    room = max(used.keep, used.aim - fixed - used.summary - (used.file_total if used.file_count else 0))
    allowed = grouped.cuts()
    size = len(items)
    tail = 0
    far = size
    sums = [0] * (size + 1)
    for n in range(size - 1, -1, -1):
        tail += tokens[n]
        sums[n] = tail
        if tail <= room:
            far = n
    least = used.keep if room > used.keep else used.keep // 2
    for n in range(far, size):
        if sums[n] < least:
            break
        if allowed[n] and is_boundary(items[n]):
            return n
    for n in range(far, size):
        if allowed[n]:
            return n
    return next((n for n in range(min(far, size - 1), -1, -1) if allowed[n]), 0)
