"""What a person does to a context by hand, as edits: fold, unfold, mask, unmask, drop a result, rewrite, put in, take out. Pure.

Each is one change of one version. A fold and a note give way to what belongs together: no call is parted from its result, and an answer
goes whole or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compaction.blocks import blocks
from compaction.masks import MARK, calls_of, in_pieces, placeholders
from compaction.merge import merged
from compaction.plan import Plan, Snapshot
from sessions.contexts import Edit, Hide, Insert, InsertKind, Item, Replace
from sessions.entries import Part, PartKind, Role
from sessions.ranges import Ranges

LONGEST = 60_000  # characters that a person may put in at once
DROPPED = f"{MARK}dropped by hand]"


class Impossible(ValueError):
    """What was asked cannot be done to this context; the message says why."""


@dataclass(frozen=True, slots=True)
class Fold:
    """Entries that are no longer sent. `text` stands for them; empty: a line that says how many they were."""

    entries: Ranges
    text: str = ""


@dataclass(frozen=True, slots=True)
class Unfold:
    """Insertion number `insertion` goes, and what it stands for is sent again."""

    insertion: int


@dataclass(frozen=True, slots=True)
class Mask:
    """The results in entry `seq` give way to `text`, a line for each; empty: the line every mask has."""

    seq: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Unmask:
    """Entry `seq` is sent as it was recorded again."""

    seq: int


@dataclass(frozen=True, slots=True)
class Drop:
    """Of the results in entry `seq` nothing is left but that they were there."""

    seq: int


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Insertion number `insertion` says `text` instead."""

    insertion: int
    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """`text` is put in after entry `after` (-1: before all), or after what belongs together with it."""

    after: int
    text: str


@dataclass(frozen=True, slots=True)
class TakeOut:
    """Insertion number `insertion`, which stands for no entries, is no longer put in."""

    insertion: int


type Change = Fold | Unfold | Mask | Unmask | Drop | Rewrite | Note | TakeOut


@dataclass(frozen=True, slots=True)
class Done:
    """The new version's edits in full. `kind`: one word for the version; `label`: what was done; `notes`: where it differs from what
    was asked.
    """

    edits: tuple[Edit, ...]
    kind: str
    label: str
    notes: tuple[str, ...] = ()


def by_hand(snapshot: Snapshot, change: Change) -> Done:
    """`change` made to the context of `snapshot`. Raises Impossible."""
    match change:
        case Fold():
            return _fold(snapshot, change)
        case Unfold():
            return _unfold(snapshot, change.insertion)
        case Mask():
            return _masked(snapshot, change.seq, change.text, "mask", f"Mask entry {change.seq}")
        case Drop():
            item = _result(snapshot, change.seq)
            lines = "\n".join(DROPPED for part in item.parts if part.kind is PartKind.TOOL_RESULT)
            return _masked(snapshot, change.seq, lines, "drop", f"Drop the result of entry {change.seq}")
        case Unmask():
            return _unmask(snapshot, change.seq)
        case Rewrite():
            return _rewrite(snapshot, change.insertion, change.text)
        case Note():
            return _note(snapshot, change.after, change.text)
        case TakeOut():
            return _take_out(snapshot, change.insertion)


def insertions(snapshot: Snapshot) -> list[Insert]:
    """Those of the version, by the number that names them here and in item keys."""
    return [edit for edit in snapshot.edits if isinstance(edit, Insert)]


# ── each of them ───────────────────────────────────────────────────────────────────────────────────────────────────


def _fold(snapshot: Snapshot, change: Fold) -> Done:
    places = [n for n, item in enumerate(snapshot.items) if item.seq is not None and item.seq in change.entries]
    if not places:
        raise Impossible("none of these entries is in the context: there is nothing to fold")
    found = blocks(snapshot.items)
    whole = {found.of[n] for n in places}
    folded = [item for n, item in enumerate(snapshot.items) if found.of[n] in whole and item.seq is not None]
    pinned = next((item for item in folded if item.pinned), None)
    if pinned is not None:
        raise Impossible(f"entry {pinned.seq} is pinned: take its pin off first")
    seqs = sorted({item.seq for item in folded if item.seq is not None})
    ranges = Ranges.of((seq, seq + 1) for seq in seqs)
    text = _words(change.text, empty=True) or f"[{_entries(len(seqs))} left out here by hand]"
    place = next(n for n, item in enumerate(snapshot.items) if item.seq == seqs[0])
    after = _cut_before(snapshot, place)
    stands = ranges
    insert = Insert(after, Role.USER, InsertKind.NOTICE, (Part(PartKind.TEXT, text),), stands, "Folded by hand")
    edits = merged(snapshot, Plan("by-hand", fold=ranges), [insert])
    more = len(seqs) - len({snapshot.items[n].seq for n in places})
    notes = (f"{_entries(more)} more went along: calls, results and answers stay together",) if more else ()
    return Done(edits, "fold", f"Fold {_named(ranges)}", notes)


def _unfold(snapshot: Snapshot, number: int) -> Done:
    gone = _insertion(snapshot, number)
    if not gone.stands_for:
        raise Impossible(f"insertion {number} stands for no entries: take it out instead")
    others = [edit for n, edit in enumerate(insertions(snapshot)) if n != number]
    back = gone.stands_for - Ranges.of(span for edit in others for span in edit.stands_for.spans)
    edits = _without(snapshot, number)
    edits = [Hide(edit.ranges - back) if isinstance(edit, Hide) else edit for edit in edits]
    kept = tuple(edit for edit in edits if not isinstance(edit, Hide) or edit.ranges)
    return Done(kept, "unfold", f"Unfold {_named(back)}")


