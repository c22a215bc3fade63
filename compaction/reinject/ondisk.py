"""Files as they lie on a disk, for what is brought back: by whom they are read is the shell's business (`compaction.disk`).

A file comes from the disk where it was changed there after the session last knew it; the difference is said in front of it.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from datetime import datetime

from compaction.reconstruct import History, Known
from compaction.reinject.reading import DiskNote, NotRead, Reading
from sessions.contexts import Item


def newer(
    disk: Reading | None, history: History, known: Known | None, times: dict[int, datetime]
) -> tuple[Known, DiskNote] | None:
    """The file as the disk has it, where that is newer than what the transcript knows; None where it is not, or may not be read.

    Where the transcript does not know the content at all, the disk's is taken, and that is said. `times`: when each entry was written.
    """
    if disk is None:
        return None
    try:
        found = disk.read(history.path)
    except NotRead:
        return None
    seqs = [seq for op in history.ops for seq in op.seqs]
    last = max((times[seq] for seq in seqs if seq in times), default=None)
    if known is not None:
        if last is None or found.modified_at <= last or (known.whole and known.text == found.text):
            return None
        added, removed = difference(known, found.text)
    else:
        added, removed = None, None
    state = Known([(1, found.text.split("\n"))], True, sorted(set(seqs))[-4:])
    return state, DiskNote(found.modified_at, added, removed)


def difference(known: Known, text: str) -> tuple[int | None, int | None]:
    """Lines that came and went since the transcript knew the file; None where it knew only parts."""
    if not known.whole:
        return None, None
    added = removed = 0
    for word, a, b, c, d in difflib.SequenceMatcher(None, known.text.split("\n"), text.split("\n")).get_opcodes():
        if word != "equal":
            added, removed = added + d - c, removed + b - a
    return added, removed


def times_of(log: Sequence[Item]) -> dict[int, datetime]:
    return {item.seq: item.at for item in log if item.seq is not None and item.at is not None}


def header(seqs: Sequence[int], note: DiskNote) -> str:
    """What is said in front of a file from the disk: since when it is so, and how far it differs from what the session knew."""
    when = note.modified_at.strftime("%Y-%m-%d %H:%M UTC")
    at = f" at entry {seqs[-1]}" if seqs else ""
    if note.added is None:
        return f"File as it lies on the disk, changed {when}; this session did not know all of it{at}"
    return f"File as it lies on the disk, changed {when}, newer than this session knew it{at} (+{note.added} −{note.removed} lines)"
