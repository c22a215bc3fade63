"""The audit as a file: every row that matches as CSV or JSON, sent as it is read; for an auditor the sums alone."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from typing import Any

from sessions.abandoned import MOST, Overview, Wanted, page
from sessions.goal_answers import Row, choice_row, listed_rows, sums_row, week_row
from sessions.models_goals import Review

COLUMNS = (
    "id", "session", "title", "agent", "agent_version", "project", "owner", "model", "path", "text", "status", "how", "confidence", "why_found",
    "reason", "reason_stated", "cause", "cause_found", "review", "assignee", "comment", "at", "week", "entries", "steps", "tokens", "spent",
    "cost", "seconds", "attempts", "errors", "tests", "tests_failed", "also_in", "files", "first_seq", "last_seq",
)  # fmt: skip
# What a spreadsheet would take for a formula when it opens the file; full-width forms are read as the plain ones.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def cell(value: Any) -> Any:
    """A value as it may stand in a sheet: words that a spreadsheet would run get an apostrophe before them."""
    if isinstance(value, list):
        value = "\n".join(map(str, value))
    if isinstance(value, str) and value.lstrip(" ").startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value


class _Line:
    """What csv.writer writes to; it hands the line back."""

    def write(self, line: str) -> str:
        return line


def as_csv(rows: Iterable[Row], columns: tuple[str, ...] = COLUMNS) -> Iterator[bytes]:
    """Lines with a heading, beginning with the mark by which spreadsheets know UTF-8."""
    writer = csv.writer(_Line())
    yield b"\xef\xbb\xbf" + writer.writerow(columns).encode()
    for row in rows:
        yield writer.writerow([cell(row.get(name)) for name in columns]).encode()


def as_json(rows: Iterable[Row]) -> Iterator[bytes]:
    """One list, an object a line."""
    yield b"["
    for n, row in enumerate(rows):
        yield (b",\n" if n else b"\n") + json.dumps(row, ensure_ascii=False).encode()
    yield b"\n]\n"


def rows_of(workspace: Any, wanted: Wanted) -> Iterator[Row]:
    """All rows that match, in the order asked for, a page at a time; with the last comment on each."""
    after: str | None = None
    while True:
        found = page(workspace, wanted, after=after, count=MOST)
        comments = dict(
            Review.objects.filter(abandonment__in=[row.pk for row in found.rows])
            .exclude(comment="")
            .order_by("id")
            .values_list("abandonment_id", "comment")
        )
        for row in listed_rows(workspace, found.rows):
            yield {**row, "comment": comments.get(row["id"])}
        after = found.next
        if after is None:
            return


SUMMED = ("facet", "value", "label", "goals", "tokens")


def sums_of(seen: Overview) -> Iterator[Row]:
    """Sums by facet, a row each: what an auditor may take along."""
    for name, many in seen.facets.items():
        for one in many:
            yield {"facet": name, **choice_row(one)}


def whole_sums(seen: Overview) -> Row:
    """The same as one object."""
    return {
        "sums": sums_row(seen.sums),
        "facets": {name: [choice_row(one) for one in many] for name, many in seen.facets.items()},
        "weeks": [week_row(one) for one in seen.weeks],
    }
