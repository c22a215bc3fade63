"""Another Palimpsest server, as seen by a program with a token: how much of a source it has, and more of it. Standard library alone.

What may pass (no connection, 429, 5xx) is tried again, each time after a longer wait, or after the one that the server asks for.
"""

from __future__ import annotations

import http.client
import json
import random
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

TRIES = 7
FIRST_WAIT = 0.5  # seconds; doubled each time
LONGEST_WAIT = 60.0
PATIENCE = 600  # seconds for an answer: the server takes a long file in before it gives one
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Unreachable(Exception):
    """The server did not answer, or not as one of ours, however often it was asked."""


class Denied(Exception):
    """The token does not open the door, or not for writing: no other file would fare better."""


class Declined(Exception):
    """The server will not have this. `code` and `facts` as in its answer."""

    def __init__(self, code: str, message: str, facts: dict[str, Any]) -> None:
        super().__init__(message)
        self.code = code
        self.facts = facts


class _StayHere(urllib.request.HTTPRedirectHandler):
    """No redirect is followed: the token would be handed to whoever is named there."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Remote:
    """`wait` sleeps so many seconds and says whether to stop."""

    def __init__(self, url: str, token: str, *, wait: Callable[[float], bool], tries: int = TRIES) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"{url!r} is no address of a server: https://palimpsest.example")
        self.address = f"{url.rstrip('/').removesuffix('/api')}/api/sources"
        self.in_the_clear = parts.scheme == "http" and parts.hostname not in _LOOPBACK
        self.token = token
        self.wait = wait
        self.tries = tries
        self.opener = urllib.request.build_opener(_StayHere)

    def standing(self, name: str, *, agent: str | None = None, sha256: str | None = None) -> dict[str, Any] | None:
        """What the server has under a name (`sha256`: or with this digest); None where it has nothing."""
        query = {"path": name, **({"agent": agent} if agent else {}), **({"sha256": sha256} if sha256 else {})}
        try:
            return self._ask("GET", query)
        except Declined as declined:
            if declined.code == "not_found":
                return None
            raise

    def append(self, name: str, data: bytes, *, offset: int, complete: bool, rewrite: bool) -> dict[str, Any]:
        """Put bytes behind the `offset` that are there; what became of the source. Declined with code `offset` where others are."""
        query: dict[str, Any] = {"path": name, "offset": offset, "complete": str(complete).lower()}
        if rewrite:
            query["rewrite"] = "true"
        return self._ask("PATCH", query, data)

    def _ask(self, method: str, query: dict[str, Any], data: bytes | None = None) -> dict[str, Any]:
        wait = FIRST_WAIT
        why = ""
        for n in range(self.tries):
            if n and self.wait(wait * random.uniform(0.75, 1.25)):  # noqa: S311 -- spreads the callers, guards nothing
                break
            try:
                with self._opened(method, query, data) as response:
                    return _read(response)
            except urllib.error.HTTPError as error:
                with error:
                    if error.code not in _PASSING:
                        return _refusal(error)
                    why = f"it answers {error.code}"
                    asked = error.headers.get("Retry-After", "")
                wait = min(LONGEST_WAIT, max(wait * 2, float(asked) if asked.isdigit() else 0.0))
            except (OSError, http.client.HTTPException) as error:
                why = str(getattr(error, "reason", None) or error) or type(error).__name__
                wait = min(LONGEST_WAIT, wait * 2)
        raise Unreachable(
            f"The server could not be reached: {why or 'interrupted'}. What it has it keeps; push again later."
        )

    @contextmanager
    def _opened(self, method: str, query: dict[str, Any], data: bytes | None) -> Iterator[Any]:
        request = urllib.request.Request(  # noqa: S310 -- the scheme was looked at
            f"{self.address}?{urllib.parse.urlencode(query)}", data=data, method=method
        )
        # Unredirected: should a handler ever follow one, the token stays behind.
        request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        request.add_header("Content-Type", "application/octet-stream")
        with self.opener.open(request, timeout=PATIENCE) as response:
            yield response


def _read(response: Any) -> dict[str, Any]:
    body = response.read()
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Unreachable("What answers there is no Palimpsest server.")
    return found


def _refusal(error: urllib.error.HTTPError) -> dict[str, Any]:
    """What a refusal means: an outcome of a file (422), or one of the exceptions."""
    if 300 <= error.code < 400:
        raise Unreachable(f"The server sends us on to {error.headers.get('Location')}; name that address with --to.")
    try:
        found = json.loads(error.read())
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Unreachable(f"What answers there is no Palimpsest server: {error.code}.")
    if "outcome" in found:
        return found
    told = found.get("error")
    facts = told if isinstance(told, dict) else {}
    message = str(facts.get("message") or f"The server answers {error.code}.")
    if error.code in (401, 403):
        raise Denied(message)
    raise Declined(str(facts.get("code")), message, facts)
