"""Says that a session changed, and listens for it: `NOTIFY` once the change is committed, one `LISTEN` a process for all open pages.

A notice carries ids alone. What changed is read by whoever may read it, through the ordinary addresses.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from django.db import connection

CHANNEL = "palimpsest_sessions"
"""Where every change of a session is told, as `workspace session`."""

log = logging.getLogger(__name__)


class Deaf(Exception):
    """The database can no longer be listened to; who follows has to look by themselves."""


def announce(workspace_id: Any, session_id: Any) -> None:
    """Let open pages know that a session grew or its head moved; inside a transaction, once it commits."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, f"{workspace_id} {session_id}"])


@dataclass(eq=False, slots=True)
class Follower:
    """One open page: of a workspace's list, or of one session in it. However much comes while nobody asks, it holds each id once."""

    workspace: str
    session: str | None
    _changed: set[str] = field(default_factory=set)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _deaf: bool = False

    def hear(self, workspace: str, session: str) -> None:
        if workspace == self.workspace and self.session in (None, session):
            self._changed.add(session)
            self._woken.set()

    def end(self) -> None:
        self._deaf = True
        self._woken.set()

    async def changed(self, patience: float) -> frozenset[str]:
        """Sessions that changed since the last call; none where nothing did for `patience` seconds. Raises Deaf."""
        try:
            async with asyncio.timeout(patience):
                await self._woken.wait()
        except TimeoutError:
            return frozenset()
        if self._deaf:
            raise Deaf
        self._woken.clear()
        out = frozenset(self._changed)
        self._changed.clear()
        return out


class _Ear:
    """The one listening connection of an event loop: there while anybody follows."""

    def __init__(self) -> None:
        self.followers: set[Follower] = set()
        self._task: asyncio.Task[None] | None = None
        self._listening = asyncio.Event()

    async def join(self, follower: Follower, given: dict[str, Any]) -> None:
        """Count as following once every later change will be heard. Raises Deaf."""
        self.followers.add(follower)
        if self._task is None or self._task.done():
            self._listening.clear()
            self._task = asyncio.create_task(self._listen(given), name="announcements")
        await self._listening.wait()

    def leave(self, follower: Follower) -> None:
        self.followers.discard(follower)
        if not self.followers and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _listen(self, given: dict[str, Any]) -> None:
        try:
            async with await psycopg.AsyncConnection.connect(**given, autocommit=True) as heard:
                await heard.execute(f"LISTEN {CHANNEL}")
                self._listening.set()
                async for notice in heard.notifies():
                    workspace, _, session = notice.payload.partition(" ")
                    for follower in self.followers:
                        follower.hear(workspace, session)
        except psycopg.Error as error:
            log.warning("open pages are not told of changes: %s", type(error).__name__)
        finally:
            self._listening.set()
            # Where it was cancelled there is nobody left to tell, or somebody came who has a task of their own.
            if self._task is asyncio.current_task():
                for follower in self.followers:
                    follower.end()


_EARS: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Ear] = weakref.WeakKeyDictionary()


def place() -> dict[str, Any]:
    """Where to listen: the database of this thread's Django connection, in psycopg's words."""
    known = connection.get_connection_params()
    return {name: value for name, value in known.items() if name not in ("cursor_factory", "context", "pool")}


@asynccontextmanager
async def following(given: dict[str, Any], *, workspace: Any, session: Any = None) -> AsyncIterator[Follower]:
    """Follow one session, or all of a workspace, for the block: every change committed after its beginning is heard.

    `given`: as `place` gave it. Costs a place in a set; the process holds one connection however many follow.
    """
    ear = _EARS.setdefault(asyncio.get_running_loop(), _Ear())
    follower = Follower(str(workspace), None if session is None else str(session))
    try:
        await ear.join(follower, given)
        yield follower
    finally:
        ear.leave(follower)
