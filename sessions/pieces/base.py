"""What every drawer of pieces shares: the piece, the part in its place, and what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.safestring import SafeString

from sessions import render
from sessions.calls import Call
from sessions.entries import Part

FIELD = 1_200  # characters of one argument shown before all of it is asked for


@dataclass(frozen=True, slots=True)
class Placed:
    """A part and where it stands: the `n`-th of entry `seq`. `seq` None: it stands in no entry (an insertion)."""

    part: Part
    seq: int | None = None
    n: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """How an entry is to be drawn. `whole`: nothing left out. `split`: differences side by side. `before`: the plan as it stood before."""

    whole: bool = False
    split: bool = False
    before: Sequence[tuple[str, str]] | None = None
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an opened entry. `form` names its template in `sessions/pieces/`; the rest is what that template shows.

    `excerpt` with `missing` lines means that something is left out, which the template says. `source`: whose exact text it is,
    for copying.
    """

    form: str
    html: SafeString | str = ""
    title: str = ""
    excerpt: render.Excerpt | None = None
    tail: SafeString | str = ""
    rows: Sequence[Any] = ()
    failed: bool = False
    facts: dict[str, Any] = field(default_factory=dict)
    source: Placed | None = None

    @property
    def template(self) -> str:
        return f"sessions/pieces/{self.form}.html"


type Drawer = Callable[[Call, Placed, Placed | None, Asked], Iterator[Piece]]
"""Draws a call and, where it has come, its result."""


def text_piece(form: str, text: str, asked: Asked, *, path: str = "", name: str = "", **more: Any) -> Piece:
    """A text whose middle is left out where it is long. `form`: output (terminal), code, words."""
    cut = render.excerpt(text, whole=asked.whole)

    def draw(piece: str) -> SafeString:
        if form == "output":
            return render.shell(piece)
        return render.code(piece, path=path, name=name) if form == "code" else render.words(piece)

    return Piece(form, draw(cut.head), excerpt=cut, tail=draw(cut.tail) if cut.missing else "", **more)


def json_piece(text: str, asked: Asked, **more: Any) -> Piece:
    """JSON laid out for reading, its long strings shortened with their lengths; text that is no JSON as it is."""
    limit, string = (render.WHOLE, 20_000) if asked.whole else (6_000, 400)
    html, cut = render.laid_out(text.encode("utf-8", "replace"), limit=limit, string=string)
    return Piece("json", html, facts={"cut": cut}, **more)


def looks_like_json(text: str) -> bool:
    """Whether a text begins and ends as an object or a list does."""
    start, end = text.lstrip()[:1], text.rstrip()[-1:]
    return (start, end) in (("{", "}"), ("[", "]")) and len(text) > 2


def answer_piece(answer: Placed, asked: Asked) -> Iterator[Piece]:
    """A result of which nothing more is known: JSON laid out, else as a terminal shows it."""
    text = answer.part.text
    if not text:
        return
    if not answer.part.is_error and looks_like_json(text):
        yield json_piece(text, asked, source=answer)
    else:
        yield text_piece("output", text, asked, failed=answer.part.is_error, source=answer)


def fields_piece(given: dict[str, Any], asked: Asked) -> Piece | None:
    """Arguments by name; None where there are none."""
    rows = tuple((name, _field(value, asked)) for name, value in given.items())
    return Piece("fields", rows=rows, facts={"cut": any(cut for _, (_, cut) in rows)}) if rows else None


def _field(value: Any, asked: Asked) -> tuple[str, int]:
    """A value as text, and how many of its characters are left out."""
    text = value if isinstance(value, str) else render.compact(value)
    most = render.WHOLE if asked.whole else FIELD
    return text[:most], max(0, len(text) - most)
