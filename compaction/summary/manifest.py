"""Files, commands and how they ended, listed from the record itself. It goes below every summary, whoever wrote it: nobody is asked for what
can be known. Pure and deterministic.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from compaction.plan import Count
from compaction.summary.facts import Command, FileUse, Findings, only_looks
from compaction.summary.template import LISTED as HEADING
from compaction.tools import one_line

SAID = "Listed from the record, not written by a model."
SHARE = 0.25  # of the summary's tokens, at most
LARGEST = 1_500  # tokens

_PATH = re.compile(r"^- `(.+?)`: ")
_COMMAND = re.compile(r"^- ran `(.+?)` → ")


def manifest(
    findings: Findings, folded: set[int], earlier: Iterable[str], *, room: int, count: Count, said: str = SAID
) -> str:
    """The list for the events numbered `folded`, in at most `room` tokens; "" where there is nothing to list.

    `earlier`: summaries that this one takes the place of; lines of their lists stay where nothing newer is known. What was changed
    comes before what was only read, failed commands before passed ones, newest first; what does not fit is counted,
    what only looked something up is not listed. `said`: a line below the
    heading.
    """
    files = sorted(
        (use for use in findings.files.values() if use.first in folded or use.last in folded),
        key=lambda use: (not use.changed, -use.last),
    )
    commands = sorted(
        (one for one in findings.commands.values() if one.n in folded and (one.failed or not only_looks(one.text))),
        key=lambda one: (not one.failed, -one.n),
    )
    lines = [*map(_file, files), *map(_command, commands)]
    known = {key for line in lines if (key := _key(line)) is not None}
    for line in _earlier_lines(earlier):
        if (key := _key(line)) is not None and key not in known:
            known.add(key)
            lines.append(line)
    return _within(lines, said, room, count)


def of(text: str) -> str:
    """The list that stands in a summary; "" where there is none."""
    place = text.rfind(HEADING)
    return text[place:] if place >= 0 else ""


def listed(text: str) -> set[str]:
    """The paths and commands that a list names."""
    return {key for line in text.split("\n") if (key := _key(line)) is not None}


def _within(lines: Sequence[str], said: str, room: int, count: Count) -> str:
    if not lines:
        return ""
    used = count([f"{HEADING}\n\n{said}\n- (and 999 more)\n"])[0]
    sizes = count([line + "\n" for line in lines])
    fits = 0
    for size in sizes:
        if used + size > room:
            break
        used += size
        fits += 1
    if not fits:
        return ""
    more = [f"- (and {len(lines) - fits} more)"] if fits < len(lines) else []
    return "\n".join([HEADING, *filter(None, (said,)), *lines[:fits], *more])


def _file(use: FileUse) -> str:
    done = [f"{word} ×{n}" for word, n in (("edited", use.edits), ("written", use.writes), ("read", use.reads)) if n]
    return f"- `{use.path}`: {', '.join(done) or 'named'}"


def _command(command: Command) -> str:
    if command.exit_code is not None:
        end = f"exit code {command.exit_code}"
    else:
        end = "failed" if command.failed else "no exit code recorded"
    times = f", {command.times} times" if command.times > 1 else ""
    return f"- ran `{as_listed(command.text)}` → {end}{times}"


def as_listed(command: str) -> str:
    """A command as the list names it."""
    return one_line(command, 160).replace("`", "'")


def _key(line: str) -> str | None:
    match = _PATH.match(line) or _COMMAND.match(line)
    return None if match is None else match[1]


def _earlier_lines(texts: Iterable[str]) -> list[str]:
    return [line for text in texts for line in of(text).split("\n") if _key(line) is not None]
