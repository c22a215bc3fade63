"""Files as the transcript itself knows them: each read, write, edit and patch replayed, never the disk.

A file is known whole (a full read or a write, and every edit since) or in parts (partial reads). An edit that does not fit what is known
means the file changed behind the transcript's back: then it is forgotten until it is read again. Failed calls count for nothing.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from compaction.patches import Hunk, apply_hunks, parse_patch
from compaction.summary.facts import edits_of
from compaction.tools import Call, ToolKind, kind_of, output_of, understand
from sessions.contexts import Item
from sessions.entries import PartKind

READ_LIMIT = 2_000  # lines that Claude Code's Read gives without being asked for a range; as many may be a cut file


@dataclass(slots=True)
class Op:
    """One thing done to one file. `verb`: read, write, edit, patch, delete, touch, forget."""

    verb: str
    n: int
    seqs: tuple[int, ...]
    text: str = ""
    start: int = 1  # read: line of the first line
    whole: bool = False  # read: nothing is missing
    old: str = ""
    everywhere: bool = False
    hunks: Sequence[Hunk] = ()


@dataclass(slots=True)
class History:
    """What was done to a file, in order. `used`: number of the last operation; `deleted`: it is no more; `written`: what writes, edits and
    patches put into it, also before it was read anew.
    """

    path: str
    ops: list[Op] = field(default_factory=list)
    used: int = -1
    deleted: bool = False
    written: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Known:
    """A file's content as far as it is known: `segments` of (first line, lines). `whole`: one segment, and nothing is missing."""

    segments: list[tuple[int, list[str]]]
    whole: bool
    seqs: list[int]
    recent: list[str] = field(default_factory=list)  # texts that edits put in, newest first

    @property
    def text(self) -> str:
        return "\n".join(self.segments[0][1]) if self.whole and self.segments else ""


def histories(
    items: Iterable[Item], cwd: str | None, *, every: bool = False, understood: Mapping[str, Call] | None = None
) -> list[History]:
    """The files that these items touch, most recently used first. Paths are absolute where `cwd` or the path itself says so.

    `understood`: calls by id that the caller knows already. `every`: all that was done to a file, also what a later whole read or write makes superfluous for its content.
    """
    gatherer = _Gatherer(cwd, every=every)
    calls: dict[str, Call] = {}
    is_call, is_result, run = PartKind.TOOL_CALL, PartKind.TOOL_RESULT, ToolKind.RUN
    for item in items:
        for part in item.parts:
            call_id = part.call_id
            if not call_id:
                continue
            if part.kind is is_call:
                known = understood.get(call_id) if understood else None
                call = known if known is not None and known.raw is part.text else None
                kind = kind_of(part.tool or "") if call is None else call.kind
                if kind is run and _TELLING.search(part.text) is None:
                    continue  # the bulk of all calls, and most say nothing of any file
                call = call or understand(part, item.seq)
                if call.kind in _TOUCHING:
                    calls[call_id] = call
            elif part.kind is is_result and (made := calls.pop(call_id, None)) is not None:
                output = output_of(part)
                if not output.failed:
                    seqs = tuple([seq for seq in (made.seq, item.seq) if seq is not None])
                    gatherer.take(made, output.text, seqs)
    return sorted((h for h in gatherer.files.values() if h.ops), key=lambda history: -history.used)


_TOUCHING = frozenset({ToolKind.READ, ToolKind.EDIT, ToolKind.WRITE, ToolKind.PATCH, ToolKind.RUN})

