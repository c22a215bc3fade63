"""Hybrid: mask old tool output, then fold what is older than the newest part behind one summary; bring back pieces of files.

Masking is free and reversible, so it goes first and often suffices; the fold keeps whole answers together, ends before a person's
message where it can, and never takes pinned entries, the newest message or standing instructions. What masks and fold take of files comes
back where it is likely to be worked on next, so that the newest part may be short: how the aim is parted among summary, pieces and newest
part is measured in docs/retention.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compaction.blocks import is_boundary
from compaction.excerpts import known_tokens
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
    LayersAsk,
    Outcome,
    Plan,
    Snapshot,
    Status,
    SummaryAsk,
)
from compaction.strategies.base import Param
from compaction.tails import clipped, cut_at
from sessions.contexts import InsertKind, Item
from sessions.entries import Kind, Part
from sessions.meters import by_id
from sessions.ranges import Ranges

SUMMARY, FILES, LAYERS = "summary", "files", "layers"

LEAST_SUMMARY = 250
LEAST_FILES = 150  # tokens below which no file comes back

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
    layer_each: int
    layer_total: int


class Hybrid:
    id = "hybrid"
    version = 4
    label = "Hybrid mask + summary"
    about = "Masks old tool output for free, then summarises what is old and brings back the code likely to be worked on next."
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
            auto="65,000, or seven twentieths of the aim where that is less",
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
            auto="6,000, or 130 times the cube root of the aim where that is less; and what files leave of their share",
        ),
        Param("files", "Files to bring pieces of back", "count", 20, 0, 50, source="this product's own"),
        Param(
            "file_each",
            "Of each file, at most",
            "tokens",
            None,
            0,
            source="this product's own",
            auto="as much as of all files",
        ),
        Param(
            "file_total",
            "Of all files, at most",
            "tokens",
            None,
            0,
            source="this product's own",
            auto="half of the aim, or 8,000 and an eighth of it where that is less",
        ),
        Param("layer_each", "Of each memory file, at most", "tokens", 2_000, 0, source="this product's own"),
        Param(
            "layer_total",
            "Of all memory files, at most",
            "tokens",
            None,
            0,
            source="this product's own",
            auto="4,000, or a tenth of the aim where that is less; none where no file of this machine may be read",
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
        loose = frozenset(name for name in ("summary", "file_total", "keep", "protect") if params.get(name) is None)
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
                return _pruned(name, snapshot, used, loose, masks, {}, after_masks, facts)
            reason = f"the context is {total:,} tokens, at most the {used.aim:,} aimed for"
            return Plan(name, Status.NOOP_BELOW_THRESHOLD, reason, facts=facts)
        return _fold(name, snapshot, budget, used, loose, masks, after_masks, facts)

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
    file_total = _or(params.get("file_total"), min(aim // 2, 8_000 + aim // 8))
    return _Used(
        protect=_or(params.get("protect"), min(50_000, aim * 5 // 12)),
        free=_or(params.get("free"), min(30_000, aim // 4)),
        keep=_or(params.get("keep"), _keep_of(aim)),
        aim=aim,
        anchor=bool(params.get("anchor", True)),
        summary=_or(params.get("summary"), _summary_of(aim)),
        file_count=int(params.get("files", 20)),
        file_each=_or(params.get("file_each"), file_total),
        file_total=file_total,
        layer_each=int(params.get("layer_each", 2_000)),
        layer_total=_or(params.get("layer_total"), 0 if snapshot.disk is None else min(4_000, aim // 10)),
    )


def _keep_of(aim: int) -> int:
    return min(65_000, aim * 7 // 20)


def _summary_of(aim: int) -> int:
    """What a summary adds grows less and less with its size, what files and the newest part add nearly with theirs."""
    return max(LEAST_SUMMARY, min(6_000, int(130 * aim ** (1 / 3))))


def _or(given: Any, default: int) -> int:
    return default if given is None else int(given)


def _unmasked(snapshot: Snapshot, budget: Budget) -> int:
    masked = {item.seq: tokens for item, tokens in zip(snapshot.items, snapshot.tokens, strict=True) if item.masked}
    if not masked:
        return snapshot.total
    rule = by_id(budget.meter)
    whole = [item for item in snapshot.log() if item.seq in masked]
    return snapshot.total + sum(rule.of(item.sizes) - masked[item.seq] for item in whole)


_AT_ONCE = 4_000  # results whose lines are written and counted together


def _masks(snapshot: Snapshot, used: _Used, budget: Budget) -> tuple[dict[int, str], list[int]]:
    """Placeholders by seq for results older than the protected output and outside the newest part, and all tokens after them.

    The newest come first, and no older ones than can matter: where twice the aim is newer even so and enough is freed, all that is older will be
    folded but for what stays whole, and a line would be written to be thrown away.
    """
    items, tokens = snapshot.items, snapshot.tokens
    calls = calls_of(snapshot)
    after = list(tokens)
    masks: dict[int, str] = {}
    output = newest = newer = freed = 0
    enough = 2 * max(used.aim, used.keep)
    over = False
    candidates: list[int] = []
    staying: tuple[list[int], set[int]] = ([], set())

    def written() -> None:
        nonlocal freed, newer
        found, left = masks_at(snapshot, budget, candidates)
        masks.update(found)
        for n, cost in left.items():
            freed += tokens[n] - cost
            newer -= tokens[n] - cost
            after[n] = cost
        candidates.clear()

    for n in range(len(items) - 1, -1, -1):
        item = items[n]
        in_newest = newest < used.keep
        newest += tokens[n]
        newer += tokens[n]
        if not item.results:
            continue
        protected = output < used.protect
        if not item.masked:
            output += tokens[n]
        if in_newest or protected or tokens[n] <= LEAST_RESULT or item.seq in snapshot.pinned:
            continue
        if over and staying[0][n] not in staying[1]:
            continue
        if maskable(item, calls):
            candidates.append(n)
        if len(candidates) >= _AT_ONCE and not over:
            written()
            if newer > enough and freed >= max(used.free, 1):
                over, staying = True, (blocks_of(snapshot).of, kept_blocks(snapshot))
    written()
    return dict(sorted(masks.items())), after


def _pruned(
    name: str,
    snapshot: Snapshot,
    used: _Used,
    loose: frozenset[str],
    masks: dict[int, str],
    bodies: dict[int, tuple[Part, ...]],
    tokens: Sequence[int],
    facts: dict[str, Any],
) -> Plan:
    """Outputs alone are left with less; where that leaves room below the aim, pieces of the files they showed come back at the end, and what
    no file takes is left to the newest of the outputs.
    """
    # Behind a call without result nothing can be added: the agent would take the call for one that was broken off, and leave it out.
    added = not _ends_open(snapshot.items)
    layers = _layers(used) if added else 0
    spare = used.aim - sum(tokens) - layers
    room = min(used.file_total, spare) if used.file_count and added else 0
    if room >= LEAST_FILES:
        room = min(room, known_tokens(snapshot))
    if "protect" in loose and snapshot.total > used.aim:
        # Less than is worth masking: else the next look at the same context would mask it again.
        masks, bodies = _whole_again(snapshot, masks, bodies, tokens, min(spare - max(0, room), used.free - 1))
    left = [item for item in snapshot.items if item.seq not in masks and item.seq not in bodies]
    cut = [_as_left(item, {}, bodies) for item in snapshot.items if item.seq in bodies]
    asks: list[Ask] = [_files_ask(used, left, room, cut)] if room >= LEAST_FILES else []
    facts |= {"cut": len(bodies), "files_max": room if asks else 0}
    if layers and spare >= 0:
        asks.append(LayersAsk(LAYERS, used.layer_each, layers, _whole(left)))
    return Plan(
        name,
        Status.PRUNED_ONLY,
        masks=masks,
        bodies=bodies,
        files_after=Places(snapshot, ()).before(len(snapshot.items)),
        asks=tuple(asks),
        facts=facts,
    )


def _ends_open(items: Sequence[Item]) -> bool:
    """Whether the last entry of a context is a call: its result is not there yet, or never came."""
    last = next((item for item in reversed(items) if item.seq is not None), None)
    return last is not None and last.kind is Kind.TOOL_CALL


def _layers(used: _Used) -> int:
    """Tokens that are left for memory files; 0 where they are too few for any."""
    return used.layer_total if used.layer_total >= LEAST_FILES else 0


def _whole(left: Iterable[Item]) -> Ranges:
    """The entries among what is left that stand there whole."""
    return Ranges.from_numbers(item.seq for item in left if item.seq is not None and not item.masked)


def _cut_less(
    snapshot: Snapshot, budget: Budget, used: _Used, masks: Mapping[int, str], tokens: Sequence[int], parts: _Parts
) -> tuple[dict[int, tuple[Part, ...]], list[int]]:
    """Outputs of the newest part cut as little as the aim allows beside the files: nothing is folded, so there is no summary to leave room for.

    `tokens`: of the items after `masks`.
    """
    most = used.aim - parts.files - _layers(used)
    tail = max(parts.tail, most)
    while True:
        bodies, after = clipped(snapshot, budget, tokens, masks, tail)
        if tail <= parts.tail or sum(after) <= most:
            return bodies, after
        tail = max(parts.tail, tail * 3 // 4)


def _whole_again(
    snapshot: Snapshot,
    masks: Mapping[int, str],
    bodies: Mapping[int, tuple[Part, ...]],
    tokens: Sequence[int],
    room: int,
) -> tuple[dict[int, str], dict[int, tuple[Part, ...]]]:
    """Masks and bodies without those of the newest outputs that may stay whole in `room` tokens."""
    masks, bodies = dict(masks), dict(bodies)
    for n in range(len(tokens) - 1, -1, -1):
        more = snapshot.tokens[n] - tokens[n]
        if more > room:
            break
        seq = snapshot.items[n].seq
        if more > 0 and seq is not None:
            masks.pop(seq, None)
            bodies.pop(seq, None)
            room -= more
    return masks, bodies


def _files_ask(used: _Used, left: Iterable[Item], total: int, cut: Iterable[Item]) -> FilesAsk:
    whole = _whole(left)
    return FilesAsk(FILES, used.file_count, min(used.file_each, total), total, kept=whole, pieces=True, cut=tuple(cut))


@dataclass(frozen=True, slots=True)
class _Parts:
    """How the aim is parted: tokens for the summary, for pieces of files, and for the newest part."""

    summary: int
    files: int
    tail: int


def _parted(snapshot: Snapshot, used: _Used, loose: frozenset[str], fixed: int) -> _Parts:
    """`fixed`: tokens that stay in any case; what they leave is parted as a whole aim of that size is. What no file can fill is the newest
    part's. What a person said is to be kept is kept.
    """
    room = max(0, used.aim - fixed)
    summary = min(used.summary, max(LEAST_SUMMARY, room * 17 // 20))
    summary = min(summary, _summary_of(room)) if "summary" in loose else summary
    keep = min(used.keep, _keep_of(room), max(0, room - summary)) if "keep" in loose else used.keep
    files = min(used.file_total, max(0, room - summary - keep)) if used.file_count else 0
    if files:
        files = min(files, known_tokens(snapshot))
    return _Parts(summary, files, max(keep, room - summary - files))


def _fold(
    name: str,
    snapshot: Snapshot,
    budget: Budget,
    used: _Used,
    loose: frozenset[str],
    masks: dict[int, str],
    tokens: list[int],
    facts: dict[str, Any],
) -> Plan:
    """`loose`: parameters that were left to us, so that what one part does not need another may take."""
    items = snapshot.items
    grouped = blocks_of(snapshot)
    kept = kept_blocks(snapshot)
    old = (
        {n for n, item in enumerate(items) if is_summary(item) and grouped.of[n] not in kept} if used.anchor else set()
    )
    files = {n for n, item in enumerate(items) if item.kind is InsertKind.FILE}
    fixed = sum(tokens[n] for n in range(len(items)) if grouped.of[n] in kept)
    parts = _parted(snapshot, used, loose, fixed + _layers(used))
    bodies: dict[int, tuple[Part, ...]] = {}
    after_masks = tokens
    if "keep" in loose:
        bodies, tokens = clipped(snapshot, budget, tokens, masks, parts.tail)
    cut, tail = cut_at(items, tokens, grouped, parts.tail, kept)
    fold = {
        n
        for n in range(cut)
        if grouped.of[n] not in kept and (used.anchor or not is_summary(items[n])) and not stays(items[n])
    }
    fresh = sum(snapshot.tokens[n] for n in fold - old - files)
    if fresh < LEAST_FOLD:
        if masks or bodies:
            facts["aim_missed"] = sum(tokens) - used.aim
            if "keep" in loose:
                bodies, tokens = _cut_less(snapshot, budget, used, masks, after_masks, parts)
            return _pruned(name, snapshot, used, loose, masks, bodies, tokens, facts)
        reason = (
            "nothing came since the last compaction that is older than the newest part"
            if old
            else f"only {fresh:,} tokens are older than the newest part and may be folded: a summary would not be smaller"
        )
        return Plan(name, Status.NOOP_NOTHING_TO_DO, reason, facts=facts)
    fold |= old
    folded_tokens = sum(snapshot.tokens[n] for n in fold)
    seqs = spans(fold, items)
    gone = fold | files
    masks = {seq: text for seq, text in masks.items() if seq not in seqs}
    bodies = {seq: body for seq, body in bodies.items() if seq not in seqs}
    left = tuple(_as_left(item, masks, bodies) for n, item in enumerate(items) if n not in gone)
    unused = max(0, parts.tail - tail) if "summary" in loose else 0
    summary = min(parts.summary + unused, max(LEAST_SUMMARY, folded_tokens // 2))
    file_total = min(parts.files, max(0, (folded_tokens - summary) // 2))
    asks: list[Ask] = []
    spare = bool(used.file_count) and "file_total" in loose and known_tokens(snapshot) >= LEAST_FILES
    if file_total >= LEAST_FILES or spare:
        cut_short = [item for item in left if item.seq in bodies]
        asks.append(replace(_files_ask(used, left, file_total, cut_short), spare=spare))
    brings = bool(asks)
    if layers := _layers(used):
        asks.append(LayersAsk(LAYERS, used.layer_each, layers, _whole(left)))
    shared = file_total if brings and "summary" in loose else 0
    asks.append(SummaryAsk(SUMMARY, tuple(items[n] for n in sorted(fold)), left, summary, shared=shared, fill=True))
    facts |= {
        "folded_entries": sum(1 for n in fold if items[n].seq is not None),
        "folded_tokens": folded_tokens,
        "masked": len(masks),
        "cut": len(bodies),
        "kept_word_for_word": sum(
            snapshot.tokens[n]
            for n in range(cut, len(items))
            if items[n].seq not in masks and items[n].seq not in bodies
        ),
        "tail_from": next((item.seq for item in items[cut:] if item.seq is not None), None),
        "summary_max": summary,
        "files_max": file_total if brings else 0,
        "ends_before_a_message": cut < len(items) and is_boundary(items[cut]),
    }
    first, last = min(fold), max(n for n in fold if n < cut)
    places = Places(snapshot, gone)
    return Plan(
        name,
        masks=masks,
        bodies=bodies,
        fold=seqs,
        absorb=numbers_of(items, gone),
        after=places.before(first),
        files_after=places.before(last + 1),
        asks=tuple(asks),
        facts=facts,
    )


def _as_left(item: Item, masks: Mapping[int, str], bodies: Mapping[int, tuple[Part, ...]]) -> Item:
    if item.seq is not None and item.seq in bodies:
        return replace(item, parts=bodies[item.seq], masked=True)
    return as_kept(item, masks)
