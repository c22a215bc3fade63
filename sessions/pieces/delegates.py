"""Sub-agents: first the task they were given, then what they came back with; their own transcript is another session."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.utils.translation import gettext as _

from sessions import render
from sessions.calls import Call
from sessions.entries import Part
from sessions.pieces.base import Asked, Piece, Placed, answer_piece, fields_piece, looks_like_json
from sessions.pieces.web import SHOWN, prose

_TASK = ("prompt", "message", "objective", "task", "instructions")
_FRAME = re.compile(r"\A<task\b[^>]*>\n<task_result>\n?(.*?)\n?</task_result>\n</task>\s*\Z", re.DOTALL)


def draw(call: Call, asked_for: Placed, answer: Placed | None, asked: Asked) -> Iterator[Piece]:
    task = next((name for name in _TASK if isinstance(call.given.get(name), str) and call.given[name]), None)
    told = {name: value for name, value in call.given.items() if name not in (task, "description")}
    if told:
        yield Piece("told", rows=tuple((name, str(value)[:400]) for name, value in told.items()))
    if task is not None:
        text = str(call.given[task])
        most = render.WHOLE if asked.whole else SHOWN
        facts = {"missing": max(0, len(text) - most), "total": len(text)}
        yield Piece("prose", render.markdown(text[:most]), title=_("The task it was given"), facts=facts)
    elif not told and (piece := fields_piece(dict(call.given), asked)) is not None:
        yield piece
    if answer is None:
        return
    if answer.part.is_error or looks_like_json(answer.part.text):
        yield from answer_piece(answer, asked)
    elif answer.part.text:
        framed = _FRAME.match(answer.part.text)
        shown = Placed(Part(answer.part.kind, framed[1]), answer.seq, answer.n) if framed is not None else answer
        drawn = prose(shown, asked)
        yield Piece(drawn.form, drawn.html, title=_("What it came back with"), facts=drawn.facts, source=answer)
