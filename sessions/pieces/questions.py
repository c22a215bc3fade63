"""Questions to the person, and plans laid before them: with what they answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sessions import render
from sessions.calls import Call
from sessions.pieces.base import Asked, Piece, Placed, answer_piece, fields_piece


def draw(call: Call, asked_for: Placed, answer: Placed | None, asked: Asked) -> Iterator[Piece]:
    questions = call.given.get("questions")
    if isinstance(questions, list):
        rows = [
            (str(row.get("header", "")), str(row.get("question", "")), _options(row.get("options")))
            for row in questions
            if isinstance(row, Mapping)
        ]
        yield Piece("questions", rows=rows)
    else:
        yield from _plan(call, asked)
    if answer is not None:
        yield from answer_piece(answer, asked)


def _plan(call: Call, asked: Asked) -> Iterator[Piece]:
    plan = call.given.get("plan")
    if isinstance(plan, str) and plan:
        yield Piece("prose", render.markdown(plan), facts={"missing": 0})
    rest = {name: value for name, value in call.given.items() if name != "plan" or not isinstance(value, str)}
    piece = fields_piece(rest, asked)
    if piece is not None:
        yield piece


def _options(raw: object) -> list[tuple[str, str]]:
    rows = raw if isinstance(raw, list) else []
    return [(str(row.get("label", "")), str(row.get("description", ""))) for row in rows if isinstance(row, Mapping)]
