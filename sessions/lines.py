"""Rows as lines: what an entry is, in one row; results join their call's, records that are not sent are counted. Everything is given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.safestring import SafeString

from sessions import render
from sessions.ansi import plain
from sessions.calls import call_of
from sessions.entries import Part, PartKind
from sessions.models import Entry, Insertion, Session
from sessions.packing import unpack
from sessions.pieces import change_words
from sessions.queries import shown

MESSAGE = 4_000  # characters of a message shown before "show all"
SUMMARY = 420  # characters of a summary shown while it is closed


@dataclass(slots=True)
class Line:
    """One row. `form` names its look; `body` is safe HTML that is always shown, `opens` whether more comes by opening it."""

    seq: int
    form: str
    turn: int | None = None
    step: int | None = None
    goal: str | None = None
    at: Any = None
    tokens: int | None = None
    name: str = ""
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
    masked: bool = False
    placeholder: str = ""
    tokens_whole: int | None = None
    results: list[int] = field(default_factory=list)
    children: list[Session] = field(default_factory=list)
    selected: bool = False
    ghost: bool = False


@dataclass(frozen=True, slots=True)
class Quiet:
    """Records without a line: not sent to the model, and nothing a reader misses."""

    first: int
    last: int
    count: int
    lane: str = ""


def parts_of(row: Entry | Insertion) -> tuple[Part, ...] | None:
    """The parts that came with a row; None where they were too large to come along."""
    small = getattr(row, "small", None)
    return None if small is None else unpack(small)


def with_parts[R: (Entry, Insertion)](row: R) -> R:
    """A row that was fetched whole, as the lists have it: its parts at hand whatever their size."""
    row.__dict__["small"] = row.parts
    return row


def lines_of(
    rows: Sequence[Entry],
    *,
    bodies: Mapping[int, Insertion],
    pins: frozenset[int],
    children: Mapping[str, list[Session]],
) -> Iterator[Line | Quiet]:
    """Rows as lines: results join the line of their call where that stands in the same window; quiet records are counted."""
    calls: dict[str, Line] = {}
    quiet: Quiet | None = None
    for row in rows:
        if not shown(row):
            if quiet is not None and quiet.lane == row.lane:
                quiet = replace(quiet, last=row.seq, count=quiet.count + 1)
            else:
                if quiet is not None:
                    yield quiet
                quiet = Quiet(row.seq, row.seq, 1, row.lane)
            continue
        body = bodies.get(row.seq)
        if row.kind == "tool_result" and (home := _home(row, calls)) is not None:
            _join(home, row, parts_of(row), body)
            continue
        if quiet is not None:
            yield quiet
            quiet = None
        line = line_of(row, parts_of(row))
        line.pinned = row.seq in pins
        if body is not None:
            _mask(line, body, row.tokens)
        for call in row.call_ids or ():
            if row.kind != "tool_result":
                calls[call] = line
            line.children.extend(children.get(call, ()))
        yield line
    if quiet is not None:
        yield quiet


def _home(row: Entry, calls: Mapping[str, Line]) -> Line | None:
    homes = [calls.get(call) for call in row.call_ids or ()]
    first = homes[0] if homes else None
    return first if first is not None and all(home is first for home in homes) else None


def _join(line: Line, row: Entry, parts: tuple[Part, ...] | None, body: Insertion | None) -> None:
    """A result becomes the end of its call's line."""
    line.results.append(row.seq)
    line.tokens = (line.tokens or 0) + row.tokens
    line.failed = line.failed or row.is_error
    if body is not None:
        _mask(line, body, row.tokens, joined=True)
    if parts is None:
        line.remark = _more(line.remark, f"{row.byte_length:,} bytes")
        return
    came = next((part for part in parts if part.kind is PartKind.TOOL_RESULT), None)
    if came is not None:
        line.remark = _more(line.remark, outcome(line.form, came))
        code = came.meta.get("exit_code")
        line.exit_code = code if isinstance(code, int) else line.exit_code


