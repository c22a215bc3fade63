"""Differences as hunks: read from what a result records, from two texts, from a patch. Pure.

Nothing is cut here without a word: where a text is too long to be compared, `Hunk.note` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from typing import Any

COMPARED = 40_000  # characters of each side that are compared: the comparison is quadratic in the worst case
READ = 1_000_000  # characters of one patch that are read
PAIRED = 400  # characters of a line beyond which its words are not compared

type Row = tuple[str, int | None, int | None, str]  # sign, number before, number after, text


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines with sign " ", "+" or "−" and their numbers before and after. `title`: where it stands. `note`: what is not in it, in words."""

    title: str
    lines: tuple[Row, ...]
    note: str = ""


def hunks_of_facts(raw: Any) -> list[Hunk]:
    """Hunks as a result records them: oldStart, newStart, lines with their signs."""
    out: list[Hunk] = []
    for hunk in raw if isinstance(raw, list) else []:
        if not isinstance(hunk, Mapping):
            continue
        old, new = hunk.get("oldStart"), hunk.get("newStart")
        title = (
            f"@@ −{old},{hunk.get('oldLines', '')} +{new},{hunk.get('newLines', '')} @@"
            if isinstance(old, int)
            else "@@"
        )
        out.append(hunk_of(title, [line for line in hunk.get("lines") or [] if isinstance(line, str)], old, new))
    return out


def hunks_of_texts(old: str, new: str, *, title: str = "", context: int = 3) -> list[Hunk]:
    """The difference of two texts. Their place in the file is not known, so their lines carry no numbers.

    A text without the other is all added or all removed, however long; of two long ones the beginnings are compared.
    """
    if not old or not new:
        sign = "+" if new else "-"
        lines = [sign + line for line in (new or old).splitlines()]
        return [hunk_of(title, lines, None, None)] if lines else []
    before, after = old[:COMPARED].splitlines(), new[:COMPARED].splitlines()
    rest = max(len(old) - COMPARED, 0) + max(len(new) - COMPARED, 0)
    out = [
        hunk_of(title, part, None, None)
        for part in _parted(list(unified_diff(before, after, n=context, lineterm=""))[2:])
    ]
    if rest:
        out.append(Hunk(title, (), f"the first {COMPARED:,} characters of each side are compared; {rest:,} are not"))
    return out


def _parted(lines: Iterable[str]) -> Iterator[list[str]]:
    """The lines of a unified difference, hunk by hunk, without their headings."""
    part: list[str] = []
    for line in lines:
        if line.startswith("@@"):
            if part:
                yield part
            part = []
        else:
            part.append(line)
    if part:
        yield part


def hunks_of_patch(patch: str) -> list[Hunk]:
    """Hunks of a patch in the `*** Begin Patch` form, each file's under its name."""
    out: list[Hunk] = []
    title = ""
    part: list[str] = []

    def close() -> None:
        if part:
            out.append(hunk_of(title, list(part), None, None))
            part.clear()

    for line in patch[:READ].splitlines():
        if line.startswith("*** "):
            close()
            if line.startswith(("*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:")):
                title = line.removeprefix("*** ")
                if line.startswith("*** Delete File:"):
                    out.append(Hunk(title, ()))
        elif line.startswith("@@"):
            close()
            title = f"{title.partition(' @@')[0]} {line}".strip() if line.strip() != "@@" else title
        else:
            part.append(line)
    close()
    if len(patch) > READ:
        out.append(Hunk(title, (), f"{len(patch) - READ:,} characters of the patch are not read"))
    return out


def hunk_of(title: str, lines: Iterable[str], old: int | None, new: int | None) -> Hunk:
    """Lines with their sign in front as rows, numbered from `old` and `new` where those are known."""
    out: list[Row] = []
    for line in lines:
        sign, text = line[:1], line[1:]
        if sign == "+":
            out.append(("+", None, new, text))
            new = None if new is None else new + 1
        elif sign == "-":
            out.append(("−", old, None, text))
            old = None if old is None else old + 1
        else:
            out.append((" ", old, new, text if sign == " " else line))
            old = None if old is None else old + 1
            new = None if new is None else new + 1
    return Hunk(title, tuple(out))


def counts(hunks: Sequence[Hunk]) -> tuple[int, int]:
    """Lines added and removed."""
    signs = [line[0] for hunk in hunks for line in hunk.lines]
    return signs.count("+"), signs.count("−")


def beside(rows: Sequence[Row]) -> Iterator[tuple[Row | None, Row | None]]:
    """Rows as they stand side by side: a run of removed lines against the run of added ones that follows it."""
    at = 0
    while at < len(rows):
        if rows[at][0] == " ":
            yield rows[at], rows[at]
            at += 1
            continue
        removed, added = [], []
        while at < len(rows) and rows[at][0] == "−":
            removed.append(rows[at])
            at += 1
        while at < len(rows) and rows[at][0] == "+":
            added.append(rows[at])
            at += 1
        for n in range(max(len(removed), len(added))):
            yield (removed[n] if n < len(removed) else None), (added[n] if n < len(added) else None)


def changed(before: str, after: str) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]] | None:
    """Two lines in pieces, each with whether it differs; None where they have too little in common for that to help."""
    if max(len(before), len(after)) > PAIRED:
        return None
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.real_quick_ratio() < 0.5 or matcher.ratio() < 0.5:
        return None
    left: list[tuple[str, bool]] = []
    right: list[tuple[str, bool]] = []
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        if a1 > a0:
            left.append((before[a0:a1], tag != "equal"))
        if b1 > b0:
            right.append((after[b0:b1], tag != "equal"))
    return left, right
