"""Masks: which tool results may be replaced by one line, and what the line says.

The line names tool, main argument, size, exit code and the first error line: bare placeholders throw the errors away, and the rest of the
output can be had again by making the call again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from compaction.plan import Budget, Snapshot
from compaction.tools import PROTECTED, Call, error_lines, one_line, output_of, understand
from sessions.contexts import Item
from sessions.entries import Part, PartKind

MARK = "[output left out: "


def calls_of(snapshot: Snapshot) -> dict[str, Call]:
    """The calls of a context by their id, understood once per snapshot."""
    known: dict[str, Call] | None = snapshot.memo.get("calls")
    if known is None:
        known = snapshot.memo["calls"] = _understood(snapshot.items)
    return known


def _understood(items: Sequence[Item]) -> dict[str, Call]:
    return {
        part.call_id: understand(part, item.seq)
        for item in items
        for part in item.parts
        if part.kind is PartKind.TOOL_CALL and part.call_id
    }


def in_pieces(snapshot: Snapshot) -> set[int]:
    """Entries that the agent sends as more than one item (results, and words beside them), found once per snapshot.

    Their parts are not those of any one item: they stay as they are.
    """
    known: set[int] | None = snapshot.memo.get("in pieces")
    if known is None:
        times = Counter(item.seq for item in snapshot.items if item.seq is not None)
        known = snapshot.memo["in pieces"] = {seq for seq, n in times.items() if n > 1}
    return known


def is_mask(part: Part) -> bool:
    return part.text.startswith(MARK)


def maskable(item: Item, calls: Mapping[str, Call]) -> bool:
    """Whether an item is an entry whose results may be masked: not pinned, of no protected tool, not masked already."""
    if item.seq is None or item.pinned:
        return False
    if len(item.parts) == 1:  # most of them
        part = item.parts[0]
        if part.kind is not PartKind.TOOL_RESULT or part.signed or part.text.startswith(MARK):
            return False
        call = calls.get(part.call_id or "")
        return call is None or call.kind not in PROTECTED
    if item.signed:
        return False
    written = False
    for part in item.parts:
        if part.kind is PartKind.TOOL_RESULT:
            written = written or not part.text.startswith(MARK)
            call = calls.get(part.call_id or "")
            if call is not None and call.kind in PROTECTED:
                return False
    return written


def placeholder(part: Part, call: Call | None) -> str:
    """The line that stands for a result. Deterministic, one line, at most some 120 tokens."""
    if is_mask(part):
        return part.text
    output = output_of(part)
    lines = part.text.count("\n") + 1 if part.text else 0
    said = [f"{lines:,} lines" if lines > 1 else f"{len(part.text):,} characters"]
    if output.exit_code is not None:
        said.append(f"exit {output.exit_code}")
    elif output.failed:
        said.append("failed")
    tool = "tool" if call is None else call.tool
    name = tool if call is None else f"{tool} {one_line(call.argument, 160)}"
    error = ""
    if output.failed:
        found = error_lines(output.text, 1)
        error = f"; {one_line(found[0], 200)}" if found else ""
    return f"{MARK}{name}: {', '.join(said)}{error}]"


def masked_parts(item: Item, text: str) -> tuple[Part, ...]:
    """The parts of a masked item: each result with its line of `text`, media beside them gone, all else as it was."""
    if len(item.parts) == 1 and item.parts[0].kind is PartKind.TOOL_RESULT:
        return (item.parts[0].with_text(text.partition("\n")[0]),)
    lines = iter(text.split("\n"))
    out: list[Part] = []
    for part in item.parts:
        if part.kind is PartKind.TOOL_RESULT:
            out.append(part.with_text(next(lines, MARK + "tool]")))
        elif part.kind is not PartKind.MEDIA:
            out.append(part)
    return tuple(out)


LEAST_RESULT = 60  # tokens: a result of less is left as it is, its line would hardly be shorter
LEAST_SAVED = 40


def masks_at(
    snapshot: Snapshot, budget: Budget, positions: Sequence[int], reasons: Mapping[int, str] | None = None
) -> tuple[dict[int, str], dict[int, int]]:
    """Placeholders by seq for the results at `positions`, where they are worth it, and the tokens left at each position masked.

    `reasons`: by position, what the line says besides.
    """
    calls, pieces = calls_of(snapshot), in_pieces(snapshot)
    positions = [n for n in positions if snapshot.items[n].seq not in pieces]
    texts = [placeholders(snapshot.items[n], calls, (reasons or {}).get(n, "")) for n in positions]
    masks: dict[int, str] = {}
    left: dict[int, int] = {}
    costs = budget.count(texts)
    snapshot.memo.setdefault("counted", {}).update(zip(texts, costs, strict=True))
    for n, text, cost in zip(positions, texts, costs, strict=True):
        seq = snapshot.items[n].seq
        if seq is not None and snapshot.tokens[n] - cost >= LEAST_SAVED:
            masks[seq] = text
            left[n] = cost
    return dict(sorted(masks.items())), left


def placeholders(item: Item, calls: Mapping[str, Call], reason: str = "") -> str:
    """The lines for all results of an item, in order. `reason`: why it may go, in a few words."""
    first = item.parts[0]
    if len(item.parts) == 1 and first.kind is PartKind.TOOL_RESULT and not reason:  # most of them
        return placeholder(first, calls.get(first.call_id or ""))
    media = sum(part.kind is PartKind.MEDIA for part in item.parts)
    lines = [placeholder(p, calls.get(p.call_id or "")) for p in item.parts if p.kind is PartKind.TOOL_RESULT]
    if media and lines and lines[-1].endswith("]"):
        lines[-1] = (
            f"{lines[-1][:-1]}; {media} image{'s' if media > 1 else ''} or document{'s' if media > 1 else ''} left out]"
        )
    if reason:
        lines = [f"{line[:-1]}; {reason}]" if line.endswith("]") else line for line in lines]
    return "\n".join(lines)
