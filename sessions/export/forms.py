"""What the three forms have in common: what a file says of its session, and who speaks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from sessions.ansi import plain, visible
from sessions.calls import call_of, command_of, patch_of
from sessions.entries import Part
from sessions.export.choosing import Piece
from sessions.render import compact

_SPEAKERS = {
    "prompt": "Person",
    "command": "Command",
    "message": "Assistant",
    "reasoning": "Reasoning",
    "tool_call": "Tool call",
    "tool_result": "Tool output",
    "context": "Harness",
    "summary": "Summary",
    "compaction": "Compaction",
    "rollback": "Rollback",
    "malformed": "Malformed record",
    "media": "Media",
}


@dataclass(frozen=True, slots=True)
class About:
    """What a file says of what it holds. `selection`: in words. `redacted`: whether secrets are taken out."""

    title: str
    facts: tuple[tuple[str, str], ...]
    selection: str
    redacted: bool
    row: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Taken:
    """What was taken out, by kind, once all was written. `entries`: how many the file holds."""

    kinds: Mapping[str, int]
    entries: int

    @property
    def total(self) -> int:
        return sum(self.kinds.values())


class Form(Protocol):
    """A form of file: its beginning, each piece, its end. `redacted` says of a piece how many secrets it lost."""

    def head(self, about: About) -> str: ...

    def piece(self, piece: Piece) -> str: ...

    def foot(self, about: About, taken: Taken) -> str: ...


def speaker(piece: Piece) -> str:
    if piece.seq is None:
        return f"Inserted: {piece.label or piece.kind}"
    return _SPEAKERS.get(piece.kind, piece.kind.replace("_", " ").capitalize())


def said(part: Part) -> str:
    """The text of a part for reading, with escapes taken out and what hides or reorders text written as its code."""
    return legible(part.text)


def legible(text: str) -> str:
    return visible(plain(text))


def media_said(part: Part) -> str:
    """What stands in the place of media that are not in the file."""
    size = "size not known" if part.media_bytes is None else f"{part.media_bytes:,} bytes"
    return f"{legible(part.media_type or 'media')}, {size}, not in this file"


def call_said(part: Part) -> tuple[str, str, str]:
    """A call for reading: its name, its text, and the language of that."""
    call = call_of(part.tool, part.text)
    if (patch := patch_of(call.given, part.text)) is not None:
        return legible(call.name), legible(patch), "diff"
    if call.nature == "shell" and (command := command_of(call.given)):
        return legible(call.name), legible(command), "sh"
    return legible(call.name), legible(compact(dict(call.given)) if call.given else part.text), "json"


def marks(piece: Piece) -> Iterator[str]:
    """What stands beside who speaks."""
    if piece.turn is not None:
        yield f"turn {piece.turn}"
    if piece.at is not None:
        yield moment(piece.at)
    if piece.tokens is not None:
        yield f"{piece.tokens:,} tokens"
    if piece.ghost:
        yield "not sent to the model"
    elif not piece.sent:
        yield "never sent"
    if piece.masked:
        yield "masked in the context"
    if piece.problem:
        yield legible(piece.problem)


def moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}"


def redaction_said(about: About, taken: Taken) -> str:
    """The sentence that says what was taken out."""
    if not about.redacted:
        return "Secrets were not redacted: whoever made this file switched that off."
    if not taken.total:
        return "Secrets are redacted in this file; none was found."
    kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(taken.kinds.items(), key=lambda pair: (-pair[1], pair[0])))
    return f"{taken.total} secret{'s were' if taken.total != 1 else ' was'} redacted in this file: {kinds}."
