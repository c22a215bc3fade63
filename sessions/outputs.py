"""What tools print, taken out of the frames in which agents hand it to the model: text, exit code, lines with numbers, hits. Pure.

Each frame is named by the agent that writes it. What fits no frame stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson

from sessions.entries import Part

SHOWN = 400_000  # characters of an output that are taken apart; a longer one is shown as it is


@dataclass(frozen=True, slots=True)
class Printed:
    """An output without its frame. `exit_code`, `seconds`: None where nothing says them. `notes`: what the frame said besides."""

    text: str
    exit_code: int | None = None
    seconds: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Numbered:
    """Lines of a file from line `first` on. `total`: lines of the file, where the output says it. `notes`: words round them."""

    lines: tuple[str, ...]
    first: int
    total: int | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A file, or a line of one. `line` None: the file itself. `near`: a line round a hit, not a hit."""

    path: str
    line: int | None = None
    text: str = ""
    near: bool = False


# -- shells -----------------------------------------------------------------------------------------------------------

_CODEX_HEAD = re.compile(
    r"\A(?:(?:Chunk ID|Wall time|Process exited|Process running|Original token count|Exit code:|Total output lines)[^\n]*\n)+(?:Output:\n)?"
)
_CODEX_EXIT = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)", re.MULTILINE)
_WALL = re.compile(r"^Wall time: ([\d.]+) seconds", re.MULTILINE)
_GEMINI = re.compile(
    r"\A(?:Command: .*?\nDirectory: [^\n]*\n)?(?:Stdout|Output): (.*?)(?:\nStderr: (.*?))?(?:\nError: (.*?))?"
    r"(?:\nExit Code: (-?\d+|\(none\)))?(?:\nSignal: [^\n]*)?(?:\nBackground PIDs: [^\n]*)?(?:\nProcess Group PGID: [^\n]*)?\s*\Z",
    re.DOTALL,
)
_CLAUDE_EXIT = re.compile(r"\AExit code (\d+)\n")
_OPENCODE_NOTES = re.compile(r"\n*<(?:bash|shell)_metadata>\n(.*?)\n</(?:bash|shell)_metadata>\s*\Z", re.DOTALL)
_NOTHING = ("(no output)", "(empty)")


def printed(part: Part) -> Printed:
    """What a command printed, and how it ended, from a result as its agent frames it."""
    text = part.text
    notes: list[str] = []
    code = _number(part.meta.get("exit_code", part.meta.get("exit")))
    seconds = seconds_of(part.meta)
    if text.startswith('{"output"') and len(text) <= SHOWN:  # Codex before its unified shell
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            value = None
        if isinstance(value, dict) and isinstance(value.get("output"), str):
            text = value["output"]
    elif (head := _CODEX_HEAD.match(text)) is not None:
        said = head[0]
        if (found := _CODEX_EXIT.search(said)) is not None:
            code = int(found[1])
        if (wall := _WALL.search(said)) is not None:
            seconds = float(wall[1])
        notes.extend(line for line in said.splitlines() if line.startswith(("Process running", "Total output lines")))
        text = text[head.end() :]
    elif (
        len(text) <= SHOWN
        and text.startswith(("Output: ", "Command: ", "Stdout: "))
        and (framed := _GEMINI.match(text))
    ):
        out, err, error, ended = framed.groups()
        shown = [piece for piece in (out, err, error) if piece and piece not in _NOTHING and piece != "(none)"]
        text = "\n".join(shown)
        if ended is not None and ended != "(none)":
            code = int(ended)
    elif (claude := _CLAUDE_EXIT.match(text)) is not None:
        code = int(claude[1]) if code is None else code
        text = text[claude.end() :]
    elif (meta := _OPENCODE_NOTES.search(text)) is not None:
        notes.extend(line for line in meta[1].splitlines() if line.strip())
        text = text[: meta.start()]
    return Printed("" if text.strip() in _NOTHING else text, code, seconds, tuple(notes))


def seconds_of(meta: Mapping[str, object]) -> float | None:
    """How long a call took, by the names under which adapters keep it."""
    for name, scale in (("seconds", 1.0), ("milliseconds", 1000.0), ("duration_ms", 1000.0), ("ms", 1000.0)):
        value = meta.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value / scale
    return None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# -- files ------------------------------------------------------------------------------------------------------------

_ARROW = re.compile(r"^ *(\d+)(?:→|\t)(.*)$")  # Claude Code
_COLON = re.compile(r"^(\d+): ?(.*)$")  # OpenCode; older: 00001| text
_PIPE = re.compile(r"^(\d{5})\| ?(.*)$")
_OPENCODE = re.compile(r"(?:<path>.*?</path>\n<type>file</type>\n)?<(content|file)>\n?(.*?)\n?</\1>(.*)\Z", re.DOTALL)
_OPENCODE_END = re.compile(r"\n*\((?:End of file|File has more lines|Showing lines)[^\n]*\)\s*\Z")
_TOTAL = re.compile(r"total (\d+) lines|of (\d+) total lines|\(of (\d+)\)")
_GEMINI_CUT = re.compile(
    r"\A\s*IMPORTANT: The file content has been truncated\.\nStatus: Showing lines (\d+)-(\d+) of (\d+) total lines\.\n.*?"
    r"--- FILE CONTENT \(truncated\) ---\n",
    re.DOTALL,
)


