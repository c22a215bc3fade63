"""The `*** Begin Patch` format: its changes, and how they apply to a file's text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class Hunk:
    """Lines to find and lines to put there. `anchor`: a line above which names the place; `at_end`: the place is the file's end."""

    old: list[str]
    new: list[str]
    anchor: str = ""
    at_end: bool = False


@dataclass(slots=True)
class Change:
    """What a patch does to one file: `add` (then `text` is the file), `update`, `delete`; `moved_to` renames it besides."""

    op: str
    path: str
    hunks: list[Hunk]
    text: str = ""
    moved_to: str | None = None


def parse_patch(text: str) -> list[Change]:
    """The changes of a `*** Begin Patch` patch, in order. What is no patch gives none."""
    changes: list[Change] = []
    here: Change | None = None
    added: list[str] = []

    def close() -> None:
        if here is not None and here.op == "add":
            here.text = "".join(f"{line}\n" for line in added)

    for line in text.split("\n"):
        if line.startswith("*** "):
            head, _, path = line[4:].partition(": ")
            path = path.strip()
            op = {
                "Add File": "add",
                "Update File": "update",
                "Delete File": "delete",
            }.get(head)
            if op and path:
                close()
                added = []
                here = Change(op, path, [])
                changes.append(here)
            elif head == "Move to" and here is not None and path:
                here.moved_to = path
            elif line.startswith("*** End of File") and here is not None and here.hunks:
                here.hunks[-1].at_end = True
            continue
        if here is None:
            continue
        if here.op == "add":
            if line.startswith("+"):
                added.append(line[1:])
        elif here.op == "update":
            if line.startswith("@@"):
                here.hunks.append(Hunk([], [], line[2:].strip().removesuffix("@@").strip()))
                continue
            if not here.hunks:
                if not line[:1].strip() and not line.strip():
                    continue
                here.hunks.append(Hunk([], []))
            hunk = here.hunks[-1]
            if line.startswith("+"):
                hunk.new.append(line[1:])
            elif line.startswith("-"):
                hunk.old.append(line[1:])
            elif line.startswith(" "):
                hunk.old.append(line[1:])
                hunk.new.append(line[1:])
            elif line == "":
                hunk.old.append("")
                hunk.new.append("")
    close()
    for change in changes:
        for hunk in change.hunks:  # a blank line before the next header is no context
            while hunk.old and hunk.new and hunk.old[-1] == hunk.new[-1] == "":
                hunk.old.pop()
                hunk.new.pop()
    return changes


def apply_hunks(text: str, hunks: Sequence[Hunk]) -> str | None:
    """The text after the hunks, each sought behind the one before (exactly, then without trailing blanks); None where one does not fit."""
    lines = text.split("\n")
    ended = lines[-1] == ""
    if ended:
        lines.pop()
    at = 0
    for hunk in hunks:
        if hunk.anchor:
            found = _seek(lines, [hunk.anchor], at)
            if found is not None:
                at = found + 1
        if not hunk.old:
            place = len(lines) if not hunk.anchor or hunk.at_end else at
            lines[place:place] = hunk.new
            at = place + len(hunk.new)
            continue
        found = _seek(lines, hunk.old, at, at_end=hunk.at_end)
        if found is None:
            return None
        lines[found : found + len(hunk.old)] = hunk.new
        at = found + len(hunk.new)
    return "\n".join(lines) + ("\n" if ended or not text else "")


def _seek(lines: list[str], wanted: list[str], start: int, *, at_end: bool = False) -> int | None:
    size = len(wanted)
    places = [*range(start, len(lines) - size + 1)]
    if at_end:
        places.sort(key=lambda place: place != len(lines) - size)
    folds: tuple[Callable[[str], str], ...] = (str, str.rstrip, str.strip)
    for fold in folds:
        folded = [fold(line) for line in wanted]
        for place in places:
            if all(fold(lines[place + n]) == folded[n] for n in range(size)):
                return int(place)
    return None
