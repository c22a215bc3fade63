"""Layers of memory: the CLAUDE.md, AGENTS.md and GEMINI.md texts that a context carries, told by the words agents frame them with. Pure.

Sources of the frames: Claude Code's `nested_memory` attachments and its "Contents of PATH" blocks; Codex's `# AGENTS.md instructions`
messages with `--- project-doc ---` between the person's own file and the project's; Gemini CLI's `--- Context from: PATH ---`
blocks; OpenCode's "Instructions from: PATH" at the end of a file's reading. Only text that an agent put in is looked at, never a person's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from itertools import zip_longest
from pathlib import PurePosixPath

from sessions.entries import Part, PartKind


class Scope(StrEnum):
    BASE = "base"  # the agent's own instructions, where it records them
    GLOBAL = "global"  # a person's own, for all projects
    PROJECT = "project"
    LOCAL = "local"  # a person's own, for this project
    FOLDER = "folder"  # of a folder below, taken in when something there was touched
    UNKNOWN = "unknown"  # global or project: the record does not part them


SCOPE_WORDS = {
    Scope.BASE: "the agent’s own instructions",
    Scope.GLOBAL: "global, the person’s own",
    Scope.PROJECT: "project",
    Scope.LOCAL: "project, the person’s own",
    Scope.FOLDER: "sub-folder, just in time",
    Scope.UNKNOWN: "global or project: the record does not say",
}

_CLAUDE = re.compile(r"^Contents of (?P<path>[^\n]+?)(?: \((?P<note>[^()\n]{3,120})\))?:[ \t]*\n", re.MULTILINE)
_CODEX = re.compile(r"\A\s*# AGENTS\.md instructions(?: for (?P<path>[^\n]+))?\s*\n", re.IGNORECASE)
_OLD_CODEX = re.compile(r"\A\s*<user_instructions>\s*")
_GEMINI = re.compile(
    r"^--- Context from: (?P<path>[^\n]+?) ---[ \t]*\n(?P<text>.*?)^--- End of Context from: (?P=path) ---",
    re.MULTILINE | re.DOTALL,
)
_OPENCODE = re.compile(r"^Instructions from: (?P<path>[^\n]+)\n", re.MULTILINE)

PROJECT_DOC = "--- project-doc ---"
FOUND_LATER = "--- Newly Discovered Project Context ---"
MARKS = ("Contents of ", "# AGENTS.md instructions", "<user_instructions>", "--- Context from: ", "Instructions from: ")
"""Beginnings of what this module looks for: what a search for candidates may ask for."""

_NAMES = frozenset({"claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md", "memory.md"})
_ENDS = (
    "</system-reminder>",
    "\n# currentDate",
    "\n# important-instruction-reminders",
    "\n      IMPORTANT: this context",
)
_SKILLS = "## Skills\nA skill is a set of local instructions"


@dataclass(frozen=True, slots=True)
class Found:
    """One memory text within an entry. `path` is None where the record names none."""

    scope: Scope
    path: str | None
    text: str
    how: str


def is_memory_text(text: str) -> bool:
    """Whether a text that the harness put in carries a memory file: enough of its beginning will do."""
    if _CODEX.match(text) or _OLD_CODEX.match(text) or "--- Context from: " in text:
        return True
    return any(_is_memory(match["path"], match["note"]) for match in _CLAUDE.finditer(text))


def found_in(parts: Iterable[Part], *, cwd: str | None, kind: str) -> list[Found]:
    """The memory texts of one entry's or insertion's parts.

    `cwd`: the session's folder, by which project and sub-folder are told apart. `kind`: the entry's; of tool results only what the
    agents of this kind append to them counts, of a person's messages nothing does.
    """
    out: list[Found] = []
    for part in parts:
        if kind == "tool_result" or part.kind is PartKind.TOOL_RESULT:
            out.extend(_appended(part.text, cwd))
        elif kind in ("context", "message", "memory") and part.kind is PartKind.TEXT:
            nested = part.meta.get("attachment") == "nested_memory"
            out.extend(_claude(part.text, cwd, nested=nested))
            out.extend(_codex(part.text))
            out.extend(_gemini(part.text, cwd))
    return out


def base_of(text: str) -> Found:
    """The agent's own instructions, as a record of the session holds them."""
    return Found(Scope.BASE, None, text, "sent with every request, recorded with the session")


def _claude(text: str, cwd: str | None, *, nested: bool) -> Iterator[Found]:
    heads = [match for match in _CLAUDE.finditer(text) if nested or _is_memory(match["path"], match["note"])]
    for head, following in zip_longest(heads, heads[1:]):
        body = text[head.end() : following.start() if following is not None else len(text)]
        for end in _ENDS:
            body = body.partition(end)[0]
        scope = _scope_of_note(head["note"]) or scope_of(head["path"], cwd)
        how = "attached when something in its folder was touched" if nested else "put in by the agent as a reminder"
        if nested and scope is Scope.PROJECT and cwd is not None and not _at_root(head["path"], cwd):
            scope = Scope.FOLDER
        yield Found(scope, head["path"], body.strip("\n"), how)


def _is_memory(path: str, note: str | None) -> bool:
    place = path.replace("\\", "/")
    if PurePosixPath(place).name.casefold() in _NAMES or "/.claude/rules/" in place:
        return True
    return note is not None and "instructions" in note and place.endswith(".md")


def _scope_of_note(note: str | None) -> Scope | None:
    """Claude Code's own words for where a file belongs."""
    if note is None:
        return None
    if "global" in note:
        return Scope.GLOBAL
    if "not checked in" in note:
        return Scope.LOCAL
    return Scope.PROJECT if "project" in note else None


