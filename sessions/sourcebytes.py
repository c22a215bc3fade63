"""The bytes of sources: into compressed chunks, exactly back, and as lines."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import closing
from struct import Struct
from typing import Any, BinaryIO
from zlib import crc32

from django.db import models

from sessions import aside
from sessions.adapters.base import Line
from sessions.models import Entry, Source, SourceChunk
from sessions.packing import compress, decompress, unpacked
from sessions.rowbytes import octets
from sessions.store import copying_bytes

FETCHED = 4  # chunks held at once while reading
CHUNK = 1 << 20  # bytes of a source in one row
SMALL = (
    CHUNK // 4
)  # a last chunk below this is written anew with what is appended, so that a live file does not crumble
_PLACE = Struct(">h iq iq ii".replace(" ", "")).pack  # what stands before a chunk's bytes in a binary COPY
HELD = 8  # chunks held at once while storing
_FEW = 64 << 10  # bytes that are packed sooner than another thread is asked
LONGEST = (
    32 << 20
)  # bytes of a line beyond which it is kept in the source and not parsed: what parsing it takes is several times that
LARGEST = 128 << 20  # bytes of a document (it is parsed whole) beyond which it is kept and not read


def digest_of_file(file: BinaryIO, size: int) -> bytes:
    """SHA-256 of the next `size` bytes of an open file (of all there are, where there are fewer)."""
    hasher = hashlib.sha256()
    left = size
    while left > 0:
        block = file.read(min(CHUNK, left))
        if not block:
            break
        hasher.update(block)
        left -= len(block)
    return hasher.digest()


class Keeping:
    """A file's bytes on their way into chunks, from `offset` on to where it ends: `blocks` gives them as they come, `store` writes.

    Chunks are hashed and packed by a thread beside and held until `store`, which is to be called every few blocks: reading and writing
    take turns on the one connection. `file` stands at `offset`; what is before it is in the database already.
    """

    def __init__(self, source: Source, file: BinaryIO, *, offset: int) -> None:
        self.source = source
        self.file = file
        self.size = offset
        self._pool: Executor | None = None  # made for what takes longer than to ask another thread
        self._hasher = hashlib.sha256() if offset == 0 else None
        self._pending = bytearray()
        self._at = offset
        self._ready: list[tuple[int, int, Callable[[], bytes]]] = []
        self._last: SourceChunk | None = None  # to be written anew
        if offset:
            self._take_last()

    @property
    def waiting(self) -> int:
        """How many chunks wait to be written."""
        return len(self._ready)

    @property
    def digest(self) -> bytes | None:
        """SHA-256 of all of it, where it was read from its start; None where it was not."""
        if self._hasher is None:
            return None
        self.close()
        return self._hasher.digest()

    def blocks(self) -> Iterator[bytes]:
        """The bytes from `offset` on."""
        while block := self.file.read(CHUNK):
            if self._hasher is not None:
                self._beside(self._hasher.update, block)
            self.size += len(block)
            if len(block) == CHUNK and not self._pending:
                self._make(block)
            else:
                self._pending += block
                while len(self._pending) >= CHUNK:
                    self._make(bytes(self._pending[:CHUNK]))
                    del self._pending[:CHUNK]
            yield block
        if self._pending:
            self._make(bytes(self._pending))
            self._pending.clear()

    def store(self) -> None:
        """Write the chunks that are made."""
        if self._ready:
            if self._last is not None:
                self._last.delete()
                self._last = None
            columns = ("source_id", "offset", "length", "data")
            with copying_bytes(SourceChunk._meta.db_table, columns) as write:
                for offset, length, data in self._ready:
                    write(_PLACE(len(columns), 8, self.source.pk, 8, offset, 4, length) + octets(data()))
            self._ready = []

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _make(self, data: bytes) -> None:
        self._ready.append((self._at, len(data), self._beside(compress, data)))
        self._at += len(data)

    def _beside[T](self, work: Callable[[bytes], T], data: bytes) -> Callable[[], T]:
        """Do it in the thread, in the order in which it came; a few bytes at once."""
        if self._pool is None and len(data) < _FEW:
            done = work(data)
            return lambda: done
        self._pool = self._pool or aside.one()
        return self._pool.submit(work, data).result

    def _take_last(self) -> None:
        """A small last chunk is written anew with what is appended, so that a live file does not crumble."""
        last = self.source.chunks.order_by("-offset").first()
        if last is not None and last.length < SMALL:
            self._pending += decompress(bytes(last.data))
            self._at = last.offset
            self._last = last


def keep(source: Source, file: BinaryIO, *, offset: int) -> tuple[int, bytes | None]:
    """Store an open file from `offset` to its end; its size then, and the SHA-256 of all of it where `offset` is 0."""
    keeping = Keeping(source, file, offset=offset)
    with closing(keeping):
        for _ in keeping.blocks():
            if keeping.waiting >= HELD:
                keeping.store()
        keeping.store()
    return keeping.size, keeping.digest


def begins_with(file: BinaryIO, source: Source, *, whole: bool) -> bool:
    """Whether a file begins with what is stored of a source. The file is left anywhere.

    Not `whole`: the first and the last chunk are compared, and one of those between, another one each time. So an appended line costs
    the same however long the file is; a file that was written anew differs at its end or its beginning, and a change in the middle
    of one that grows on is found by and by, or once something is in doubt.
    """
    if is_of(file, source):
        return True
    chunks = source.chunks.order_by("offset")
    if not whole:
        offsets = list(chunks.values_list("offset", flat=True))
        some = {*offsets[:1], *offsets[-1:]}
        if len(offsets) > 2:
            some.add(offsets[1 + crc32(str(source.size).encode()) % (len(offsets) - 2)])
        chunks = chunks.filter(offset__in=some)
    for offset, length, data in chunks_after(chunks, -1):
        file.seek(offset)
        if file.read(length) != decompress(bytes(data)):
            return False
    return True


def is_of(file: BinaryIO, source: Source) -> bool:
    """Whether a file's first bytes are read from what is stored of the source itself."""
    known = getattr(file, "is_of", None)
    return known is not None and bool(known(source))


