"""A trace's folder as one document, and that document as its records."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import PurePath

import orjson

from sessions.adapters.base import Line
from sessions.adapters.expanding import Folders, Member
from sessions.adapters.records import NotARecord, load
from sessions.adapters.trace.claims import HEAD, name

_BESIDE = {"goal.json": "goals", "meta.json": "meta"}


def members(path: PurePath, folders: Folders) -> Iterator[Member]:
    """The one session of the trace whose log is at `path`."""
    wanted = {path.name, *_BESIDE}
    stamps = [found.stamp for found in folders.files(path.parent) if found.name in wanted]

    def document() -> bytes:
        said: dict[str, object] = {}
        for file, key in _BESIDE.items():
            body = folders.bytes_of(path.parent / file)
            try:
                said[key] = load(body) if body is not None else None
            except NotARecord:
                said[key] = None  # being written anew; the next look has it
        log = folders.bytes_of(path)
        if log is None:
            raise OSError(errno.EFBIG, "larger than what is read at once, or gone")
        return orjson.dumps({HEAD: said}) + b"\n" + log

    yield Member("", name(path), "/".join(stamps), document)


def records(data: bytes) -> Iterator[Line]:
    """The lines of the document; its last, where it has no end, may still be written."""
    offset = number = 0
    while offset < len(data):
        number += 1
        stop = data.find(b"\n", offset)
        if stop < 0:
            yield Line(offset, data[offset:], False, number)
            return
        yield Line(offset, data[offset:stop], True, number)
        offset = stop + 1