def scope_of(path: str, cwd: str | None) -> Scope:
    """Where a memory file belongs, by its path as seen from the session's folder."""
    place = PurePosixPath(path.replace("\\", "/"))
    if place.name.casefold() == "claude.local.md":
        return Scope.LOCAL
    if not place.is_absolute() and not path.startswith("~"):
        return Scope.PROJECT if len(place.parts) == 1 else Scope.FOLDER
    if cwd is None:
        return Scope.UNKNOWN
    root = PurePosixPath(cwd)
    folder = place.parent
    if folder == root or folder in root.parents:
        own = {".claude", ".codex", ".gemini"} & set(place.parts)
        return Scope.GLOBAL if own else Scope.PROJECT
    if root in folder.parents:
        return Scope.PROJECT if folder.name in (".claude", ".gemini") and folder.parent == root else Scope.FOLDER
    own = {".claude", ".codex", ".gemini", ".config"} & set(place.parts)
    return Scope.GLOBAL if own or path.startswith("~") else Scope.PROJECT


def _at_root(path: str, cwd: str) -> bool:
    folder, root = PurePosixPath(path).parent, PurePosixPath(cwd)
    return folder == root or folder in root.parents or root not in folder.parents


def _codex(text: str) -> Iterator[Found]:
    head = _CODEX.match(text)
    folder: str | None = None
    if head is not None:
        folder = head["path"]
        body = text[head.end() :].strip().removeprefix("<INSTRUCTIONS>").removesuffix("</INSTRUCTIONS>")
    elif (old := _OLD_CODEX.match(text)) is not None:
        body = text[old.end() :].rstrip().removesuffix("</user_instructions>")
    else:
        return
    # The list of skills stands behind the files since 0.9x; it is no memory.
    body = body.partition(_SKILLS)[0].strip()
    path = f"{folder.strip().rstrip('/')}/AGENTS.md" if folder else "AGENTS.md"
    own, mark, project = body.partition(PROJECT_DOC)
    how = "put in front of the conversation"
    if mark:
        yield Found(Scope.GLOBAL, "~/.codex/AGENTS.md", own.strip(), how)
        yield Found(Scope.PROJECT, path, project.strip(), how)
    elif body:
        yield Found(Scope.UNKNOWN, path, body, how)


def _gemini(text: str, cwd: str | None) -> Iterator[Found]:
    later = text.find(FOUND_LATER)
    for match in _GEMINI.finditer(text):
        jit = 0 <= later < match.start()
        scope = Scope.FOLDER if jit else scope_of(match["path"], cwd)
        how = "appended to a tool's output when its folder was touched" if jit else "put in front of the conversation"
        yield Found(scope, match["path"], match["text"].strip("\n"), how)


def _appended(text: str, cwd: str | None) -> Iterator[Found]:
    """Memory that an agent appends to what a tool gave back: behind its own mark only, since a tool may print anything."""
    at = text.rfind(FOUND_LATER)
    if at >= 0 and text.rstrip().endswith("--- End Project Context ---"):
        yield from _gemini(text[at:], cwd)
    block = text.rstrip()
    opens = block.rfind("<system-reminder>\n")
    if opens < 0 or not block.endswith("</system-reminder>"):
        return
    inner = block[opens + len("<system-reminder>\n") : -len("</system-reminder>")]
    heads = list(_OPENCODE.finditer(inner))
    if not heads or heads[0].start() != 0:
        return
    for head, following in zip_longest(heads, heads[1:]):
        body = inner[head.end() : following.start() if following is not None else len(inner)]
        how = "appended to a file's reading when its folder was touched"
        yield Found(Scope.FOLDER, head["path"], body.strip("\n"), how)


# -- layers: what was found, put together -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Load:
    """One time that a text came in. `seq` None: a version inserts it, at `position`, behind entry `after`.

    `tokens`: of the text. `in_context`: whether the moment looked at sends it. `why_not`: in words, where it does not.
    `changed`: it says something else than the time before.
    """

    found: Found
    seq: int | None
    after: int
    tokens: int
    in_context: bool
    why_not: str = ""
    position: int | None = None
    turn: int | None = None
    step: int | None = None
    at: datetime | None = None
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Layer:
    """One file over the session. `tokens`: what it weighs in the context now, each of its loads counted."""

    scope: Scope
    path: str | None
    loads: tuple[Load, ...] = field(default=())

    @property
    def in_context(self) -> bool:
        return any(load.in_context for load in self.loads)

    @property
    def tokens(self) -> int:
        return sum(load.tokens for load in self.loads if load.in_context)

    @property
    def last(self) -> Load:
        return self.loads[-1]


_ORDER = {scope: n for n, scope in enumerate(Scope)}


def layers_of(loads: Sequence[Load]) -> list[Layer]:
    """Loads by file, from the widest scope to the narrowest; each file's in order of coming."""
    by_file: dict[tuple[Scope, str | None], list[Load]] = {}
    for load in loads:
        by_file.setdefault((load.found.scope, load.found.path), []).append(load)
    out: list[Layer] = []
    for (scope, path), its in by_file.items():
        ordered = sorted(its, key=lambda load: (load.after, load.position if load.position is not None else -1))
        marked: list[Load] = []
        for load in ordered:
            differs = bool(marked) and marked[-1].found.text != load.found.text
            marked.append(replace(load, changed=True) if differs else load)
        out.append(Layer(scope, path, tuple(marked)))
    return sorted(out, key=lambda layer: (_ORDER[layer.scope], layer.loads[0].after, layer.path or ""))
