"""Where a text that was cut off can end. Pure."""

from __future__ import annotations

import re

_SENTENCE = re.compile(r"""[.!?…]["'”’»)\]`*]*(?=\s|\Z)|[。！？][”’」』）]*""")
_BULLET = re.compile(r"\n\s*(?:[-*•]|\d+[.)])\s*\Z")


def to_last_sentence(text: str) -> str:
    """The text up to the end of its last whole sentence, else of its last whole line; "" where not even a line is whole."""
    ends = [match.end() for match in _SENTENCE.finditer(text) if not _numbers_a_line(text, match.start())]
    end = ends[-1] if ends else text.rfind("\n")
    return _BULLET.sub("", text[:end]).rstrip() if end > 0 else ""


def _numbers_a_line(text: str, place: int) -> bool:
    """Whether the full stop there stands behind the number of a list, as in “2. ”."""
    line = text[text.rfind("\n", 0, place) + 1 : place].strip()
    return text[place] == "." and line.isdigit()
