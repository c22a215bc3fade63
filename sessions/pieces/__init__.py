"""One entry laid open: what it asked and what came back, as pieces that the templates draw.

One module a kind of call, found in `DRAWERS` by the call's nature; a new kind is a module, a line there, and a template in
`sessions/pieces/` for any new form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from django.utils.translation import gettext as _

from sessions import render
from sessions.calls import call_of
from sessions.entries import Part, PartKind
from sessions.pieces import delegates, edits, media, others, plans, questions, reads, searches, shell, web
from sessions.pieces.base import Asked, Drawer, Piece, Placed, answer_piece, json_piece, looks_like_json, text_piece

__all__ = ["DRAWERS", "Asked", "Piece", "pieces_of"]

DRAWERS: Mapping[str, Drawer] = {
    "shell": shell.draw,
    "read": reads.draw,
    "edit": edits.draw,
    "write": edits.draw,
    "search": searches.draw,
    "list": searches.draw_list,
    "web": web.draw,
    "plan": plans.draw,
    "delegate": delegates.draw,
    "question": questions.draw,
    "skill": others.draw,
    "other": others.draw,
}

type Whole = tuple[int, Sequence[Part]]
"""An entry's seq and its parts."""


def pieces_of(entry: Whole, results: Sequence[Whole] = (), asked: Asked | None = None) -> list[Piece]:
    """An entry laid open, with the results of its calls; those may stand in the entry itself."""
    asked = asked or Asked()
    seq, parts = entry
    own = [Placed(part, seq, n) for n, part in enumerate(parts)]
    came = [Placed(part, at, n) for at, more in results for n, part in enumerate(more)]
    answers = {one.part.call_id: one for one in [*own, *came] if one.part.kind is PartKind.TOOL_RESULT}
    joined: set[str] = set()
    out: list[Piece] = []
    for one in own:
        part = one.part
        if part.kind is PartKind.TOOL_CALL:
            answer = answers.get(part.call_id) if part.call_id else None
            joined.update([part.call_id] if part.call_id and answer is not None else ())
            call = call_of(part.tool, part.text)
            out.extend(DRAWERS.get(call.nature, others.draw)(call, one, answer, asked))
        elif part.kind is PartKind.TOOL_RESULT:
            if part.call_id not in joined:
                out.extend(answer_piece(one, asked))
        elif part.kind is not PartKind.MEDIA:
            out.extend(_part_pieces(one, asked, among=len(parts) > 1))
    for at, more in ((seq, parts), *results):
        out.extend(media.held(at, more))
    return out


def _part_pieces(one: Placed, asked: Asked, *, among: bool) -> Iterator[Piece]:
    """What is neither a call nor a result nor media. `among`: other parts stand beside it, so that it needs its name."""
    part = one.part
    if part.kind is PartKind.REASONING:
        if part.text:
            yield _thought(one, asked, _("Reasoning") if among else "")
        else:
            yield Piece("note", _("Encrypted: the record holds no readable text."))
    elif not part.text:
        return
    elif part.kind in (PartKind.OTHER, PartKind.MARKER) or looks_like_json(part.text):
        yield json_piece(part.text, asked, source=one)
    elif part.is_error:
        yield text_piece("output", part.text, asked, failed=True, source=one)
    else:
        yield text_piece("words", part.text, asked, source=one)


def _thought(one: Placed, asked: Asked, title: str) -> Piece:
    """Reasoning, as markdown where it is short enough to be shown whole; of a long one the middle is left out."""
    text = one.part.text
    if asked.whole or len(text) <= web.SHOWN:
        return Piece("thought", render.markdown(text), title=title, source=one)
    return text_piece("words", text, asked, title=title, source=one)
