"""Files that a person or a tool attached: what they are, never their bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sessions.adapters.opencode.values import words
from sessions.entries import Part, PartKind

_AS_TEXT = frozenset({"text/plain", "application/x-directory"})  # sent as the words beside them, not as files


def is_sent(file: Mapping[str, Any]) -> bool:
    """Whether a person's file goes to the model as a file."""
    return words(file.get("mime")) not in _AS_TEXT


def media(file: Mapping[str, Any], call_id: str | None = None) -> Part:
    """A file part. `call_id`: of the tool that attached it."""
    mime = words(file.get("mime"))
    name = words(file.get("filename"))
    address = words(file.get("url")) or ""
    meta: dict[str, Any] = {"name": name[:200]} if name else {}
    size = None
    if address.startswith("data:"):
        head, _, body = address.partition(",")
        size = len(body) * 3 // 4 - body.count("=", -2) if head.endswith(";base64") else len(body)
    elif address:
        meta["url"] = address[:400]
    source = file.get("source")
    path = words(source.get("path")) if isinstance(source, dict) else None
    if path:
        meta["path"] = path[:400]
    return Part(PartKind.MEDIA, name or "", call_id=call_id, media_type=mime, media_bytes=size, meta=meta)
