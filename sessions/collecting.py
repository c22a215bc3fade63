"""How often Python looks for cycles of objects that nobody holds any more: less often, or not at all, while very many values are made that
hold none.

Each look goes through all that was made and much that lives besides, and finds nothing. What is no cycle is freed by its counts as always.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

type _Often = tuple[int, int, int]

_SELDOM: _Often = (50_000, 20, 20)
"""Objects after which it looks at the new ones, and looks after which it looks at older ones."""

_NEVER: _Often = (0, 20, 20)

_lock = Lock()
_wishes: list[_Often] = []
_usual: _Often = gc.get_threshold()


@contextmanager
def seldom() -> Iterator[None]:
    """Look seldom meanwhile, in the whole process: for work of any length, such as reading a log, where the usual takes a tenth of its time."""
    with _as_wished(_SELDOM):
        yield


@contextmanager
def held_back() -> Iterator[None]:
    """Do not look at all meanwhile, in the whole process: for a preview, of which it takes a third.

    Once it is let go again, the first look goes through all that was made meanwhile and is still there. So whoever makes a preview holds it
    back, as a decorator, around all that is done with it: by then nothing of it is left.
    """
    with _as_wished(_NEVER):
        yield


@contextmanager
def _as_wished(wish: _Often) -> Iterator[None]:
    """Several threads may wish at once: the strictest wish holds, and the last one out brings the usual back."""
    global _usual  # noqa: PLW0603 -- the collector is one for the process
    with _lock:
        if not _wishes:
            _usual = gc.get_threshold()
        _wishes.append(wish)
        gc.set_threshold(*min(_wishes))
    try:
        yield
    finally:
        with _lock:
            _wishes.remove(wish)
            gc.set_threshold(*(min(_wishes) if _wishes else _usual))
