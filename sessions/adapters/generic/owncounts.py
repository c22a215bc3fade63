"""Figures of a request that its agent tells beside the conventions' own, which have no name for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sessions.adapters.generic.genai import Request
from sessions.adapters.generic.otlp import Record
from sessions.adapters.generic.usage import counted
from sessions.adapters.generic.values import number
from sessions.entries import Usage

ANSWERED = "gemini_cli.api_response"


def with_own_counts(requests: Mapping[int, Request], records: Iterable[Record]) -> dict[int, Request]:
    """The requests with what Gemini CLI (0.61) logs of each answer: what was cached, and the thoughts, which its spans leave out.

    The answer's record names no request; it is the first one with the same prompt and output that no other record was matched with.
    """
    told = [usage for record in records if not record.span and (usage := _told(record)) is not None]
    out: dict[int, Request] = {}
    for place, request in requests.items():
        found = next((usage for usage in told if _fits(usage, request.usage)), None)
        if found is not None:
            told.remove(found)
        out[place] = request if found is None else replace(request, usage=found)
    return out


def _told(record: Record) -> Usage | None:
    if record.name != ANSWERED and record.attributes.get("event.name") != ANSWERED:
        return None
    said = record.attributes
    output, thoughts = number(said.get("output_token_count")), number(said.get("thoughts_token_count"))
    return counted(
        prompt=number(said.get("input_token_count")),
        read=number(said.get("cached_content_token_count")),
        output=None if output is None else output + (thoughts or 0),
        reasoning=thoughts,
    )


def _fits(told: Usage, usage: Usage | None) -> bool:
    """Whether both are of one answer: its usage by the conventions is the whole prompt, and the output without thoughts."""
    if usage is None or usage.cache_read is not None or usage.reasoning is not None:
        return False
    return told.prompt == usage.prompt and (told.output or 0) - (told.reasoning or 0) == (usage.output or 0)
