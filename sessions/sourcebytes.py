"""The bytes of sources: into compressed chunks, exactly back, and as lines."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from django.db import models

from sessions.adapters.base import Line
from sessions.models import Source, SourceChunk
from sessions.packing import compress, decompress, unpacked

FETCHED = 4  # chunks held at once while reading
CHUNK = 1 << 20  # bytes of a source in one row
SMALL = (
    CHUNK // 4
)  # a last chunk below this is written anew with what is appended, so that a live file does not crumble
LONGEST = 128 << 20  # bytes of a line beyond which it is kept in the source and not parsed


def digest_of_file(file: BinaryIO, size: int) -> bytes:
    """SHA-256 of the next `size` bytes of an open file (of all there are, where there are fewer)."""
    known = getattr(file, "digest_of_start", None)
    if known is not None and (digest := known(size)) is not None:
        return bytes(digest)
    hasher = hashlib.sha256()
    left = size
    while left > 0:
        block = file.read(min(CHUNK, left))
        if not block:
            break
        hasher.update(block)
        left -= len(block)
    return hasher.digest()


def keep(source: Source, file: BinaryIO, *, offset: int) -> tuple[int, bytes]:
    """Store an open file from `offset` to its end; its size then, and the SHA-256 of all of it.

    `file` stands at `offset`; the bytes before it are in the database already and are hashed from there.
    """
    hasher = hashlib.sha256()
    if offset:
        for block in stored(source, until=offset):
            hasher.update(block)
    at = offset
    pending = bytearray()
    last = source.chunks.order_by("-offset").first() if offset else None
    if last is not None and last.length < SMALL:
        pending += decompress(bytes(last.data))
        at = last.offset
        last.delete()
    while block := file.read(CHUNK):
        hasher.update(block)
        pending += block
        while len(pending) >= CHUNK:
            at = _write(source, at, bytes(pending[:CHUNK]))
            del pending[:CHUNK]
    if pending:
        at = _write(source, at, bytes(pending))
    return at, hasher.digest()


def _write(source: Source, offset: int, data: bytes) -> int:
    SourceChunk.objects.create(source=source, offset=offset, length=len(data), data=compress(data))
    return offset + len(data)


def stored(source: Source, *, start: int = 0, until: int | None = None) -> Iterator[bytes]:
    """The bytes of a source as the agent wrote them, from `start` up to `until`, block by block."""
    rows = source.chunks.all() if until is None else source.chunks.filter(offset__lt=until)
    # the chunk that holds `start` begins before it
    for offset, length, data in chunks_after(rows, start - CHUNK):
        if offset + length <= start:
            continue
        block = decompress(bytes(data))
        stop = len(block) if until is None else min(len(block), until - offset)
        block = block[max(0, start - offset) : stop]
        if block:
            yield block


def chunks_after(rows: models.QuerySet[Any], offset: int) -> Iterator[tuple[int, int, bytes]]:
    """Offset, length and data of chunks behind `offset`, in order, a few at a time by their key: no cursor stays open between them."""
    while found := list(
        rows.filter(offset__gt=offset).order_by("offset").values_list("offset", "length", "data")[:FETCHED]
    ):
        yield from found
        offset = found[-1][0]


def content(source: Source, *, start: int = 0, until: int | None = None) -> Iterator[bytes]:
    """What a source holds: its bytes, or what they unpack to. Offsets count in what it holds."""
    if source.encoding != "zstd":
        yield from stored(source, start=start, until=until)
        return
    at = 0
    for block in unpacked(stored(source)):
        end = at + len(block)
        if end > start and (until is None or at < until):
            yield block[max(0, start - at) : len(block) if until is None else min(len(block), until - at)]
        at = end
        if until is not None and at >= until:
            return


def record(source: Source, offset: int, length: int) -> bytes:
    """The exact bytes of one record."""
    return b"".join(content(source, start=offset, until=offset + length))


def split(blocks: Iterable[bytes], *, offset: int = 0, number: int = 0) -> Iterator[Line]:
    """Lines of a stream of blocks, split on 0x0A alone. A line beyond LONGEST is passed on without its body."""
    held: list[bytes] = []
    size = 0
    beyond = 0
    at = offset
    for block in blocks:
        start = 0
        while True:
            stop = block.find(b"\n", start)
            piece = block[start:] if stop < 0 else block[start:stop]
            if size + len(piece) > LONGEST or beyond:
                if not beyond:
                    beyond = size
                    held = []
                    size = 0
                beyond += len(piece)
            elif piece:
                held.append(piece)
                size += len(piece)
            if stop < 0:
                break
            number += 1
            line = Line(at, b"".join(held), True, number, beyond)
            at += line.length
            yield line
            held, size, beyond = [], 0, 0
            start = stop + 1
    if size or beyond:
        yield Line(at, b"".join(held), False, number + 1, beyond)
