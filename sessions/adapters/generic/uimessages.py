"""AI SDK UI messages as the messages that the model is sent.

A UI message holds what a person sees: one for many model requests, with each call and its result as one part. It is taken apart at
`step-start` into one answer and one message of results for each request. Version 4 kept parts, invocations or both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sessions.adapters.generic.values import inside, name_of

_TYPES = (
    "text",
    "reasoning",
    "file",
    "source",
    "source-url",
    "source-document",
    "step-start",
    "dynamic-tool",
    "tool-invocation",
)
_ANSWERED = frozenset({"output-available", "output-error", "output-denied", "result"})


def is_ui(message: Mapping[str, Any]) -> bool:
    """Whether a message is a UI message: parts that have types, or the invocations of version 4."""
    parts = message.get("parts")
    if isinstance(parts, list):
        return any(isinstance(part, dict) and _is_type(part.get("type")) for part in parts) or (
            not parts and "role" in message
        )
    return isinstance(message.get("toolInvocations", message.get("experimental_attachments")), list)


def _is_type(kind: Any) -> bool:
    return isinstance(kind, str) and (kind in _TYPES or kind.startswith(("tool-", "data-")))


def taken_apart(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The messages of a UI message, in order. What a person wrote stays one; usage in the metadata goes to the last answer."""
    rest = {key: message[key] for key in ("id", "createdAt") if key in message}
    if message.get("role") != "assistant":
        yield {**rest, "role": message.get("role"), "content": list(_given(message))}
        return
    out: list[dict[str, Any]] = []
    for block in _requests(message):
        results = [part["result"] for part in block if "result" in part]
        content = [part["said"] for part in block]
        if content or not out:
            out.append({**rest, "role": "assistant", "content": content})
        if results:
            out.append({**rest, "role": "tool", "content": results})
    said = message.get("metadata")
    usage = next((found for key in ("totalUsage", "usage") if isinstance(found := inside(said, key), dict)), None)
    answers = [piece for piece in out if piece["role"] == "assistant"]
    if usage is not None and answers:
        # One figure for all its requests: it stands with the last, so that the sum is right.
        answers[-1]["usage"] = usage
    if name_of(inside(said, "model")):
        for piece in answers:
            piece["model"] = message["metadata"]["model"]
    yield from out


def _given(message: Mapping[str, Any]) -> Iterator[Any]:
    parts = message.get("parts")
    if isinstance(parts, list) and parts:
        yield from parts
    elif message.get("content") is not None:
        yield {"type": "text", "text": message["content"]}
    attached = message.get("experimental_attachments")
    for file in attached if isinstance(attached, list) else []:
        if isinstance(file, dict):
            yield {
                "type": "file",
                "mediaType": file.get("contentType"),
                "filename": file.get("name"),
                "url": file.get("url"),
            }


def _requests(message: Mapping[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """The parts of each model request: `said`, and of a call that was answered its `result`."""
    block: list[dict[str, Any]] = []
    for part in _parts(message):
        if inside(part, "type") == "step-start":
            if block:
                yield block
            block = []
            continue
        call = _call(part)
        block.append(call if call is not None else {"said": part})
    if block:
        yield block


def _parts(message: Mapping[str, Any]) -> Iterator[Any]:
    parts = message.get("parts")
    if isinstance(parts, list) and parts:
        yield from parts
        return
    if name_of(message.get("reasoning")):
        yield {"type": "reasoning", "text": message["reasoning"]}
    for invocation in message.get("toolInvocations") or []:
        yield {"type": "tool-invocation", "toolInvocation": invocation}
    if name_of(message.get("content")):
        yield {"type": "text", "text": message["content"]}


def _call(part: Any) -> dict[str, Any] | None:
    kind = inside(part, "type")
    if not isinstance(kind, str):
        return None
    if kind == "reasoning" and "reasoning" in part:  # version 4
        return {"said": {**part, "text": part["reasoning"]}}
    if kind == "tool-invocation" and isinstance(part.get("toolInvocation"), dict):
        part, tool = part["toolInvocation"], inside(part, "toolInvocation", "toolName")
    elif kind == "dynamic-tool":
        tool = part.get("toolName")
    elif kind.startswith("tool-") and "toolCallId" in part:
        tool = kind.removeprefix("tool-")
    else:
        return None
    given: Any = next((part[key] for key in ("input", "args", "rawInput") if part.get(key) is not None), {})
    said = {"type": "tool-call", "toolCallId": part.get("toolCallId"), "toolName": tool, "input": given}
    out: dict[str, Any] = {"said": said}
    if part.get("state") in _ANSWERED:
        out["result"] = {"type": "tool-result", "toolCallId": part.get("toolCallId"), "toolName": tool, **_answer(part)}
    return out


def _answer(part: Mapping[str, Any]) -> dict[str, Any]:
    if part.get("state") == "output-denied":
        return {
            "output": {"type": "execution-denied", "reason": inside(part, "approval", "reason") or "execution denied"}
        }
    if part.get("state") == "output-error":
        return {"output": part.get("errorText", ""), "isError": True}
    return {"output": part.get("output", part.get("result"))}
