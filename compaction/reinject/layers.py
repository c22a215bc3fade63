"""Memory files that come back: a person's own, the project's, and just in time those of the folders whose files come back.

As the agents do it: upwards from a file to the top of its project, and at most 200 folders down from the session's own. From the disk where
that may be read, else as the session's records carry them; what the kept part shows word for word is not repeated.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compaction.plan import Count, Given, GivenAnswer, LayersAsk
from compaction.reinject.cutting import LEAST, head_of
from compaction.reinject.reading import NotRead, Reading
from sessions.contexts import InsertKind, Item
from sessions.memory import SCOPE_WORDS, Scope, found_in, scope_of

DOWN = 200
"""Folders below the session's own that are looked into (Gemini CLI: `discoveryMaxDirs`)."""

_NAMES: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"),
    "codex": ("AGENTS.override.md", "AGENTS.md"),
    "gemini-cli": ("GEMINI.md",),
    "opencode": ("AGENTS.md", "CLAUDE.md"),
}
_GLOBAL: Mapping[str, tuple[str, ...]] = {
    "claude-code": (".claude/CLAUDE.md",),
    "codex": (".codex/AGENTS.override.md", ".codex/AGENTS.md"),
    "gemini-cli": (".gemini/GEMINI.md",),
    "opencode": (".config/opencode/AGENTS.md",),
}
_ANY = ("AGENTS.md",)
_ORDER = {Scope.GLOBAL: 0, Scope.UNKNOWN: 0, Scope.PROJECT: 1, Scope.LOCAL: 2, Scope.FOLDER: 3}
_UPWARDS = 64  # folders from a file to the top, at most


@dataclass(frozen=True, slots=True)
class _Found:
    scope: Scope
    path: str
    text: str
    seqs: tuple[int, ...] = ()
    changed: bool = False  # the disk says something else than the session's records


def answer_layers(
    ask: LayersAsk,
    log: Sequence[Item],
    kept: Sequence[Item],
    agent: str,
    cwd: str | None,
    disk: Reading | None,
    count: Count,
) -> GivenAnswer:
    """The layers in the order global, project, just in time, each cut to its head where it is longer, and by name what there is no room for.

    `kept`: items of the context of which `ask.kept` says that they stay.
    """
    recorded = _recorded(log, cwd)
    layers = list(_on_disk(ask, agent, cwd, disk, recorded)) if disk is not None else []
    seen = {one.path for one in layers}
    touched = {folder for path in ask.paths for folder in _up(posixpath.dirname(path), cwd)}
    for found in recorded.values():
        just_in_time = found.scope is not Scope.FOLDER or posixpath.dirname(found.path) in touched
        if found.path not in seen and just_in_time:
            layers.append(found)
    shown = [item.text for item in kept if item.seq is None or item.seq in ask.kept]
    given: list[Given] = []
    left_out: list[tuple[str, str]] = []
    room = ask.total
    for one in sorted(layers, key=lambda one: (_ORDER.get(one.scope, 4), len(one.path), one.path)):
        text = one.text.strip()
        if not text or any(text in words for words in shown):
            continue
        head = _header(one)
        budget = min(ask.each, room) - count([head])[0]
        body, cut = head_of(text, budget, count) if budget >= LEAST else ("", 0)
        if not body:
            left_out.append((one.path, f"no room: {room:,} of {ask.total:,} tokens for memory files left"))
            continue
        whole = head + body
        tokens = count([whole])[0]
        given.append(Given(InsertKind.LAYER, one.path, whole, tokens, one.seqs, cut))
        room -= tokens
    return GivenAnswer(ask.key, tuple(given), tuple(left_out))


def _header(one: _Found) -> str:
    note = (
        f"{SCOPE_WORDS[one.scope]}; read from the disk, it has changed since this session took it in"
        if one.changed
        else SCOPE_WORDS[one.scope]
    )
    return f"Contents of {one.path} ({note}):\n\n"


def _recorded(log: Sequence[Item], cwd: str | None) -> dict[str, _Found]:
    """The newest text of each memory file that the session's records carry."""
    out: dict[str, _Found] = {}
    for item in log:
        if item.kind != "context":
            continue
        for found in found_in(item.parts, cwd=cwd, kind="context"):
            if found.path is not None:
                out[found.path] = _Found(found.scope, found.path, found.text, () if item.seq is None else (item.seq,))
    return out


def _on_disk(
    ask: LayersAsk, agent: str, cwd: str | None, disk: Reading, recorded: Mapping[str, _Found]
) -> Iterator[_Found]:
    taken: set[str] = set()
    for scope, path in _places(ask, agent, cwd, disk):
        if path in taken:
            continue
        taken.add(path)
        try:
            found = disk.read_any(path)
        except NotRead:
            continue
        old = recorded.get(path)
        changed = old is not None and old.text.strip() != found.text.strip()
        yield _Found(scope, path, found.text, () if old is None else old.seqs, changed)


def _places(ask: LayersAsk, agent: str, cwd: str | None, disk: Reading) -> Iterator[tuple[Scope, str]]:
    """Where memory files may lie, from the widest scope to the narrowest."""
    names = _NAMES.get(agent, _ANY)
    for name in _GLOBAL.get(agent, ()):
        yield Scope.GLOBAL, posixpath.join(disk.home, name)
    if cwd is None:
        return
    upwards: list[str] = []
    folder = posixpath.normpath(cwd)
    for _ in range(_UPWARDS):
        upwards.append(folder)
        if disk.is_top(folder) or posixpath.dirname(folder) == folder:
            break
        folder = posixpath.dirname(folder)
    for folder in reversed(upwards):
        for name in names:
            path = posixpath.join(folder, name)
            local = scope_of(path, cwd) is Scope.LOCAL
            yield Scope.LOCAL if local else Scope.PROJECT, path
    below = [folder for path in ask.paths for folder in _up(posixpath.dirname(path), cwd)]
    if ask.down:
        below += disk.folders(cwd, min(ask.down, DOWN))
    for folder in dict.fromkeys(below):
        for name in names:
            yield Scope.FOLDER, posixpath.join(folder, name)


def _up(folder: str, cwd: str | None) -> list[str]:
    """The folders from one inside the session's own up to it, that one left out, the widest first."""
    out: list[str] = []
    root = None if cwd is None else posixpath.normpath(cwd)
    while root is not None and folder.startswith(root + "/") and len(out) < _UPWARDS:
        out.append(folder)
        folder = posixpath.dirname(folder)
    return out[::-1]
