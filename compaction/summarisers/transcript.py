"""The part to be summarised as text for a model, in as many pieces as its window needs. Pure.

A record is a line or block for each thing said or done, with the number of its entry. Where it does not fit it shrinks in a fixed order:
whole → tool output reduced to one line → the oldest rounds left out (a fifth at most) → several pieces, read one after the other. A
person's own messages outlast everything else of their age.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from compaction.plan import Count
from compaction.summary.events import Event, Voice
from compaction.tools import clip, error_lines, one_line

OUTPUT, MESSAGE, PROMPT, INPUT = 2_000, 6_000, 12_000, 1_500
"""Characters of one tool output (OpenCode's figure), one answer, one message of a person, one call's input."""

OLDEST = 0.2
"""Share of a record, by tokens, that may be left out at its old end before it is read in pieces (Claude Code drops a fifth of the rounds)."""

MOST_PIECES = 40
LEAST_ROOM = 600  # tokens: with less no piece says anything


class Level(StrEnum):
    """How far a record had to shrink."""

    WHOLE = "whole"
    MASKED = "masked"
    OLDEST_OUT = "oldest out"
    PIECES = "pieces"


@dataclass(frozen=True, slots=True)
class Layout:
    """A record as it is handed over. `tokens`: of all pieces. `left_out`: events that are in none of them."""

    level: Level
    pieces: tuple[str, ...]
    tokens: int
    left_out: int = 0


class TooLarge(Exception):
    """It would take more pieces than are read; the message says how many."""


def lay_out(events: Sequence[Event], room: int, count: Count) -> Layout:
    """The events as one record or several, each of at most `room` tokens by `count`. Raises TooLarge."""
    if room < LEAST_ROOM:
        raise TooLarge(f"there is room for {max(room, 0):,} tokens of the record, which is too little to read anything")
    whole = [_line(event, masked=False) for event in events]
    sizes = count(whole)
    if sum(sizes) <= room:
        return Layout(Level.WHOLE, ("\n".join(whole),), sum(sizes))
    lines = [_line(event, masked=True) for event in events]
    sizes = count(lines)
    if sum(sizes) <= room:
        return Layout(Level.MASKED, ("\n".join(lines),), sum(sizes))
    fits = _without_oldest(events, lines, sizes, room, count)
    return fits if fits is not None else _pieces(lines, sizes, room, count)


def _without_oldest(
    events: Sequence[Event], lines: Sequence[str], sizes: Sequence[int], room: int, count: Count
) -> Layout | None:
    """The record without its oldest rounds; None where a fifth of it is not enough."""
    total = sum(sizes)
    limit = total * OLDEST
    out: list[str] = []
    gone = left_out = 0
    step: int | None = None
    for n, (event, line, size) in enumerate(zip(events, lines, sizes, strict=True)):
        # A round is left out whole: a call without its result would read as one that was never answered.
        if total - gone <= room and event.step != step:
            text = "\n".join([*_gap(left_out), *out, *lines[n:]])
            tokens = count([text])[0]
            if tokens <= room:
                return Layout(Level.OLDEST_OUT, (text,), tokens, left_out)
        if event.voice is Voice.USER:
            out.append(line)
            continue
        step = event.step
        gone += size
        left_out += 1
        if gone > limit:
            return None
    return None


def _gap(left_out: int) -> list[str]:
    return [f"({left_out} older answers, calls and results are left out here: there is no room for them)"]


def _pieces(lines: Sequence[str], sizes: Sequence[int], room: int, count: Count) -> Layout:
    pieces: list[list[str]] = [[]]
    held = 0
    for line, size in zip(lines, sizes, strict=True):
        text, tokens = line, size
        while tokens > room:  # one event larger than a whole piece: its middle goes
            text = clip(text, max(200, len(text) * room * 9 // (tokens * 10)))
            tokens = count([text])[0]
        if held + tokens > room and pieces[-1]:
            pieces.append([])
            held = 0
        pieces[-1].append(text)
        held += tokens
    if len(pieces) > MOST_PIECES:
        raise TooLarge(
            f"reading it in pieces of {room:,} tokens would take {len(pieces)} calls; at most {MOST_PIECES} are made"
        )
    texts = ["\n".join(piece) for piece in pieces]
    return Layout(Level.PIECES, tuple(texts), sum(count(texts)))


def _line(event: Event, *, masked: bool) -> str:
    mark = f"[e{event.seqs[0]}] " if event.seqs else ""
    match event.voice:
        case Voice.USER:
            return f"{mark}user: {clip(event.text, PROMPT)}"
        case Voice.ASSISTANT:
            return f"{mark}assistant: {clip(event.text, MESSAGE)}"
        case Voice.CALL:
            return mark + _call(event, masked=masked)
        case Voice.RESULT:
            return mark + _result(event, masked=masked)
        case Voice.FILE:
            return f"{mark}(the file {one_line(event.text.split(chr(10), 1)[0])} was given back to the context here)"
        case _:
            return f"{mark}earlier summary: {clip(event.text, PROMPT)}"


def _call(event: Event, *, masked: bool) -> str:
    call = event.call
    if call is None:
        return f"call: {clip(event.text, INPUT)}"
    if masked:
        return f"call {call.tool}: {clip(call.argument, 300)}"
    return f"call {call.tool}: {clip(call.command or call.raw, INPUT)}"


def _result(event: Event, *, masked: bool) -> str:
    output = event.output
    text = output.text if output is not None else event.text
    code = "" if output is None or output.exit_code is None else f" (exit code {output.exit_code})"
    word = "failed" if event.failed else "result"
    if not masked:
        return f"{word}{code}: {_ends(text, OUTPUT)}"
    errors = "; ".join(one_line(line) for line in error_lines(text)[:2]) if event.failed else ""
    return f"{word}{code}: {clip(errors, 400) if errors else f'{len(text):,} characters, not shown'}"


def _ends(text: str, most: int) -> str:
    """Head and tail of a text: what a program says first and last says most."""
    if len(text) <= most:
        return text
    head = most * 3 // 5
    return f"{text[:head]}\n… {len(text) - most:,} characters …\n{text[-(most - head) :]}"


def fenced(name: str, text: str) -> str:
    """`text` between two marks that it cannot contain: they carry a hash of it."""
    mark = f"{name}-{hashlib.blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"
    return f"<{mark}>\n{text}\n</{mark}>"
