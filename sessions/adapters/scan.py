"""Walks JSON text value by value and says where each stands, so that a record inside a document keeps its own bytes.

The text is the document read as Latin-1: one character for each byte, hence positions are byte offsets. JSON's own signs are ASCII;
words in the values come out wrong and are not to be used, only where they stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import JSONDecoder
from typing import Any

_SPACE = re.compile(r"[ \t\r\n]*")
_decode = JSONDecoder(strict=False).raw_decode


class Torn(ValueError):
    """The text is no JSON from here on; `at` says from where."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


class Cursor:
    """A place in the text. `objects` and `arrays` give their members one by one; the caller takes each before asking for the next."""

    def __init__(self, data: bytes) -> None:
        self.text = data.decode("latin-1")
        self.at = 0
        self.space()

    def space(self) -> None:
        """Go past white space."""
        found = _SPACE.match(self.text, self.at)
        assert found is not None
        self.at = found.end()

    def peek(self) -> str:
        """The next character; "" at the end."""
        return self.text[self.at : self.at + 1]

    def value(self) -> Any:
        """Take the value here, whatever it is."""
        try:
            value, self.at = _decode(self.text, self.at)
        except (ValueError, RecursionError):
            raise Torn(self.at) from None
        return value

    def members(self) -> Iterator[str]:
        """The keys of the object here; at each, the cursor stands on its value."""
        yield from self._inside("{", "}")

    def items(self) -> Iterator[str]:
        """As `members`, for an array: an empty name for each item."""
        yield from self._inside("[", "]")

    def _inside(self, opening: str, closing: str) -> Iterator[str]:
        self._expect(opening)
        if self.peek() == closing:
            self._expect(closing)
            return
        while True:
            key = ""
            if opening == "{":
                key = self.value()
                if not isinstance(key, str):
                    raise Torn(self.at)
                self.space()
                self._expect(":")
            yield key
            self.space()
            if self.peek() == closing:
                self.at += 1
                return
            self._expect(",")

    def _expect(self, sign: str) -> None:
        if self.peek() != sign:
            raise Torn(self.at)
        self.at += 1
        self.space()
