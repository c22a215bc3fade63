"""What a session is about, as its next reader would put it: languages, libraries and tools in use, sentences that explain a name, and for every
other name likely to be needed the line that uses it, where such lines belong: code under its file, commands among the work.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from compaction.summary.events import Event, Voice, is_edit
from compaction.summary.facts import Command, FileUse, edits_of, only_looks, unmarked
from compaction.summary.items import FLAG, IDENT, LITERAL, SLUG, path_term, terms
from compaction.summary.survey import Survey
from compaction.tools import Call, ToolKind

SALIENT = 260  # terms that get a usage line
KINDS = (IDENT, SLUG, LITERAL, FLAG)
SHORT, IDEAL, LONG = 24, 70, 170  # characters of a usage line

_LANGUAGES = {
    "py": "Python",
    "pyi": "Python",
    "ipynb": "Jupyter notebooks",
    "rs": "Rust",
    "go": "Go",
    "ts": "TypeScript",
    "tsx": "TypeScript with JSX",
    "mts": "TypeScript",
    "cts": "TypeScript",
    "js": "JavaScript",
    "mjs": "JavaScript",
    "cjs": "JavaScript",
    "jsx": "JavaScript with JSX",
    "java": "Java",
    "kt": "Kotlin",
    "kts": "Kotlin",
    "c": "C",
    "h": "C",
    "cc": "C++",
    "cpp": "C++",
    "hpp": "C++",
    "swift": "Swift",
    "rb": "Ruby",
    "php": "PHP",
    "cs": "C#",
    "scala": "Scala",
    "ex": "Elixir",
    "exs": "Elixir",
    "hs": "Haskell",
    "lua": "Lua",
    "dart": "Dart",
    "zig": "Zig",
    "sh": "shell",
    "bash": "shell",
    "zsh": "shell",
    "sql": "SQL",
    "html": "HTML",
    "css": "CSS",
    "scss": "Sass",
    "vue": "Vue",
    "svelte": "Svelte",
    "json": "JSON",
    "jsonl": "JSON Lines",
    "yaml": "YAML",
    "yml": "YAML",
    "toml": "TOML",
    "md": "Markdown",
    "proto": "Protocol Buffers",
    "graphql": "GraphQL",
    "tf": "Terraform",
    "nix": "Nix",
}
_IMPORTS = (
    re.compile(r"^\s*(?:from|import)\s+([A-Za-z_]\w*)", re.MULTILINE),  # Python
    re.compile(
        r"^\s*(?:import\s.*?\sfrom\s+|import\s+|(?:const|let|var)\s.*?=\s*require\()[\"']([@A-Za-z][\w@/.-]*)[\"']",
        re.MULTILINE,
    ),
    re.compile(r"^\s*(?:[\w.]+\s+)?\"((?:[\w-]+\.)+[a-z]{2,}/[\w./-]+)\"\s*$", re.MULTILINE),  # Go
    re.compile(r"^\s*(?:pub\s+)?use\s+([a-z_]\w*)::", re.MULTILINE),  # Rust
)
_OF_LANGUAGE = {
    "py": (0,),
    "ts": (1,),
    "tsx": (1,),
    "js": (1,),
    "jsx": (1,),
    "mjs": (1,),
    "vue": (1,),
    "go": (2,),
    "rs": (3,),
}
_OWN = frozenset(
    [
        "std",
        "core",
        "alloc",
        "crate",
        "self",
        "super",
        "os",
        "sys",
        "re",
        "json",
        "typing",
        "collections",
        "dataclasses",
        "pathlib",
        "__future__",
        "abc",
        "time",
        "datetime",
        "math",
        "functools",
        "itertools",
        "io",
    ]
)
_LOOKED_INTO = 80  # reads and edits of files, the newest
_HEAD = 3_000  # characters of each, where imports stand
_MOST = 10  # names on one line

_PROGRAM = re.compile(
    r"(?:^|&&|\|\||;|\n)\s*(?:cd\s+\S+\s*(?:&&|;)\s*)?(?:sudo\s+|time\s+|env\s+|\w+=\S+\s+)*([A-Za-z][\w.+-]{0,30})(?=\s|$)"
)
_SHELL = frozenset(
    [
        "cd",
        "echo",
        "export",
        "set",
        "for",
        "if",
        "then",
        "else",
        "fi",
        "do",
        "done",
        "while",
        "cat",
        "ls",
        "head",
        "tail",
        "grep",
        "rg",
        "find",
        "sed",
        "awk",
        "wc",
        "pwd",
        "test",
        "true",
        "false",
        "sleep",
        "mkdir",
        "rm",
        "cp",
        "mv",
        "touch",
        "chmod",
        "which",
        "xargs",
        "sort",
        "uniq",
        "cut",
        "tr",
        "tee",
        "printf",
        "source",
        "kill",
        "ps",
        "read",
        "local",
        "return",
        "exit",
        "EOF",
    ]
)


@dataclass(frozen=True, slots=True)
class Named:
    """Names of one sort with how often each occurs, the most frequent first, and the entries they stand in."""

    names: tuple[tuple[str, int], ...]
    seqs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """The line that uses a term best. `prose`: a sentence of the assistant's. `path`: of the file it stands in, where it stands in one."""

    text: str
    event: Event
    prose: bool
    path: str | None
    output: bool


