"""Calls of tools nobody here knows, among them those of MCP servers: their arguments by name, and their answer."""

from __future__ import annotations

from collections.abc import Iterator

from sessions.calls import Call
from sessions.pieces.base import Asked, Piece, Placed, answer_piece, fields_piece, looks_like_json, text_piece
from sessions.pieces.web import prose


def draw(call: Call, asked_for: Placed, answer: Placed | None, asked: Asked) -> Iterator[Piece]:
    yield from asked_pieces(call, asked_for, asked)
    if answer is None:
        return
    text = answer.part.text
    if not answer.part.is_error and not looks_like_json(text) and text.lstrip().startswith(("#", "- ", "**", "* ")):
        yield prose(answer, asked)
    else:
        yield from answer_piece(answer, asked)


def asked_pieces(call: Call, asked_for: Placed, asked: Asked) -> Iterator[Piece]:
    """What a call was given: its arguments by name, or the text it is where that is no object."""
    piece = fields_piece(dict(call.given), asked)
    if piece is not None:
        yield piece
    elif asked_for.part.text.strip() not in ("", "{}", "null"):
        yield text_piece("code", asked_for.part.text, asked)
