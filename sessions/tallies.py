"""What the work on a goal came to, counted entry by entry: stretches of entries, steps, errors, tests, files, time. Pure and incremental.

A tally is small JSON; it lies with its goal in the state of reading, so that an appended entry costs one addition.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sessions.calls import command_of, deed_of, files_of, nature_of
from sessions.entries import Entry, Part, PartKind

PAUSE = 600  # seconds of silence that still count as work; of a longer one so many
FILES = 100  # files named in a tally; more are counted
STRETCHES = 400  # stretches told apart; behind that the last one grows over the gap
CALLS = 32  # calls without a result that are remembered

_WORKING = frozenset({"shell", "edit", "write"})
_TEST = re.compile(
    r"\b(?:pytest|unittest|nosetests|tox|nox|cargo\s+(?:nextest|test)|go\s+test|jest|vitest|mocha|ava|rspec|ctest|phpunit|playwright\s+test"
    r"|(?:npm|pnpm|yarn|bun|deno|mise|just|task)\s+(?:run\s+)?test\S*|make\s+(?:check|test)\S*|mvn\s+\S*test|gradlew?\s+\S*test|dotnet\s+test"
    r"|swift\s+test|zig\s+(?:build\s+)?test|manage\.py\s+test|mix\s+test|rake\s+test)\b"
)
_FAILED = re.compile(
    r"^FAIL(?:ED)?\b|\b[1-9]\d* (?:failed|failures?|failing|errors?)\b|test result: FAILED|FAILURES!|^E\s{2,}\w*Error",
    re.MULTILINE,
)


@dataclass(slots=True)
class Tally:
    """Of one goal alone, without those under it. `seconds` without long pauses; None where entries have no time.

    `attempts`: how often work on it began. `spans`: first and last entry of each stretch. `failed`: of `tests`, the runs that failed.
    """

    entries: int = 0
    steps: int = 0
    errors: int = 0
    tests: int = 0
    failed: int = 0
    files: list[str] = field(default_factory=list)
    more_files: int = 0
    first: datetime | None = None
    last: datetime | None = None
    seconds: int = 0
    step: int | None = None
    spans: list[list[int]] = field(default_factory=list)

    @property
    def attempts(self) -> int:
        return len(self.spans)

    def add(self, seq: int, entry: Entry, step: int | None) -> None:
        """Count an entry that belongs to the goal."""
        self.entries += 1
        if self.spans and (self.spans[-1][1] == seq - 1 or len(self.spans) >= STRETCHES):
            self.spans[-1][1] = seq
        else:
            self.spans.append([seq, seq])
        if step is not None and step != self.step:
            self.steps += 1
            self.step = step
        self.errors += entry.is_error
        if entry.at is not None:
            self._clock(entry.at, begins=self.spans[-1][0] == seq)

    def touch(self, path: str) -> None:
        """Count a file that was written."""
        if path not in self.files:
            if len(self.files) < FILES:
                self.files.append(path[:500])
            else:
                self.more_files += 1

    def _clock(self, at: datetime, *, begins: bool) -> None:
        if self.last is not None and not begins:
            passed = (at - self.last).total_seconds()
            self.seconds += int(max(0, min(PAUSE, passed)))
        self.first = self.first or at
        self.last = at

    def to_json(self) -> list[Any]:
        return [
            self.entries, self.steps, self.errors, self.tests, self.failed, self.files, self.more_files, _iso(self.first), _iso(self.last),
            self.seconds, self.step, self.spans,
        ]  # fmt: skip

    @classmethod
    def from_json(cls, raw: Sequence[Any]) -> Tally:
        entries, steps, errors, tests, lost, files, more, first_at, last_at, seconds, step, spans = raw
        return cls(
            entries, steps, errors, tests, lost, list(files), more, _time(first_at), _time(last_at), seconds, step, [list(span) for span in spans]
        )  # fmt: skip

    def figures(self) -> dict[str, Any]:
        """What is stored of it for pages and programs."""
        return {
            "steps": self.steps,
            "errors": self.errors,
            "tests": self.tests,
            "tests_failed": self.failed,
            "files": self.files,
            "more_files": self.more_files,
            "first_at": _iso(self.first),
            "last_at": _iso(self.last),
            "seconds": self.seconds if self.first is not None else None,
            "attempts": self.attempts,
        }


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


@dataclass(slots=True)
class Clerk:
    """Knows which calls wait for a result, and which of them run tests: a result says whether they failed, whatever goal it falls to."""

    waiting: dict[str, str] = field(default_factory=dict)

    def calls(self, entry: Entry, path: str | None, tally: Tally | None) -> None:
        """Look at an entry's calls: files they write, tests they run."""
        if tally is None:
            return
        for part in entry.parts:
            if part.kind is not PartKind.TOOL_CALL or nature_of(part.tool) not in _WORKING:
                continue
            call = deed_of(part.tool, part.text)
            for file in files_of(call, part.text):
                tally.touch(file)
            if call.nature == "shell" and _TEST.search(command_of(call.given)):
                tally.tests += 1
                if part.call_id and path is not None:
                    self.waiting[part.call_id] = path
                    while len(self.waiting) > CALLS:
                        del self.waiting[next(iter(self.waiting))]

    def failures(self, entry: Entry) -> list[str]:
        """Paths of the goals whose test runs failed, as this entry's results say."""
        out: list[str] = []
        if not self.waiting:
            return out
        for part in entry.parts:
            if part.kind is PartKind.TOOL_RESULT and part.call_id in self.waiting:
                path = self.waiting.pop(part.call_id)
                if failed(part):
                    out.append(path)
        return out


def failed(part: Part) -> bool:
    """Whether the result of a test run says that it failed."""
    code = part.meta.get("exit_code", part.meta.get("exit"))
    if isinstance(code, int) and not isinstance(code, bool):
        return code != 0
    return part.is_error or _FAILED.search(part.text[-20_000:]) is not None
