"""Dedupe: what a session holds twice stands there once. Superseded reads, repeated calls and the inputs of failed calls give way to a line.

Nothing is lost that the context does not hold again, newer: a file's older reading where the same lines were read later, a call's older
result where the same call was made later. Of a call that failed some turns ago what counts is that it failed and why, not the text
it would have written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from compaction.blocks import is_boundary
from compaction.finishing import finished
from compaction.folding import hopeless
from compaction.masks import LEAST_RESULT, LEAST_SAVED, calls_of, is_mask, maskable, masks_at
from compaction.plan import Answer, Budget, Outcome, Plan, Snapshot, Status
from compaction.strategies.base import Param
from compaction.tools import Call, ToolKind, output_of
from sessions.contexts import Item
from sessions.entries import Part, PartKind, Role
from sessions.meters.tokens import sent_texts

LEFT_OUT = "[input left out: "
_SHORT = 200  # characters: an argument of no more is kept, it may say what the call was about


class Dedupe:
    id = "dedupe"
    version = 1
    label = "Drop what stands there twice"
    about = "Leaves out reads that were made again later, results of repeated calls and the inputs of failed calls. No model."
    params: Sequence[Param] = (
        Param("reads", "Superseded reads", "flag", True, source="opencode-dcp, 2026"),
        Param("repeats", "Repeated calls", "flag", True, source="opencode-dcp, 2026"),
        Param("failed", "Inputs of failed calls", "flag", True, source="opencode-dcp, 2026"),
        Param("failed_after", "Inputs, after so many turns", "count", 4, 0, source="opencode-dcp, 2026: 4"),
        Param("turns", "Newest turns, whole", "count", 1, 0, source="this product's own"),
    )
    presets: Mapping[str, Mapping[str, Any]] = {
        "all three": {},
        "reads only": {"repeats": False, "failed": False},
        "at once": {"failed_after": 0, "turns": 0},
    }

    def plan(self, snapshot: Snapshot, budget: Budget, params: Mapping[str, Any]) -> Plan:
        """Masks of results and shortened inputs. Linear in the number of items."""
        name = f"{self.id}:{self.version}"
        refused = hopeless(name, snapshot, budget)
        if refused is not None:
            return refused
        ages = _turns_ago(snapshot.items)
        reasons = _doubles(snapshot, ages, params)
        masks, left = masks_at(snapshot, budget, sorted(reasons), reasons)
        freed = sum(snapshot.tokens[n] - cost for n, cost in left.items())
        bodies, saved = _inputs(snapshot, budget, ages, params) if params["failed"] else ({}, 0)
        said = [reasons[n] for n in left]
        facts = {
            "used": dict(params),
            "before": snapshot.total,
            "superseded_reads": sum(reason.startswith("read again") for reason in said),
            "repeated_calls": sum(reason.startswith("called again") for reason in said),
            "failed_inputs": len(bodies),
            "freed_by_masks": freed + saved,
        }
        if not masks and not bodies:
            reason = "nothing stands there twice, and no failed call has a long input that is old enough"
            return Plan(name, Status.NOOP_NOTHING_TO_DO, reason, facts=facts)
        return Plan(name, Status.PRUNED_ONLY, masks=masks, bodies=bodies, facts=facts)

    def finish(self, plan: Plan, snapshot: Snapshot, answers: Sequence[Answer]) -> Outcome:
        """The masks and shortened inputs as edits."""
        return finished(plan, snapshot, answers)


STRATEGY = Dedupe()


def _turns_ago(items: Sequence[Item]) -> list[int]:
    """For each position how many messages of a person come after it, its own turn being 0."""
    out = [0] * len(items)
    turns = 0
    for n in range(len(items) - 1, -1, -1):
        out[n] = turns
        turns += is_boundary(items[n])
    return out


def _doubles(snapshot: Snapshot, ages: Sequence[int], params: Mapping[str, Any]) -> dict[int, str]:
    """Positions of results that a later one makes needless, each with the reason in a few words."""
    items = snapshot.items
    calls = calls_of(snapshot)
    later: dict[str, int | None] = {}
    read: dict[str, list[tuple[int, float, int | None]]] = {}
    found: dict[int, str] = {}
    for n in range(len(items) - 1, -1, -1):
        item = items[n]
        results = [part for part in item.parts if part.kind is PartKind.TOOL_RESULT]
        if not results:
            continue
        whys = [_why(part, calls, later, read, params) for part in results]
        for part in results:
            _note(part, calls, item.seq, later, read)
        if not all(whys) or ages[n] < params["turns"] or item.seq in snapshot.pinned:
            continue
        if snapshot.tokens[n] > LEAST_RESULT and maskable(item, calls):
            found[n] = whys[0] or ""
    return found


def _why(
    part: Part,
    calls: Mapping[str, Call],
    later: Mapping[str, int | None],
    read: Mapping[str, list[tuple[int, float, int | None]]],
    params: Mapping[str, Any],
) -> str | None:
    """Why a result may go: what came after it says the same, newer. None where nothing does."""
    call = calls.get(part.call_id or "")
    if call is None or output_of(part).failed:
        return None
    if params["reads"] and call.kind is ToolKind.READ and call.path:
        first, last = _lines(call)
        for low, high, seq in read.get(call.path, ()):
            if low <= first and last <= high:
                return f"read again at entry {seq}"
    if params["repeats"] and call.kind in (ToolKind.READ, ToolKind.SEARCH, ToolKind.FETCH, ToolKind.RUN):
        key = _key(call)
        if key in later:
            return f"called again at entry {later[key]}"
    return None


def _note(
    part: Part,
    calls: Mapping[str, Call],
    seq: int | None,
    later: dict[str, int | None],
    read: dict[str, list[tuple[int, float, int | None]]],
) -> None:
    """Remember a result as one that makes earlier ones needless: not where it failed, nor where it is itself a mask."""
    call = calls.get(part.call_id or "")
    if call is None or output_of(part).failed or is_mask(part):
        return
    later.setdefault(_key(call), seq)
    if call.kind is ToolKind.READ and call.path:
        first, last = _lines(call)
        known = read.setdefault(call.path, [])
        if len(known) < 16 and not any(low <= first and last <= high for low, high, _ in known):
            known.append((first, last, seq))


def _key(call: Call) -> str:
    return f"{call.tool}\0{call.raw}"


def _lines(call: Call) -> tuple[int, float]:
    """The lines a read asked for: first, and last or infinity. Tools count them by offset and limit, or by first and last line."""
    args = call.args or {}

    def figure(*names: str) -> int | None:
        return next((value for name in names if type(value := args.get(name)) is int), None)

    view = args.get("view_range")
    if isinstance(view, list) and len(view) == 2 and all(type(one) is int for one in view):
        return view[0], view[1] if view[1] > 0 else float("inf")
    first = figure("offset", "start_line") or 0
    last, limit = figure("end_line"), figure("limit")
    if last is not None:
        return first, last
    return first, float("inf") if limit is None else first + limit


def _inputs(
    snapshot: Snapshot, budget: Budget, ages: Sequence[int], params: Mapping[str, Any]
) -> tuple[dict[int, tuple[Part, ...]], int]:
    """Bodies by seq of calls that failed long enough ago, their long arguments replaced by a note; and the tokens that saves."""
    items = snapshot.items
    failed = {
        part.call_id
        for item in items
        for part in item.parts
        if part.kind is PartKind.TOOL_RESULT and part.call_id and output_of(part).failed
    }
    signed = {item.step for item in items if item.signed and item.step is not None}
    wanted: list[tuple[int, int, tuple[Part, ...]]] = []
    for n, item in enumerate(items):
        if item.seq is None or item.pinned or item.seq in snapshot.pinned or item.signed:
            continue
        if ages[n] < max(params["failed_after"], params["turns"]) or (
            item.role is Role.ASSISTANT and item.step in signed
        ):
            continue
        if failed.isdisjoint(item.calls):
            continue
        parts = tuple(_shortened(p) if p.kind is PartKind.TOOL_CALL and p.call_id in failed else p for p in item.parts)
        if parts != item.parts:
            wanted.append((n, item.seq, parts))
    costs = _costs(budget, [parts for _, _, parts in wanted])
    bodies: dict[int, tuple[Part, ...]] = {}
    saved = 0
    for (n, seq, parts), cost in zip(wanted, costs, strict=True):
        if snapshot.tokens[n] - cost >= LEAST_SAVED:
            bodies[seq] = parts
            saved += snapshot.tokens[n] - cost
    return bodies, saved


def _costs(budget: Budget, bodies: Sequence[tuple[Part, ...]]) -> Iterator[int]:
    texts = [[text for part in parts for text in sent_texts(part)] for parts in bodies]
    counts = iter(budget.count([text for one in texts for text in one]))
    return iter([sum(next(counts) for _ in one) for one in texts])


def _shortened(part: Part) -> Part:
    """A call whose long arguments are replaced by a note of their size; its arguments stay a JSON object where they were one."""
    if part.text[:1] == "{":
        try:
            args = orjson.loads(part.text)
        except ValueError:
            args = None
        if isinstance(args, dict):
            short = {name: _note_of(value) for name, value in args.items()}
            return part if short == args else replace(part, text=orjson.dumps(short).decode())
    return replace(part, text=_note_of(part.text))


def _note_of(value: Any) -> Any:
    if not isinstance(value, str | list | dict):
        return value
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    if len(text) <= _SHORT or text.startswith(LEFT_OUT):
        return value
    return f"{LEFT_OUT}{len(text):,} characters; the call failed]"
