"""The ten sections of a session's memory: their lines, their text and back, and what they may weigh.

Sections and budgets as write-ups of Claude Code 2.1 give them; the lines are ours. A line knows the entries it comes from; one that a
person wrote is theirs, and nothing but a person changes or drops it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from compaction.plan import Count

TITLES = (
    "Session Title",
    "Current State",
    "Task specification",
    "Files and Functions",
    "Workflow",
    "Errors & Corrections",
    "Codebase and System Documentation",
    "Learnings",
    "Key results",
    "Worklog",
)
TITLE, STATE, TASK, FILES, WORKFLOW, ERRORS, CODEBASE, LEARNINGS, RESULTS, WORKLOG = range(10)

EACH, ALL = 2_000, 12_000
"""Tokens of one section, its heading included, and of the whole text, by o200k."""

NOTHING = "- (nothing yet)"

_HEADING = re.compile(r"\A#{1,3}\s+(?:\d+[.)]\s*)?(.+?)\s*#*\s*\Z")
_KNOWN = {title.casefold(): n for n, title in enumerate(TITLES)}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a section. `key`: what it is about, so that what is learned later of the same takes its place; "" of a line that stands for
    itself. `weight`: what goes last where there is no room. `data`: figures that go on counting. `own`: a person wrote it.
    """

    text: str
    seqs: tuple[int, ...] = ()
    key: str = ""
    weight: int = 1
    data: Mapping[str, Any] = field(default_factory=dict)
    own: bool = False

    @property
    def name(self) -> str:
        """By what a line is known again: what it is about, else its words. What the state of things is changes too often to be known by that."""
        return self.text if not self.key or self.key.startswith("state:") else self.key


