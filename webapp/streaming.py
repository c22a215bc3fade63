"""Long answers under ASGI: sent as they are made, and never held whole in memory."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import cast

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import FileResponse, HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase


class StreamingMiddleware:
    """Hand a plain iterator to the server piece by piece. Django would first make a list of all its pieces.

    The bytes of a source may be gigabytes. Each piece is made in the request's own thread, as the view was, so that an
    iterator may read from the database.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if (
            isinstance(request, ASGIRequest)
            and isinstance(response, StreamingHttpResponse | FileResponse)
            and not response.is_async
        ):
            content = cast("Iterator[bytes]", response.streaming_content)
            response.streaming_content = in_pieces(iter(content))
        return response


async def in_pieces(content: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Draw one piece at a time from `content`."""

    def draw() -> bytes | None:
        # An exhausted iterator cannot say so by StopIteration: that would end the coroutine that asks.
        return next(content, None)

    while (piece := await sync_to_async(draw)()) is not None:
        yield piece