_TELLING = re.compile(r"\b(?:cat|bat|sed|head|nl|rm|mv|cp|tee|git|perl|patch|apply_patch|gofmt)\b|>|--write|--fix")
_NUMBERED = re.compile(r"^\s*(\d+)(?:\u2192|\t)(.*)$")
_CUT = re.compile(
    r"(?:…|\.\.\.|\[)\s*\+?\d+ ?(?:\w+ )?(?:truncated|omitted)|\btruncated (?:…|\.\.\.)|output truncated", re.IGNORECASE
)
_CD = re.compile(r"\A\s*cd\s+(['\"]?)([^\s'\"]+)\1\s*&&\s*")
_PATH = r"(['\"]?)([\w@./+~-]+)\1"
_CAT = re.compile(rf"\A\s*(?:cat|bat -p)\s+{_PATH}\s*\Z")
_SED = re.compile(rf"\A\s*sed\s+-n\s+(['\"]?)(\d+),(\d+)p\1\s+{_PATH.replace(chr(92) + '1', chr(92) + '4')}\s*\Z")
_NL = re.compile(rf"\A\s*(?:nl\s+-ba|cat\s+-n)\s+{_PATH}(?:\s*\|\s*sed\s+-n\s+['\"]?\d+,\d+p['\"]?)?\s*\Z")
_HEAD = re.compile(rf"\A\s*head\s+(?:-n\s*|-)(\d+)\s+{_PATH.replace(chr(92) + '1', chr(92) + '2')}\s*\Z")
_HEREDOC = re.compile(r"\A\s*cat\s*>\s*(['\"]?)([\w@./+~-]+)\1\s*<<-?\s*(['\"]?)(\w+)\3\n(.*?)\n\4\s*\Z", re.DOTALL)
_HEREDOC_LAST = re.compile(
    r"\A\s*cat\s*<<-?\s*(['\"]?)(\w+)\1\s*>\s*(['\"]?)([\w@./+~-]+)\3\n(.*?)\n\2\s*\Z", re.DOTALL
)
_REMOVE = re.compile(r"\A\s*(?:git\s+)?rm\s+((?:-\w+\s+|--\s+)*)([^|;&<>]+)\Z")
_MOVE = re.compile(r"\A\s*(?:git\s+)?mv\s+(?:-\w+\s+)*([\w@./+~-]+)\s+([\w@./+~-]+)\s*\Z")
_ALL_CHANGED = re.compile(
    r"\bgit\s+(?:-C\s+\S+\s+)?(?:checkout\s+(?!-b\b|-B\b|--\s)|switch\s+(?!-c\b|-C\b|--create)|reset\s+--hard|stash(?!\s+(?:list|show))|pull\b|"
    r"merge\s|rebase\b|cherry-pick\b|revert\b|apply\b|am\b)"
)
_CHANGES = re.compile(
    r"\bsed\s+(?:-\w+\s+)*-i|\bsed\s+-\w*i|\bperl\s+-\w*i|\btee\b|>|\bgit\s+restore\b|\bpatch\b|\bgofmt\s+-w|--write\b|--fix\b|\bcp\b|\bmv\b"
)


