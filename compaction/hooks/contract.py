"""What a hook is told and what it may answer. Pure.

Before a compaction it may block this one run with a reason, add instructions for the summary and pin entries; after it, once the head has
moved, it may append text to the new context and say something to people. An answer that is none of that is a failure, and a failing hook
never blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

PRE, POST = "pre_compact", "post_compact"

LONGEST_INSTRUCTIONS, LONGEST_REASON = 2_000, 500  # characters
MOST_PINS = 200
MOST_APPENDED = 2_000  # tokens of all hooks of a run together
LARGEST_ANSWER = 64 * 1024  # bytes


class HookFailed(Exception):
    """The hook could not be asked, or its answer is none; the message says what."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`blocks` with `reason`; otherwise what is to be taken over."""

    blocks: bool = False
    reason: str = ""
    instructions: str = ""
    pins: tuple[int, ...] = ()
    append: tuple[str, ...] = ()
    notify: str = ""


def encoded(payload: Mapping[str, Any]) -> bytes:
    """The payload as it goes to a hook: keys in order, so that equal payloads are equal bytes."""
    return orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)


def verdict(event: str, answer: bytes, *, last_seq: int) -> Verdict:
    """A hook's answer, checked. Nothing at all is consent. Raises HookFailed."""
    if len(answer) > LARGEST_ANSWER:
        raise HookFailed(f"its answer is larger than {LARGEST_ANSWER:,} bytes")
    if not answer.strip():
        return Verdict()
    try:
        given = orjson.loads(answer)
    except orjson.JSONDecodeError:
        raise HookFailed("its answer is no JSON") from None
    if not isinstance(given, dict):
        raise HookFailed("its answer is no JSON object")
    notify = _words(given, "notify", LONGEST_REASON)
    if event == POST:
        return Verdict(append=_texts(given), notify=notify)
    decision = given.get("decision", "continue" if given.get("continue", True) is not False else "block")
    if decision not in ("continue", "block"):
        raise HookFailed(f"its decision is {decision!r}, neither continue nor block")
    return Verdict(
        decision == "block",
        _words(given, "reason", LONGEST_REASON) or _words(given, "stopReason", LONGEST_REASON),
        _words(given, "instructions", LONGEST_INSTRUCTIONS),
        _pins(given, last_seq),
        notify=notify,
    )


def _words(given: Mapping[str, Any], name: str, most: int) -> str:
    value = given.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise HookFailed(f"{name} is no text")
    return value.replace("\0", "").strip()[:most]


def _pins(given: Mapping[str, Any], last_seq: int) -> tuple[int, ...]:
    value = given.get("pins", [])
    if not isinstance(value, list) or not all(isinstance(one, int) and not isinstance(one, bool) for one in value):
        raise HookFailed("pins is no list of entry numbers")
    wrong = [one for one in value if not 0 <= one <= last_seq]
    if wrong:
        raise HookFailed(f"it pins entry {wrong[0]}, and there are entries 0 to {last_seq}")
    if len(value) > MOST_PINS:
        raise HookFailed(f"it pins {len(value)} entries; at most {MOST_PINS} are taken")
    return tuple(sorted(set(value)))


def _texts(given: Mapping[str, Any]) -> tuple[str, ...]:
    value = given.get("append", [])
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
        raise HookFailed("append is neither a text nor a list of texts")
    return tuple(one.replace("\0", "").strip() for one in texts if one.strip())
