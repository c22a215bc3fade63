"""The floor under taking sessions in: the same bytes parsed, counted and copied, and nothing of ours done with them.

What a session came to is read back first, outside the measure. The floor then parses every line of the same files, counts the same texts
by the same two vocabularies, compresses what is kept compressed, and copies the same rows, byte for byte, into tables that are made as
ours are, indexes and all: entries, steps, and the chunks of the source. No entry is made of a record, no size taken but the tokens, no
turn, goal or version found. It is a plain program of one thread; what it reads ahead or does beside is what the database's driver does.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from django.db import connection, transaction

from sessions.meters.tokens import ENCODING, OLDER, count, sent_texts
from sessions.models import Entry, Session, SourceChunk, Step
from sessions.packing import MAGIC, compress, decompress, unpack, unpacked
from sessions.reading import is_document
from sessions.sourcebytes import CHUNK
from sessions.store import ENTRY_COLUMNS, STEP_COLUMNS, copying

WHAT = "lines parsed, their texts counted by both vocabularies, the same rows compressed and copied into such tables"
_LINES = 1000  # counted together, as in taking in
_CHUNK_COLUMNS = ("source_id", "offset", "length", "data")
_PARTS = ENTRY_COLUMNS.index("parts")
_JSON = tuple(ENTRY_COLUMNS.index(name) for name in ("call_ids", "link"))
_SENT = ENTRY_COLUMNS.index("sent")


@dataclass(frozen=True, slots=True)
class Load:
    """What was stored of a file: rows as they go into a COPY, parts not yet compressed, and the texts that were counted."""

    path: Path
    whole: bool  # one document, no lines
    entries: list[list[Any]]
    packed: list[bool]
    texts: list[tuple[str, ...]]
    steps: list[Sequence[Any]]


def load_of(path: Path, session: Session) -> Load:
    """Read back what taking a file in has stored. Not measured."""
    entries: list[list[Any]] = []
    packed: list[bool] = []
    texts: list[tuple[str, ...]] = []
    for found in Entry.objects.filter(session=session).order_by("seq").values_list(*ENTRY_COLUMNS):
        row = [bytes(value) if isinstance(value, memoryview) else value for value in found]
        row[0] = str(row[0])
        for column in _JSON:
            row[column] = None if row[column] is None else orjson.dumps(row[column]).decode()
        parts = unpack(row[_PARTS]) if row[_SENT] else ()
        texts.append(tuple(text for part in parts for text in sent_texts(part)))
        packed.append(row[_PARTS].startswith(MAGIC))
        if packed[-1]:
            row[_PARTS] = decompress(row[_PARTS])
        entries.append(row)
    steps = list(Step.objects.filter(session=session).order_by("n").values_list(*STEP_COLUMNS))
    return Load(path, is_document(session.source), entries, packed, texts, steps)


def run(load: Load) -> tuple[float, float]:
    """Seconds by the clock and of this process's own time. What is written is gone when it is over."""
    tables = {model: f"bench_{model._meta.db_table}" for model in (Entry, Step, SourceChunk)}
    with transaction.atomic(), connection.cursor() as cursor:
        for model, table in tables.items():
            cursor.execute(f"CREATE TABLE {table} (LIKE {model._meta.db_table} INCLUDING ALL)")
    try:
        started, cpu = time.perf_counter(), time.process_time()
        with transaction.atomic():
            _entries(load, tables[Entry])
            _chunks(load.path, tables[SourceChunk])
            with copying(tables[Step], STEP_COLUMNS) as write:
                for step in load.steps:
                    write(step)
        return time.perf_counter() - started, time.process_time() - cpu
    finally:
        with connection.cursor() as cursor:
            for table in tables.values():
                cursor.execute(f"DROP TABLE {table}")


def _entries(load: Load, table: str) -> None:
    with load.path.open("rb") as file, copying(table, ENTRY_COLUMNS, many=True) as write:
        records = _records(file, whole=load.whole)
        for at in range(0, len(load.entries), _LINES):
            for record in islice(records, _LINES):
                with suppress(orjson.JSONDecodeError):
                    orjson.loads(record)
            texts = [text for some in load.texts[at : at + _LINES] for text in some]
            for encoding in (ENCODING, OLDER):
                count(texts, encoding=encoding)
            for row, packed in zip(load.entries[at : at + _LINES], load.packed[at : at + _LINES], strict=True):
                if packed:
                    row[_PARTS] = compress(row[_PARTS])
                write(row)


def _records(file: BinaryIO, *, whole: bool) -> Iterator[bytes]:
    """What is parsed at a time: a line, or all of a document."""
    if whole:
        return iter([file.read()])
    head = file.read(CHUNK)
    if not head.startswith(MAGIC):
        file.seek(0)
        return iter(file)
    return iter(b"".join(unpacked(chain([head], iter(partial(file.read, CHUNK), b"")))).split(b"\n"))


def _chunks(path: Path, table: str) -> None:
    with path.open("rb") as file, copying(table, _CHUNK_COLUMNS) as write:
        offset = 0
        while block := file.read(CHUNK):
            write((0, offset, len(block), compress(block)))
            offset += len(block)
