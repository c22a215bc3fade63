"""The end of a request's body, as the web server's messages bring it."""

import json
from typing import Any

import pytest

from tests.webapp.apart import apart
from webapp.bodies import AROUND, LimitedBodies


def answered(pieces: list[bytes], *, length: int | None = None, limit: int = 10) -> tuple[list[Any], list[bytes]]:
    """What is sent, and what the application got, for a body in these pieces."""
    got: list[bytes] = []
    sent: list[Any] = []
    messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    messages.append({"type": "http.request", "body": b"", "more_body": False})

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while True:
            message = await receive()
            got.append(message["body"])
            if not message["more_body"]:
                break
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [] if length is None else [(b"content-length", str(length).encode())]
    apart(lambda: LimitedBodies(app, limit)({"type": "http", "headers": headers}, receive, send))
    return sent, got


def test_a_body_within_the_limit_passes() -> None:
    sent, got = answered([b"a" * AROUND, b"0123456789"], length=AROUND + 10)
    assert (sent[0]["status"], sum(map(len, got))) == (200, AROUND + 10)


@pytest.mark.parametrize("length", [None, AROUND])
def test_what_comes_is_counted_whatever_was_said(length: int | None) -> None:
    sent, got = answered([b"a" * AROUND, b"0123456789", b"!"], length=length)
    assert sent[0]["status"] == 413
    assert sum(map(len, got)) == AROUND + 10
    assert json.loads(sent[1]["body"])["error"]["code"] == "too_large"


def test_a_length_beyond_the_limit_is_refused_before_anything_is_read() -> None:
    sent, got = answered([b"x"], length=AROUND + 11)
    assert (sent[0]["status"], got) == (413, [])
