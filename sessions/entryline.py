"""One entry as one row: what it is called, what it is about, what of it is always shown. Everything is given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from sessions import render
from sessions.ansi import plain
from sessions.calls import Call, call_of
from sessions.entries import Part, PartKind
from sessions.models import Entry, Session
from sessions.outcomes import exit_code, lines_words, media_words, outcome
from sessions.pieces.base import Piece, looks_like_json
from sessions.pieces.edits import change_words
from sessions.pieces.media import held
from sessions.pieces.plans import plan_words
from sessions.scripts import mixed

MESSAGE = 4_000  # characters of a message shown before "show all"
SUMMARY = 420  # characters of a summary shown while it is closed


@dataclass(slots=True)
class Line:
    """One row. `form` names its look; `body` is safe HTML that is always shown, `opens` whether more comes by opening it.

    `nature`: of its call (`calls.Call`), "" where it makes none. `mixed`: a word of its argument that mixes alphabets.
    `conclusion`: the beginning of what a sub-agent came back with.
    """

    seq: int
    form: str
    turn: int | None = None
    step: int | None = None
    goal: str | None = None
    at: Any = None
    tokens: int | None = None
    name: str = ""
    nature: str = ""
    server: str = ""
    argument: str = ""
    remark: str = ""
    exit_code: int | None = None
    failed: bool = False
    body: SafeString | None = None
    lead: SafeString | None = None
    cut: str = ""
    opens: bool = False
    signed: bool = False
    pinned: bool = False
    lane: str = ""
    problem: str = ""
    mixed: str | None = None
    masked: bool = False
    placeholder: str = ""
    tokens_whole: int | None = None
    media: Sequence[Piece] = ()
    results: list[int] = field(default_factory=list)
    children: list[Session] = field(default_factory=list)
    selected: bool = False
    ghost: bool = False
    notes: int = 0
    conclusion: SafeString | None = None
    conclusion_tokens: int | None = None


_FORMS = {"tool_call": "call", "tool_result": "result", "event": "event", "malformed": "malformed"}
_NAMES = {
    "context": gettext_noop("Context"), "summary": gettext_noop("Summary"), "command": gettext_noop("Command"),
    "media": gettext_noop("Media"), "event": gettext_noop("Event"), "meta": gettext_noop("Meta"), "other": gettext_noop("Record"),
    "compaction": gettext_noop("Compaction"), "rollback": gettext_noop("Rollback"), "malformed": gettext_noop("Malformed"),
}  # fmt: skip


def form_of(row: Entry) -> str:
    return _FORMS.get(row.kind, row.kind)


def name_of(form: str) -> str:
    return _(_NAMES[form]) if form in _NAMES else form.capitalize()


def line_of(row: Entry, parts: tuple[Part, ...] | None) -> Line:
    """One entry as a row of its own. `parts` None: they were too large to come along, and the row shows the beginning of its words."""
    line = Line(
        row.seq,
        form_of(row),
        row.turn,
        row.step,
        row.goal,
        row.at,
        row.tokens if row.sent else None,
        lane=row.lane,
        problem=row.problem or "",
    )
    line.failed = row.is_error
    if parts is None:
        _draw_large(line, row)
    else:
        _draw(line, row, parts)
    line.mixed = mixed(line.argument)
    return line


def _draw(line: Line, row: Entry, parts: tuple[Part, ...]) -> None:
    text = "\n".join(part.text for part in parts if part.text)
    match line.form:
        case "call":
            _draw_calls(line, parts)
        case "result":
            came = next((part for part in parts if part.kind is PartKind.TOOL_RESULT), None)
            line.name = _result_name(row)
            line.nature = call_of(row.tool, "{}").nature if row.tool else ""
            line.remark = outcome(line.nature, came) if came is not None else ""
            line.exit_code = exit_code(line.nature, came) if came is not None else None
            line.opens = True
        case "reasoning":
            _draw_reasoning(line, parts)
        case "message":
            _draw_message(line, text)
        case "prompt":
            words = "\n".join(part.text for part in parts if part.text and part.kind is not PartKind.MEDIA)
            line.body, line.cut = plain_body(words)
            line.media = tuple(held(row.seq, parts))
        case "summary":
            line.name = name_of("summary")
            line.remark = lines_words(text)
            line.lead = _beginning(text)
            line.opens = len(text) > SUMMARY
        case "malformed":
            line.name = name_of("malformed")
            line.argument = plain(text[:120]).replace("\n", " ")
            line.opens = True
        case _:
            line.name = name_of(line.form)
            line.argument = _telling(text, parts)
            line.remark = lines_words(text) if line.form != "media" else ""
            line.opens = bool(text)
            line.media = tuple(held(row.seq, parts)) if line.form == "media" else ()


def _result_name(row: Entry) -> str:
    return _("Result of %(tool)s") % {"tool": row.tool} if row.tool else _("Result of a call")


def _beginning(text: str) -> SafeString:
    """The first words of a long text, from where it says something."""
    start = "\n".join(
        line for line in plain(text[: 3 * SUMMARY]).split("\n") if line.strip() and not line.lstrip().startswith("<")
    )
    cut = start[:SUMMARY].rsplit(" ", 1)[0] if len(start) > SUMMARY else start
    return render.words(cut + (" …" if len(cut) < len(text) else ""))


def _draw_large(line: Line, row: Entry) -> None:
    text = getattr(row, "words", "") or ""
    beginning = _("the first %(n)s characters") % {"n": f"{len(text):,}"}
    if line.form == "call":
        _name_call(line, call_of(row.tool, text))
    elif line.form == "message":
        _draw_message(line, text)
        line.cut = line.cut or beginning
    elif line.form == "prompt":
        line.body, line.cut = plain_body(text)
        line.cut = line.cut or beginning
    else:
        line.name = _result_name(row) if line.form == "result" else name_of(line.form)
        line.argument = "" if line.form == "result" else plain(text[:160]).replace("\n", " ")
        line.opens = True
    line.remark = more_words(line.remark, _bytes(row))


def _bytes(row: Entry) -> str:
    return ngettext("%(n)s byte", "%(n)s bytes", row.byte_length) % {"n": f"{row.byte_length:,}"}


def _name_call(line: Line, call: Call) -> None:
    line.name, line.argument, line.nature, line.server, line.opens = (
        call.name,
        call.argument,
        call.nature,
        call.server,
        True,
    )


def _draw_calls(line: Line, parts: tuple[Part, ...]) -> None:
    made = [part for part in parts if part.kind is PartKind.TOOL_CALL]
    said = "\n".join(part.text for part in parts if part.kind is PartKind.TEXT and part.text)
    if said:
        _draw_message(line, said)
    if not made:
        line.name, line.opens = _("Tool"), True
        return
    call = call_of(made[0].tool, made[0].text)
    _name_call(line, call)
    line.remark = change_words(call, made[0].text)
    if (plan := plan_words(call.given)) is not None:
        line.argument, line.remark = plan[0], _("%(done)s done") % {"done": plan[1]}
    if len(made) > 1:
        line.remark = more_words(line.remark, _("and %(n)s more calls") % {"n": len(made) - 1})
    if call.nature == "delegate":
        described = call.given.get("description")
        line.argument = described if isinstance(described, str) and described else call.argument
    line.lane = line.lane or ("delegate" if call.nature == "delegate" else "")
    for part in parts:
        if part.kind is PartKind.TOOL_RESULT and part.call_id == made[0].call_id:
            joined(line, part)


def joined(line: Line, came: Part) -> None:
    """What came back for a row's call becomes the end of the row."""
    line.remark = more_words(line.remark, outcome(line.nature, came))
    code = exit_code(line.nature, came)
    line.exit_code = line.exit_code if code is None else code
    line.failed = line.failed or came.is_error
    if line.nature == "delegate" and came.text and not came.is_error and not looks_like_json(came.text):
        line.conclusion = _beginning(came.text)


