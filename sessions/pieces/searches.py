"""Searches: files and lines found, under their files."""

from __future__ import annotations

from collections.abc import Iterator

from sessions import render
from sessions.calls import Call
from sessions.outputs import by_file, hits
from sessions.pieces.base import Asked, Piece, Placed, answer_piece, fields_piece

SHOWN = 60  # rows of a search shown before all of it is asked for
MAIN = ("pattern", "query")


def draw(call: Call, asked_for: Placed, answer: Placed | None, asked: Asked) -> Iterator[Piece]:
    told = {name: value for name, value in call.given.items() if name not in MAIN}
    if told:
        yield Piece("told", rows=tuple((name, str(value)[:400]) for name, value in told.items()))
    if answer is None:
        return
    path = call.given.get("path", call.given.get("dir_path"))
    found = None if answer.part.is_error else hits(answer.part.text, path=path if isinstance(path, str) else "")
    if found is None or not found[0]:
        yield from answer_piece(answer, asked)
        return
    files, rows, left = [], 0, 10**9 if asked.whole else SHOWN
    for name, lines in by_file(found[0]):
        if left <= 0:
            break
        shown = lines[: left - 1] if lines else []
        left -= 1 + len(shown)
        rows += 1 + len(shown)
        files.append((name, [(hit.line, hit.near, render.words(render.cut_line(hit.text))) for hit in shown]))
    total = sum(1 + len(lines) for _, lines in by_file(found[0]))
    yield Piece(
        "hits",
        rows=files,
        facts={
            "shown": rows,
            "total": total,
            "missing": max(0, total - rows),
            "said": found[1][:4],
            "more_said": max(0, len(found[1]) - 4),
        },
        source=answer,
    )


def draw_list(call: Call, asked_for: Placed, answer: Placed | None, asked: Asked) -> Iterator[Piece]:
    """Folders listed: as they were printed, and what else was asked."""
    piece = fields_piece(dict(call.given), asked) if len(call.given) > 1 else None
    if piece is not None:
        yield piece
    if answer is not None:
        yield from answer_piece(answer, asked)
