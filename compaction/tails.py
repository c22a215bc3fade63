"""The newest part of a context, fitted into what there is room for: large outputs left with head and tail, and where the part begins."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from compaction.blocks import Blocks, is_boundary
from compaction.outputs import CUT, Output, outputs_of, replaced
from compaction.plan import Budget, Snapshot
from sessions.contexts import Item
from sessions.entries import Part, PartKind

LEAST = 120  # tokens an output is left with at least
SAVED = 40  # fewer tokens are not worth cutting an output for
SHARE = 3  # one output may take a third of the newest part


def clipped(
    snapshot: Snapshot, budget: Budget, tokens: Sequence[int], masks: Mapping[int, str], tail: int
) -> tuple[dict[int, tuple[Part, ...]], list[int]]:
    """Outputs of the newest `tail` tokens that take more than a third of it, left with head and tail; and the tokens of all items then.

    `tokens`: of the items after `masks`. What is pinned, cut before or no output stays as it is.
    """
    most = max(LEAST, tail // SHARE)
    outputs: dict[int, list[Output]] = {}
    first, room = len(tokens), tail
    while first > 0 and room > 0:
        first -= 1
        room -= min(tokens[first], most)
    for output in outputs_of(snapshot, first):
        outputs.setdefault(output.n, []).append(output)
    parts: dict[int, tuple[Part, ...]] = {}
    seen = 0
    for n in range(len(tokens) - 1, -1, -1):
        if seen >= tail:
            break
        item = snapshot.items[n]
        large = n in outputs and tokens[n] > most + SAVED and item.seq not in masks
        if large and all(output.free and not output.less for output in outputs[n]):
            parts[n] = _shorter(item, most / tokens[n])
        seen += min(tokens[n], most) if n in parts else tokens[n]
    left = replaced(snapshot, budget, parts)
    after = [
        left.tokens[n] if n in parts and snapshot.items[n].seq in left.bodies else size for n, size in enumerate(tokens)
    ]
    return dict(left.bodies), after


def cut_at(
    items: Sequence[Item], tokens: Sequence[int], grouped: Blocks, tail: int, kept: Collection[int]
) -> tuple[int, int]:
    """The position at which the newest part begins, and its tokens, at most `tail`; it begins with a person's message where one is near
    enough. `kept`: blocks that stay in any case and are not counted.
    """
    allowed = grouped.cuts()
    size = len(items)
    sums = [0] * (size + 1)
    far = size
    for n in range(size - 1, -1, -1):
        sums[n] = sums[n + 1] + (0 if grouped.of[n] in kept else tokens[n])
        if sums[n] <= tail:
            far = n
    for n in range(far, size):
        if sums[n] < tail // 2:
            break
        if allowed[n] and is_boundary(items[n]):
            return n, sums[n]
    first = next((n for n in range(far, size + 1) if allowed[n]), size)
    return first, sums[first]


def _shorter(item: Item, share: float) -> tuple[Part, ...]:
    return tuple(
        _cut(part, int(len(part.text) * share)) if part.kind is PartKind.TOOL_RESULT else part for part in item.parts
    )


def _cut(part: Part, most: int) -> Part:
    room = max(0, most - 60)  # for the line that says it
    head = room * 3 // 4
    text = part.text
    said = f"{CUT}{room:,} of {len(text):,} characters: head and tail]\n"
    return replace(part, text=f"{said}{text[:head]}\n…\n{text[len(text) - (room - head) :]}")
