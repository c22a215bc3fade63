"""Values as PostgreSQL takes them in a binary COPY: each its length and its bytes, a NULL the length -1. Pure.

The driver's COPY makes a row value by value, as text: bytes as twice as many digits, which the database turns back into bytes. Of entries,
which are many and wide, a row is made at once instead, in the types that its columns have.
"""

from __future__ import annotations

from datetime import UTC, datetime
from struct import Struct

BEGIN = b"PGCOPY\n\xff\r\n\x00" + bytes(8)  # what stands before the first row
END = b"\xff\xff"  # and behind the last
NULL = b"\xff\xff\xff\xff"
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_LENGTH = Struct(">i").pack
_NUMBER = Struct(">ii").pack
_MOMENT = Struct(">iq").pack


def number(value: int | None) -> bytes:
    """An integer of four bytes."""
    return NULL if value is None else _NUMBER(4, value)


def moment(value: datetime | None) -> bytes:
    """A time with its zone: microseconds since 2000."""
    if value is None:
        return NULL
    since = value - _EPOCH
    return _MOMENT(8, (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)


def octets(value: bytes) -> bytes:
    """Bytes, or the UTF-8 of a text."""
    return _LENGTH(len(value)) + value


def json(value: bytes | None) -> bytes:
    """The JSON of a jsonb column; its first byte says which form follows."""
    return NULL if value is None else _LENGTH(len(value) + 1) + b"\x01" + value
