"""Which changed files rest for a while: a document is read whole each time, and an agent at work changes it several times a second.

A long one is left alone for about three times as long as reading it takes, so that following it costs a fraction of a processor. Logs never
rest: what was appended to one costs the same however long it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path

_SMALL = 1 << 20  # bytes of documents that are read at once, always
_RATE = 4_000_000  # bytes for each second of rest; about twelve million are read in one
_LONGEST = 60.0  # seconds of rest


class Rests:
    """Knows what was read when, and holds what came too early."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._read: dict[Path, int] = {}  # bytes of documents that came of each file in the take that is under way
        self._until: dict[Path, float] = {}
        self.held: set[Path] = set()

    def due(self, changed: Collection[Path] = ()) -> set[Path]:
        """Of what changed, and of what was held, that which is to be read now; the others are held."""
        now = self._clock()
        self._until = {path: until for path, until in self._until.items() if until > now}
        asked = {*changed, *self.held}
        self.held = asked & self._until.keys()
        return asked - self.held

    def read(self, name: str, size: int) -> None:
        """A document was read, or one of those that a file holds (`FILE#NAME`)."""
        path = Path(name.rpartition("#")[0] or name)
        self._read[path] = self._read.get(path, 0) + size

    def done(self) -> None:
        """All that was due is read: long documents begin to rest."""
        now = self._clock()
        for path, size in self._read.items():
            if size > _SMALL:
                self._until[path] = now + min(_LONGEST, size / _RATE)
        self._read = {}
