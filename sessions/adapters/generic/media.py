"""Images, documents and other files in a message: their type, size and address in words, never their bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sessions.adapters.generic.values import inside, name_of
from sessions.entries import Part, PartKind

_ADDRESS = 400  # characters of an address that are kept
_DATA = ("data", "image", "image_url", "url", "file_data", "content", "uri")
_TYPE = ("mediaType", "mimeType", "media_type", "mime_type")


def media(block: Mapping[str, Any], call_id: str | None = None) -> Part:
    """A block that is a file, in any dialect."""
    kind = next((name_of(block.get(key)) for key in _TYPE if name_of(block.get(key))), None)
    meta: dict[str, Any] = {}
    held: Any = None
    for inner in (block, block.get("source"), block.get("image_url"), block.get("file"), block.get("input_audio")):
        if not isinstance(inner, dict):
            continue
        kind = kind or next((name_of(inner.get(key)) for key in _TYPE if name_of(inner.get(key))), None)
        name = name_of(inner.get("filename")) or name_of(inner.get("name"))
        if name:
            meta["name"] = name[:200]
        for key in _DATA:
            if held is None and isinstance(inner.get(key), str | list | dict) and not _is_holder(key, inner[key]):
                held = inner[key]
    if kind is None and name_of(inside(block, "input_audio", "format")):
        kind = f"audio/{block['input_audio']['format']}"
    size: int | None = None
    if isinstance(held, str) and held.startswith("data:"):
        head, _, body = held.partition(",")
        kind = kind or head[5:].split(";")[0] or None
        size = _decoded(body) if head.endswith(";base64") else len(body)
    elif isinstance(held, str) and _is_address(held):
        meta["url"] = held[:_ADDRESS]
    else:
        size = _size(held)
    kind = kind or _GUESS.get(str(block.get("type")))
    text = f"[{kind or 'file'}, {size} bytes]" if size is not None else f"[{kind or 'file'}]"
    return Part(PartKind.MEDIA, text, call_id=call_id, media_type=kind, media_bytes=size, meta=meta)


_GUESS = {"image": "image", "image_url": "image", "input_image": "image", "document": "document", "audio": "audio"}


def _is_holder(key: str, value: Any) -> bool:
    """Whether a value is no file itself but holds what says where it is."""
    return isinstance(value, dict) and key in ("image_url", "file", "source") and not _is_bytes(value)


def _is_address(text: str) -> bool:
    return "://" in text[:20] or text.startswith(("/", "file:", "~"))


def _is_bytes(value: Any) -> bool:
    return isinstance(value, dict) and (value.get("type") == "Buffer" or "0" in value)


def _size(held: Any) -> int | None:
    """How many bytes: base64, a Buffer as JSON, a list of numbers, or an object of numbered bytes."""
    if isinstance(held, str):
        return _decoded(held) if held else None
    if isinstance(held, list):
        return len(held)
    if isinstance(held, dict):
        data = held.get("data")
        return len(data) if isinstance(data, list) else len(held) if "0" in held else None
    return None


def _decoded(body: str) -> int:
    return len(body) * 3 // 4 - body[-2:].count("=")
