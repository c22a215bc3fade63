"""A request's body has an end: one that is longer than any source may be is refused before it fills the disk."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

type Message = Mapping[str, Any]
type Receive = Callable[[], Awaitable[Message]]
type Send = Callable[[Message], Awaitable[None]]
type App = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]

# What a form has around the file in it.
AROUND: Final = 1 << 20


class _TooMuch(Exception):
    """More came than the request may have."""


class LimitedBodies:
    """Around an ASGI application: counts what comes of each request's body. The application would keep all of it first and look then."""

    def __init__(self, app: App, limit: int) -> None:
        self.app = app
        self.limit = limit + AROUND

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        come = 0

        async def counted() -> Message:
            nonlocal come
            message = await receive()
            come += len(message.get("body", b""))
            if come > self.limit:
                raise _TooMuch
            return message

        try:
            if _said(scope) > self.limit:
                raise _TooMuch
            await self.app(scope, counted, send)
        except _TooMuch:
            await self._refuse(send)

    async def _refuse(self, send: Send) -> None:
        words = f"A request may bring {self.limit - AROUND:,} bytes here (PALIMPSEST_UPLOAD_LIMIT). Nothing was stored."
        body = json.dumps({"error": {"code": "too_large", "message": words}}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _said(scope: Message) -> int:
    """The length that the request says it has; 0 where it says none."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0
