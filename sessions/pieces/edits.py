"""Changes of files: edits, writes and patches as differences, under one another or side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _

from sessions.calls import Call, patch_of
from sessions.diffs import LINES, diff
from sessions.hunks import Hunk, counts, hunks_of_facts, hunks_of_patch, hunks_of_texts
from sessions.outputs import Numbered
from sessions.pieces import others
from sessions.pieces.base import Asked, Piece, Placed, answer_piece
from sessions.pieces.reads import listing, path_of

_OLD = ("old_string", "oldString", "old_str", "old_text")
_NEW = ("new_string", "newString", "new_str", "new_text", "content", "file_text", "new_source")
_SAID = ("The file ", "File created", "Edit applied", "Wrote file", "Successfully ", "Success.", "Applied ", "Done!")


def hunks_of_call(call: Call, text: str) -> list[Hunk]:
    """The change a call asks for, told from its arguments."""
    if call.nature not in ("edit", "write"):
        return []
    patch = patch_of(call.given, text)
    if patch is not None:
        return hunks_of_patch(patch)
    edits = call.given.get("edits")
    pairs: list[Any] = edits if isinstance(edits, list) else [call.given]
    out: list[Hunk] = []
    for pair in pairs:
        if not isinstance(pair, Mapping):
            continue
        old, new = _first(pair, _OLD), _first(pair, _NEW)
        if old or new:
            out.extend(hunks_of_texts(old, new))
    return out


def _first(pair: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((pair[name] for name in names if isinstance(pair.get(name), str)), "")


def change_words(call: Call, text: str) -> str:
    """+34 −12 of a call that changes files, told from its arguments; the result's own figures come with the result."""
    hunks = hunks_of_call(call, text)
    if not hunks:
        return ""
    added, removed = counts(hunks)
    return f"+{added:,} −{removed:,}"


def draw(call: Call, asked_for: Placed, answer: Placed | None, asked: Asked) -> Iterator[Piece]:
    recorded = hunks_of_facts(answer.part.meta.get("hunks")) if answer is not None else []
    hunks = recorded or hunks_of_call(call, asked_for.part.text)
    failed = answer is not None and answer.part.is_error
    if failed:
        yield Piece("note", _("It failed: nothing of this was written."), failed=True)
    if call.given.get("replace_all") or call.given.get("replaceAll"):
        yield Piece("note", _("At every place where the old text stands."))
    written = call.given.get("content", call.given.get("file_text"))
    if not recorded and call.nature == "write" and isinstance(written, str) and written:
        # All of it is new to us: a listing with line numbers reads better than a page of plus signs.
        yield listing(Numbered(tuple(written.removesuffix("\n").split("\n")), 1), path_of(call), asked)
    elif hunks:
        html = diff(hunks, limit=2_000 if asked.whole else LINES, split=asked.split)
        total = sum(len(hunk.lines) for hunk in hunks)
        facts = {"split": asked.split, "cut": not asked.whole and total > LINES, "recorded": bool(recorded)}
        yield Piece("diff", html, facts=facts)
    else:
        # A call of a shape we do not know: what it was given, as it stands.
        yield from others.asked_pieces(call, asked_for, asked)
    if answer is not None and answer.part.meta.get("hunks_cut"):
        yield Piece("note", _("More was changed than the record's first hunks: the raw record has all of it."))
    if answer is not None and (failed or not answer.part.text.startswith(_SAID)):
        yield from answer_piece(answer, asked)