@dataclass(frozen=True, slots=True)
class Notes:
    """A session's memory. `until`: the newest entry that is in it. `struck`: names of lines that a person took out: they do not come back.
    `open`: the worklog's line of the turn that still goes on, also where the worklog had no room for it or a person took it out: its figures
    go on counting. Without `data` nobody has counted them from its beginning, and it gets no line.
    """

    sections: tuple[tuple[Line, ...], ...] = ((),) * len(TITLES)
    until: int = -1
    struck: frozenset[str] = frozenset()
    open: Line | None = None

    @property
    def empty(self) -> bool:
        return not any(self.sections)

    @property
    def lines(self) -> Iterable[Line]:
        return (line for section in self.sections for line in section)

    def to_json(self) -> dict[str, Any]:
        return {
            "sections": [
                {"title": title, "lines": [_line_json(line) for line in lines]}
                for title, lines in zip(TITLES, self.sections, strict=True)
            ],
            "until": self.until,
            "struck": sorted(self.struck),
            "open": None if self.open is None else _line_json(self.open),
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Notes:
        by_title = {one["title"]: one["lines"] for one in raw["sections"]}
        sections = tuple(tuple(_line_of(one) for one in by_title.get(title, ())) for title in TITLES)
        return cls(sections, raw["until"], frozenset(raw["struck"]), _open_of(raw, sections[WORKLOG]))


def _line_json(line: Line) -> dict[str, Any]:
    out: dict[str, Any] = {"text": line.text, "seqs": list(line.seqs)}
    if line.own:
        out["own"] = True
    if line.key:
        out |= {"key": line.key, "data": dict(line.data)}
    if line.weight != 1:
        out["weight"] = line.weight
    return out


def _line_of(raw: Mapping[str, Any]) -> Line:
    return Line(
        raw["text"],
        tuple(raw["seqs"]),
        raw.get("key", ""),
        raw.get("weight", 1),
        raw.get("data", {}),
        raw.get("own", False),
    )


def _open_of(raw: Mapping[str, Any], worklog: Sequence[Line]) -> Line | None:
    """The line of the turn that goes on. Versions of before it was kept have its key alone, and its figures where the worklog has the line."""
    if "open" in raw:
        return None if raw["open"] is None else _line_of(raw["open"])
    key = raw["turn"]
    return next((line for line in worklog if line.key == key), uncounted(key)) if key else None


def uncounted(turn: str) -> Line:
    """A turn that goes on and whose beginning nobody has counted."""
    return Line("", key=turn)


def render(notes: Notes) -> str:
    """The text that is shown, edited and sent: all ten headings in order, each line a bullet; further lines of one are indented."""
    return "\n\n".join(section_text(n, [line.text for line in lines]) for n, lines in enumerate(notes.sections))


def section_text(n: int, texts: Sequence[str]) -> str:
    return "\n".join([f"# {TITLES[n]}", *(_bullet(text) for text in texts)] if texts else [f"# {TITLES[n]}", NOTHING])


def _bullet(text: str) -> str:
    return "- " + text.replace("\n", "\n  ")


class BadText(ValueError):
    """A text that is no memory; the message says what is wrong with it."""


def parse(text: str) -> tuple[tuple[str, ...], ...]:
    """The lines of each section of a text in this shape. Raises BadText where a heading is missing or stands twice."""
    found: dict[int, list[str]] = {}
    here: list[str] | None = None
    for raw in text.replace("\r\n", "\n").split("\n"):
        heading = _HEADING.match(raw)
        n = _KNOWN.get(heading[1].casefold()) if heading is not None else None
        if n is not None:
            if n in found:
                raise BadText(f"the section “{TITLES[n]}” stands there twice")
            here = found.setdefault(n, [])
        elif raw.strip() and raw.strip() != NOTHING:
            if here is None:
                raise BadText(f"“{raw.strip()[:60]}” stands before the first section")
            _take(raw, here)
    missing = [title for n, title in enumerate(TITLES) if n not in found]
    if missing:
        words = ", ".join(f"“{title}”" for title in missing)
        raise BadText(
            f"the heading{'s' if len(missing) > 1 else ''} {words} {'are' if len(missing) > 1 else 'is'} missing"
        )
    return tuple(tuple(found[n]) for n in range(len(TITLES)))


def _take(raw: str, lines: list[str]) -> None:
    bullet = re.match(r"\A[-*•]\s+(.*)\Z", raw)
    if bullet is not None:
        if bullet[1].strip():
            lines.append(bullet[1].rstrip())
    elif raw.startswith("  ") and lines:
        lines[-1] += "\n" + raw[2:].rstrip()
    else:
        lines.append(raw.strip())


def over(texts: Sequence[Sequence[str]], count: Count) -> str:
    """What is too long about these lines, in words; "" where they are within the budgets."""
    blocks = [section_text(n, lines) for n, lines in enumerate(texts)]
    for n, tokens in enumerate(count(blocks)):
        if tokens > EACH:
            return f"“{TITLES[n]}” has {tokens:,} tokens; a section has room for {EACH:,}"
    whole = count(["\n\n".join(blocks)])[0]
    return f"the whole has {whole:,} tokens; there is room for {ALL:,}" if whole > ALL else ""


def fitted(notes: Notes, count: Count) -> Notes:
    """The notes within the budgets: lines of least weight go first, the oldest of those before younger ones, a person's never.

    A person's lines alone are within the budgets: an edit that would take them beyond is refused (`editing`).
    """
    sections = [_fitted_section(n, lines, count) for n, lines in enumerate(notes.sections)]
    whole = replace(notes, sections=tuple(sections))
    total = count([render(whole)])[0]
    if total <= ALL:
        return whole
    costs = {
        id(line): cost
        for line, cost in zip(whole.lines, count([_bullet(one.text) + "\n" for one in whole.lines]), strict=True)
    }
    while total > ALL:
        # The longest section gives first: none is emptied for another's sake.
        sizes = [sum(costs[id(line)] for line in lines) for lines in sections]
        open_ = [n for n, lines in enumerate(sections) if any(not line.own for line in lines)]
        if not open_:
            break
        n = max(open_, key=lambda n: (sizes[n], n))
        gone = _least(sections[n])
        total -= costs[id(sections[n][gone])]
        sections[n] = (*sections[n][:gone], *sections[n][gone + 1 :])
        if total <= ALL:  # the sum of the lines is near the count of the whole, not equal to it
            total = count([render(replace(whole, sections=tuple(sections)))])[0]
    return replace(whole, sections=tuple(sections))


def _fitted_section(n: int, lines: tuple[Line, ...], count: Count) -> tuple[Line, ...]:
    def size(kept: Sequence[Line]) -> int:
        return count([section_text(n, [line.text for line in kept])])[0]

    total = size(lines)
    if total <= EACH:
        return lines
    kept = list(lines)
    costs = count([_bullet(line.text) + "\n" for line in kept])
    while total > EACH and any(not line.own for line in kept):
        gone = _least(kept)
        total -= costs.pop(gone)
        kept.pop(gone)
        if total <= EACH:
            total = size(kept)
    return tuple(kept)


def _least(lines: Sequence[Line]) -> int:
    return min((n for n, line in enumerate(lines) if not line.own), key=lambda n: (lines[n].weight, n))
