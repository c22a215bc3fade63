"""Messages of telemetry, in whatever dialect they are written, as AI SDK messages: a role, and content that is a list of blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from sessions.adapters.generic.messages import ROLES
from sessions.adapters.generic.values import inside, name_of, parsed
from sessions.adapters.records import text_of

type Message = dict[str, Any]


def list_of(value: Any) -> list[Message] | None:
    value = parsed(value)
    if isinstance(value, str):
        return [text_message("user", value)] if value else None
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        return None
    out: list[Message] = []
    for said in value:
        item = parsed(said)
        if isinstance(item, dict):
            out.extend(message_of(item))
    return out


def message_of(item: Mapping[str, Any]) -> Iterator[Message]:
    """A message of any dialect. Results among a user's words are a message of their own."""
    role = ROLES.get(str(item.get("role")), None)
    held = parsed(item.get("parts", item.get("content")))
    parts = held if isinstance(held, list) else [] if held is None else [held]
    content = [block for part in parts for block in blocks_of(part)]
    calls = parsed(item.get("tool_calls"))
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict):
            inner = call["function"] if isinstance(call.get("function"), dict) else call
            content.append(_call(call.get("id"), inner.get("name"), inner.get("arguments")))
    if name_of(item.get("tool_call_id")) or str(item.get("role")) in ("tool", "function"):
        content = [
            block
            if block["type"] == "tool-result"
            else _result(item.get("tool_call_id") or item.get("id"), None, block.get("text", block))
            for block in content
        ]
    name = role.value if role is not None else "user"
    results = [block for block in content if block["type"] == "tool-result"]
    rest = [block for block in content if block["type"] != "tool-result"]
    if results:
        yield {"role": "tool", "content": results}
    if rest or not results:
        yield {"role": name, "content": rest}


def blocks_of(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, str):
        yield {"type": "text", "text": part}
        return
    if not isinstance(part, dict):
        yield {"type": "text", "text": text_of(part)}
        return
    kind = part.get("type")
    text = part.get("content", part.get("text"))
    match kind:
        case "text" | "input_text" | "output_text":
            yield {"type": "text", "text": text if isinstance(text, str) else text_of(text)}
        case "reasoning" | "thinking":
            words = part.get("thinking", text)
            signed = {"signature": part["signature"]} if part.get("signature") else {}
            yield {"type": "reasoning", "text": words if isinstance(words, str) else text_of(words), **signed}
        case "tool_call" | "tool-call" | "tool_use" | "server_tool_call":
            given = next((part[key] for key in ("arguments", "input", "args") if part.get(key) is not None), None)
            yield _call(part.get("id") or part.get("toolCallId"), part.get("name") or part.get("toolName"), given)
        case "tool_call_response" | "tool-result" | "tool_result" | "server_tool_call_response":
            told = next(
                (part[key] for key in ("response", "result", "output", "content") if part.get(key) is not None), None
            )
            name = part.get("id") or part.get("toolCallId") or part.get("tool_use_id")
            yield _result(name, part.get("name") or part.get("toolName"), told)
        case None:
            yield from _gemini(part)
        case _:
            yield {**part, "type": str(kind)}


def _gemini(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A part of a Gemini content."""
    call, response, data = (
        part.get("functionCall"),
        part.get("functionResponse"),
        part.get("inlineData") or part.get("fileData"),
    )
    if isinstance(call, dict):
        yield _call(call.get("id"), call.get("name"), call.get("args"))
    elif isinstance(response, dict):
        told = response.get("response")
        output = inside(told, "output")
        yield _result(response.get("id"), response.get("name"), output if isinstance(output, str) else told)
    elif isinstance(data, dict):
        yield {"type": "file", "mediaType": data.get("mimeType"), "data": data.get("data", data.get("fileUri"))}
    elif isinstance(part.get("text"), str):
        signed = {"signature": True} if part.get("thoughtSignature") and part.get("thought") else {}
        yield {"type": "reasoning" if part.get("thought") else "text", "text": part["text"], **signed}
    elif part:
        yield {"type": "unknown", **part}


def _call(call_id: Any, name: Any, given: Any) -> dict[str, Any]:
    return {"type": "tool-call", "toolCallId": call_id, "toolName": name, "input": {} if given is None else given}


def _result(call_id: Any, name: Any, told: Any) -> dict[str, Any]:
    told = told if told is None or isinstance(told, str | list) else orjson.dumps(told).decode()
    return {"type": "tool-result", "toolCallId": call_id, "toolName": name, "output": told}


def text_message(role: str, words: Any) -> Message:
    return {"role": role, "content": [{"type": "text", "text": words if isinstance(words, str) else text_of(words)}]}


def joined(messages: list[Message]) -> list[Message]:
    """Messages with those of the model that follow each other made one: streamed answers come in pieces."""
    out: list[Message] = []
    for message in messages:
        if out and message["role"] == "assistant" == out[-1]["role"]:
            out[-1] = {**out[-1], "content": [*out[-1]["content"], *message["content"]]}
        else:
            out.append(message)
    return out
