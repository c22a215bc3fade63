"""What a roll back takes away: turns, calls, files changed after the point with what they were, errors. And the notice that says so. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compaction.files import relative
from compaction.reconstruct import History, histories, replay
from compaction.tools import Call, error_lines, one_line, output_of, understand
from sessions.contexts import Item
from sessions.entries import Kind, PartKind
from sessions.ranges import Ranges

CHANGES = frozenset({"write", "edit", "patch", "delete", "forget"})
"""Operations that may leave a file other than it was."""

MOST_FILES = 200
LONGEST_NOTICE = 4_000  # characters
_TOLD_FILES, _TOLD_ERRORS = 8, 3


@dataclass(frozen=True, slots=True)
class GoneTurn:
    """A turn of which entries go. `whole`: all of it does."""

    n: int
    title: str
    entries: int
    whole: bool


@dataclass(frozen=True, slots=True)
class GoneFile:
    """A file changed after the point. `before`: its text at the point, as far as the transcript knows it; None: not known.

    `whole`: nothing of it is missing. `made`: there was no such file as far as the transcript knows, and it was written after. `seqs`:
    the entries that changed it.
    """

    path: str
    shown: str
    before: str | None
    whole: bool
    made: bool
    seqs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GoneError:
    seq: int
    tool: str
    words: str


@dataclass(frozen=True, slots=True)
class Gone:
    """All that goes. `entries`: those that are sent now and would not be; `tools`: calls by tool, the most first."""

    entries: int
    turns: tuple[GoneTurn, ...]
    tools: tuple[tuple[str, int], ...]
    files: tuple[GoneFile, ...]
    more_files: int
    errors: tuple[GoneError, ...]

    @property
    def calls(self) -> int:
        return sum(count for _tool, count in self.tools)


def gone_of(log: Sequence[Item], gone: Ranges, point: int, cwd: str | None) -> Gone:
    """What goes of `log` (every sent entry up to now) when `gone` is hidden; `point`: the last entry that stays. One pass, and one over
    the changes of files.
    """
    turns: dict[int, list[Item]] = {}
    sizes: Counter[int] = Counter()
    tools: Counter[str] = Counter()
    errors: list[GoneError] = []
    calls: dict[str, Call] = {}
    count = 0
    for item in log:
        if item.seq is None:
            continue
        if item.turn is not None:
            sizes[item.turn] += 1
        if item.seq not in gone:
            continue
        count += 1
        if item.turn is not None:
            turns.setdefault(item.turn, []).append(item)
        for part in item.parts:
            if part.kind is PartKind.TOOL_CALL:
                tools[part.tool or "tool"] += 1
                if part.call_id:
                    calls[part.call_id] = understand(part, item.seq)
            elif part.kind is PartKind.TOOL_RESULT and (output := output_of(part)).failed:
                call = calls.get(part.call_id or "")
                lines = error_lines(output.text, 1)
                about = "tool" if call is None else one_line(f"{call.tool} {call.argument}", 120)
                errors.append(GoneError(item.seq, about, lines[0] if lines else one_line(output.text)))
    files = _files(log, point, cwd)
    return Gone(
        entries=count,
        turns=tuple(_turn(n, items, sizes[n]) for n, items in sorted(turns.items())),
        tools=tuple(tools.most_common()),
        files=tuple(files[:MOST_FILES]),
        more_files=max(0, len(files) - MOST_FILES),
        errors=tuple(errors),
    )


def _turn(n: int, items: Sequence[Item], size: int) -> GoneTurn:
    opening = next((item for item in items if item.kind in (Kind.PROMPT, Kind.COMMAND)), None)
    return GoneTurn(n, one_line(opening.text, 160) if opening is not None else "", len(items), len(items) == size)


def _files(log: Sequence[Item], point: int, cwd: str | None) -> list[GoneFile]:
    out = []
    for history in histories(log, cwd, every=True):
        later = [op for op in history.ops if op.verb in CHANGES and any(seq > point for seq in op.seqs)]
        if not later:
            continue
        earlier = History(history.path, [op for op in history.ops if all(seq <= point for seq in op.seqs)])
        known = replay(earlier) if earlier.ops else None
        text = None
        if known is not None:
            text = known.text if known.whole else "\n…\n".join("\n".join(lines) for _start, lines in known.segments)
        out.append(
            GoneFile(
                path=history.path,
                shown=relative(history.path, cwd),
                before=text,
                whole=known is not None and known.whole,
                made=not earlier.ops and later[0].verb == "write",
                seqs=tuple(sorted({seq for op in later for seq in op.seqs})),
            )
        )
    return out


def notice_of(gone: Gone, *, where: str, reason: str, goal: str | None) -> str:
    """What the agent is told in the place of what went: what was tried, that it was taken back and why, so that it is not tried again.

    The files on disk are another matter: the notice says that they may hold what was tried.
    """
    said = [f"This conversation was rolled back to {where} by the person. What came after it is not shown any more."]
    if goal:
        said.append(f"What was being worked on then: {one_line(goal, 300)}. It is given up.")
    if reason.strip():
        said.append(f"Why: {one_line(reason.strip(), 1_000)}")
    if gone.files:
        names = ", ".join(file.shown for file in gone.files[:_TOLD_FILES])
        rest = len(gone.files) + gone.more_files - _TOLD_FILES
        more = f" and {rest} more" if rest > 0 else ""
        said.append(f"Files changed in what was taken back, which may still be changed on disk: {names}{more}.")
    for error in gone.errors[-_TOLD_ERRORS:]:
        said.append(f"It met: {error.tool}: {one_line(error.words, 240)}")
    said.append("Do not try the same again unless asked to.")
    return "\n".join(said)[:LONGEST_NOTICE]


def gone_json(gone: Gone) -> Mapping[str, object]:
    """As JSON, with the text each file had."""
    return {
        "entries": gone.entries,
        "turns": [{"turn": t.n, "title": t.title, "entries": t.entries, "whole": t.whole} for t in gone.turns],
        "calls": gone.calls,
        "tools": dict(gone.tools),
        "files": [
            {
                "path": f.path,
                "before": f.before,
                "known": "whole"
                if f.whole
                else "in part"
                if f.before is not None
                else "made after"
                if f.made
                else "not",
                "entries": list(f.seqs),
            }
            for f in gone.files
        ],
        "more_files": gone.more_files,
        "errors": [{"entry": e.seq, "call": e.tool, "words": e.words} for e in gone.errors],
    }
