"""The files and longer texts of the bundled sample. Invented: there is no such project, and there are no such harbours."""

HARBOURS = ("aldermouth", "brackwater", "coldstrand", "dunehaven", "eastmole", "fennport")

PROJECT = """[project]
name = "tidewatch"
version = "0.1.0"
requires-python = ">=3.12"
dependencies = []
"""

TABLE = "# {harbour}, harbour office, UTC+1, summer UTC+2 from 29 March\ntime,height\n" + "".join(
    f"2026-05-{day:02d}T{hour:02d}:{minute:02d}Z,{height}\n"
    for day, hour, minute, height in (
        (4, 1, 12, "4.1"),
        (4, 13, 41, "4.2"),
        (5, 2, 3, "4.3"),
        (5, 14, 29, ""),
        (6, 2, 55, "4.4"),
        (6, 15, 20, "4.4"),
        (7, 3, 44, ""),
        (7, 16, 9, "4.3"),
        (8, 4, 35, "4.1"),
        (8, 17, 0, "4.0"),
        (9, 5, 31, "3.8"),
        (9, 17, 58, "3.7"),
    )
)

READER = '''"""Tides of a table, row by row."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Tide:
    when: datetime
    height: float


def tides(lines: Iterable[str]) -> Iterator[Tide]:
    """The tides of a table in order of time; a table is never held whole."""
    rows = csv.reader(lines)
    for when, height in rows:
        if when != "time":
            yield Tide(parse(when), float(height))


def parse(text: str) -> datetime:
    return datetime.fromisoformat(text)
'''

FIXED_READER = (
    "    rows = csv.reader(lines)\n",
    '    rows = csv.reader(line for line in lines if not line.startswith("#"))\n',
)

TEST = """from tidewatch.reader import tides

TABLE = ["# aldermouth, UTC+1", "time,height", "2026-05-04T13:41Z,4.2"]


def test_rows_of_a_table():
    assert next(tides(TABLE)).height == 4.2


def test_a_table_without_rows_has_no_tides():
    assert list(tides(TABLE[:2])) == []
"""

FIXED_TEST = (
    "def test_a_table_without_rows_has_no_tides():\n",
    """def test_a_missing_height_is_none():
    assert next(tides([*TABLE[:2], "2026-05-05T14:29Z,"])).height is None


def test_a_table_without_rows_has_no_tides():
""",
)

SPLINE = '''"""Heights between known ones, by a cubic spline."""

import numpy as np


def fill(known: list[tuple[float, float]], wanted: list[float]) -> list[float]:
    times, heights = zip(*known, strict=True)
    return list(np.interp(wanted, times, heights))
'''

LOCAL_CLOCK = '''"""The harbour's own time."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo


def local(when: datetime, zone: str) -> datetime:
    """The same moment on the harbour's clock."""
    return when.astimezone(ZoneInfo(zone))


def offset_of(comment: str, when: datetime) -> int:
    """Hours before UTC, as the comment of the table says: one for winter, one for summer."""
    winter, _, summer = comment.partition("summer")
    text = summer if summer and when.month in range(4, 11) else winter
    return int(text.split("UTC+")[1].split(",")[0].split()[0])
'''

SUMMARY = """This session is being continued from a previous conversation that ran out of context. The conversation is summarized below:

1. Primary Request and Intent: print the next high water of a harbour from the tables in data/. Standard library alone; never load a \
whole table; never write outside of data/cache. Heights that are missing are not guessed: print the time and say that the height is \
not known.
2. Key Technical Concepts: csv.reader over a generator of lines; a comment line of the harbour office stands before the header.
3. Files and Code Sections: tidewatch/reader.py (Tide, tides, parse; height is float or None); tests/test_reader.py (five tests).
4. Errors and Fixes: the comment line broke the parser; lines that begin with # are skipped.
5. Problem Solving: filling heights with a spline was tried and dropped: it wants numpy, and a guessed height is dangerous.
6. All User Messages: the next high water from data/; no guessed heights.
7. Pending Tasks: the harbour's own time; tests for tables with gaps.
8. Current Work: missing heights print as "height not known"; five tests pass.
9. Optional Next Step: print times of the harbour's own clock."""
