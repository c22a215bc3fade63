"""Long answers under ASGI come piece by piece."""

from collections.abc import Iterator
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import AsyncRequestFactory, RequestFactory

from tests.webapp.apart import apart
from webapp.streaming import StreamingMiddleware


def test_a_piece_is_made_only_when_the_one_before_was_taken() -> None:
    made: list[int] = []

    def pieces() -> Iterator[bytes]:
        for number in range(3):
            made.append(number)
            yield b"%d" % number

    request: ASGIRequest = AsyncRequestFactory().get("/")
    response: Any = StreamingMiddleware(lambda request: StreamingHttpResponse(pieces()))(request)

    async def take() -> list[tuple[bytes, int]]:
        return [(piece, len(made)) async for piece in response]

    assert apart(take) == [(b"0", 1), (b"1", 2), (b"2", 3)]


def test_a_file_is_closed_with_its_answer(tmp_path: Any) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 10_000)
    opened = path.open("rb")
    response: Any = StreamingMiddleware(lambda request: FileResponse(opened))(AsyncRequestFactory().get("/"))

    async def take() -> bytes:
        return b"".join([piece async for piece in response])

    assert apart(take) == b"x" * 10_000
    response.close()
    assert opened.closed


def test_other_answers_are_left_as_they_are() -> None:
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(b"whole")

    assert StreamingMiddleware(view)(AsyncRequestFactory().get("/")).content == b"whole"
    plain: Any = StreamingMiddleware(lambda request: StreamingHttpResponse(iter([b"a", b"b"])))(
        RequestFactory().get("/")
    )
    assert b"".join(plain) == b"ab"
