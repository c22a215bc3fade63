"""What a hook over HTTP may be asked at, and what an answer may say: no database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from compaction.hooks import http
from compaction.hooks.contract import HookFailed, verdict
from tests.loopback import Raw, Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as one:
        yield one


PRIVATE = [
    "http://127.0.0.1/",
    "http://localhost/",
    "http://[::1]/",
    "http://10.0.0.7/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://0.0.0.0/",
    "http://[::ffff:127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[fe80::1]/",
    "http://100.64.0.1/",
    "http://2130706433/",
    "http://0x7f.1/",
]


@pytest.mark.parametrize("url", PRIVATE)
def test_an_address_that_is_not_public_is_not_asked(url: str) -> None:
    with pytest.raises(HookFailed, match=r"not public|no address"):
        http.ask(url, b"{}", secret=b"s", timeout=1, private=False)


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "gopher://x/", "http://a:b@example.com/", "http:///x", "ftp://x/"]
)
def test_what_is_no_plain_address_is_not_asked(url: str) -> None:
    with pytest.raises(HookFailed, match="address"):
        http.ask(url, b"{}", secret=b"s", timeout=1, private=True)


def test_a_name_is_resolved_once_and_the_checked_address_is_the_one_that_is_asked(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that points elsewhere the second time it is asked for is asked for once."""
    import socket

    asked: list[str] = []
    real = socket.getaddrinfo

    def resolve(host: str, port: Any, *args: Any, **kwargs: Any) -> Any:
        if host != "hooks.example":
            return real(host, port, *args, **kwargs)
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    port = server.url.rpartition(":")[2]
    server.says(Raw(b"{}"))
    assert http.ask(f"http://hooks.example:{port}/", b"{}", secret=b"s", timeout=5, private=True) == b"{}"
    assert asked == ["hooks.example"]
    assert server.asked[0].headers["Host"] == f"hooks.example:{port}"


def test_an_answer_before_takes_no_text_and_one_after_blocks_nothing() -> None:
    assert verdict("pre_compact", b'{"append": "x"}', last_seq=9).append == ()
    assert verdict("post_compact", b'{"decision": "block"}', last_seq=9).blocks is False
    assert verdict("pre_compact", b"", last_seq=9).blocks is False
