"""The conclusion of a goal or of any stretch of a session, in a few lines: what was asked, how it ended, what was touched and run.

For folds that are many and small, where nine sections would be longer than what they stand for. It reads the stretch alone, so that a
thousand of them cost no more than one of the same length; every line names the entries it comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from compaction.plan import Count, Section, SummaryAnswer
from compaction.summary.events import spoken
from compaction.summary.facts import decided, is_instruction, unmarked
from compaction.summary.template import EARLIER, NOTHING, bullet
from compaction.tools import Call, ToolKind, clip, error_lines, one_line, output_of, understand
from sessions.contexts import InsertKind, Item
from sessions.entries import Kind, Part, PartKind

NAME = "extractive"
TITLE = "Conclusion"

_MESSAGES, _REMARKS, _FILES, _COMMANDS = 6, 4, 24, 12
"""The most lines of a kind, newest first; a longer stretch is the nine sections' work."""

_CHANGES = frozenset({ToolKind.EDIT, ToolKind.WRITE, ToolKind.PATCH})
_TOLD = frozenset({ToolKind.RUN, ToolKind.AGENT})


@dataclass(slots=True)
class _Line:
    """`rank`: what is chosen first; `place`: where it stands."""

    rank: int
    place: tuple[int, int]
    text: str
    seqs: tuple[int, ...]


@dataclass(slots=True)
class _Stretch:
    """What one pass over the items found, each kind by its name, the newest use last."""

    earlier: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    asked: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    last: tuple[str, tuple[int, ...]] | None = None
    remarks: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    changed: dict[str, list[int]] = field(default_factory=dict)
    read: dict[str, list[int]] = field(default_factory=dict)
    ran: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    failed: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    explored: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)


def conclude(
    items: Sequence[Item],
    *,
    key: str,
    max_tokens: int,
    count: Count,
    calls: Mapping[str, Call] | None = None,
    decisions: Mapping[str, list[str]] | None = None,
) -> SummaryAnswer:
    """The conclusion of `items` in at most `max_tokens`. Where the caller knows them already: `calls`, those of the context by id; `decisions`,
    the sentences of texts that say what was decided (`decided`).
    """
    lines = _lines(_read(items, calls or {}, decisions or {}))
    if not lines:
        lines = [_Line(0, (0, 0), NOTHING.removeprefix("- "), ())]
    bullets = [bullet(line.text) for line in lines]
    costs = count([f"{one}\n" for one in bullets])
    if sum(costs) > max_tokens:
        lines = _weightiest(lines, costs, max_tokens)
        bullets = [bullet(line.text) for line in lines]
    section = Section(TITLE, tuple([(line.text, line.seqs) for line in lines]))
    return SummaryAnswer(key, "\n".join(bullets), NAME, (section,))