def languages(files: Iterable[FileUse]) -> Named:
    """The languages of the files, by number of files."""
    times: Counter[str] = Counter()
    seqs: dict[str, int] = {}
    for use in files:
        language = _LANGUAGES.get(use.path.rpartition(".")[2].lower())
        if language is not None:
            times[language] += 1
            if use.seqs:
                seqs[language] = use.seqs[-1]
    return _ranked(times, seqs)


def libraries(events: Sequence[Event], paths: Iterable[str]) -> Named:
    """The libraries that files say they import, by number of places, as far as the newest reads and edits show it. `paths`: of the session's
    files; what is a folder among them is the project itself.
    """
    own = {part for path in paths for part in path.split("/")[:-1]}
    times: Counter[str] = Counter()
    seqs: dict[str, int] = {}
    seen = 0
    for event in reversed(events):
        if seen >= _LOOKED_INTO:
            break
        if event.call is None or not event.call.path:
            continue
        patterns = _OF_LANGUAGE.get(event.call.path.rpartition(".")[2].lower())
        if patterns is None:
            continue
        if event.voice is Voice.RESULT and event.call.kind is ToolKind.READ:
            text = "\n".join(_NUMBER.sub("", line) for line in event.text[:_HEAD].split("\n"))
        elif event.voice is Voice.CALL and is_edit(event):
            text = "\n".join(new[:_HEAD] for _, _, new, _ in edits_of(event.call))
        else:
            continue
        seen += 1
        for library in {_library(name) for n in patterns for name in _IMPORTS[n].findall(text)} - _OWN - {""}:
            if library.rpartition("/")[2] in own:
                continue
            times[library] += 1
            if event.seqs:
                seqs.setdefault(library, event.seqs[-1])
    return _ranked(times, seqs)


def programs(commands: Iterable[Command]) -> Named:
    """The programs that were run to do something, by number of runs."""
    times: Counter[str] = Counter()
    seqs: dict[str, int] = {}
    for command in commands:
        if only_looks(command.text):
            continue
        for name in dict.fromkeys(_PROGRAM.findall(command.text[:400])):
            if name not in _SHELL:
                times[name] += command.times
                if command.seqs:
                    seqs[name] = command.seqs[-1]
    return _ranked(times, seqs)


def usages(survey: Survey, folded: set[int]) -> tuple[list[Usage], list[str]]:
    """A line for each salient term, from words and edits before tool output, newest first; and the terms that have none."""
    needs = survey.needs
    known = {term for term in needs.p if term[0] in KINDS}
    ranked = sorted(known, key=lambda term: (-needs.value(term), term))[:SALIENT]
    wanted = dict.fromkeys(ranked, 4)  # candidates still looked for
    best: dict[str, tuple[int, str, Event, str | None, bool, bool]] = {}
    for output in (False, True):
        for event in reversed(survey.events):
            skipped = event.voice in (Voice.SUMMARY, Voice.USER) or (event.voice is Voice.RESULT) is not output
            if skipped or event.pos not in folded:
                continue
            if wanted.keys().isdisjoint(needs.terms_at[event.n]):
                continue
            for line, path, told in _lines(event):
                for term in sorted(terms(line) & wanted.keys()):  # a set's order is another in every process
                    far = abs(len(line) - IDEAL) + (400 if output else 0)
                    if term not in best or far < best[term][0]:
                        best[term] = (far, line, event, path, told, output)
                    wanted[term] -= 1
                    if wanted[term] == 0:
                        del wanted[term]
            if not wanted:
                break
    lines = [
        Usage(line, event, told and is_prose(line), path, output)
        for _, line, event, path, told, output in best.values()
    ]
    return lines, [term for term in ranked if term not in best and _ABSOLUTE.match(term) is None]


