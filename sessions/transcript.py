"""From lines to what stands on the page: turns with their lines, ghosts as bands, insertions in their places. Everything is given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.safestring import SafeString

from sessions import render
from sessions.entryline import SUMMARY, Line
from sessions.ghosts import Band, Stretch
from sessions.lines import Quiet, parts_of
from sessions.models import Insertion
from sessions.queries import TurnFacts

CARRIED = 4  # insertions of one place shown one by one; more of a kind stand behind one line


@dataclass(frozen=True, slots=True)
class Ghost:
    """A band, closed or (with `lines`) open. `insertion` stands for it in the context looked at."""

    band: Band
    insertion: Insertion | None = None
    blocks: tuple[Any, ...] | None = None
    more_after: int | None = None

    @property
    def left(self) -> int:
        """Records behind those shown."""
        return 0 if self.more_after is None else self.band.stop - 1 - self.more_after


@dataclass(frozen=True, slots=True)
class Added:
    """An insertion, or several of one kind at one place."""

    insertion: Insertion
    text: SafeString | str
    cut: bool
    others: tuple[Insertion, ...] = ()

    @property
    def tokens(self) -> int:
        return self.insertion.tokens + sum(other.tokens for other in self.others)


@dataclass(slots=True)
class Turn:
    """Lines of one turn in a window. `begins`: whether the turn's opening stands here; `resumes`: whether it goes on behind something
    else, so that it needs a heading again. `turn` None: before the first turn.
    """

    turn: int | None
    begins: bool
    resumes: bool
    facts: TurnFacts | None
    goal: str | None = None
    blocks: list[Any] = field(default_factory=list)


def blocks_of(
    lines: Iterable[Line | Quiet],
    *,
    stretch: Stretch,
    bands: Sequence[Band],
    added: Sequence[Insertion],
    turns: Mapping[int, TurnFacts],
    opened: Mapping[int, Ghost] | None = None,
) -> list[Any]:
    """The window in order of place: Turn groups, and between them or in them ghosts and insertions."""
    here = [
        band
        for band in bands
        if stretch.low < band.start <= stretch.high or (band.start > stretch.high and not stretch.later)
    ]
    fixed: list[tuple[float, int, Any]] = []
    for band in here:
        ghost = (opened or {}).get(band.number) or Ghost(band, _stands_for(band, added))
        fixed.append((band.start, 0, ghost))
    fixed.extend((block.insertion.after + 0.5, 1, block) for block in _added_blocks(added))
    fixed.sort(key=lambda item: item[:2])
    out: list[Any] = []
    turn: Turn | None = None
    at = 0

    def place(block: Any) -> None:
        if turn is not None and not isinstance(block, Ghost):
            turn.blocks.append(block)
        else:
            out.append(block)

    for line in lines:
        seq = line.first if isinstance(line, Quiet) else line.seq
        number = line.turn if isinstance(line, Line) else turn.turn if turn is not None else None
        while at < len(fixed) and fixed[at][0] < seq:
            block = fixed[at][2]
            at += 1
            if isinstance(block, Ghost) or (turn is not None and number != turn.turn):
                turn = None
            place(block)
        if isinstance(line, Line) and line.form == "summary":
            # What a compaction wrote stands between turns: it belongs to none.
            turn = None
            out.append(line)
            continue
        if turn is None or turn.turn != number:
            facts = turns.get(number) if number is not None else None
            begins = facts is not None and facts.first_seq == seq
            resumes = not begins and number is not None and bool(out or stretch.low < 0)
            turn = Turn(number, begins, resumes, facts, getattr(line, "goal", None))
            out.append(turn)
        turn.blocks.append(line)
    turn = None
    out.extend(item[2] for item in fixed[at:])
    return out


def _stands_for(band: Band, added: Sequence[Insertion]) -> Insertion | None:
    for insertion in added:
        for start, stop in insertion.stands_for.spans:
            if start < band.stop and band.start < stop:
                return insertion
    return None


def _added_blocks(added: Sequence[Insertion]) -> Iterator[Added]:
    """Insertions one by one; of what the agent carried over at one place, only the first, the others as links."""
    groups: list[list[Insertion]] = []
    for insertion in added:
        if groups and groups[-1][0].after == insertion.after and groups[-1][0].kind == insertion.kind:
            groups[-1].append(insertion)
        else:
            groups.append([insertion])
    for group in groups:
        if len(group) <= CARRIED and group[0].kind != "file":
            for insertion in group:
                yield added_block(insertion)
        else:
            yield added_block(group[0], tuple(group[1:]))


def added_block(insertion: Insertion, others: tuple[Insertion, ...] = ()) -> Added:
    """What stands at the place of an insertion while it is closed: the beginning of a text, of a file only its name."""
    if insertion.kind in ("file", "skill"):
        return Added(insertion, "", True, others)
    parts = parts_of(insertion)
    text = "" if parts is None else "\n".join(part.text for part in parts if part.text)
    cut = parts is None or len(text) > SUMMARY
    start = text if len(text) <= SUMMARY else text[:SUMMARY].rsplit(" ", 1)[0] + " …"
    return Added(insertion, render.markdown(start), cut, others)
