"""The files a session touched, as its transcript knows them: what was done to each in order, and what it held after any of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compaction.files import relative
from compaction.reconstruct import History, Known, Op, histories, replay
from sessions.contexts import Item
from sessions.entries import Kind
from sessions.models import Entry, Session
from sessions.packing import unpack

BLOCK = 500  # entries of one read
CHANGES = frozenset({"write", "edit", "patch"})


@dataclass(frozen=True, slots=True)
class Touched:
    """A file with all that was done to it. `path` as from the session's folder, `full` as the transcript resolves it."""

    path: str
    full: str
    ops: tuple[Op, ...]
    deleted: bool

    @property
    def reads(self) -> int:
        return sum(1 for op in self.ops if op.verb == "read")

    @property
    def changes(self) -> int:
        return sum(1 for op in self.ops if op.verb in CHANGES)

    @property
    def last(self) -> int | None:
        """The entry of the last thing done to it."""
        return next((op.seqs[0] for op in reversed(self.ops) if op.seqs), None)


@dataclass(frozen=True, slots=True)
class Deed:
    """One thing done to a file. `seq`: the entry of the call; None where it happened by a command that names no file."""

    seq: int | None
    verb: str
    added: int
    removed: int
    lines: int


def touched_by(session: Session) -> list[Touched]:
    """All files, changed ones first, then by how late they were last touched. As long as the session: it reads every call."""
    found = [
        Touched(relative(history.path, session.cwd), history.path, tuple(history.ops), history.deleted)
        for history in histories(_calls(session), session.cwd, every=True)
    ]
    return sorted(found, key=lambda file: (not file.changes, -(file.last or 0), file.path))


def _calls(session: Session) -> Iterator[Item]:
    """Calls and results of the main conversation, in order, in blocks by key."""
    after = -1
    while True:
        rows = list(
            Entry.objects.filter(session=session, seq__gt=after, lane="", kind__in=("tool_call", "tool_result"))
            .order_by("seq")
            .values_list("seq", "kind", "parts")[:BLOCK]
        )
        for seq, kind, parts in rows:
            yield Item(f"e{seq}", seq, None, Kind(kind), unpack(parts))
        if len(rows) < BLOCK:
            return
        after = rows[-1][0]


def state_after(file: Touched, seq: int | None) -> Known | None:
    """What is known of a file once the call in entry `seq` was answered (None: at the end); None where nothing is."""
    ops = [op for op in file.ops if seq is None or not op.seqs or op.seqs[0] <= seq]
    # A command that changed files behind the transcript's back counts by its place, which its number tells.
    last = max((op.n for op in file.ops if op.seqs and seq is not None and op.seqs[0] <= seq), default=None)
    kept = [op for op in ops if op.seqs or last is None or op.n <= last]
    return replay(History(file.full, kept))


def deeds(file: Touched) -> list[Deed]:
    """What was done, in order, with the lines that came and went."""
    return [_deed(op) for op in file.ops]


def _deed(op: Op) -> Deed:
    added = removed = 0
    if op.verb == "edit":
        added, removed = _count(op.text), _count(op.old)
    elif op.verb == "patch":
        added = sum(len(hunk.new) for hunk in op.hunks)
        removed = sum(len(hunk.old) for hunk in op.hunks)
    elif op.verb == "write":
        added = _count(op.text)
    return Deed(op.seqs[0] if op.seqs else None, op.verb, added, removed, _count(op.text) if op.verb == "read" else 0)


def _count(text: str) -> int:
    return len(text.splitlines())


def stretches(known: Known) -> Sequence[tuple[int, list[str]]]:
    """The known lines by their first numbers; an ended last line is no line after it."""
    return [
        (start, lines[:-1] if known.whole and lines and lines[-1] == "" else lines) for start, lines in known.segments
    ]
