"""How often Python looks for cycles of objects that nobody holds any more."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_SELDOM = (50_000, 20, 20)  # objects after which it looks at the new ones, and looks after which it looks at older ones
_lock = Lock()
_within = 0
_usual: tuple[int, int, int] = gc.get_threshold()


@contextmanager
def seldom() -> Iterator[None]:
    """Look seldom meanwhile, in the whole process.

    Reading a log makes objects by the thousand and no cycles among them; the usual looks at them, and at all that lives besides, take a
    tenth of its time and find nothing. Several threads may do so at once: the last one out brings the usual back.
    """
    global _within, _usual  # noqa: PLW0603 -- the collector is one for the process
    with _lock:
        if _within == 0:
            _usual = gc.get_threshold()
            gc.set_threshold(*_SELDOM)
        _within += 1
    try:
        yield
    finally:
        with _lock:
            _within -= 1
            if _within == 0:
                gc.set_threshold(*_usual)