def _more(remark: str, words: str) -> str:
    return " · ".join(word for word in (remark, words) if word)


def _mask(line: Line, body: Insertion, whole: int, *, joined: bool = False) -> None:
    line.masked = True
    parts = parts_of(body) or ()
    text = "\n".join(part.text for part in parts if part.text)
    line.placeholder = plain(text[:120]).replace("\n", " ") + ("…" if len(text) > 120 else "")
    line.tokens_whole = line.tokens if joined else whole
    line.tokens = (line.tokens or whole) - whole + body.tokens if joined else body.tokens


def line_of(row: Entry, parts: tuple[Part, ...] | None) -> Line:
    """One entry as a row of its own."""
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
        return line
    text = "\n".join(part.text for part in parts if part.text)
    match line.form:
        case "call":
            _draw_calls(line, parts)
        case "result":
            came = next((part for part in parts if part.kind is PartKind.TOOL_RESULT), None)
            line.name = f"Result of {row.tool or 'a call'}"
            line.remark = outcome("result", came) if came is not None else ""
            line.exit_code = came.meta.get("exit_code") if came is not None else None
            line.opens = True
        case "reasoning":
            _draw_reasoning(line, parts)
        case "message":
            _draw_message(line, text)
        case "prompt":
            line.body, line.cut = _plain_body(text)
            line.remark = media_words(parts)
        case "summary":
            line.name = "Summary"
            line.remark = _lines_words(text)
            line.lead = _beginning(text)
            line.opens = len(text) > SUMMARY
        case "malformed":
            line.name = "Malformed"
            line.argument = plain(text[:120]).replace("\n", " ")
            line.opens = True
        case _:
            line.name = _NAMES.get(line.form, row.kind)
            line.argument = _telling(text, parts)
            line.remark = _lines_words(text) if line.form != "media" else ""
            line.opens = bool(text)
    return line


def _beginning(text: str) -> SafeString:
    """The first words of a long text, from where it says something."""
    start = "\n".join(
        line for line in plain(text[: 3 * SUMMARY]).split("\n") if line.strip() and not line.lstrip().startswith("<")
    )
    cut = start[:SUMMARY].rsplit(" ", 1)[0] if len(start) > SUMMARY else start
    return render.words(cut + (" …" if len(cut) < len(text) else ""))


_FORMS = {"tool_call": "call", "tool_result": "result", "event": "event", "malformed": "malformed"}
_NAMES = {
    "context": "Context", "summary": "Summary", "command": "Command", "media": "Media", "event": "Event", "meta": "Meta", "other": "Record",
    "compaction": "Compaction", "rollback": "Rollback",
}  # fmt: skip


def form_of(row: Entry) -> str:
    return _FORMS.get(row.kind, row.kind)


def _draw_large(line: Line, row: Entry) -> None:
    text = getattr(row, "words", "") or ""
    if line.form == "call":
        call = call_of(row.tool, text)
        line.name, line.argument = call.name, call.argument
        line.opens = True
    elif line.form == "message":
        _draw_message(line, text)
        line.cut = line.cut or f"the first {len(text):,} characters"
    elif line.form == "prompt":
        line.body, line.cut = _plain_body(text)
        line.cut = line.cut or f"the first {len(text):,} characters"
    else:
        line.name = (
            f"Result of {row.tool or 'a call'}"
            if line.form == "result"
            else _NAMES.get(line.form, line.form.capitalize())
        )
        line.argument = "" if line.form == "result" else plain(text[:160]).replace("\n", " ")
        line.opens = True
    line.remark = _more(line.remark, f"{row.byte_length:,} bytes")


def _draw_calls(line: Line, parts: tuple[Part, ...]) -> None:
    made = [part for part in parts if part.kind is PartKind.TOOL_CALL]
    said = "\n".join(part.text for part in parts if part.kind is PartKind.TEXT and part.text)
    if said:
        _draw_message(line, said)
    if not made:
        line.name, line.opens = "Tool", True
        return
    call = call_of(made[0].tool, made[0].text)
    line.name, line.argument, line.opens = call.name, call.argument, True
    line.remark = change_words(call, made[0].text)
    if len(made) > 1:
        line.remark = _more(line.remark, f"and {len(made) - 1} more calls")
    if call.nature == "delegate":
        described = call.given.get("description")
        line.argument = described if isinstance(described, str) and described else call.argument
    line.lane = line.lane or ("delegate" if call.nature == "delegate" else "")


