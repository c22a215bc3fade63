"""Which paths changed, for as long as it is asked: folders may come, go and come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from watchfiles import Change, watch

DEBOUNCE = 400  # ms within which changes are told together; an agent writes a line in several pieces
LOOKED_AGAIN = 5_000  # ms after which it is looked whether folders came or went
_RETRY = 2.0  # seconds between attempts where nothing can be watched


@dataclass(frozen=True, slots=True)
class Changes:
    """`whole`: the paths are folders that just began to be watched, to be looked through from the start."""

    paths: tuple[Path, ...]
    whole: bool


def changes(wanted: Callable[[], list[Path]], stop: Event) -> Iterator[Changes]:
    """What changed under the folders and files that `wanted` names now, until `stop` is set.

    Begins with everything there is, so that nothing written between two watches is missed. A folder that vanished is left; when it is
    there again it is begun anew.
    """
    known: dict[Path, tuple[int, int]] = {}
    while not stop.is_set():
        present = _present(wanted())
        new = tuple(path for path, identity in present.items() if known.get(path) != identity)
        known = present
        if not present:
            stop.wait(_RETRY)
            continue
        if new:
            yield Changes(new, whole=True)
        try:
            yield from _until_other_folders(present, wanted, stop)
        except OSError:
            # A folder vanished between looking and watching, or the system has no watch left to give.
            stop.wait(_RETRY)


def _until_other_folders(
    present: dict[Path, tuple[int, int]], wanted: Callable[[], list[Path]], stop: Event
) -> Iterator[Changes]:
    watched = watch(
        *present,
        stop_event=stop,
        debounce=DEBOUNCE,
        rust_timeout=LOOKED_AGAIN,
        yield_on_timeout=True,
        raise_interrupt=False,
        ignore_permission_denied=True,
        watch_filter=None,
    )
    for found in watched:
        # A folder that changed only says that something in it did, which is told by itself; a new one is looked through.
        paths = sorted(
            {Path(path) for change, path in found if change is not Change.modified or not Path(path).is_dir()}
        )
        if paths:
            yield Changes(tuple(paths), whole=False)
        if _present(wanted()) != present:
            return


def _present(paths: list[Path]) -> dict[Path, tuple[int, int]]:
    """Those of the paths that are there, each with what tells it from another of the same name."""
    out: dict[Path, tuple[int, int]] = {}
    for path in paths:
        try:
            stat = path.stat()
        except OSError:
            continue
        out[path] = (stat.st_dev, stat.st_ino)
    return out
