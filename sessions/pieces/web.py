"""Pages fetched and searches of the web: what was asked, and what came back as text. Nothing is fetched again."""

from __future__ import annotations

from collections.abc import Iterator

from sessions import render
from sessions.calls import Call
from sessions.pieces.base import Asked, Piece, Placed, answer_piece, fields_piece, looks_like_json

SHOWN = 8_000  # characters of an answer shown before all of it is asked for


def draw(call: Call, asked_for: Placed, answer: Placed | None, asked: Asked) -> Iterator[Piece]:
    piece = fields_piece(dict(call.given), asked)
    if piece is not None:
        yield piece
    if answer is None:
        return
    meta = answer.part.meta
    told = [(name, meta[name]) for name in ("url", "code", "bytes") if meta.get(name) is not None]
    if told:
        yield Piece("told", rows=tuple((name, str(value)[:400]) for name, value in told))
    if answer.part.is_error or looks_like_json(answer.part.text):
        yield from answer_piece(answer, asked)
    elif answer.part.text:
        yield prose(answer, asked)


def prose(answer: Placed, asked: Asked) -> Piece:
    """A result that is written for people, as markdown; the end of a long one is left out, and that is said."""
    text = answer.part.text
    most = render.WHOLE if asked.whole else SHOWN
    shown = text if len(text) <= most else text[:most].rsplit("\n", 1)[0]
    facts = {"missing": len(text) - len(shown), "total": len(text)}
    return Piece("prose", render.markdown(shown), facts=facts, source=answer)
