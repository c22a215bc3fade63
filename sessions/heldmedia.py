"""Media inside a record: their bytes out of its JSON, what they really are by their own first bytes, an image's size. Pure."""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

MOST = 64  # media of one record that are looked for
DEEPEST = 24  # levels of a record's JSON that are gone down

PDF = "application/pdf"

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", PDF),
)


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes that a record holds. `kind`: what they are by their own beginning; None for what is none of the kinds we show.

    What the record says they are does not count: an SVG that calls itself a PNG stays a file to take away.
    """

    data: bytes
    kind: str | None
    width: int | None = None
    height: int | None = None

    @property
    def is_image(self) -> bool:
        return self.kind is not None and self.kind.startswith("image/")


def media_in(record: bytes) -> Iterator[Held]:
    """The media of a record, in the order in which it holds them. Nothing for what is no JSON.

    Three shapes are known: `data` beside a media type (Anthropic, Gemini), a `data:` address in any field (OpenAI, OpenCode, AI SDK),
    and the bytes by their field's name in a block of type image or file.
    """
    try:
        value = orjson.loads(record)
    except orjson.JSONDecodeError:
        return
    for at, text in enumerate(_texts(value, 0)):
        if at >= MOST:
            return
        data = _decoded(text)
        if data:
            kind = kind_of(data)
            width, height = size_of(data, kind)
            yield Held(data, kind, width, height)


_TYPES = frozenset({"media_type", "mimeType", "mime_type", "mediaType", "mime"})
_BODIES = frozenset({"data", "image", "file", "blob"})


def _texts(value: Any, depth: int) -> Iterator[str]:
    if depth > DEEPEST:
        return
    if isinstance(value, dict):
        typed = bool(_TYPES & value.keys()) or value.get("type") in ("image", "file", "document", "base64")
        for key, inner in value.items():
            if isinstance(inner, str):
                if inner.startswith("data:") and ";base64," in inner[:200]:
                    yield inner.partition(",")[2]
                elif key in _BODIES and typed and len(inner) >= 8:
                    yield inner
            else:
                yield from _texts(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, str) and inner.startswith("data:") and ";base64," in inner[:200]:
                yield inner.partition(",")[2]
            else:
                yield from _texts(inner, depth + 1)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def kind_of(data: bytes) -> str | None:
    """What bytes are, by their beginning; None for all but PNG, JPEG, GIF, WebP and PDF."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _MAGIC if data.startswith(magic)), None)


def size_of(data: bytes, kind: str | None) -> tuple[int | None, int | None]:
    """Width and height of an image in pixels, read from its head; None where it does not say."""
    try:
        match kind:
            case "image/png":
                return struct.unpack(">II", data[16:24])
            case "image/gif":
                return struct.unpack("<HH", data[6:10])
            case "image/jpeg":
                return _jpeg(data)
            case "image/webp" if data[12:16] == b"VP8X":
                return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    except (struct.error, IndexError):
        pass
    return None, None


def _jpeg(data: bytes) -> tuple[int | None, int | None]:
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return None, None
