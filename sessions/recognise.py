"""Whose a file is, by its content, without storing anything."""

from __future__ import annotations

from pathlib import PurePath
from typing import BinaryIO

from sessions.adapters import claims
from sessions.adapters.base import HEAD, Adapter, Claim
from sessions.packing import MAGIC, unpacked


def recognise(path: str, file: BinaryIO) -> tuple[Adapter, Claim] | None:
    """The adapter of an open, seekable file and what it says of it; None where it is nobody's. Leaves the file at its start.

    TwoClaims where more than one adapter says so, ZstdError for a broken zstd file.
    """
    file.seek(0)
    head = file.read(HEAD)
    name = PurePath(path)
    if head.startswith(MAGIC):
        file.seek(0)
        head = b""
        for piece in unpacked(iter(lambda: file.read(HEAD), b"")):
            head += piece
            if len(head) >= HEAD:
                break
        head = head[:HEAD]
        name = PurePath(path.removesuffix(".zst"))
    file.seek(0)
    return claims(name, head) if head else None
