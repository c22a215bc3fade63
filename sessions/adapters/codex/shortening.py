"""What is left of a person's messages after a compaction that recorded no history of its own.

The agent then rebuilds its context: the newest messages of the person up to a budget, without images, and the summary. The rule is
that of 0.171, seen in what it sends: tokens are bytes / 4 rounded up; the message that does not fit keeps its beginning and its end.
"""

from __future__ import annotations

from collections.abc import Sequence

from sessions.entries import Part, PartKind

BUDGET = 20_000  # tokens


def words_of(parts: Sequence[Part]) -> list[str]:
    """The texts of a message, without the tags that stand around its images."""
    out: list[str] = []
    for n, part in enumerate(parts):
        if part.kind is not PartKind.TEXT:
            continue
        opens = part.text.startswith("<image") and n + 1 < len(parts) and parts[n + 1].kind is PartKind.MEDIA
        closes = part.text.startswith("</image") and n > 0 and parts[n - 1].kind is PartKind.MEDIA
        if not (opens or closes):
            out.append(part.text)
    return out


def tokens(texts: Sequence[str]) -> int:
    return -(-sum(len(text.encode()) for text in texts) // 4)


def shortened(texts: Sequence[str], budget: int) -> list[str]:
    """`texts` with their middle cut away so that `budget` tokens are left, and a text that says how many went."""
    whole = [text.encode() for text in texts]
    size = sum(map(len, whole))
    half = budget * 4 // 2
    gone = -(-(size - budget * 4) // 4)
    head, tail = _first(whole, half), _last(whole, budget * 4 - half)
    return [*head, f"…{gone} tokens truncated…", *tail]


def _first(texts: Sequence[bytes], room: int) -> list[str]:
    out: list[str] = []
    for text in texts:
        if room <= 0:
            break
        kept = text[:room].decode(errors="ignore") if len(text) > room else text.decode()
        if kept:
            out.append(kept)
        room -= len(text)
    return out


def _last(texts: Sequence[bytes], room: int) -> list[str]:
    out: list[str] = []
    for text in reversed(texts):
        if room <= 0:
            break
        kept = text[len(text) - room :].decode(errors="ignore") if len(text) > room else text.decode()
        if kept:
            out.append(kept)
        room -= len(text)
    return out[::-1]