def _weightiest(lines: Sequence[_Line], costs: Sequence[int], room: int) -> list[_Line]:
    """As many lines as there is room for, by their rank, in their place."""
    chosen: list[_Line] = []
    for line, cost in sorted(zip(lines, costs, strict=True), key=lambda pair: (pair[0].rank, pair[0].place)):
        if cost <= room:
            chosen.append(line)
            room -= cost
        elif not chosen and room > 8:  # a part of the weightiest is better than nothing
            line.text = clip(line.text, max(8, len(line.text) * (room - 6) // cost))
            chosen.append(line)
            room = 0
    return sorted(chosen, key=lambda line: line.place)


def _read(items: Sequence[Item], calls: Mapping[str, Call], decisions: Mapping[str, list[str]]) -> _Stretch:
    found = _Stretch()
    own: dict[str, tuple[Part, int | None]] = {}
    is_call, is_result, is_text = PartKind.TOOL_CALL, PartKind.TOOL_RESULT, PartKind.TEXT
    for item in items:
        seqs = () if item.seq is None else (item.seq,)
        for part in item.parts:
            kind = part.kind
            if kind is is_call:
                if part.call_id:
                    own[part.call_id] = (part, item.seq)
            elif kind is is_result:
                made = own.get(part.call_id or "")
                if made is not None:
                    _result(found, part, calls.get(part.call_id or "") or understand(*made), seqs)
            elif kind is is_text:
                _words(found, item, part.text, seqs, decisions)
    return found


def _words(found: _Stretch, item: Item, text: str, seqs: tuple[int, ...], decisions: Mapping[str, list[str]]) -> None:
    kind = item.kind
    if kind is Kind.PROMPT or (kind is InsertKind.MESSAGE and item.role == "user"):
        if said := spoken(text):
            found.asked.append((said, seqs))
    elif kind is Kind.MESSAGE or (kind is InsertKind.MESSAGE and item.role == "assistant"):
        if text.strip():
            found.last = (text, seqs)
        known = decisions.get(text)
        found.remarks.extend((sentence, seqs) for sentence in (decided(text) if known is None else known))
    elif kind is Kind.SUMMARY or (item.inserted and kind in (InsertKind.SUMMARY, InsertKind.NOTICE)):
        bounds = (span[0] for span in item.stands_for.spans[:1])
        stood = seqs or tuple(bounds)
        found.earlier.extend((line.strip().removeprefix("- "), stood) for line in text.split("\n") if line.strip())


def _result(found: _Stretch, part: Part, call: Call, seqs: tuple[int, ...]) -> None:
    seqs = seqs if call.seq is None else (call.seq, *seqs)
    output = output_of(part)
    kind = call.kind
    touches = kind in _CHANGES or kind is ToolKind.READ
    plain = not output.failed and not found.failed  # most calls: nothing failed that this one might have mended
    if plain and touches and call.path is not None:
        (found.read if kind is ToolKind.READ else found.changed).setdefault(call.path, []).extend(seqs)
        return
    if plain and kind not in _TOLD and not touches:
        return
    what = one_line(call.argument, 160)
    if not plain:
        key = f"{kind} {what}"
        if output.failed:
            error = error_lines(output.text, 1)
            found.failed[key] = (f"{what or call.tool}: {error[0] if error else 'failed'}", seqs)
        else:
            found.failed.pop(key, None)
    if kind is ToolKind.RUN:
        ended = "failed" if output.failed and output.exit_code is None else f"exit {output.exit_code or 0}"
        found.ran.pop(what, None)
        found.ran[what] = (ended, seqs)
    elif kind is ToolKind.AGENT and not output.failed:
        found.explored.append((f"{what} → {one_line(output.text, 400)}", seqs))
    elif not output.failed and touches:
        uses = found.changed if kind in _CHANGES else found.read
        for path in [what] if call.path is None else [call.path]:
            uses.setdefault(path, []).extend(seqs)


def _lines(found: _Stretch) -> list[_Line]:
    """The lines, each in its place."""
    out: list[_Line] = []

    def add(rank: int, section: int, texts: Iterable[tuple[str, tuple[int, ...]]]) -> None:
        for n, (text, seqs) in enumerate(texts):
            out.append(_Line(rank, (section, n), text, tuple(dict.fromkeys(seqs)) if len(seqs) > 1 else seqs))

    # Most stretches have few kinds of lines.
    if found.earlier:
        add(1, 0, ((text if text.endswith(EARLIER) else f"{text} {EARLIER}", seqs) for text, seqs in found.earlier))
    rules: list[tuple[str, tuple[int, ...]]] = []
    others: list[tuple[str, tuple[int, ...]]] = []
    for one in found.asked:
        (rules if is_instruction(one[0]) else others).append(one)
    if rules:
        add(2, 1, [(f"asked: {one_line(text, 400)}", seqs) for text, seqs in rules])
    if others:
        add(4, 2, [(f"asked: {one_line(text, 200)}", seqs) for text, seqs in others[-_MESSAGES:]])
    if found.remarks:
        add(7, 3, [(clip(text, 300), seqs) for text, seqs in found.remarks[-_REMARKS:]])
    add(5, 4, found.explored)
    if found.changed:
        changed = list(found.changed.items())[-_FILES:]
        add(3, 5, [(f"changed {path}", tuple(seqs[-4:])) for path, seqs in changed])
    if found.ran:
        ran = list(found.ran.items())[-_COMMANDS:]
        add(6, 6, [(f"$ {what} → {ended}", seqs) for what, (ended, seqs) in ran])
    if found.failed:
        add(3, 7, [(f"not passing: {text}", seqs) for text, seqs in list(found.failed.values())[-_COMMANDS:]])
    only_read = [(path, seqs) for path, seqs in found.read.items() if path not in found.changed][-_FILES:]
    if only_read:
        seqs = tuple(seq for _, uses in only_read for seq in uses[-1:])
        add(8, 8, [(f"read {', '.join(path for path, _ in only_read)}", seqs)])
    if found.last is not None:
        text, seqs = found.last
        add(0, 9, [(f"last said: {one_line(unmarked(text), 600)}", seqs)])
    return out
