"""What items are made of: an item read, and content blocks as parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sessions.adapters.records import text_of
from sessions.entries import Kind, Part, PartKind, Role

SHOWN = 4000  # characters of an unknown item that are shown; its bytes are in the source


@dataclass(frozen=True, slots=True)
class Item:
    """A response item read. `output`: made by the model. `answer`: the result of a call."""

    kind: Kind
    role: Role | None
    parts: tuple[Part, ...]
    native_id: str | None = None
    sent: bool = True
    output: bool = False
    answer: bool = False
    skipped: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def left_out(item: Item, why: str) -> Item:
    return Item(
        item.kind,
        item.role,
        item.parts,
        item.native_id,
        sent=False,
        output=item.output,
        answer=item.answer,
        skipped=f"the agent itself leaves this out: {why}",
        facts={},
    )


def block_part(block: Any) -> Part:
    if isinstance(block, str):
        return Part(PartKind.TEXT, block)
    if not isinstance(block, dict):
        return Part(PartKind.OTHER, text_of(block)[:SHOWN])
    name = block.get("type")
    if name in ("input_text", "output_text", "text", "summary_text", "reasoning_text") or (
        name is None and "text" in block
    ):
        return Part(PartKind.TEXT, text_of(block.get("text") if block.get("text") is not None else ""))
    if name in ("input_image", "image"):
        return media(block.get("image_url"), "image")
    if name in ("input_audio", "audio"):
        return media(block.get("audio_url") or block.get("audio"), "audio")
    if name == "encrypted_content":
        return sealed("Sealed text", block.get("encrypted_content"))
    return Part(PartKind.OTHER, text_of(block)[:SHOWN])


def media(address: Any, what: str) -> Part:
    """An image or sound as what it is and how large: never its bytes, never fetched."""
    if not isinstance(address, str):
        return Part(PartKind.MEDIA, what, media_type=f"{what}/*")
    if address.startswith("data:"):
        head, _, body = address[:200].partition(",")
        kind = head[5:].split(";")[0] or f"{what}/*"
        size = len(address) - len(head) - 1
        size = size * 3 // 4 - address[-2:].count("=") if ";base64" in head and body else max(size, 0)
        return Part(PartKind.MEDIA, f"{kind}, {size:,} bytes", media_type=kind, media_bytes=size)
    return Part(PartKind.MEDIA, address[:300], media_type=f"{what}/*")


def sealed(what: str, secret: Any) -> Part:
    size = len(secret) if isinstance(secret, str) else 0
    return Part(PartKind.MARKER, f"{what} ({size:,} characters that only the provider can read)", signed=True)


def plain(block: Any) -> str:
    if isinstance(block, dict):
        return text_of(block.get("text") if block.get("text") is not None else "")
    return text_of(block)


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def name_of(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