def _draw_reasoning(line: Line, parts: tuple[Part, ...]) -> None:
    text = "\n".join(part.text for part in parts if part.text)
    line.signed = any(part.signed for part in parts)
    line.name = _("Reasoning")
    lines = text.count("\n") + 1 if text else 0
    if lines:
        words = [ngettext("%(n)s line", "%(n)s lines", lines) % {"n": f"{lines:,}"}]
    else:
        words = [_("encrypted") if line.signed else _("empty")]
    if line.signed:
        words.append(_("signed"))
    line.remark = ", ".join(words)
    line.opens = bool(text)


def _draw_message(line: Line, text: str) -> None:
    cut = text if len(text) <= MESSAGE else text[:MESSAGE].rsplit("\n", 1)[0]
    line.body = render.markdown(cut)
    line.cut = _first_of(cut, text)


def plain_body(text: str) -> tuple[SafeString, str]:
    """A person's words as they were typed, and how much of them that is where it is not all."""
    text = text.strip("\n")
    cut = text[:MESSAGE]
    return render.words(cut), _first_of(cut, text)


def _first_of(cut: str, text: str) -> str:
    if len(cut) >= len(text):
        return ""
    return _("the first %(n)s of %(total)s characters") % {"n": f"{len(cut):,}", "total": f"{len(text):,}"}


def more_words(remark: str, words: str) -> str:
    """Remarks one after the other."""
    return " · ".join(word for word in (remark, words) if word)


_FRAME = re.compile(r"</?[a-z][a-z-]*>")  # tags by which agents frame what is not a person's words


def _telling(text: str, parts: tuple[Part, ...]) -> str:
    """The first line that says something, without the frame around it."""
    lines = (_FRAME.sub(" ", line).strip() for line in plain(text[:2000]).split("\n"))
    first = next((line for line in lines if line), "")
    return first[:160] or media_words(parts)