def numbered(part: Part, first: int | None = None) -> Numbered | None:
    """The lines of a file read, with the number of the first; None where the output is no file.

    `first`: from which line the call asked, for agents whose output has no numbers.
    """
    text = part.text
    if len(text) > SHOWN or not text:
        return None
    if (cut := _GEMINI_CUT.match(text)) is not None:
        body = text[cut.end() :].split("\n")
        note = f"{int(cut[1]):,}–{int(cut[2]):,} of {int(cut[3]):,}"
        return Numbered(tuple(body), int(cut[1]), int(cut[3]), (note,))
    if (framed := _OPENCODE.match(text)) is not None:
        held: str = framed[2]
        notes = [framed[3].strip()]
        total = None
        if (end := _OPENCODE_END.search(held)) is not None:
            said = _TOTAL.search(end[0])
            total = int(next(n for n in said.groups() if n)) if said is not None else None
            notes.insert(0, end[0].strip())
            held = held[: end.start()]
        found = _lines(held.split("\n"), (_COLON, _PIPE))
        if found is not None and not found[2]:
            return Numbered(tuple(found[0]), found[1], total, tuple(note for note in notes if note))
    found = _lines(text.split("\n"), (_ARROW,))
    if found is not None:
        lines, start, rest = found
        said_total = part.meta.get("total_lines")
        return Numbered(
            tuple(lines), start, said_total if isinstance(said_total, int) else None, (rest,) if rest else ()
        )
    if first is not None:
        return Numbered(tuple(text.removesuffix("\n").split("\n")), first)
    return None


def _lines(rows: Sequence[str], forms: Sequence[re.Pattern[str]]) -> tuple[list[str], int, str] | None:
    """Lines behind numbers that count up one by one, the first number, and what follows them; None where the first has no number."""
    form = next((form for form in forms if form.match(rows[0])), None)
    if form is None:
        return None
    lines: list[str] = []
    first = 0
    for at, row in enumerate(rows):
        match = form.match(row)
        if match is None or (lines and int(match[1]) != first + len(lines)):
            return lines, first, "\n".join(rows[at:]).strip()
        if not lines:
            first = int(match[1])
        lines.append(match[2])
    return lines, first, ""


# -- searches ---------------------------------------------------------------------------------------------------------

_MATCH = re.compile(r"^((?:[A-Za-z]:[\\/])?[^:\n]{1,400}?)([:-])(\d+)\2(.*)$")
_BARE = re.compile(r"^(\d+)([:-])(.*)$")
_GEMINI_FILE = re.compile(r"^File: (.+)$")
_OPENCODE_FILE = re.compile(r"^(\S[^\n]*):$")
_L_LINE = re.compile(r"^L(\d+): ?(.*)$")
_LINE_N = re.compile(r"^ +Line (\d+): ?(.*)$")
_SAID = re.compile(
    r"^(?:Found \d+|No (?:files|matches)|Directory listing|\(Results|---|\[Showing|Total|There are more)", re.IGNORECASE
)


def hits(text: str, *, path: str = "") -> tuple[list[Hit], list[str]] | None:
    """The hits of a search and the words round them; None where the output is no list of files or lines.

    `path`: the one file that was searched, for outputs that name lines alone.
    """
    if len(text) > SHOWN:
        return None
    found: list[Hit] = []
    said: list[str] = []
    file = path
    for row in text.split("\n"):
        if row.strip() == "--":
            continue  # between stretches of lines
        hit = _hit(row, file)
        if isinstance(hit, str):
            file = hit
        elif hit is not None:
            found.append(hit)
        elif row.strip():
            said.append(row.strip())
    strangers = sum(1 for row in said if not _SAID.match(row))
    return (found, said) if strangers <= len(found) // 8 + 2 and (found or said) else None


def _hit(row: str, file: str) -> Hit | str | None:
    """A row of a search: a hit, the file of the rows behind it, or nothing of the kind."""
    if (named := _GEMINI_FILE.match(row)) is not None:
        return named[1]
    for form in (_L_LINE, _LINE_N):
        if file and (match := form.match(row)) is not None:
            return Hit(file, int(match[1]), match[2])
    if file and (bare := _BARE.match(row)) is not None:
        return Hit(file, int(bare[1]), bare[3], near=bare[2] == "-")
    if (match := _MATCH.match(row)) is not None and not _SAID.match(row):
        return Hit(match[1], int(match[3]), match[4], near=match[2] == "-")
    if (heading := _OPENCODE_FILE.match(row)) is not None and not _SAID.match(row) and "/" in heading[1]:
        return heading[1]
    if not _SAID.match(row) and _is_path(row):
        return Hit(row.strip())
    return None


def _is_path(row: str) -> bool:
    name = row.strip()
    if not name or len(name) > 400 or name.endswith((":", ",")) or " found" in name:
        return False
    return name.startswith(("[DIR] ", "/", "./", "- ")) or " " not in name or re.match(r"[A-Za-z]:\\", name) is not None


def by_file(found: Sequence[Hit]) -> Iterator[tuple[str, list[Hit]]]:
    """Hits under their files, in the order in which the files come first."""
    files: dict[str, list[Hit]] = {}
    for hit in found:
        files.setdefault(hit.path, [])
        if hit.line is not None:
            files[hit.path].append(hit)
    yield from files.items()
