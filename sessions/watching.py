"""Which paths changed, for as long as it is asked: folders may come, go and come back."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from watchfiles import Change

# The watch has to stand before what is there is looked through; the package's own `watch` begins with its first wait.
from watchfiles._rust_notify import RustNotify

DEBOUNCE = 400  # ms within which changes are told together; an agent writes a line in several pieces
_STEP = 50  # ms without a change after which those so far are told
LOOKED_AGAIN = 2_000  # ms after which it is looked whether folders came or went
_RETRY = 2.0  # seconds between attempts where nothing can be watched

type Present = dict[Path, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Changes:
    """`whole`: the paths are folders that just began to be watched, to be looked through from the start."""

    paths: tuple[Path, ...]
    whole: bool


def changes(
    wanted: Callable[[], list[Path]], stop: Event, *, idle: Callable[[], None] = lambda: None
) -> Iterator[Changes]:
    """What changed under the folders and files that `wanted` names now, until `stop` is set.

    Begins with everything there is, so that nothing written before is missed. A folder that vanished is left; when it is there again
    it is begun anew. `idle` is called every other second or so, and only where nothing that was told is still to be read.
    """
    known: Present = {}
    while not stop.is_set():
        present = _present(wanted())
        try:
            if not present:
                raise FileNotFoundError("none of the folders is there")
            watcher = RustNotify([str(path) for path in present], False, False, 0, True, True)
        except OSError:
            # Nothing is there yet, or went between looking and watching, or the system has no watch left to give.
            known = {}
            idle()
            stop.wait(_RETRY)
            continue
        with watcher:
            new = tuple(path for path, identity in present.items() if known.get(path) != identity)
            if new:
                yield Changes(new, whole=True)
            known = yield from _until_other_folders(watcher, present, wanted, stop, idle)


def _until_other_folders(
    watcher: RustNotify, present: Present, wanted: Callable[[], list[Path]], stop: Event, idle: Callable[[], None]
) -> Generator[Changes, None, Present]:
    """Changes while the same folders are there; returns those of them that need no new beginning."""
    while not stop.is_set():
        idle()
        found = watcher.watch(DEBOUNCE, _STEP, LOOKED_AGAIN, stop)
        if isinstance(found, str):
            if found in ("stop", "signal"):
                stop.set()
                break
            found = set()
        told = [(Change(change), Path(path)) for change, path in found]
        # A folder that changed only says that something in it did, which is told by itself; a new one is looked through.
        paths = sorted({path for change, path in told if change is not Change.modified or not path.is_dir()})
        if paths:
            yield Changes(tuple(paths), whole=False)
        gone = {path for change, path in told if change is Change.deleted and path in present}
        if gone or _present(wanted()) != present:
            # A folder made anew may get the number of the one that went, so that only the telling of its end is sure.
            return {path: identity for path, identity in present.items() if path not in gone}
    return present


def _present(paths: list[Path]) -> Present:
    """Those of the paths that are there, each with what tells it from another of the same name."""
    out: Present = {}
    for path in paths:
        try:
            stat = path.stat()
        except OSError:
            continue
        out[path] = (stat.st_dev, stat.st_ino)
    return out
