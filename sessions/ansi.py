"""Terminal output as text with styles: escape sequences become classes or vanish; nothing of them reaches the page. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

# CSI, OSC (ended by BEL or ST), other two-byte escapes, and their one-byte forms; then lone control characters.
_ESCAPE = re.compile(
    r"\x1b\[([0-?]*)[ -/]*([@-~])|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?|\x9b([0-?]*)[ -/]*([@-~])"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f\x80-\x9a\x9c-\x9f]")

# Characters that reorder or hide text (bidirectional controls and invisible ones): shown as their code, never obeyed.
INVISIBLE = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c\u200b\u2060\ufeff\u00ad\U000e0000-\U000e007f]")

_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")


def plain(text: str) -> str:
    """The text without escape sequences and control characters; a line that was drawn over shows its last state."""
    return _CONTROL.sub("", _ESCAPE.sub("", _last_states(text)))


def styled(text: str) -> Iterator[tuple[str, str]]:
    """Pieces of the text, each with its classes ("" for none): a-red, a-bold, a-dim, a-italic, a-under."""
    text = _last_states(text)
    state: dict[str, str] = {}
    at = 0
    for match in _ESCAPE.finditer(text):
        if match.start() > at:
            yield _CONTROL.sub("", text[at : match.start()]), " ".join(state.values())
        at = match.end()
        if (match[2] or match[4]) == "m":
            _apply(state, match[1] or match[3] or "")
    if at < len(text):
        yield _CONTROL.sub("", text[at:]), " ".join(state.values())


def _last_states(text: str) -> str:
    """Of each line that carriage returns drew over, what stood there last."""
    if "\r" not in text:
        return text
    return "\n".join(_last_state(line) for line in text.split("\n"))


def _last_state(line: str) -> str:
    return next((piece for piece in reversed(line.split("\r")) if piece), "")


def _apply(state: dict[str, str], codes: str) -> None:
    numbers = [int(code) if code.isdigit() else 0 for code in re.split("[;:]", codes)] if codes else [0]
    while numbers:
        code = numbers.pop(0)
        if code == 0:
            state.clear()
        elif code == 1:
            state["weight"] = "a-bold"
        elif code == 2:
            state["weight"] = "a-dim"
        elif code == 22:
            state.pop("weight", None)
        elif code == 3:
            state["slope"] = "a-italic"
        elif code == 23:
            state.pop("slope", None)
        elif code == 4:
            state["line"] = "a-under"
        elif code == 24:
            state.pop("line", None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            state["ink"] = f"a-{_COLOURS[code % 10]}"
        elif code == 39:
            state.pop("ink", None)
        elif code in (38, 48) and numbers:
            # 256 colours and true colour: the ground of the page could make them unreadable, so they are dropped.
            del numbers[: 2 if numbers[0] == 5 else 4]


def visible(text: str) -> str:
    """The text with every reordering or invisible character written out as its code: ⟨U+202E⟩."""
    return INVISIBLE.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)
