"""Work handed to a thread aside, or done at once.

Counting, packing and hashing leave the interpreter free, so that a thread may do them while the next lines are read. That is worth it where
a processor is idle: to hand the work over takes a sixth of all the time that taking a log in does. A process that has others of its kind
beside it, one for each processor, does everything itself.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor

_threads = True


def none() -> None:
    """From here on this process does everything itself."""
    global _threads  # noqa: PLW0603 -- it is of the process
    _threads = False


def threads() -> bool:
    """Whether there are threads aside."""
    return _threads


def one() -> Executor:
    """What does work aside, one piece after the other. To be shut down."""
    return ThreadPoolExecutor(1) if _threads else _AtOnce()


class _AtOnce(Executor):
    def submit[**P, R](self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        done: Future[R] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:  # whoever asks for the result is told, as with a thread
            done.set_exception(error)
        return done
