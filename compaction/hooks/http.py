"""A hook that is asked over HTTP: signed, with one deadline for all of it, and not at addresses of this machine or its network.

The name is resolved once and the connection goes to the very address that was checked, so that a name cannot point elsewhere a moment
later. No redirect is followed, no proxy is used, no cookie kept.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import ipaddress
import socket
import ssl
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from compaction.hooks.contract import LARGEST_ANSWER, HookFailed

SIGNATURE = "Palimpsest-Signature"


def ask(
    url: str, body: bytes, *, secret: bytes, timeout: float, private: bool, clock: Callable[[], float] = time.time
) -> bytes:
    """POST `body` and give the answer's body. Raises HookFailed: not reached, not allowed, too late, or a status other than 2xx."""
    split = urlsplit(url)
    if split.scheme not in ("http", "https") or not split.hostname or split.username or split.password:
        raise HookFailed("its address is no http:// or https:// one without a name and password")
    deadline = time.monotonic() + timeout
    try:
        port = split.port or (443 if split.scheme == "https" else 80)
    except ValueError:
        raise HookFailed("the port in its address is none") from None
    address = _allowed_address(split.hostname, port, private=private)
    connection = _Pinned(split.hostname, port, address, secure=split.scheme == "https", timeout=timeout)
    path = (split.path or "/") + (f"?{split.query}" if split.query else "")
    try:
        headers = {"Content-Type": "application/json", "User-Agent": "palimpsest"}
        connection.request("POST", path, body, headers | {SIGNATURE: signature(secret, body, int(clock()))})
        answer = connection.getresponse()
        if not 200 <= answer.status < 300:
            raise HookFailed(f"it answered with status {answer.status}")
        return _read(connection, answer, deadline)
    except TimeoutError:
        raise HookFailed(f"it did not answer within {timeout:g} s") from None
    except (OSError, http.client.HTTPException) as error:
        raise HookFailed(f"it cannot be reached ({type(error).__name__})") from None
    finally:
        connection.close()


def signature(secret: bytes, body: bytes, at: int) -> str:
    """`t=SECONDS,v1=HEX`: HMAC-SHA256 of the time, a full stop and the body, so that an old request cannot be sent again unnoticed."""
    return f"t={at},v1={hmac.new(secret, f'{at}.'.encode() + body, hashlib.sha256).hexdigest()}"


def _read(connection: http.client.HTTPConnection, answer: http.client.HTTPResponse, deadline: float) -> bytes:
    """The body, bounded in size and by one deadline: a byte now and then is no answer."""
    out = bytearray()
    while len(out) <= LARGEST_ANSWER:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if connection.sock is not None:
            connection.sock.settimeout(left)
        piece = answer.read1(8192)
        if not piece:
            break
        out += piece
    return bytes(out)


def _allowed_address(host: str, port: int, *, private: bool) -> str:
    """The address to connect to. Where one of the name's addresses is not public, none is taken, unless `private` allows it."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise HookFailed("its name has no address") from None
    addresses = [str(one[4][0]) for one in found]
    if not private:
        for address in addresses:
            if not _public(address):
                raise HookFailed("its address is not public, and this hook may ask only public ones")
    return addresses[0]


def _public(address: str) -> bool:
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None and not _public(str(inner)):
            return False
    return ip.is_global and not ip.is_multicast


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class _Pinned(http.client.HTTPConnection):
    """A connection to an address chosen beforehand; certificate and Host are those of the name."""

    def __init__(self, host: str, port: int, address: str, *, secure: bool, timeout: float) -> None:
        super().__init__(host, port, timeout=timeout)
        self._address = address
        self._secure = secure
        self.default_port = 443 if secure else 80

    def connect(self) -> None:
        sock = socket.create_connection((self._address, self.port), self.timeout)
        if self._secure:
            sock = ssl.create_default_context().wrap_socket(sock, server_hostname=self.host)
        self.sock = sock
