"""Which files come back after a fold, how much of each, and the text that brings them back."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from compaction.plan import Count, FilesAnswer, FilesAsk, FileState
from compaction.reconstruct import History, Known, absolute, histories, replay
from compaction.reinject.ondisk import header, newer, times_of
from compaction.reinject.reading import DiskNote, Reading
from sessions.contexts import Item

MEMORY_FILES = frozenset({"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "GEMINI.md"})

_LEAST = 60  # tokens of room below which a cut file says too little to be worth its header


def answer_files(
    ask: FilesAsk, log: Sequence[Item], cwd: str | None, count: Count, disk: Reading | None = None
) -> FilesAnswer:
    """The newest state of the files the log worked on, most recently used first, within the ask's budgets. From the disk where that may be
    read and is newer, which is said; without `disk` none is read.
    """
    times = times_of(log) if disk is not None else {}
    files: list[FileState] = []
    left_out: list[tuple[str, str]] = []
    room = ask.total
    tried = 0
    for history in histories(log, cwd):
        if len(files) >= ask.count or tried >= 8 * ask.count + 8:
            break
        tried += 1
        path = history.path
        if history.deleted or path in ask.without or relative(path, cwd) in ask.without:
            continue
        reason = forbidden(path, cwd)
        if reason is not None:
            left_out.append((path, reason))
            continue
        known = replay(history)
        found = newer(disk, history, known, times)
        note = None
        if found is not None:
            known, note = found
        if known is None:
            left_out.append(
                (path, "its content is not known from the transcript: it was changed behind it, or read only in part")
            )
            continue
        if note is None and all(seq in ask.kept for seq in known.seqs):
            continue  # the kept part shows it word for word
        budget = min(ask.each, room)
        state = state_of(history, known, budget, count, note)
        if state is None:
            left_out.append((path, f"no room: {room:,} of {ask.total:,} tokens left"))
            continue
        files.append(state)
        room -= state.tokens
    return FilesAnswer(ask.key, tuple(files), tuple(left_out))


def forbidden(path: str, cwd: str | None) -> str | None:
    """Why a path may not be given back, in words; None where it may."""
    if posixpath.basename(path) in MEMORY_FILES:
        return "a memory file: the agent reads it itself"
    root = None if cwd is None else absolute(cwd, None).rstrip("/")
    if root is None:
        return "the session records no folder to be inside of" if path.startswith(("/", "..")) else None
    if path == root or path.startswith(root + "/"):
        return None
    return "outside the session's folder"


def relative(path: str, cwd: str | None) -> str:
    """The path from the session's folder, where it is inside."""
    root = None if cwd is None else absolute(cwd, None).rstrip("/") + "/"
    return path[len(root) :] if root and path.startswith(root) else path


def state_of(
    history: History, known: Known, budget: int, count: Count, note: DiskNote | None = None
) -> FileState | None:
    """The file within `budget` tokens, header included; None where there is no room for a useful part."""
    seqs = tuple(sorted(set(known.seqs)))
    ranges = () if known.whole else tuple((start, start + len(lines)) for start, lines in known.segments)
    draft = FileState(history.path, "", 0, seqs, 9_999_999, ranges, note)  # the longest header it may have
    room = budget - count([inserted_text(draft)])[0]
    if room < _LEAST:
        return None
    numbers, lines = numbered_lines(known)
    costs = count([line + "\n" for line in lines])
    whole = sum(costs)
    text = joined(numbers, lines, range(len(lines)))
    if count([text])[0] > room:
        keep = _nearest(lines, costs, known.recent, room)
        while keep:
            text = joined(numbers, lines, sorted(keep))
            if count([text])[0] <= room:
                break
            for _ in range(max(1, len(keep) // 16)):
                keep.pop()  # the farthest from any edit
        else:
            return None
        cut = whole - sum(costs[n] for n in keep)
    else:
        cut = 0
    state = FileState(history.path, text, 0, seqs, cut, ranges, note)
    return FileState(history.path, text, count([inserted_text(state)])[0], seqs, cut, ranges, note)


def inserted_text(state: FileState) -> str:
    """What is sent: the file named, how far it is known and cut, then its text."""
    last = f" at entry {state.seqs[-1]}" if state.seqs else ""
    known = (
        ""
        if not state.known_lines
        else "; only lines " + ", ".join(f"{a}–{b - 1}" for a, b in state.known_lines) + " are known"
    )
    cut = "" if not state.cut else f"; about {state.cut:,} tokens left out"
    if state.disk is not None:
        return f"{header(state.seqs, state.disk)}{cut}: {state.path}\n\n{state.text}"
    return f"File as this session last knew it{last}{known}{cut}: {state.path}\n\n{state.text}"


def numbered_lines(known: Known) -> tuple[list[int], list[str]]:
    """The lines of a file that are known, each with its number from 1."""
    numbers: list[int] = []
    lines: list[str] = []
    for start, segment in known.segments:
        numbers.extend(range(start, start + len(segment)))
        lines.extend(segment)
    return numbers, lines


def _nearest(lines: list[str], costs: list[int], recent: Sequence[str], room: int) -> list[int]:
    """Line indexes to keep, nearest to the latest edits first; the head of the file where it was never edited."""
    hot: list[tuple[int, int]] = []
    text = "\n".join(lines)
    for new in recent[:6]:
        at = text.find(new) if new.strip() else -1
        if at >= 0:
            first = text.count("\n", 0, at)
            hot.append((first, first + new.count("\n")))
    hot = hot or [(0, 0)]

    def distance(n: int) -> float:
        return min(max(first - n, n - last, 0) + rank * 3 for rank, (first, last) in enumerate(hot))

    keep: list[int] = []
    used = 24 * len(hot)  # the lines that say what is left out
    for n in sorted(range(len(lines)), key=lambda n: (distance(n), n)):
        used += costs[n]
        if used > room:
            break
        keep.append(n)
    return keep


def joined(numbers: Sequence[int], lines: Sequence[str], keep: Sequence[int]) -> str:
    """The lines at the indexes `keep`, in order; where lines between them are missing, a line says which."""
    out: list[str] = []
    before = 0  # number of the line before
    for n in keep:
        if numbers[n] > before + 1:
            out.append(_gap(before + 1, numbers[n] - 1))
        out.append(lines[n])
        before = numbers[n]
    last = numbers[-1] - (lines[-1] == "") if numbers else 0  # an ended last line is no line after it
    if before < last:
        out.append(_gap(before + 1, last))
    return "\n".join(out)


def _gap(first: int, last: int) -> str:
    return f"[line {first} not shown]" if first == last else f"[lines {first}–{last} not shown]"
