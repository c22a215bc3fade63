"""A call in flight that can be broken off: it runs in a thread of its own, and the one that waits for it looks about meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as NotYet
from typing import Any

EVERY = 0.5
"""Seconds between two looks whether it is still wanted."""


def fly[T](make: Callable[[], Coroutine[Any, Any, T]], *, watch: Callable[[], None], every: float = EVERY) -> T:
    """What the coroutine comes to. `watch` is called now and then and may raise: then the coroutine is cancelled, its connections close,
    and the exception comes through. So does one that a signal raises here (a time limit of the worker).
    """
    landed: Future[T] = Future()
    loop = asyncio.new_event_loop()
    task = loop.create_task(make())

    def work() -> None:
        asyncio.set_event_loop(loop)
        try:
            landed.set_result(loop.run_until_complete(task))
        except asyncio.CancelledError:
            landed.cancel()
            landed.set_running_or_notify_cancel()
        except BaseException as error:
            landed.set_exception(error)
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    thread = threading.Thread(target=work, name="model-call", daemon=True)
    thread.start()
    try:
        while True:
            try:
                return landed.result(timeout=every)
            except CancelledError:
                raise
            except NotYet:
                if landed.done():
                    raise  # the coroutine's own
                watch()
    except BaseException:
        if not landed.done():
            loop.call_soon_threadsafe(task.cancel)
        raise
    finally:
        thread.join()


def pause(seconds: float, *, watch: Callable[[], None], sleep: Callable[[float], object], every: float = EVERY) -> None:
    """Let time pass, looking about meanwhile as above."""
    left = seconds
    while left > 0:
        watch()
        sleep(min(every, left))
        left -= every
    watch()
