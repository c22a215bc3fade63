"""The cyclic collector held back while very many values are made that hold no cycles.

A long session is some hundred thousand small values; each time their number has grown by a quarter the collector walks through all of them and
finds nothing, which costs a third of a preview. They are freed by their counts as always.

Once it is let go again, the first look goes through all that was made meanwhile and is still there. So whoever makes a preview holds it back,
as a decorator, around all that is done with it: by then nothing of it is left.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_lock = Lock()
_holders = 0
_was_on = False


@contextmanager
def held_back() -> Iterator[None]:
    """No cycles are looked for, in any thread, until the last one inside has left. Whoever had turned the collector off keeps it off."""
    global _holders, _was_on  # noqa: PLW0603 -- the collector is one for the process
    with _lock:
        if _holders == 0:
            _was_on = gc.isenabled()
            gc.disable()
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if _holders == 0 and _was_on:
                gc.enable()