class _Gatherer:
    def __init__(self, cwd: str | None, *, every: bool = False) -> None:
        self.cwd = cwd
        self.every = every
        self.files: dict[str, History] = {}
        self.names: dict[tuple[str, str | None], str] = {}  # the same few paths come again and again
        self.n = 0

    def take(self, call: Call, output: str, seqs: tuple[int, ...]) -> None:
        self.n += 1
        if call.kind is ToolKind.RUN:
            self._command(call, output, seqs)
        elif call.kind is ToolKind.PATCH:
            self._patch(call, seqs)
        elif call.path is None:
            return
        elif call.kind is ToolKind.READ:
            self._read(call, call.path, output, seqs)
        elif call.kind is ToolKind.WRITE:
            for path, _, text, _ in edits_of(call):
                self._add(path, Op("write", self.n, seqs, text))
        else:
            everywhere = bool((call.args or {}).get("replace_all"))
            for path, old, new, _ in edits_of(call):
                self._add(path, Op("edit", self.n, seqs, new, old=old, everywhere=everywhere))
            lines, first = numbered(output)
            if lines:  # the snippet that some versions print after an edit
                self._add(call.path, Op("read", self.n, seqs, "\n".join(lines), first))

    def _read(self, call: Call, path: str, output: str, seqs: tuple[int, ...]) -> None:
        lines, first = numbered(output)
        if not lines:
            unchanged = "unchanged since" in output[:300].lower()
            self._add(path, Op("touch", self.n, seqs)) if unchanged else None
            return
        args = call.args or {}
        limit = args.get("limit")
        most = limit if isinstance(limit, int) and limit > 0 else READ_LIMIT
        whole = first <= 1 and len(lines) < most and not args.get("pages")
        self._add(path, Op("read", self.n, seqs, "\n".join(lines), first, whole))

    def _patch(self, call: Call, seqs: tuple[int, ...]) -> None:
        base = _workdir(call)
        for change in parse_patch(call.patch or call.raw):
            if change.op == "add":
                self._add(change.path, Op("write", self.n, seqs, change.text), base)
            elif change.op == "delete":
                self._delete(change.path, base)
            else:
                if change.hunks:
                    self._add(change.path, Op("patch", self.n, seqs, hunks=change.hunks), base)
                if change.moved_to:
                    self._move(change.path, change.moved_to, base)

    def _command(self, call: Call, output: str, seqs: tuple[int, ...]) -> None:
        command = call.command or ""
        base = _workdir(call)
        if (match := _CD.match(command)) is not None:
            base = posixpath.join(base or self.cwd or "", match[2])
            command = command[match.end() :]
        if len(command) > 200_000:
            return
        if (match := _HEREDOC.match(command)) is not None:
            self._add(match[2], Op("write", self.n, seqs, match[5] + "\n"), base)
        elif (match := _HEREDOC_LAST.match(command)) is not None:
            self._add(match[4], Op("write", self.n, seqs, match[5] + "\n"), base)
        elif command.lstrip()[:4] in ("cat ", "sed ", "head", "nl -") and _CUT.search(output) is not None:
            return
        elif (match := _CAT.match(command)) is not None:
            self._add(match[2], Op("read", self.n, seqs, output, whole=True), base)
        elif (match := _SED.match(command)) is not None:
            start, stop = int(match[2]), int(match[3])
            lines = output.removesuffix("\n").split("\n")
            whole = start <= 1 and len(lines) < stop
            text = output if whole else "\n".join(lines)
            self._add(match[5], Op("read", self.n, seqs, text, start, whole), base)
        elif (match := _NL.match(command)) is not None:
            lines, first = numbered(output)
            if lines:
                self._add(
                    match[2],
                    Op("read", self.n, seqs, "\n".join(lines), first, "sed" not in command and first == 1),
                    base,
                )
        elif (match := _HEAD.match(command)) is not None:
            lines = output.removesuffix("\n").split("\n")
            whole = len(lines) < int(match[1])
            self._add(match[3], Op("read", self.n, seqs, output if whole else "\n".join(lines), 1, whole), base)
        elif (match := _REMOVE.match(command)) is not None:
            for path in match[2].split():
                self._delete(path.strip("'\""), base)
        elif (match := _MOVE.match(command)) is not None:
            self._move(match[1], match[2], base)
        else:
            self._changed_by(command, base)

    def _changed_by(self, command: str, base: str | None) -> None:
        if _ALL_CHANGED.search(command):
            for history in self.files.values():
                history.ops.append(Op("forget", self.n, ()))
        elif _CHANGES.search(command):
            for word in set(re.findall(r"[\w@./+~-]{2,}", command[:4_000])):
                known = self.files.get(self._absolute(word, base))
                if known is not None:
                    known.ops.append(Op("forget", self.n, ()))

    def _absolute(self, path: str, base: str | None = None) -> str:
        known = self.names.get((path, base))
        if known is None:
            known = self.names[path, base] = (
                absolute(path, base or self.cwd)
                if base is None or base.startswith("/")
                else absolute(absolute(path, base), self.cwd)
            )
        return known

    def _add(self, path: str, op: Op, base: str | None = None) -> None:
        name = self._absolute(path, base)
        history = self.files.get(name)
        if history is None:
            history = self.files[name] = History(name)
        if not self.every and (op.verb == "write" or (op.verb == "read" and op.whole)):
            history.ops.clear()  # what came before says nothing any more
        history.ops.append(op)
        if op.verb in ("write", "edit"):
            history.written.append(op.text)
        elif op.verb == "patch":
            history.written.extend(line for hunk in op.hunks for line in hunk.new)
        history.used = self.n
        history.deleted = False

    def _delete(self, path: str, base: str | None) -> None:
        name = self._absolute(path, base)
        for known in list(self.files):
            if known == name or known.startswith(name.rstrip("/") + "/"):
                self.files[known].deleted = True
                if self.every:
                    self.files[known].ops.append(Op("forget", self.n, ()))
                else:
                    self.files[known].ops.clear()

    def _move(self, path: str, to: str, base: str | None) -> None:
        old = self.files.pop(self._absolute(path, base), None)
        if old is not None and old.ops:
            name = self._absolute(to, base)
            self.files[name] = History(name, old.ops, self.n, written=old.written)


def _workdir(call: Call) -> str | None:
    args = call.args or {}
    return next(
        (args[key] for key in ("workdir", "cwd", "dir_path") if isinstance(args.get(key), str) and args[key]), None
    )


def absolute(path: str, base: str | None) -> str:
    """The path in full, `.` and `..` resolved in words alone; relative where no base is known."""
    path = path.replace("\\", "/") if re.match(r"[A-Za-z]:\\", path) else path
    whole = path if path.startswith("/") or re.match(r"[A-Za-z]:/", path) or not base else posixpath.join(base, path)
    return posixpath.normpath(whole)


