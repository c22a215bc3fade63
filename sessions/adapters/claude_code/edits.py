"""From what is in view to edits: what is hidden, which bodies are replaced, and what must be inserted out of its order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from sessions.adapters.base import Link, PartsOf
from sessions.contexts import Edit, Hide, Insert, InsertKind, Replace, hidden_by
from sessions.entries import Kind, Part, PartKind, Role
from sessions.ranges import Ranges

CLEARED = "[Old tool result content cleared]"


class Bodies:
    """Bodies that are sent instead of recorded ones, and stretches of the conversation collapsed into a summary."""

    def __init__(self, parts_of: PartsOf, links: Mapping[int, Link]) -> None:
        self._parts_of = parts_of
        self._links = links
        self.replaced: dict[int, tuple[Part, ...]] = {}
        self._cleared: set[int] = set()
        self.collapses: list[tuple[int, int, int]] = []  # mark, first and last entry it stands for

    @property
    def any(self) -> bool:
        """Whether anything is sent otherwise than it is recorded."""
        return bool(self.replaced or self._cleared or self.collapses)

    def clear(self, ids: Iterable[str], view: Sequence[int]) -> int:
        """Blank the results of these calls that are in view; how many there were."""
        before = set(self.replaced)
        changed = self._change(dict.fromkeys(ids, CLEARED), view)
        self._cleared |= self.replaced.keys() - before
        return changed

    def forget_cleared(self) -> set[int]:
        """Undo every clearing: it lives in the agent's memory only. The entries that get their own bodies back."""
        for seq in self._cleared:
            del self.replaced[seq]
        cleared, self._cleared = self._cleared, set()
        return cleared

    def swap(self, replacements: Iterable[Part], view: Sequence[int]) -> int:
        """Put these texts in place of the results of their calls."""
        replacements = list(replacements)
        wanted = {part.call_id for part in replacements}
        self._cleared -= {seq for seq in self._cleared if not wanted.isdisjoint(self._links[seq].call_ids)}
        return self._change({part.call_id: part.text for part in replacements if part.call_id}, view)

    def _change(self, texts: Mapping[str, str], view: Sequence[int]) -> int:
        if not texts:
            return 0
        changed = 0
        for seq in view:
            link = self._links[seq]
            if link.kind is not Kind.TOOL_RESULT or texts.keys().isdisjoint(link.call_ids):
                continue
            parts = self.replaced.get(seq) or self._parts_of(seq)
            self.replaced[seq] = tuple(_told(parts, texts))
            changed += 1
        return changed

    def collapse(self, mark: int, view: Sequence[int], first: int, last: int) -> list[int] | None:
        """Take a stretch out of view and put its mark there; None where the stretch is not in view."""
        if first > last or not any(first <= seq <= last for seq in view):
            return None
        self.collapses.append((mark, first, last))
        return self.collapsed(view)

    def collapsed(self, view: Sequence[int]) -> list[int]:
        """The view with every collapsed stretch replaced by the mark that holds its summary."""
        out = list(view)
        for mark, first, last in self.collapses:
            at = next((n for n, seq in enumerate(out) if first <= seq <= last), None)
            if at is not None:
                rest = [seq for seq in out if not first <= seq <= last and seq != mark]
                out = [*rest[:at], mark, *rest[at:]]
        return out


def edits_of(
    sent: Sequence[int], view: Sequence[int], bodies: Bodies, links: Mapping[int, Link], parts_of: PartsOf
) -> tuple[Edit, ...]:
    """The edits that make `view` of the entries `sent`, which is in order.

    Entries in file order stay; what the agent sends out of it is hidden and inserted where it belongs.
    """
    stay = _rising([seq for seq in view if links[seq].sent])
    staying = set(stay)
    hidden = _gaps(sent, stay)
    out: list[Edit] = [Hide(hidden)] if hidden else []
    out += [Replace(seq, body) for seq, body in sorted(bodies.replaced.items()) if seq in staying]
    if len(stay) == len(view):
        return tuple(out)
    stretches = {mark: (start, stop + 1) for mark, start, stop in bodies.collapses}
    after = -1
    for seq in view:
        if seq in staying:
            after = seq
            continue
        link = links[seq]
        summary = link.kind in (Kind.SUMMARY, Kind.COMPACTION)
        stands_for = hidden & Ranges.of([stretches.get(seq, (0, seq))]) if summary else Ranges()
        parts = bodies.replaced.get(seq) or parts_of(seq)
        if link.kind is Kind.COMPACTION:
            parts = tuple(Part(PartKind.TEXT, part.text) for part in parts)
        kind = InsertKind.SUMMARY if summary else InsertKind.MESSAGE
        out.append(
            Insert(after, link.role or Role.USER, kind, parts, stands_for=stands_for, label="moved by the agent")
        )
    return tuple(out)


def edits_without(edits: Sequence[Edit], gone: Iterable[int], sent: Sequence[int]) -> tuple[Edit, ...] | None:
    """These edits with more entries hidden. None where that does not do: an insertion stood among what is gone."""
    lost = sorted(gone)
    if any(isinstance(edit, Insert) and edit.after >= lost[0] for edit in edits):
        return None
    spans: list[tuple[int, int]] = []
    before = -2
    for seq in lost:
        at = bisect_left(sent, seq)
        if spans and at == before + 1:
            spans[-1] = (spans[-1][0], seq + 1)
        else:
            spans.append((seq, seq + 1))
        before = at
    hidden = hidden_by(edits) | Ranges.of(spans)
    leaving = set(lost)
    return (
        Hide(hidden),
        *(e for e in edits if not isinstance(e, Hide) and not (isinstance(e, Replace) and e.seq in leaving)),
    )


def _gaps(sent: Sequence[int], stay: Sequence[int]) -> Ranges:
    """The sent entries that do not stay, as few spans as can be: one for each stretch between two that stay."""
    spans: list[tuple[int, int]] = []
    at = 0
    for seq in stay:
        if at < len(sent) and sent[at] == seq:
            at += 1
            continue
        stop = bisect_left(sent, seq, at)
        if stop > at:
            spans.append((sent[at], sent[stop - 1] + 1))
        at = stop + 1 if stop < len(sent) and sent[stop] == seq else stop
    if at < len(sent):
        spans.append((sent[at], sent[-1] + 1))
    return Ranges.of(spans)


def _rising(numbers: Sequence[int]) -> list[int]:
    """The longest rising subsequence; the whole where it rises already."""
    if all(one < other for one, other in pairwise(numbers)):
        return list(numbers)
    tops: list[int] = []
    at: list[int] = []
    before = [-1] * len(numbers)
    for n, number in enumerate(numbers):
        place = bisect_left(tops, number)
        if place == len(tops):
            tops.append(number)
            at.append(n)
        else:
            tops[place], at[place] = number, n
        before[n] = at[place - 1] if place else -1
    out: list[int] = []
    n = at[-1] if at else -1
    while n >= 0:
        out.append(numbers[n])
        n = before[n]
    out.reverse()
    return out


def _told(parts: Iterable[Part], texts: Mapping[str, str]) -> Iterator[Part]:
    """The parts with these results' texts. Media of such a result go with what it was."""
    for part in parts:
        text = texts.get(part.call_id) if part.call_id else None
        if text is None:
            yield part
        elif part.kind is PartKind.TOOL_RESULT:
            yield Part(part.kind, text, tool=part.tool, call_id=part.call_id, is_error=part.is_error)
        elif part.kind is not PartKind.MEDIA:
            yield part
