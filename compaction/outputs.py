"""The tool outputs of a context one by one, and an entry whose outputs are left with less.

Agents decide output by output, and leave more than a line of some: a version then holds the entry's parts anew, the calls and results of
them the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from compaction.masks import MARK, calls_of, in_pieces
from compaction.plan import Budget, Snapshot
from compaction.tools import PROTECTED, Call
from sessions.contexts import Item
from sessions.entries import Part, PartKind, Role
from sessions.meters.tokens import sent_texts

CLEARED = "[Old tool result content cleared]"
USED = "[Previous: "
CUT = "[Output cut to "
LESS = (MARK, CLEARED, USED, CUT)
"""How an output begins that was left with less before: by us, or by OpenCode, Claude Code and j-cli themselves."""


@dataclass(frozen=True, slots=True)
class Output:
    """The output `part` in the item at position `n`, its `index` among the item's parts. `free`: it may be left with less: it is a whole
    entry's, not pinned, and no decision or state that could not be had again.
    """

    n: int
    index: int
    part: Part
    call: Call | None
    free: bool

    @property
    def less(self) -> bool:
        """Whether it was left with less before."""
        return self.part.text.startswith(LESS)

    @property
    def tool(self) -> str:
        return "unknown" if self.call is None else self.call.tool


def outputs_of(snapshot: Snapshot, since: int = 0) -> list[Output]:
    """All outputs of a context from position `since` on, the newest first."""
    calls = calls_of(snapshot)
    signed = {item.step for item in snapshot.items if item.signed and item.step is not None}
    pieces = in_pieces(snapshot)
    found: list[Output] = []
    for n in range(len(snapshot.items) - 1, since - 1, -1):
        item = snapshot.items[n]
        if not item.results:
            continue
        loose = item.seq is not None and not item.pinned and item.seq not in snapshot.pinned and not item.signed
        loose = loose and item.seq not in pieces and not (item.role is Role.ASSISTANT and item.step in signed)
        for index in range(len(item.parts) - 1, -1, -1):
            part = item.parts[index]
            if part.kind is PartKind.TOOL_RESULT:
                call = calls.get(part.call_id or "")
                free = loose and (call is None or call.kind not in PROTECTED)
                found.append(Output(n, index, part, call, free))
    return found


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a context's entries: `bodies` by seq, the items as they then are, and the tokens of each."""

    bodies: Mapping[int, tuple[Part, ...]]
    items: tuple[Item, ...]
    tokens: tuple[int, ...]

    @property
    def total(self) -> int:
        return sum(self.tokens)


def left(snapshot: Snapshot, budget: Budget, less: Iterable[tuple[Output, str]]) -> Left:
    """The context with the text given in the place of each output; what would save nothing stays as it is.

    Media beside outputs that are all left with less go with them, as they do where agents clear an output.
    """
    wanted: dict[int, dict[int, str]] = {}
    for output, text in less:
        if output.free:
            wanted.setdefault(output.n, {})[output.index] = text
    return replaced(snapshot, budget, {n: _with(snapshot.items[n], texts) for n, texts in wanted.items()})


def replaced(snapshot: Snapshot, budget: Budget, parts: Mapping[int, tuple[Part, ...]]) -> Left:
    """The context with other parts at these positions, wherever that is fewer tokens by the run's meter."""
    items, tokens = list(snapshot.items), list(snapshot.tokens)
    texts: list[str] = []
    owners: list[int] = []
    costs: dict[int, int] = {}
    for n, new in parts.items():
        kept_media = any(part.kind is PartKind.MEDIA for part in new)
        if kept_media:
            continue  # a picture's tokens are not its text's: such an entry stays whole
        costs[n] = 0
        for part in new:
            for text in sent_texts(part):
                texts.append(text)
                owners.append(n)
    for n, cost in zip(owners, budget.count(texts), strict=True):
        costs[n] += cost
    bodies: dict[int, tuple[Part, ...]] = {}
    for n in sorted(costs):
        seq = items[n].seq
        if seq is not None and costs[n] < tokens[n]:
            bodies[seq] = parts[n]
            items[n] = replace(items[n], parts=parts[n], masked=True)
            tokens[n] = costs[n]
    return Left(bodies, tuple(items), tuple(tokens))


def _with(item: Item, texts: Mapping[int, str]) -> tuple[Part, ...]:
    whole = sum(part.kind is PartKind.TOOL_RESULT for part in item.parts)
    return tuple(
        replace(part, text=texts[n]) if n in texts else part
        for n, part in enumerate(item.parts)
        if not (part.kind is PartKind.MEDIA and len(texts) == whole)
    )