def digest_of(source: Source) -> bytes:
    """The SHA-256 of a source's bytes; reckoned, and kept, where something was appended since it was last."""
    if source.digest is None or source.digested not in (None, source.size):
        hasher = hashlib.sha256()
        for block in stored(source):
            hasher.update(block)
        source.digest, source.digested = hasher.digest(), source.size
        Source.objects.filter(pk=source.pk, size=source.size).update(digest=source.digest, digested=source.digested)
    return bytes(source.digest)


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


def place(source: Source, seq: int, offset: int) -> int:
    """Where the record of entry `seq` lies, whose row says `offset`: in a document that changed, records before it may have become longer."""
    at = bisect_right(source.moved, seq, key=lambda piece: piece[0]) - 1
    return offset + (source.moved[at][1] if at >= 0 else 0)


def record_of(entry: Entry, *, most: int | None = None) -> bytes:
    """The exact bytes of an entry's record; at most the first `most` of them."""
    length = entry.byte_length if most is None else min(entry.byte_length, most)
    return record(entry.source, place(entry.source, entry.seq, entry.byte_offset), length)


def split(blocks: Iterable[bytes], *, offset: int = 0, number: int = 0) -> Iterator[Line]:
    """Lines of a stream of blocks, split on 0x0A alone. A line beyond LONGEST is passed on without its body."""
    held: list[bytes] = []
    size = 0
    beyond = 0
    at = offset
    for block in blocks:
        pieces = block.split(b"\n")
        last = pieces.pop()
        for piece in pieces:
            number += 1
            if size or beyond or len(piece) > LONGEST:
                beyond, size = _hold(held, piece, beyond, size)
                line = Line(at, b"".join(held), True, number, beyond)
                held, size, beyond = [], 0, 0
            else:
                line = Line(at, piece, True, number)
            at += line.length
            yield line
        if last:
            beyond, size = _hold(held, last, beyond, size)
    if size or beyond:
        yield Line(at, b"".join(held), False, number + 1, beyond)


def _hold(held: list[bytes], piece: bytes, beyond: int, size: int) -> tuple[int, int]:
    """Put a piece behind what is held of a line; bytes of it that are not held, and bytes that are."""
    if beyond or size + len(piece) > LONGEST:
        held.clear()
        return beyond + size + len(piece), 0
    held.append(piece)
    return 0, size + len(piece)
