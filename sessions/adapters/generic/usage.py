"""Token figures of an answer, as each interface counts them, in disjoint parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sessions.adapters.generic.values import inside, number
from sessions.entries import Usage


def usage_of(raw: Any) -> Usage | None:
    """The usage of one request; the names of the figures say whose counting it is. None where there is none.

    Anthropic's `input_tokens` excludes the cache. Everyone else's prompt includes what was read from it; OpenAI's and the AI SDK's
    output includes reasoning.
    """
    if not isinstance(raw, dict):
        return None
    if "cache_read_input_tokens" in raw or "cache_creation_input_tokens" in raw:
        found = Usage(
            fresh=number(raw.get("input_tokens")),
            cache_read=number(raw.get("cache_read_input_tokens")),
            cache_write=number(raw.get("cache_creation_input_tokens")),
            output=number(raw.get("output_tokens")),
        )
        return found if _said(found) else None
    prompt = _first(raw, "prompt_tokens", "input_tokens", "inputTokens", "promptTokens")
    read = _first(raw, "cachedInputTokens", "cached_tokens", "cached_input_tokens")
    for holder in ("prompt_tokens_details", "input_tokens_details"):
        read = number(inside(raw, holder, "cached_tokens")) if read is None else read
    details = raw.get("inputTokenDetails")
    write = number(inside(details, "cacheWriteTokens"))
    read = number(inside(details, "cacheReadTokens")) if read is None else read
    thought = _first(raw, "reasoningTokens", "reasoning_tokens")
    for path in (("completion_tokens_details", "reasoning_tokens"), ("output_tokens_details", "reasoning_tokens")):
        thought = number(inside(raw, *path)) if thought is None else thought
    thought = number(inside(raw, "outputTokenDetails", "reasoningTokens")) if thought is None else thought
    return counted(
        prompt=prompt,
        read=read,
        write=write,
        output=_first(raw, "completion_tokens", "output_tokens", "outputTokens", "completionTokens"),
        reasoning=thought,
    )


def counted(
    *, prompt: int | None, read: int | None, write: int | None = None, output: int | None, reasoning: int | None = None
) -> Usage | None:
    """A usage from a prompt that includes what was read from and written to the cache."""
    cached = (read or 0) + (write or 0)
    fresh = None if prompt is None else max(0, prompt - cached)
    found = Usage(fresh=fresh, cache_read=read, cache_write=write, output=output, reasoning=reasoning)
    return found if _said(found) else None


def _said(usage: Usage) -> bool:
    """Whether there is a figure at all: all zeros stand where the figures were not in yet."""
    return any((usage.fresh, usage.cache_read, usage.cache_write, usage.output))


def _first(raw: Mapping[str, Any], *keys: str) -> int | None:
    return next((found for key in keys if (found := number(raw.get(key))) is not None), None)
