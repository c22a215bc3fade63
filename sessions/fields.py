"""A column that holds `Ranges` as PostgreSQL's int4multirange."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models
from psycopg.types.multirange import Int4Multirange
from psycopg.types.range import Range

from sessions.ranges import Ranges

if TYPE_CHECKING:
    _Field = models.Field[Ranges, Ranges]
else:  # the type parameters exist in the stubs alone
    _Field = models.Field


class RangesField(_Field):
    """`Ranges` in Python, int4multirange in the database; `column @> seq` asks for membership."""

    description = "a set of entry numbers"

    def db_type(self, connection: Any) -> str:
        return "int4multirange"

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Ranges | None:
        return None if value is None else from_multirange(value)

    def get_prep_value(self, value: Any) -> Any:
        return None if value is None else to_multirange(value)

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:  # noqa: FBT001, FBT002 -- Django's signature
        return value if prepared else self.get_prep_value(value)

    def to_python(self, value: Any) -> Any:
        return from_multirange(value) if isinstance(value, Int4Multirange) else value


def to_multirange(ranges: Ranges) -> Int4Multirange:
    return Int4Multirange([Range(start, stop) for start, stop in ranges.spans])


def multirange_text(ranges: Ranges) -> str:
    """As PostgreSQL writes it, for a COPY."""
    return f"{{{','.join(f'[{start},{stop})' for start, stop in ranges.spans)}}}"


def from_multirange(value: Any) -> Ranges:
    return Ranges(tuple((span.lower, span.upper) for span in value))
