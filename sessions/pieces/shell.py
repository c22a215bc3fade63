"""Commands: the command line with its colours, what it printed, how it ended."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext as _

from sessions.calls import Call, command_of
from sessions.outputs import printed
from sessions.pieces.base import Asked, Piece, Placed, text_piece

ONE_LINE = 100  # characters of a command that its line shows whole


def draw(call: Call, asked_for: Placed, answer: Placed | None, asked: Asked) -> Iterator[Piece]:
    command = command_of(call.given)
    if "\n" in command.strip() or len(command) > ONE_LINE:
        yield text_piece("code", command, asked, name="bash")
    told = {
        name: call.given[name]
        for name in ("description", "timeout", "run_in_background", "workdir", "cwd", "dir_path")
        if call.given.get(name)
    }
    if told:
        yield Piece("told", rows=tuple((name, str(value)[:400]) for name, value in told.items()))
    if answer is None:
        return
    said = printed(answer.part)
    for note in said.notes:
        yield Piece("note", note)
    if said.text:
        failed = answer.part.is_error or bool(said.exit_code)
        if said.text.startswith(("diff --git ", "--- a/")):
            yield text_piece("code", said.text, asked, name="diff", failed=failed, source=answer)
        else:
            yield text_piece("output", said.text, asked, failed=failed, source=answer)
    else:
        yield Piece("note", _("It printed nothing."))