def _masked(snapshot: Snapshot, seq: int, text: str, kind: str, label: str) -> Done:
    item = _result(snapshot, seq)
    text = _words(text, empty=True) or placeholders(item, calls_of(snapshot))
    results = sum(part.kind is PartKind.TOOL_RESULT for part in item.parts)
    lines = text.split("\n")
    if results == 1:
        lines = [text]
    elif len(lines) != results:
        raise Impossible(f"entry {seq} holds {results} results: give a line for each, or none at all")
    it = iter(lines)
    parts = tuple(
        replace(part, text=next(it)) if part.kind is PartKind.TOOL_RESULT else part
        for part in item.parts
        if part.kind is not PartKind.MEDIA
    )
    if parts == item.parts:
        raise Impossible(f"entry {seq} says just that already")
    return Done(merged(snapshot, Plan("by-hand", bodies={seq: parts})), kind, label)


def _unmask(snapshot: Snapshot, seq: int) -> Done:
    if not any(isinstance(edit, Replace) and edit.seq == seq for edit in snapshot.edits):
        raise Impossible(f"entry {seq} is not masked")
    kept = tuple(edit for edit in snapshot.edits if not isinstance(edit, Replace) or edit.seq != seq)
    return Done(kept, "unmask", f"Unmask entry {seq}")


def _rewrite(snapshot: Snapshot, number: int, text: str) -> Done:
    was = _insertion(snapshot, number)
    if any(part.kind is not PartKind.TEXT for part in was.parts):
        raise Impossible(f"insertion {number} holds more than text: it stays as the agent wrote it")
    words = _words(text)
    if words == was.text:
        raise Impossible("these are the words that stand there already")
    new = replace(was, parts=(Part(PartKind.TEXT, words),))
    return Done(_exchanged(snapshot, number, new), "rewrite", f"Rewrite the {was.kind.value}")


def _note(snapshot: Snapshot, after: int, text: str) -> Done:
    words = _words(text)
    place = next((n for n, item in enumerate(snapshot.items) if item.seq is not None and item.seq > after), None)
    there = after
    if place is not None:
        there = _cut_after(snapshot, place, after)
    insert = Insert(there, Role.USER, InsertKind.NOTICE, (Part(PartKind.TEXT, words),), Ranges(), "Note by hand")
    notes = (f"put in after entry {there}: a call and its result stay together",) if there != after else ()
    return Done((*snapshot.edits, insert), "note", f"Put in a note after entry {there}", notes)


def _take_out(snapshot: Snapshot, number: int) -> Done:
    gone = _insertion(snapshot, number)
    if gone.stands_for:
        raise Impossible(f"insertion {number} stands for {_entries(len(gone.stands_for))}: unfold it instead")
    return Done(tuple(_without(snapshot, number)), "take-out", f"Take out the {gone.kind.value}")


# ── parts ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _words(text: str, *, empty: bool = False) -> str:
    words = text.strip()
    if not words and not empty:
        raise Impossible("there are no words to put in")
    if len(words) > LONGEST:
        raise Impossible(f"{len(words):,} characters are more than the {LONGEST:,} that are put in at once")
    return words


def _result(snapshot: Snapshot, seq: int) -> Item:
    item = next((item for item in snapshot.items if item.seq == seq), None)
    if item is None:
        raise Impossible(f"entry {seq} is not in the context")
    if item.pinned:
        raise Impossible(f"entry {seq} is pinned: take its pin off first")
    if not any(part.kind is PartKind.TOOL_RESULT for part in item.parts):
        raise Impossible(f"entry {seq} holds no tool result: fold it, or leave it")
    if seq in in_pieces(snapshot):
        raise Impossible(f"entry {seq} is sent in more than one piece: fold it, or leave it")
    return item


def _insertion(snapshot: Snapshot, number: int) -> Insert:
    found = insertions(snapshot)
    if not 0 <= number < len(found):
        raise Impossible(f"the version has {len(found)} insertions; {number} is none of them")
    return found[number]


def _exchanged(snapshot: Snapshot, number: int, new: Insert | None) -> tuple[Edit, ...]:
    out: list[Edit] = []
    n = -1
    for edit in snapshot.edits:
        n += isinstance(edit, Insert)
        if not isinstance(edit, Insert) or n != number:
            out.append(edit)
        elif new is not None:
            out.append(new)
    return tuple(out)


def _without(snapshot: Snapshot, number: int) -> list[Edit]:
    return list(_exchanged(snapshot, number, None))


def _cut_before(snapshot: Snapshot, place: int) -> int:
    """The entry after which something may be put in, at or before the item at `place`."""
    cuts = blocks(snapshot.items).cuts()
    while place > 0 and not (cuts[place] and snapshot.items[place].seq is not None):
        place -= 1
    seq = snapshot.items[place].seq
    return -1 if seq is None else seq - 1


def _cut_after(snapshot: Snapshot, place: int, after: int) -> int:
    """The entry after which something may be put in: `after`, or the end of what the item at `place` may not be parted from."""
    cuts = blocks(snapshot.items).cuts()
    if cuts[place]:
        return after
    while place < len(snapshot.items) and not (cuts[place] and snapshot.items[place].seq is not None):
        place += 1
    if place == len(snapshot.items):
        return snapshot.last_seq
    seq = snapshot.items[place].seq
    assert seq is not None  # by the loop
    return seq - 1


def _entries(count: int) -> str:
    return f"{count:,} {'entry' if count == 1 else 'entries'}"


def _named(ranges: Ranges) -> str:
    spans: Sequence[tuple[int, int]] = ranges.spans
    said = [str(first) if stop - first == 1 else f"{first}–{stop - 1}" for first, stop in spans[:3]]
    more = f" and {len(spans) - 3} more stretches" if len(spans) > 3 else ""
    return ("entry " if len(ranges) == 1 else "entries ") + ", ".join(said) + more
