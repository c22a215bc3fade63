"""Which files there are to take in: under paths given, or where the agents of this machine keep their sessions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from sessions.adapters import adapters

_DATABASES = (".db", ".sqlite")
SUFFIXES = (".jsonl", ".json", ".zst", ".txt", ".log", ".md", *_DATABASES)
_WAL = "-wal"  # behind a database's name: what was written to it and is not in it yet
_SKIPPED = {"node_modules", ".git", "__pycache__", "shell-snapshots", "file-history", "statsig", "thread-writer-locks"}


def agent_folders(home: Path, env: Mapping[str, str]) -> list[tuple[str, Path]]:
    """Existing folders (and databases) in which agents of this machine keep sessions, each with its agent."""
    found: list[tuple[str, Path]] = []
    for adapter in adapters().values():
        for root in adapter.roots(home, env):
            if root.exists():
                found.append((adapter.agent, root))
    return found


def may_hold(path: Path) -> bool:
    """Whether a file's name is one of files that may hold sessions."""
    return path.name.removesuffix(_WAL).endswith(SUFFIXES)


def meant(path: Path) -> Path:
    """The file that is read where this one changed: of a write-ahead log its database, else itself."""
    name = path.name.removesuffix(_WAL)
    return path.with_name(name) if name != path.name and name.endswith(_DATABASES) else path


def files_under(paths: Iterable[Path]) -> Iterator[Path]:
    """Regular files under `paths`, sorted, each once; folders are entered once, so a loop of links ends.

    A path that is a file is given whatever its name; inside folders only files that may hold sessions are.
    """
    seen: set[tuple[int, int]] = set()
    given: set[Path] = set()
    for path in paths:
        if not path.is_dir():
            if meant(path) not in given:
                given.add(meant(path))
                yield meant(path)
            continue
        yield from _walk(path, seen)


def _walk(folder: Path, seen: set[tuple[int, int]]) -> Iterator[Path]:
    try:
        stat = folder.stat()
        if (stat.st_dev, stat.st_ino) in seen:
            return
        seen.add((stat.st_dev, stat.st_ino))
        with os.scandir(folder) as found:
            inside = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    folders: list[Path] = []
    for entry in inside:
        try:
            if entry.is_dir():
                if entry.name not in _SKIPPED:
                    folders.append(Path(entry.path))
            elif entry.is_file() and entry.name.endswith(SUFFIXES):
                yield Path(entry.path)
        except OSError:
            continue
    for inner in folders:
        yield from _walk(inner, seen)
