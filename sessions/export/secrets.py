"""Takes secrets out of text. The only module that knows the detector; it works in this process and asks no network.

The detector's rules know the keys of some hundred services by their form. What has no form of its own is found by what stands beside it:
a password in an address, a value that is called a password or a key.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from threading import Lock

from django.conf import settings
from kingfisher_sdk import Rules, Scanner

LARGEST = 8 << 20  # characters that are looked at in one piece; longer texts are cut at a line
_SCANNING = Lock()

# scheme://name:password@host
_IN_ADDRESS = re.compile(r"(?<=://)([^\s/:@'\"]{0,80}):([^\s/@'\"]{3,200})@(?=[\w\[])")
# PASSWORD = "…", "api_key": "…", Authorization: Bearer …
_NAMED = re.compile(
    r"""(?ix)
    (?: [\w.-]*(?:password|passwd|passphrase|secret|api[_-]?key|apikey|access[_-]?token|auth[_-]?token|refresh[_-]?token|private[_-]?key|client[_-]?secret)
        \\?["']? \s* (?:=>|:=|[:=]) \s* \\?["'] ([^\s"'\\]{6,400}) \\?["']
      | authorization \\?["']? \s* [:=] \s* \\?["']? (?:bearer|basic|token) \s+ ([\w.~+/=-]{8,2000})
      | \b[A-Z0-9_]*(?:PASSWORD|PASSWD|SECRET|API_KEY|TOKEN)[A-Z0-9_]*=([^\s"'\\$`{}<>;|&]{6,400})
    )"""
)
_NO_SECRET = re.compile(
    r"(?ix) \A(?: [*x.•]+ | <.*> | \$.* | %.*% | \{.* | \[?redacted.* | (?:your|my|the|some|change|example|dummy|fake|test|placeholder|none|null|true|false"
    r"|undefined|process\.env|os\.environ|settings\.|self\.|env\.|secrets\.|getenv)[\w.()\[\]-]* )\Z"
)


class Redaction:
    """Takes secrets out of texts and counts what it took, by kind."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()

    def text(self, text: str) -> str:
        """The text with every secret as `[redacted: kind]`."""
        if len(text) < 8:
            return text
        if len(text) > LARGEST:
            return "".join(self.text(piece) for piece in _pieces(text))
        out: list[str] = []
        at = 0
        for start, stop, kind in _merged(text):
            out += [text[at:start], f"[redacted: {kind}]"]
            self.kinds[kind] += 1
            at = stop
        return text if not out else "".join((*out, text[at:]))

    @property
    def total(self) -> int:
        return sum(self.kinds.values())


def _pieces(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        stop = at + LARGEST
        if stop < len(text):
            line = text.rfind("\n", at, stop)
            stop = line + 1 if line > at else stop
        yield text[at:stop]
        at = stop


def _merged(text: str) -> list[tuple[int, int, str]]:
    """The places of secrets, in order; of overlapping ones the whole, under the name of the first."""
    out: list[tuple[int, int, str]] = []
    for start, stop, kind in sorted(_places(text), key=lambda place: (place[0], -place[1])):
        if out and start < out[-1][1]:
            out[-1] = (out[-1][0], max(stop, out[-1][1]), out[-1][2])
        else:
            out.append((start, stop, kind))
    return out


def _places(text: str) -> Iterator[tuple[int, int, str]]:
    raw = text.encode("utf-8", "surrogatepass")
    with _SCANNING:
        found = _scanner().scan(raw)
    for one in found:
        start, stop = one.location["start_offset"], one.location["end_offset"]
        # Offsets count bytes.
        first = len(raw[:start].decode("utf-8", "surrogatepass"))
        yield first, first + len(raw[start:stop].decode("utf-8", "replace")), one.rule_id.rpartition(".")[2]
    for match in _IN_ADDRESS.finditer(text):
        if not _NO_SECRET.match(match[2]):
            yield match.start(2), match.end(2), "password-in-address"
    for match in _NAMED.finditer(text):
        group = next(n for n in (1, 2, 3) if match[n] is not None)
        if not _NO_SECRET.match(match[group]):
            yield match.start(group), match.end(group), "authorization" if group == 2 else "named-secret"


@cache
def _scanner() -> Scanner:
    """The detector with its rules compiled, which takes a moment the first time on a machine."""
    folder = getattr(settings, "DATA_DIR", None)
    rules = Rules(cache=folder is not None, cache_dir=None if folder is None else f"{folder}/detector")
    return Scanner(rules)
