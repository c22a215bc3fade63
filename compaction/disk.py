"""Files of this machine's disk, read only below the folders that the operator named, never through a symbolic link, never a large one.

A path is walked from its root part by part, each part opened beside the one before and not followed where it is a link, so that nothing
that changes meanwhile leads outside. Only what is a file and holds text is read.
"""

from __future__ import annotations

import errno
import os
import posixpath
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from compaction.reinject.reading import NotRead, OnDisk

LARGEST = 1 << 20
"""Bytes of a file that is read; a larger one is said to be too large."""

SKIPPED = frozenset({"node_modules", "__pycache__", "target", "dist", "build", "vendor", "venv"})


@dataclass(frozen=True, slots=True)
class Disk:
    """What may be read for one session. `roots`: allowed folders, absolute and without links. `cwd`: the session's folder; None: nothing but
    what lies in a root by itself. `home`: where a person's own memory files lie.
    """

    roots: tuple[str, ...]
    cwd: str | None
    home: str

    def read(self, path: str) -> OnDisk:
        """A file inside the session's folder. Raises NotRead, with the reason in words."""
        if self.cwd is None or not _inside(posixpath.normpath(path), posixpath.normpath(self.cwd)):
            raise NotRead("outside the session's folder")
        return self.read_any(path)

    def read_any(self, path: str) -> OnDisk:
        """A file inside an allowed root, also outside the session's folder: for memory files alone."""
        root, parts = self._placed(path)
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in parts[:-1]:
                folder = _step(folder, part)
            return _text(folder, parts[-1], posixpath.normpath(path))
        except OSError as error:
            raise NotRead(_why(error)) from error
        finally:
            os.close(folder)

    def folders(self, path: str, most: int) -> list[str]:
        """Folders below `path`, the nearest first, at most so many; hidden ones, links and what tools make are passed over."""
        try:
            root, parts = self._placed(path)
            folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        except (NotRead, OSError):
            return []
        try:
            for part in parts:
                folder = _step(folder, part)
            return _below(folder, posixpath.normpath(path), most)
        except OSError:
            return []
        finally:
            os.close(folder)

    def is_top(self, path: str) -> bool:
        """Whether a folder is where a project begins: a repository's, or an allowed root."""
        if posixpath.normpath(path) in self.roots:
            return True
        try:
            root, parts = self._placed(posixpath.join(path, ".git"))
        except NotRead:
            return True
        with suppress(OSError):
            os.lstat(posixpath.join(root, *parts))
            return True
        return False

    def _placed(self, path: str) -> tuple[str, list[str]]:
        wanted = posixpath.normpath(path)
        root = max((one for one in self.roots if _inside(wanted, one)), key=len, default=None)
        if root is None or not posixpath.isabs(wanted):
            raise NotRead("outside the folders that may be read (PALIMPSEST_FILE_ROOTS)")
        return root, [part for part in wanted[len(root) :].split("/") if part]


def allowed(roots: Sequence[str]) -> tuple[str, ...]:
    """The operator's folders as they are walked from: absolute, links in them followed this once; those that are no folder left out."""
    found = [Path(root).resolve() for root in roots if Path(root).is_absolute()]
    return tuple(str(root) for root in dict.fromkeys(found) if root.is_dir() and root != root.parent)


def _inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _step(folder: int, part: str) -> int:
    """The folder `part` of an open one, which is closed; where there is none it stays open and OSError says why."""
    inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    os.close(folder)
    return inner


def _text(folder: int, name: str, path: str) -> OnDisk:
    handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise NotRead("it is no file")
        if found.st_size > LARGEST:
            raise NotRead(f"too large: {found.st_size:,} bytes, at most {LARGEST:,} are read")
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(LARGEST + 1)
    finally:
        os.close(handle)
    if len(data) > LARGEST or b"\0" in data:
        raise NotRead("too large" if len(data) > LARGEST else "it holds no text")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotRead("it holds no text") from error
    return OnDisk(path, text, datetime.fromtimestamp(found.st_mtime, UTC))


def _below(folder: int, path: str, most: int) -> list[str]:
    out: list[str] = []
    waiting: list[tuple[str, ...]] = [()]
    while waiting and len(out) < most:
        parts = waiting.pop(0)
        here = os.dup(folder)
        try:
            for part in parts:
                inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
                os.close(here)
                here = inner
            with os.scandir(here) as found:
                names = sorted(one.name for one in found if one.is_dir(follow_symlinks=False))
        except OSError:
            continue
        finally:
            os.close(here)
        for name in names:
            if name.startswith(".") or name in SKIPPED:
                continue
            waiting.append((*parts, name))
            out.append(posixpath.join(path, *parts, name))
            if len(out) >= most:
                break
    return out


def _why(error: OSError) -> str:
    if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
        return "a symbolic link leads there, and none is followed"
    return "it is not on this machine's disk" if error.errno == errno.ENOENT else "it cannot be read"
