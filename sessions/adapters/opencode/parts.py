"""What each type of part becomes: words, reasoning, calls, files, marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sessions.adapters.opencode import tools
from sessions.adapters.opencode.media import is_sent, media
from sessions.adapters.opencode.said import Said
from sessions.adapters.opencode.values import inside, moment, usage, words
from sessions.adapters.records import text_of
from sessions.entries import Entry, Kind, Part, PartKind, Role

ASKED = "What did we do so far?"  # what the mark of a compaction is sent as
RAN = "The following tool was executed by the user"  # what a command that runs a sub-agent is sent as
_LONGEST = 2000  # characters of a prompt kept for display


def part_entry(part: Mapping[str, Any], said: Said) -> Entry:
    """The entry of a part of `said`, which it moves on (steps begun, turn opened, call waiting for its state)."""
    said.call = None
    entry = _by_type(part, said)
    start = inside(part, "time", "start") or inside(part, "time", "created")
    return replace(
        entry,
        native_id=words(part.get("id")),
        native_parent=said.id or words(part.get("messageID")),
        at=moment(start) or moment(said.created),
        model=said.model if said.assistant else None,
        **said.step(),
    )


def _by_type(part: Mapping[str, Any], said: Said) -> Entry:
    match part["type"]:
        case "text":
            return _answer(part, said) if said.assistant else _words(part, said)
        case "reasoning":
            return _thought(part, said)
        case "tool":
            said.call = (words(part.get("id")), words(part.get("callID")), words(part.get("tool")))
            return Entry(Kind.TOOL_CALL, Role.ASSISTANT, (tools.call(part),), sent=said.sent)
        case "file":
            return _file(part, said)
        case "compaction":
            return _compaction(part)
        case "subtask":
            meta = {
                key: part[key][:_LONGEST]
                for key in ("prompt", "description", "agent", "command")
                if isinstance(part.get(key), str)
            }
            return Entry(Kind.COMMAND, Role.USER, (Part(PartKind.TEXT, RAN, meta=meta),), sent=not said.assistant)
        case "step-start":
            said.block += 1
            return Entry(Kind.META)
        case "step-finish":
            return Entry(Kind.EVENT, usage=usage(part.get("tokens")))
        case "retry":
            error = part.get("error")
            text = words(inside(error, "data", "message")) if isinstance(error, dict) else None
            return Entry(Kind.EVENT, parts=(Part(PartKind.TEXT, text or "the request was tried again", is_error=True),))
        case "patch":
            files = part.get("files")
            names = [name for name in files if isinstance(name, str)] if isinstance(files, list) else []
            return Entry(Kind.META, parts=(Part(PartKind.TEXT, "\n".join(names)),) if names else ())
        case "snapshot" | "agent":
            return Entry(Kind.META)
        case _:
            return Entry(Kind.OTHER, parts=(Part(PartKind.OTHER, text_of(part)),))


def _words(part: Mapping[str, Any], said: Said) -> Entry:
    """Text of a person's message: theirs, or put in by the program (what a mention stands for, reminders, a nudge to go on)."""
    text = text_of(part.get("text", ""))
    if part.get("synthetic") or part.get("ignored"):
        sent = bool(text) and not part.get("ignored")
        return Entry(Kind.CONTEXT, Role.USER, (Part(PartKind.TEXT, text),), sent=sent)
    opens = not said.opened and bool(text)
    said.opened = said.opened or opens
    return Entry(Kind.PROMPT, Role.USER, (Part(PartKind.TEXT, text),), sent=bool(text), opens_turn=opens)


def _answer(part: Mapping[str, Any], said: Said) -> Entry:
    return Entry(
        Kind.SUMMARY if said.summary else Kind.MESSAGE,
        Role.ASSISTANT,
        (Part(PartKind.TEXT, text_of(part.get("text", ""))),),
        sent=said.sent,
    )


def _thought(part: Mapping[str, Any], said: Said) -> Entry:
    """Reasoning. Where a person stopped the answer it says so: alone it is then not sent, and only the context knows if it is alone."""
    known = part.get("metadata")
    thought = Part(
        PartKind.REASONING,
        text_of(part.get("text", "")),
        signed=isinstance(known, dict) and bool(known),
        meta={"stopped": True} if said.aborted else {},
    )
    return Entry(Kind.REASONING, Role.ASSISTANT, (thought,), sent=said.sent)


def _file(part: Mapping[str, Any], said: Said) -> Entry:
    found = media(part)
    if said.assistant:
        return Entry(Kind.MEDIA, Role.ASSISTANT, (found,))
    if not is_sent(part):
        return Entry(Kind.MEDIA, Role.USER, (found,))
    opens = not said.opened
    said.opened = True
    return Entry(Kind.MEDIA, Role.USER, (found,), sent=True, opens_turn=opens)


def _compaction(part: Mapping[str, Any]) -> Entry:
    tail = words(part.get("tail_start_id"))
    meta: dict[str, Any] = {"auto": bool(part.get("auto"))}
    if part.get("overflow"):
        meta["overflow"] = True
    return Entry(
        Kind.COMPACTION,
        Role.USER,
        (Part(PartKind.TEXT, ASKED, meta=meta),),
        sent=True,
        link={"is": "compaction", **meta, **({"tail": tail} if tail else {})},
    )
