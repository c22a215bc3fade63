"""Compression of what the database holds: source chunks, and the parts of entries."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import orjson

from sessions.entries import Part

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAGIC = b"\x28\xb5\x2f\xfd"
_WORTH = 2000  # bytes below which compression costs more time than the space it saves is worth; larger rows would leave their page
_LEVEL = 1


def compress(data: bytes) -> bytes:
    return zstd.compress(data, _LEVEL)


def decompress(data: bytes) -> bytes:
    return zstd.decompress(data)


def unpacked(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The content of a zstd file, frame after frame, in pieces of at most 1 MiB, so that memory does not grow with what it unpacks to.

    A file cut off in the middle gives what can be had and ends; a broken one raises `zstd.ZstdError`.
    """
    decoder = zstd.ZstdDecompressor()
    for block in blocks:
        data = block
        while True:
            if decoder.eof:
                data = decoder.unused_data + data
                if not data:
                    break
                decoder = zstd.ZstdDecompressor()
            piece = decoder.decompress(data, max_length=1 << 20)
            data = b""
            if piece:
                yield piece
            if decoder.needs_input:
                break


def pack(parts: Iterable[Part]) -> bytes:
    """Parts as JSON, compressed where that pays."""
    raw = orjson.dumps([part.to_json() for part in parts])
    return raw if len(raw) < _WORTH else compress(raw)


def unpack(data: bytes | memoryview) -> tuple[Part, ...]:
    """The parts that `pack` packed."""
    raw = bytes(data)
    if raw.startswith(MAGIC):
        raw = decompress(raw)
    return tuple(Part.from_json(part) for part in orjson.loads(raw))


ZstdError = zstd.ZstdError
