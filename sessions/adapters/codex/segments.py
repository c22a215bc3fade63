"""Which compaction a log still stands on, after all its rollbacks.

A rollback counts turns of the log, not messages of a context: read from the newest line back, it drops whole turn segments, and with
them the compactions that stand in them. The newest compaction in a segment that is left gives the context its base.
"""

from __future__ import annotations

from dataclasses import dataclass, field

NO_BASE = -1


@dataclass(frozen=True, slots=True)
class Mark:
    """A line that matters to segments.

    `name`: start, context (settings of a turn), user (something that makes a turn), whole (a compaction with a history of its own),
    rollback. `at`: its place. `turn`: its turn's id. `turns`: of a rollback, how many.

    A start begins a segment unless the settings in it name another turn. Ends of turns do not tell segments apart, whatever turn
    they name: so 0.171 reads logs in which they do not fit.
    """

    name: str
    at: int
    turn: str | None = None
    turns: int = 0


@dataclass(slots=True)
class _Segment:
    turn: str | None = None
    counts: bool = False
    base: int | None = None


@dataclass(slots=True)
class Segments:
    """The marks of a log up to now. `bases`: of each start, the base of the log before it, so that a walk back may end there."""

    marks: list[Mark] = field(default_factory=list)
    bases: list[int] = field(default_factory=list)
    users: int = 0

    def add(self, mark: Mark) -> None:
        """The next mark."""
        self.bases.append(self.base() if mark.name == "start" else NO_BASE)
        self.marks.append(mark)
        self.users += mark.name == "user"

    def base(self) -> int:
        """Place of the compaction that the log stands on, NO_BASE for none: the walk from the newest mark back."""
        pending = 0
        open_: _Segment | None = None
        for n in range(len(self.marks) - 1, -1, -1):
            mark = self.marks[n]
            if mark.name == "rollback":
                pending += mark.turns
                if pending > self.users:  # no segment is left over
                    return NO_BASE
                continue
            if mark.name == "start":
                if open_ is None or not _same_turn(open_.turn, mark.turn):
                    continue
                if pending == 0:
                    return self.bases[n] if open_.base is None else open_.base
                pending -= open_.counts
                open_ = None
                if pending == 0:
                    return self.bases[n]
                continue
            if open_ is None:
                open_ = _Segment()
            _join(open_, mark)
        if open_ is None or pending > 0 or open_.base is None:
            return NO_BASE
        return open_.base


def _join(segment: _Segment, mark: Mark) -> None:
    match mark.name:
        case "context":
            segment.turn = segment.turn or mark.turn
        case "user":
            segment.counts = True
        case "whole":
            if segment.base is None:
                segment.base = mark.at


def _same_turn(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other
