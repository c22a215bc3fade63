"""Files read: their lines with numbers, coloured by the file's language, and which lines of how many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _

from sessions import render
from sessions.calls import Call
from sessions.outputs import Numbered, numbered
from sessions.pieces.base import Asked, Piece, Placed, answer_piece

PATHS = ("file_path", "filePath", "absolute_path", "path", "notebook_path")
HEAD, TAIL = 40, 20  # lines of a file shown: mostly its beginning


def path_of(call: Call) -> str:
    """The file a call is about; "" where it names none."""
    return next((call.given[name] for name in PATHS if isinstance(call.given.get(name), str)), "")


def draw(call: Call, asked_for: Placed, answer: Placed | None, asked: Asked) -> Iterator[Piece]:
    if answer is None:
        return
    offset = call.given.get("offset")
    first = offset if isinstance(offset, int) and not isinstance(offset, bool) and offset > 0 else 1
    if answer.part.is_error:
        yield from answer_piece(answer, asked)
        return
    found = numbered(answer.part, first if path_of(call) else None)
    if found is None:
        yield from answer_piece(answer, asked)
        return
    yield listing(found, path_of(call), asked, source=answer)


def listing(found: Numbered, path: str, asked: Asked, **more: Any) -> Piece:
    """Lines with their numbers; the middle of a long file is left out, and that is said."""
    lines = found.lines
    total = len(lines)
    cut = 0 if asked.whole or total <= HEAD + TAIL else total - HEAD - TAIL
    stretches = [(0, total)] if not cut else [(0, HEAD), (total - TAIL, total)]
    rows = [
        (
            "\n".join(str(found.first + n) for n in range(start, stop)),
            render.code("\n".join(_held(line, asked) for line in lines[start:stop]), path=path),
        )
        for start, stop in stretches
    ]
    last = found.first + total - 1
    if found.total is not None and (found.first > 1 or last < found.total):
        words = _("Lines %(first)s–%(last)s of %(total)s") % {
            "first": f"{found.first:,}", "last": f"{last:,}", "total": f"{found.total:,}",
        }  # fmt: skip
    else:
        words = _("Lines %(first)s–%(last)s") % {"first": f"{found.first:,}", "last": f"{last:,}"}
    facts = {"missing": cut, "total": total, "range": words, "notes": found.notes, "path": path}
    return Piece("listing", rows=rows, facts=facts, **more)


def _held(line: str, asked: Asked) -> str:
    return line if asked.whole or len(line) <= render.LONG_LINE else render.cut_line(line)
