"""Tool calls and their results, of every kind the log knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from sessions.adapters.codex.blocks import Item, block_part, left_out, name_of
from sessions.adapters.records import text_of
from sessions.entries import Kind, Part, PartKind, Role

_EXIT = re.compile(r"(?:^Exit code: |^Process exited with code )(-?\d+)", re.MULTILINE)
_SECONDS = re.compile(r"^Wall time: ([\d.]+) seconds", re.MULTILINE)
_REFUSED = ("unsupported call", "aborted", "failed to parse function arguments")


def function_call(raw: Mapping[str, Any]) -> Item:
    arguments = raw.get("arguments")
    item = _call(raw, name_of(raw.get("name")) or "function", arguments)
    if not isinstance(arguments, str):
        return left_out(item, "a call whose arguments are no text")
    return item if name_of(raw.get("call_id")) else left_out(item, "a call without an id")


def custom_tool_call(raw: Mapping[str, Any]) -> Item:
    item = _call(raw, name_of(raw.get("name")) or "custom tool", raw.get("input"))
    return item if isinstance(raw.get("input"), str) else left_out(item, "a call whose input is no text")


def local_shell_call(raw: Mapping[str, Any]) -> Item:
    return _call(raw, "local_shell", raw.get("action"))


def web_search_call(raw: Mapping[str, Any]) -> Item:
    return _call(raw, "web_search", raw.get("action"))


def tool_search_call(raw: Mapping[str, Any]) -> Item:
    return _call(raw, "tool_search", raw.get("arguments"))


def image_generation_call(raw: Mapping[str, Any]) -> Item:
    item = _call(raw, "image_generation", raw.get("revised_prompt") or "")
    size = len(result) * 3 // 4 if isinstance(result := raw.get("result"), str) else None
    picture = Part(
        PartKind.MEDIA, "image" if size is None else f"image, {size:,} bytes", media_type="image/*", media_bytes=size
    )
    return Item(item.kind, item.role, (*item.parts, picture), item.native_id, output=True)


def _call(raw: Mapping[str, Any], tool: str, arguments: Any) -> Item:
    meta = {key: value for key in ("namespace", "status") if isinstance(value := raw.get(key), str)}
    text = "" if arguments is None else text_of(arguments)
    part = Part(PartKind.TOOL_CALL, text, tool=tool, call_id=name_of(raw.get("call_id")), meta=meta)
    return Item(Kind.TOOL_CALL, Role.ASSISTANT, (part,), name_of(raw.get("id")), output=True)


def call_output(raw: Mapping[str, Any]) -> Item:
    body = raw.get("output")
    call_id = name_of(raw.get("call_id"))
    tool = name_of(raw.get("name"))
    extra: list[Part] = []
    if isinstance(body, list):
        blocks = [block_part(block) for block in body]
        text = "\n".join(part.text for part in blocks if part.kind in (PartKind.TEXT, PartKind.OTHER))
        extra = [
            Part(p.kind, p.text, call_id=call_id, signed=p.signed, media_type=p.media_type, media_bytes=p.media_bytes)
            for p in blocks
            if p.kind in (PartKind.MEDIA, PartKind.MARKER)
        ]
    else:
        text = "" if body is None else text_of(body)
    meta = _outcome(text)
    failed = bool(meta.get("exit_code")) or text.startswith(_REFUSED)
    part = Part(PartKind.TOOL_RESULT, text, tool=tool, call_id=call_id, is_error=failed, meta=meta)
    item = Item(Kind.TOOL_RESULT, Role.TOOL, (part, *extra), name_of(raw.get("id")), answer=True)
    return item if isinstance(body, str | list) else left_out(item, "a result whose output is neither text nor a list")


def _outcome(text: str) -> dict[str, Any]:
    """Exit code and seconds, where the result says them in one of the agent's three ways."""
    meta: dict[str, Any] = {}
    if text.startswith("{") and '"metadata"' in text[-200:]:
        try:
            known = orjson.loads(text).get("metadata")
        except (orjson.JSONDecodeError, AttributeError):
            known = None
        if isinstance(known, dict):
            meta = {
                name: value
                for name, key in (("exit_code", "exit_code"), ("seconds", "duration_seconds"))
                if isinstance(value := known.get(key), int | float)
            }
        return meta
    head = text[:240].partition("Output:\n")[0]
    code = _EXIT.search(head)
    if code is not None and (head.startswith("Exit code:") or "Wall time:" in head):
        meta["exit_code"] = int(code[1])
        seconds = _SECONDS.search(head)
        if seconds is not None:
            meta["seconds"] = float(seconds[1])
    return meta


def tool_search_output(raw: Mapping[str, Any]) -> Item:
    tools = raw.get("tools")
    part = Part(
        PartKind.TOOL_RESULT,
        text_of(tools if tools is not None else []),
        tool="tool_search",
        call_id=name_of(raw.get("call_id")),
    )
    return Item(Kind.TOOL_RESULT, Role.TOOL, (part,), name_of(raw.get("id")), answer=True)
