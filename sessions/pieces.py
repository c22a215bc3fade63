"""One entry laid open: what it asked and what came back, as pieces that the templates draw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from sessions import render
from sessions.calls import Call, call_of, command_of, patch_of
from sessions.entries import Part, PartKind


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an opened entry: `form` (diff, shell, code, words, list, fields, markdown) and what to show."""

    form: str
    html: SafeString | str = ""
    title: str = ""
    excerpt: render.Excerpt | None = None
    tail: SafeString | str = ""
    rows: tuple[tuple[Any, ...], ...] = ()
    failed: bool = False


def pieces_of(parts: Sequence[Part], results: Sequence[Part], *, whole: bool = False) -> list[Piece]:
    """An entry laid open: what it asked and what came back."""
    answers = {part.call_id: part for part in results if part.kind is PartKind.TOOL_RESULT}
    out: list[Piece] = []
    for part in parts:
        match part.kind:
            case PartKind.TOOL_CALL:
                answer = answers.get(part.call_id)
                out.extend(_call_pieces(part, answer, whole=whole))
                if answer is not None:
                    out.extend(_result_pieces(answer, call_of(part.tool, part.text), whole=whole))
            case PartKind.TOOL_RESULT:
                out.extend(_result_pieces(part, call_of(part.tool, "{}"), whole=whole))
            case PartKind.REASONING:
                out.append(
                    _text_piece("words", part.text, whole=whole)
                    if part.text
                    else Piece("note", "Encrypted: the record holds no readable text.")
                )
            case PartKind.MEDIA:
                out.append(Piece("note", f"{part.media_type or 'media'}, {part.media_bytes or 0:,} bytes. {part.text}"))
            case _:
                out.append(_text_piece("words", part.text, whole=whole))
    return out


def _text_piece(form: str, text: str, *, whole: bool, title: str = "", failed: bool = False, path: str = "") -> Piece:
    cut = render.excerpt(text, whole=whole)
    draw = (
        render.shell
        if form == "shell"
        else (lambda piece: render.code(piece, path=path))
        if form == "code"
        else render.words
    )
    return Piece(form, draw(cut.head), title, cut, draw(cut.tail) if cut.missing else "", failed=failed)


def _call_pieces(part: Part, answer: Part | None, *, whole: bool) -> Iterator[Piece]:
    call = call_of(part.tool, part.text)
    recorded = render.hunks_of_facts(answer.meta.get("hunks")) if answer is not None else []
    hunks = recorded or hunks_of_call(call, part.text)
    if hunks:
        yield Piece("diff", render.diff(hunks, limit=2_000 if whole else 120))
        return
    if call.nature == "shell":
        command = command_of(call.given)
        if command.count("\n") or len(command) > 100:
            yield _text_piece("code", command, whole=whole, path="x.sh")
        return
    if call.nature == "plan":
        rows = call.given.get("todos", call.given.get("plan"))
        if isinstance(rows, list):
            yield Piece("plan", rows=tuple(_plan_row(row) for row in rows if isinstance(row, Mapping)))
            return
    if call.nature in ("read", "search") and len(call.given) <= 1:
        return
    fields = tuple(
        (name, _field(value))
        for name, value in call.given.items()
        if not (call.nature == "read" and name in ("file_path", "path"))
    )
    if fields:
        yield Piece("fields", rows=fields)
    elif part.text and not call.given:
        yield _text_piece("words", part.text, whole=whole)


def _plan_row(row: Mapping[str, Any]) -> tuple[str, str]:
    status = str(row.get("status", "pending"))
    status = status if status in ("pending", "in_progress", "completed", "abandoned") else "pending"
    return status, str(row.get("content", row.get("step", row.get("subject", ""))))


def _field(value: Any) -> str:
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= 1_200 else f"{text[:1_200]} … {len(text) - 1_200:,} characters more in the raw record"


def _result_pieces(part: Part, call: Call, *, whole: bool) -> Iterator[Piece]:
    if not part.text:
        return
    if part.meta.get("hunks") and not part.is_error:
        return  # the difference says it
    path = part.meta.get("file") if isinstance(part.meta.get("file"), str) else ""
    if call.nature == "read" and not part.is_error and path:
        yield _text_piece("code", part.text, whole=whole, path=path)
    else:
        yield _text_piece("shell", part.text, whole=whole, failed=part.is_error)


def change_words(call: Call, text: str) -> str:
    """+34 −12 of a call that changes files, told from its arguments; the result's own figures come with the result."""
    hunks = hunks_of_call(call, text)
    if not hunks:
        return ""
    added, removed = render.counts(hunks)
    return f"+{added:,} −{removed:,}"


def hunks_of_call(call: Call, text: str) -> list[render.Hunk]:
    """The change a call asks for."""
    if call.nature not in ("edit", "write"):
        return []
    patch = patch_of(call.given, text)
    if patch is not None:
        return render.hunks_of_patch(patch)
    edits = call.given.get("edits")
    pairs: list[Any] = edits if isinstance(edits, list) else [call.given]
    out: list[render.Hunk] = []
    for pair in pairs:
        if not isinstance(pair, Mapping):
            continue
        old, new = (
            pair.get("old_string", pair.get("oldString", "")),
            pair.get("new_string", pair.get("newString", pair.get("content", ""))),
        )
        if isinstance(old, str) and isinstance(new, str) and (old or new):
            out.extend(render.hunks_of_texts(old, new))
    return out
