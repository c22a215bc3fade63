"""A text within a budget: whole, or its head and a line that says what is missing."""

from __future__ import annotations

from compaction.plan import Count

LEAST = 60
"""Tokens of room below which a cut text says too little to be worth its name."""


def head_of(text: str, budget: int, count: Count) -> tuple[str, int]:
    """As much of the head of `text` as `budget` tokens hold, the line about the rest included; and the tokens left out, 0 when whole.

    "" where there is no room even for that line.
    """
    whole = count([text])[0]
    if whole <= budget:
        return text, 0
    room = budget - count([_rest(whole)])[0]
    size = len(text) * max(0, room) // whole
    while size > 0:
        head = text[:size].rstrip()
        tokens = count([head])[0]
        if tokens <= room:
            return head + _rest(whole - tokens), whole - tokens
        size = min(size - 1, size * room // tokens)
    return "", whole


def _rest(tokens: int) -> str:
    return f"\n\n[cut here; about {tokens:,} tokens more stand in the session's record]"