_ABSOLUTE = re.compile(r"s:(?:Users|home|private|tmp|var|mnt|opt)/|.*-rw|s:d?rwx")


def _ranked(times: Counter[str], seqs: dict[str, int]) -> Named:
    names = sorted(times.items(), key=lambda one: (-one[1], one[0]))[:_MOST]
    return Named(tuple(names), tuple(sorted({seqs[name] for name, _ in names if name in seqs})))


def _library(name: str) -> str:
    parts = name.split("/")
    if name.startswith("@"):
        return "/".join(parts[:2])
    if "." in parts[0] and len(parts) > 1:  # Go: host, owner, name
        return "/".join(parts[1:3])
    return "" if name.startswith(("node:", ".")) else parts[0]


_NUMBER = re.compile(r"^\s*\d+(?:\u2192|\t)")
_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"“(])|(?<=[。！？])")
_NARRATION = re.compile(
    r"(?:let me|let's|i'll|i will|i'm|i am|i need|i should|now\b|next\b|first,|good|great|perfect|ok\b|okay|done|this (?:is|looks) good|让我|现在|接下来|好的)",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[A-Za-z]{2,}|[\u3400-\u9fff]")
_PUNCTUATION = re.compile(r"[{}()\[\];=<>|&$\\]|\bfunc\b|:=")


_PLACE = re.compile(r"[\w.~/@+-]*/[\w./@+-]*\Z")  # where was searched says nothing


def is_prose(line: str) -> bool:
    """Whether a line reads as somebody's sentence and not as code, a row of a table or a label."""
    if line.startswith(("|", "```", "//", "/*", "$", "+", "<")):
        return False
    words = len(_WORDS.findall(line))
    return words >= 5 and len(_PUNCTUATION.findall(line)) * 4 <= words


def narrates(sentence: str) -> bool:
    """Whether a sentence only says what its speaker is about to do."""
    return _NARRATION.match(sentence) is not None


def _lines(event: Event) -> Iterator[tuple[str, str | None, bool]]:
    """The lines of an event that may stand for themselves, each with its file and whether somebody wrote it to be read."""
    call = event.call
    if call is not None and event.voice is Voice.CALL:
        if is_edit(event):
            for path, _, new, _ in edits_of(call):
                for line in _fitting(new[:40_000].split("\n")):
                    yield line, path, False
        elif call.kind in (ToolKind.RUN, ToolKind.AGENT, ToolKind.SEARCH):
            text = call.command if call.kind is ToolKind.RUN and call.command else event.text
            for line in _fitting(text[:40_000].split("\n")):
                if call.kind is not ToolKind.SEARCH or _PLACE.match(line) is None:
                    yield line, None, call.kind is ToolKind.AGENT
        return
    lines = event.text[:20_000].split("\n")
    if event.voice is Voice.ASSISTANT:
        fenced = False
        for line in lines:
            if line.lstrip().startswith("```"):
                fenced = not fenced
            elif fenced:
                for one in _fitting([line]):
                    yield one, None, False
            else:
                for one in _fitting(map(unmarked, _SENTENCES.split(line))):
                    yield one, None, True
        return
    numbered = call is not None and call.kind is ToolKind.READ
    shown = None if call is None else call.path if numbered else _looked_at(call)
    for line in _fitting(_NUMBER.sub("", line) for line in lines) if numbered else _fitting(lines):
        if _LISTED.match(line) is None:
            yield line, shown, False


# A row of a list of files says nothing of any of them.
_LISTED = re.compile(r"(?:[dl-][rwxsStT-]{9}.*|[\w.~/@+-]*[/._-][\w./@+-]*:?)\Z")


def _looked_at(call: Call) -> str | None:
    """The one file that a command shows; None where it shows none, or several."""
    if call.kind is not ToolKind.RUN or not call.command or len(call.command) > 400 or not only_looks(call.command):
        return None
    named = [word for word in call.command.split() if path_term(word.strip("'\"")) is not None]
    return named[0].strip("'\"") if len(named) == 1 else None


def _fitting(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        stripped = " ".join(line.split())
        if SHORT <= len(stripped) <= LONG:
            yield stripped
