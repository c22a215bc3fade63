"""Writes the bundled sample: an invented session about a tide table, with everything in it that there is to see.

Four turns, of which one was rewound and asked anew; a todo list with an item that was dropped; commands that fail; edits; one
compaction. `python -m sessions.sample.make` writes it; the same bytes every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from difflib import unified_diff
from typing import Any

from sessions.sample import SAMPLE, SESSION_ID
from sessions.sample.records import Transcript
from sessions.sample.texts import (
    FIXED_READER,
    FIXED_TEST,
    HARBOURS,
    LOCAL_CLOCK,
    PROJECT,
    READER,
    SPLINE,
    SUMMARY,
    TABLE,
    TEST,
)

ROOT = "/home/mara/tidewatch"


class Work:
    """The agent at work: calls and their results, over files that it keeps in mind."""

    def __init__(self, transcript: Transcript) -> None:
        self.at = transcript
        self.files: dict[str, str] = {}

    def read(self, path: str) -> None:
        text = self.files[path]
        self.at.begin()
        call = self.at.calls("Read", {"file_path": f"{ROOT}/{path}"})
        lines = text.splitlines()
        numbered = "\n".join(f"{n:>6}→{line}" for n, line in enumerate(lines, 1))
        file = {
            "filePath": f"{ROOT}/{path}",
            "content": text,
            "numLines": len(lines),
            "startLine": 1,
            "totalLines": len(lines),
        }
        self.at.result(call, numbered, details={"type": "text", "file": file})

    def write(self, path: str, text: str) -> None:
        self.files[path] = text
        self.at.begin()
        call = self.at.calls("Write", {"file_path": f"{ROOT}/{path}", "content": text})
        details: dict[str, Any] = {
            "type": "create",
            "filePath": f"{ROOT}/{path}",
            "content": text,
            "structuredPatch": [],
            "originalFile": None,
        }
        self.at.result(call, f"File created successfully at: {ROOT}/{path}", details=details)

    def edit(self, path: str, old: str, new: str) -> None:
        before = self.files[path]
        assert before.count(old) == 1, f"{path}: the text to replace stands there {before.count(old)} times"
        after = self.files[path] = before.replace(old, new)
        self.at.begin()
        args = {"file_path": f"{ROOT}/{path}", "old_string": old, "new_string": new, "replace_all": False}
        call = self.at.calls("Edit", args)
        details = {
            "filePath": f"{ROOT}/{path}",
            "oldString": old,
            "newString": new,
            "originalFile": before,
            "structuredPatch": hunks(before, after),
            "userModified": False,
            "replaceAll": False,
        }
        self.at.result(call, f"The file {ROOT}/{path} has been updated successfully.", details=details)

    def shell(self, command: str, output: str, *, code: int = 0, about: str = "") -> None:
        self.at.begin()
        call = self.at.calls("Bash", {"command": command, "description": about or command})
        if code:
            self.at.result(call, f"Exit code {code}\n{output}", is_error=True)
        else:
            details: dict[str, Any] = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
            self.at.result(call, output, details=details)

    def find(self, pattern: str, found: Sequence[str]) -> None:
        self.at.begin()
        call = self.at.calls("Glob", {"pattern": pattern})
        names = [f"{ROOT}/{name}" for name in found]
        details = {"filenames": names, "durationMs": 12, "numFiles": len(names), "truncated": False}
        self.at.result(call, "\n".join(names), details=details)

    def todos(self, *items: tuple[str, str]) -> None:
        todos = [{"content": text, "status": status, "activeForm": f"Working on: {text}"} for text, status in items]
        self.at.begin()
        call = self.at.calls("TodoWrite", {"todos": todos})
        words = "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress."
        self.at.result(call, words, details={"oldTodos": [], "newTodos": todos})

    def says(self, text: str) -> None:
        self.at.begin()
        self.at.says(text)


def hunks(before: str, after: str) -> list[dict[str, Any]]:
    """A patch as the agent keeps it: hunks with their lines."""
    out: list[dict[str, Any]] = []
    for line in list(unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=3))[2:]:
        if line.startswith("@@"):
            spans = [piece[1:].split(",") for piece in line.split()[1:3]]
            (old, *old_count), (new, *new_count) = spans
            out.append(
                {
                    "oldStart": int(old),
                    "oldLines": int(old_count[0]) if old_count else 1,
                    "newStart": int(new),
                    "newLines": int(new_count[0]) if new_count else 1,
                    "lines": [],
                }
            )
        else:
            out[-1]["lines"].append(line)
    return out


READ = "Read the table line by line"
NEXT = "Find the next high water"
SPLINE_GOAL = "Fill missing heights with a spline"
LOCAL = "Print times of the harbour's own clock"
TESTS = "Tests for a table with gaps"
GAPS = "Say where heights are missing"
DONE, DOING, OPEN = "completed", "in_progress", "pending"


def build() -> bytes:
    """The sample, whole."""
    at = Transcript(
        SESSION_ID,
        cwd=ROOT,
        model="claude-sonnet-4-5-20250929",
        branch="next-high-water",
        version="2.1.150",
        start=datetime(2026, 5, 4, 8, 2, tzinfo=UTC),
    )
    work = Work(at)
    work.files = {"pyproject.toml": PROJECT, "tests/test_reader.py": TEST}
    work.files |= {f"data/{name}.csv": TABLE.replace("{harbour}", name) for name in HARBOURS}
    first_turn(at, work)
    second_turn(at, work)
    at.compaction(SUMMARY)
    third_turn(at, work)
    fourth_turn(at, work)
    at.title("Next high water for six harbours")
    return bytes(at)


def first_turn(at: Transcript, work: Work) -> None:
    at.prompt(
        "Print the next high water of a harbour from the tables in data/. Use the standard library alone, never load a "
        "whole table, and never write outside of data/cache.",
        after=0,
    )
    at.begin()
    at.thinks(
        "First see what the tables look like, then write a reader that yields rows. The person wants no whole table in memory."
    )
    at.says("I will look at the tables first.")
    work.find("data/*.csv", [f"data/{name}.csv" for name in HARBOURS])
    work.todos((READ, DOING), (NEXT, OPEN), (SPLINE_GOAL, OPEN), (LOCAL, OPEN), (TESTS, OPEN))
    for name in HARBOURS[:3]:
        work.read(f"data/{name}.csv")
    work.read("pyproject.toml")
    work.write("tidewatch/reader.py", READER)
    work.read("tests/test_reader.py")
    work.shell("python -m pytest -q", FAILED_FIRST, code=1, about="Run the tests")
    at.begin()
    at.thinks("The first row is the header of the harbour office, not of the columns: skip lines that begin with '#'.")
    at.says("The tables begin with a comment of the harbour office; the reader has to skip it.")
    work.edit("tidewatch/reader.py", *FIXED_READER)
    work.shell(
        "python -m pytest -q", "....                                  [100%]\n4 passed in 0.05s", about="Run the tests"
    )
    work.todos((READ, DONE), (NEXT, DOING), (SPLINE_GOAL, OPEN), (LOCAL, OPEN), (TESTS, OPEN))
    work.shell("python -m tidewatch aldermouth", "aldermouth  high water 2026-05-04 13:41 UTC  4.2 m")
    work.todos((READ, DONE), (NEXT, DONE), (SPLINE_GOAL, OPEN), (LOCAL, OPEN), (TESTS, OPEN))
    work.says(
        "`python -m tidewatch aldermouth` prints the next high water: 13:41 UTC, 4.2 m. The table is read row by row."
    )


def second_turn(at: Transcript, work: Work) -> None:
    fork = at.mark()
    at.prompt("Some days have no height. Fill them in.")
    work.todos((READ, DONE), (NEXT, DONE), (SPLINE_GOAL, DOING), (LOCAL, OPEN), (TESTS, OPEN))
    for name in HARBOURS[3:]:
        work.read(f"data/{name}.csv")
    work.write("tidewatch/spline.py", SPLINE)
    work.shell("python -m pytest -q", FAILED_SPLINE, code=2, about="Run the tests")
    work.shell("python -c 'import numpy'", "ModuleNotFoundError: No module named 'numpy'", code=1)
    work.says("The spline wants numpy, which the standard library is not. Shall I add it?")
    # The person goes back to before that request and asks for something else; what was tried stays in the file.
    del work.files["tidewatch/spline.py"]
    at.rewind(fork)
    at.prompt("Do not guess heights. Where one is missing, print the time and say that the height is not known.")
    at.begin()
    at.thinks("A guess could run a boat aground. The spline goes; a missing height becomes a word in the output.")
    at.says("Then nothing is filled in: a missing height is said to be missing.")
    work.todos((READ, DONE), (NEXT, DONE), (GAPS, DOING), (LOCAL, OPEN), (TESTS, OPEN))
    work.shell("grep -c ',,' data/*.csv", "\n".join(f"data/{name}.csv:{n}" for n, name in enumerate(HARBOURS)))
    work.edit(
        "tidewatch/reader.py",
        "    height: float\n",
        "    height: float | None  # None: the table has none for this tide\n",
    )
    work.edit(
        "tidewatch/reader.py",
        "            yield Tide(parse(when), float(height))\n",
        "            yield Tide(parse(when), float(height) if height else None)\n",
    )
    work.edit("tests/test_reader.py", *FIXED_TEST)
    work.shell(
        "python -m pytest -q", ".....                                 [100%]\n5 passed in 0.05s", about="Run the tests"
    )
    work.todos((READ, DONE), (NEXT, DONE), (GAPS, DONE), (LOCAL, OPEN), (TESTS, OPEN))
    work.says("Missing heights print as “height not known”. One new test holds it; five pass.")


def third_turn(at: Transcript, work: Work) -> None:
    at.prompt("Print the harbour's own time, summer time included.")
    work.todos((READ, DONE), (NEXT, DONE), (GAPS, DONE), (LOCAL, DOING), (TESTS, OPEN))
    work.read("tidewatch/reader.py")
    work.write("tidewatch/clock.py", LOCAL_CLOCK)
    work.shell("python -m tidewatch brackwater", FAILED_ZONE, code=1)
    at.begin()
    at.thinks(
        "No zone database on this machine. zoneinfo then needs the tzdata package, or the zone must be in the table's comment."
    )
    at.says("This machine has no zone database. The tables name their offset in the comment, so I take it from there.")
    work.shell("head -1 data/brackwater.csv", "# brackwater, harbour office, UTC+1, summer UTC+2 from 29 March")
    work.edit(
        "tidewatch/clock.py",
        "    return when.astimezone(ZoneInfo(zone))\n",
        "    return when.astimezone(timezone(timedelta(hours=offset_of(comment, when))))\n",
    )
    work.edit(
        "tidewatch/clock.py",
        "from zoneinfo import ZoneInfo\n",
        "from datetime import timedelta, timezone\n",
    )
    work.edit(
        "tidewatch/clock.py",
        "def local(when: datetime, zone: str) -> datetime:\n",
        "def local(when: datetime, comment: str) -> datetime:\n",
    )
    work.shell("python -m tidewatch brackwater", "brackwater  high water 2026-05-04 16:20 UTC+2  height not known")
    work.shell(
        "python -m pytest -q", "......                                [100%]\n6 passed in 0.06s", about="Run the tests"
    )
    work.todos((READ, DONE), (NEXT, DONE), (GAPS, DONE), (LOCAL, DONE), (TESTS, DOING))
    work.says(
        "Times are the harbour's own, with the offset printed beside them. The offset comes from the table's comment."
    )


def fourth_turn(at: Transcript, work: Work) -> None:
    at.prompt("Now the tests for tables with gaps. Then tell me what is left open.")
    for name in HARBOURS[:2]:
        work.read(f"data/{name}.csv")
    work.read("tests/test_reader.py")
    work.edit(
        "tests/test_reader.py",
        "def test_a_missing_height_is_none():\n",
        "def test_a_table_of_gaps_alone_has_tides_and_no_heights():\n"
        "    rows = ['# x, UTC+0', 'time,height', '2026-05-04T01:00Z,', '2026-05-04T13:00Z,']\n"
        "    assert [tide.height for tide in tides(rows)] == [None, None]\n\n\n"
        "def test_a_missing_height_is_none():\n",
    )
    work.shell(
        "python -m pytest -q", ".......                               [100%]\n7 passed in 0.06s", about="Run the tests"
    )
    work.shell("git status --short", " M tests/test_reader.py\n?? tidewatch/clock.py\n?? tidewatch/reader.py")
    work.todos((READ, DONE), (NEXT, DONE), (GAPS, DONE), (LOCAL, DONE), (TESTS, DONE))
    work.says(
        "Seven tests pass. Left open: the summer offset is read from the comment and so is only as good as the harbour office's; "
        "and a table that ends today has no next high water, which is printed as such and not looked up elsewhere."
    )


FAILED_FIRST = """F...                                  [100%]
    def test_rows_of_a_table():
>       assert next(tides(TABLE)).height == 4.2
E       ValueError: Invalid isoformat string: '# aldermouth'
tidewatch/reader.py:22: ValueError
1 failed, 3 passed in 0.06s"""

FAILED_SPLINE = """ERROR collecting tests/test_spline.py
tidewatch/spline.py:3: in <module>
    import numpy as np
E   ModuleNotFoundError: No module named 'numpy'
1 error in 0.11s"""

FAILED_ZONE = """Traceback (most recent call last):
  File "tidewatch/clock.py", line 12, in local
    return when.astimezone(ZoneInfo(zone))
zoneinfo._common.ZoneInfoNotFoundError: 'No time zone found with key Europe/Berlin'"""

if __name__ == "__main__":
    SAMPLE.write_bytes(build())
