"""Blocks of a message as parts: text, thinking, calls, results, media. Media are described, never inlined."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sessions.adapters.records import text_of
from sessions.entries import Part, PartKind, Role

_PERSISTED = re.compile(r"<persisted-output>.{0,400}?saved to: ([^\n]+)", re.DOTALL)
_EXIT_CODE = re.compile(r"\s*(?:<tool_use_error>)?(?:Error: )?Exit code (\d+)")
OVERFLOW_FOLDER = "tool-results"

type ToolOf = Callable[[str], str | None]


def parts_of_message(content: Any, tool_of: ToolOf) -> tuple[Part, ...]:
    """The parts of `message.content`, a string or a list of blocks. `tool_of` gives the tool of a call id, for results."""
    if content is None:
        return ()
    if isinstance(content, str):
        return (Part(PartKind.TEXT, content),)
    if not isinstance(content, list):
        return (Part(PartKind.OTHER, text_of(content)),)
    out: list[Part] = []
    for block in content:
        if isinstance(block, dict):
            _put_block(block, tool_of, out)
        else:
            out.append(Part(PartKind.TEXT, block) if isinstance(block, str) else Part(PartKind.OTHER, text_of(block)))
    if len(out) > 1 and PartKind.TOOL_RESULT in [part.kind for part in out]:
        # What a person adds beside a result is theirs, not the tool's.
        out = [Part(p.kind, p.text, role=Role.USER) if p.kind is PartKind.TEXT else p for p in out]
    return tuple(out)


def _put_block(block: dict[str, Any], tool_of: ToolOf, out: list[Part]) -> None:
    match block.get("type"):
        case "text":
            out.append(Part(PartKind.TEXT, words(block.get("text"))))
        case "thinking":
            out.append(Part(PartKind.REASONING, words(block.get("thinking")), signed=bool(block.get("signature"))))
        case "redacted_thinking":
            out.append(Part(PartKind.REASONING, signed=True, meta={"redacted": True}))
        case "tool_use":
            text = text_of(block.get("input", {}))
            out.append(Part(PartKind.TOOL_CALL, text, name_of(block.get("name")), name_of(block.get("id"))))
        case "tool_result":
            _put_result(block, tool_of, out)
        case "image" | "document":
            out.append(media(block))
        case "server_tool_use":
            out.append(Part(PartKind.OTHER, text_of(block.get("input", {})), tool=name_of(block.get("name"))))
        case kind:
            out.append(Part(PartKind.OTHER, text_of(block), meta={"type": kind} if isinstance(kind, str) else {}))


def _put_result(block: dict[str, Any], tool_of: ToolOf, out: list[Part]) -> None:
    call_id = name_of(block.get("tool_use_id"))
    is_error = block.get("is_error") is True
    content = block.get("content")
    shown: list[Part] = []
    text = content if isinstance(content, str) else _text_of_result(content, call_id, shown)
    meta: dict[str, Any] = {}
    saved = _PERSISTED.match(text)
    if saved:
        meta["overflow"] = f"{OVERFLOW_FOLDER}/{re.split(r'[/\\\\]', saved.group(1).strip())[-1]}"
    if is_error and (code := _EXIT_CODE.match(text)):
        meta["exit_code"] = int(code.group(1))
    tool = tool_of(call_id) if call_id else None
    out.append(Part(PartKind.TOOL_RESULT, text, tool, call_id, is_error, meta=meta))
    out.extend(shown)


def _text_of_result(content: Any, call_id: str | None, shown: list[Part]) -> str:
    """The words of a result; its images and documents go into `shown`."""
    texts: list[str] = []
    for piece in content if isinstance(content, list) else [content]:
        if isinstance(piece, dict) and piece.get("type") in ("image", "document"):
            shown.append(media(piece, call_id))
        elif isinstance(piece, dict) and isinstance(piece.get("text"), str):
            texts.append(piece["text"])
        elif piece is not None:
            texts.append(text_of(piece))
    return "\n".join(texts)


def media(block: dict[str, Any], call_id: str | None = None) -> Part:
    """An image or document: its type and size in words, not its bytes."""
    source = block.get("source")
    source = source if isinstance(source, dict) else {}
    kind = name_of(source.get("media_type")) or name_of(block.get("type"))
    data = source.get("data")
    size = len(data) * 3 // 4 - data[-2:].count("=") if isinstance(data, str) and data else None
    text = f"[{kind}, {size} bytes]" if size is not None else f"[{kind}]"
    return Part(PartKind.MEDIA, text, call_id=call_id, media_type=kind, media_bytes=size)


def words(value: Any) -> str:
    """A text field, whatever stands there."""
    return value if isinstance(value, str) else "" if value is None else text_of(value)


def name_of(value: Any) -> str | None:
    """A non-empty string, or None."""
    return value if isinstance(value, str) and value else None