def _draw_reasoning(line: Line, parts: tuple[Part, ...]) -> None:
    text = "\n".join(part.text for part in parts if part.text)
    line.signed = any(part.signed for part in parts)
    line.name = "Reasoning"
    lines = text.count("\n") + 1 if text else 0
    words = [f"{lines:,} line{'s' if lines != 1 else ''}"] if lines else ["encrypted" if line.signed else "empty"]
    if line.signed:
        words.append("signed")
    line.remark = ", ".join(words)
    line.opens = bool(text)


def _draw_message(line: Line, text: str) -> None:
    cut = text if len(text) <= MESSAGE else text[:MESSAGE].rsplit("\n", 1)[0]
    line.body = render.markdown(cut)
    line.cut = f"the first {len(cut):,} of {len(text):,} characters" if len(cut) < len(text) else ""


def _plain_body(text: str) -> tuple[SafeString, str]:
    text = text.strip("\n")
    cut = text[:MESSAGE]
    return render.words(cut), f"the first {len(cut):,} of {len(text):,} characters" if len(cut) < len(text) else ""


def outcome(form: str, part: Part) -> str:
    """What came back, in a few words: 80 lines, 9 files, 41 s, +34 −12."""
    meta = part.meta
    words: list[str] = []
    added, removed = meta.get("added"), meta.get("removed")
    if isinstance(added, int) and isinstance(removed, int) and (added or removed):
        return ""  # the call's own line says it already
    span = meta.get("lines")
    if isinstance(span, list) and len(span) == 2:
        total = meta.get("total_lines")
        whole = isinstance(total, int) and span[0] <= 1 and span[1] >= total
        count = span[1] - span[0] + 1
        words.append(
            f"{count:,} line{'s' if count != 1 else ''}"
            if whole
            else f"lines {span[0]:,}–{span[1]:,}" + (f" of {total:,}" if isinstance(total, int) else "")
        )
    elif isinstance(meta.get("files"), int) and meta["files"] > 0:
        words.append(f"{meta['files']:,} file{'s' if meta['files'] != 1 else ''}")
    elif part.text:
        words.append(_lines_words(part.text))
    if isinstance(meta.get("tool_uses"), int):
        words.append(f"{meta['tool_uses']:,} calls")
    if isinstance(meta.get("tokens"), int):
        words.append(f"{meta['tokens']:,} tokens in its own context")
    took = meta.get("milliseconds", meta.get("duration_ms"))
    if isinstance(took, int | float) and took >= 1000:
        words.append(f"{took / 1000:,.0f} s" if took < 120_000 else f"{took / 60_000:,.0f} min")
    if meta.get("interrupted"):
        words.append("interrupted")
    return " · ".join(words)


def _lines_words(text: str) -> str:
    count = text.rstrip("\n").count("\n") + 1 if text.strip() else 0
    return f"{count:,} lines" if count > 1 else ""


_FRAME = re.compile(r"</?[a-z][a-z-]*>")  # tags by which agents frame what is not a person's words


def _telling(text: str, parts: tuple[Part, ...]) -> str:
    """The first line that says something, without the frame around it."""
    lines = (_FRAME.sub(" ", line).strip() for line in plain(text[:2000]).split("\n"))
    first = next((line for line in lines if line), "")
    return first[:160] or media_words(parts)


def media_words(parts: tuple[Part, ...]) -> str:
    media = [part for part in parts if part.kind is PartKind.MEDIA]
    return ", ".join(
        f"{part.media_type or 'media'}" + (f", {part.media_bytes:,} bytes" if part.media_bytes else "")
        for part in media[:4]
    )
