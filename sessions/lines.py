"""Rows as lines: results join their call's, records that are not sent are counted. Everything is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import ngettext

from sessions.ansi import plain
from sessions.entries import Part, PartKind
from sessions.entryline import Line, joined, line_of, more_words
from sessions.models import Entry, Insertion, Session
from sessions.packing import unpack
from sessions.queries import shown


@dataclass(frozen=True, slots=True)
class Quiet:
    """Records without a line: not sent to the model, and nothing a reader misses. Of a sub-agent's (`lane`), `name` begins its task."""

    first: int
    last: int
    count: int
    lane: str = ""
    name: str = ""


def parts_of(row: Entry | Insertion) -> tuple[Part, ...] | None:
    """The parts that came with a row; None where they were too large to come along."""
    small = getattr(row, "small", None)
    return None if small is None else unpack(small)


def with_parts[R: (Entry, Insertion)](row: R) -> R:
    """A row that was fetched whole, as the lists have it: its parts at hand whatever their size."""
    row.__dict__["small"] = row.parts
    return row


def lines_of(
    rows: Sequence[Entry],
    *,
    bodies: Mapping[int, Insertion],
    pins: frozenset[int],
    children: Mapping[str, list[Session]],
    every: bool = False,
) -> Iterator[Line | Quiet]:
    """Rows as lines: results join the line of their call where that stands in the same window; quiet records are counted.

    `every`: also what was not sent in this context has its line.
    """
    calls: dict[str, Line] = {}
    quiet: Quiet | None = None
    for row in rows:
        if not (every or shown(row)):
            if quiet is not None and quiet.lane == row.lane:
                quiet = replace(quiet, last=row.seq, count=quiet.count + 1)
            else:
                if quiet is not None:
                    yield quiet
                quiet = Quiet(row.seq, row.seq, 1, row.lane)
            continue
        body = bodies.get(row.seq)
        if row.kind == "tool_result" and (home := _home(row, calls)) is not None:
            _join(home, row, parts_of(row), body)
            continue
        if quiet is not None:
            yield quiet
            quiet = None
        line = line_of(row, parts_of(row))
        line.pinned = row.seq in pins
        if body is not None:
            _mask(line, body, row.tokens)
        for call in row.call_ids or ():
            if row.kind != "tool_result":
                calls[call] = line
            line.children.extend(children.get(call, ()))
        yield line
    if quiet is not None:
        yield quiet


def _home(row: Entry, calls: Mapping[str, Line]) -> Line | None:
    homes = [calls.get(call) for call in row.call_ids or ()]
    first = homes[0] if homes else None
    return first if first is not None and all(home is first for home in homes) else None


def _join(line: Line, row: Entry, parts: tuple[Part, ...] | None, body: Insertion | None) -> None:
    """A result becomes the end of its call's line."""
    line.results.append(row.seq)
    line.tokens = (line.tokens or 0) + row.tokens
    line.failed = line.failed or row.is_error
    if body is not None:
        _mask(line, body, row.tokens, joined_to=True)
    if parts is None:
        size = ngettext("%(n)s byte", "%(n)s bytes", row.byte_length) % {"n": f"{row.byte_length:,}"}
        line.remark = more_words(line.remark, size)
        return
    came = next((part for part in parts if part.kind is PartKind.TOOL_RESULT), None)
    if came is not None:
        joined(line, came)
        if line.conclusion is not None:
            line.conclusion_tokens = row.tokens


def _mask(line: Line, body: Insertion, whole: int, *, joined_to: bool = False) -> None:
    line.masked = True
    parts = parts_of(body) or ()
    text = "\n".join(part.text for part in parts if part.text)
    line.placeholder = plain(text[:120]).replace("\n", " ") + ("…" if len(text) > 120 else "")
    line.tokens_whole = line.tokens if joined_to else whole
    line.tokens = (line.tokens or whole) - whole + body.tokens if joined_to else body.tokens