def numbered(output: str) -> tuple[list[str], int]:
    """The lines behind line numbers in a tool's output, and the number of the first; ([], 0) where there are none."""
    lines: list[str] = []
    first = 0
    if "\u2192" not in output and "\t" not in output:
        return lines, first
    for line in output.split("\n"):
        match = _NUMBERED.match(line)
        if match is None:
            if lines:
                break  # a reminder or notice follows
            if len(line) > 400:
                return [], 0
            continue
        number = int(match[1])
        if not lines:
            first = number
        elif number != first + len(lines):
            break
        lines.append(match[2])
    return lines, first


def replay(history: History) -> Known | None:
    """What the file's history adds up to; None where nothing of its content is known."""
    known: Known | None = None
    for op in history.ops:
        if op.verb == "forget":
            known = None
        elif op.verb == "touch":
            continue
        elif op.verb == "write":
            known = Known([(1, op.text.split("\n"))], True, list(op.seqs))
        elif op.verb == "read":
            known = _read_into(known, op)
        elif op.verb == "patch":
            known = _patched(known, op)
        elif op.verb == "edit":
            known = _edited(known, op)
    return known if known is not None and known.segments else None


def _read_into(known: Known | None, op: Op) -> Known:
    lines = op.text.split("\n")
    if op.whole:
        if lines[-1] != "":
            lines.append("")  # a read does not show whether the last line is ended; nearly every file's is
        return Known([(1, lines)], True, list(op.seqs), known.recent if known else [])
    if known is None:
        return Known([(op.start, lines)], False, list(op.seqs))
    known.seqs.extend(seq for seq in op.seqs if seq not in known.seqs)
    stop = op.start + len(lines)
    if known.whole:
        text = known.segments[0][1]
        if stop - 1 > len(text):
            return Known([(op.start, lines)], False, list(op.seqs), known.recent)  # longer than we thought: start anew
        text[op.start - 1 : stop - 1] = lines
        return known
    left: list[tuple[int, list[str]]] = []
    for start, segment in known.segments:
        if start < op.start:
            left.append((start, segment[: op.start - start]))
        if start + len(segment) > stop:
            left.append((max(start, stop), segment[max(0, stop - start) :]))
    known.segments = _merged([*left, (op.start, lines)])
    return known


def _merged(segments: list[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    out: list[tuple[int, list[str]]] = []
    for start, lines in sorted(segments, key=lambda s: s[0]):
        if out and out[-1][0] + len(out[-1][1]) == start:
            out[-1][1].extend(lines)
        elif lines:
            out.append((start, list(lines)))
    return out


def _edited(known: Known | None, op: Op) -> Known | None:
    if op.old == "":
        if known is None or not known.text.strip():
            return Known([(1, op.text.split("\n"))], True, list(op.seqs), [op.text])
        return None
    if known is None:
        return None
    delta = op.text.count("\n") - op.old.count("\n")
    segments: list[tuple[int, list[str]]] = []
    shift = 0
    done = False
    for start, lines in known.segments:
        text = "\n".join(lines)
        times = text.count(op.old) if op.everywhere or not done else 0
        if not op.everywhere:
            times = min(times, 1)
        if times:
            text = text.replace(op.old, op.text, times)
            done = True
        segments.append((start + shift, text.split("\n")))
        shift += delta * times
    if not done and (known.whole or delta):
        return None  # it fits nowhere, so what we know is not what the file was
    if op.everywhere and delta and not known.whole:
        return None  # it may have changed lines we never saw
    known.segments = segments
    known.seqs.extend(seq for seq in op.seqs if seq not in known.seqs)
    known.recent.insert(0, op.text)
    return known


def _patched(known: Known | None, op: Op) -> Known | None:
    if known is None or not known.whole:
        if known is None:
            return None
        for hunk in op.hunks:  # parts only: each hunk is an edit within one of them
            if (
                not hunk.old
                or (known := _edited(known, Op("edit", op.n, op.seqs, "\n".join(hunk.new), old="\n".join(hunk.old))))
                is None
            ):
                return None
        return known
    text = apply_hunks(known.text, op.hunks)
    if text is None:
        return None
    known.segments = [(1, text.split("\n"))]
    known.seqs.extend(seq for seq in op.seqs if seq not in known.seqs)
    known.recent[:0] = ["\n".join(hunk.new) for hunk in reversed(op.hunks)]
    return known
