"""A change by hand as it is typed: by a form, a command line or JSON. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from compaction.handwork import Change, Drop, Fold, Impossible, Mask, Note, Rewrite, TakeOut, Unfold, Unmask
from sessions.ranges import Ranges

VERBS = ("fold", "unfold", "mask", "unmask", "drop", "rewrite", "note", "take-out")

TAKES = {
    "fold": ("entries", "text"),
    "unfold": ("insertion",),
    "mask": ("entry", "text"),
    "unmask": ("entry",),
    "drop": ("entry",),
    "rewrite": ("insertion", "text"),
    "note": ("after", "text"),
    "take-out": ("insertion",),
}
"""Which fields each verb reads."""

_SPAN = re.compile(r"e?(\d{1,9})(?:\s*[-–]\s*e?(\d{1,9}))?\Z", re.ASCII)


def change_of(do: str, given: Mapping[str, Any]) -> Change:
    """The change that `do` and its fields mean. Raises Impossible, in words, for what means nothing."""
    text = str(given.get("text") or "").replace("\r\n", "\n")
    match do:
        case "fold":
            return Fold(ranges_of(str(given.get("entries") or "")), text)
        case "unfold":
            return Unfold(_number(given, "insertion"))
        case "mask":
            return Mask(_number(given, "entry"), text)
        case "unmask":
            return Unmask(_number(given, "entry"))
        case "drop":
            return Drop(_number(given, "entry"))
        case "rewrite":
            return Rewrite(_number(given, "insertion"), text)
        case "note":
            return Note(_number(given, "after", low=-1), text)
        case "take-out":
            return TakeOut(_number(given, "insertion"))
        case _:
            raise Impossible(f"{do!r} is nothing that is done by hand; there are: {', '.join(VERBS)}")


def ranges_of(text: str) -> Ranges:
    """Entries as `12-40, 55`: both ends included."""
    spans = []
    for word in re.split(r"[,;\s]+(?![-–])", text.strip()):
        if not word:
            continue
        found = _SPAN.match(word)
        if found is None:
            raise Impossible(f"{word!r} names no entries: write them as 12-40,55")
        first = int(found[1])
        last = int(found[2] or first)
        if last < first:
            raise Impossible(f"{word!r} ends before it begins")
        spans.append((first, last + 1))
    if not spans:
        raise Impossible("no entries are named: write them as 12-40,55")
    return Ranges.of(spans)


def _number(given: Mapping[str, Any], name: str, low: int = 0) -> int:
    raw = str(given.get(name, "")).strip().removeprefix("e" if name in ("entry", "after") else "i")
    if not re.fullmatch(r"-?\d{1,9}", raw, re.ASCII) or int(raw) < low:
        raise Impossible(f"{name} is to be a number from {low} on" if raw else f"no {name} is named")
    return int(raw)
