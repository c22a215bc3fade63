"""What the agent makes of a log, said a second time and plainly: for tests that compare, never for the project.

The rules were seen in what 0.61.0 sends when it resumes; `tests/adapters/test_gemini_cli_resume.py` asks it the same logs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.adapters.gemini_cli.build import Record
from tests.adapters.resume import Sent

CLOSED = "[The previous response was interrupted before it completed.]"


def live(records: Iterable[Record]) -> list[Record]:
    """The messages that a log ends with."""
    found: dict[str, Record] = {}
    for record in records:
        if isinstance(record.get("$rewindTo"), str):
            names = list(found)
            cut = names.index(record["$rewindTo"]) if record["$rewindTo"] in found else 0
            for name in names[cut:]:
                del found[name]
        elif isinstance(record.get("id"), str):
            found[record["id"]] = record
        elif isinstance(record.get("$set"), dict):
            if isinstance(record["$set"].get("messages"), list):
                found = {m["id"]: m for m in record["$set"]["messages"]}
        elif "sessionId" in record:
            found |= {m["id"]: m for m in record.get("messages", [])}
    return list(found.values())


def listed(content: Any) -> list[Any]:
    if not content:
        return []
    return [{"text": p} if isinstance(p, str) else p for p in (content if isinstance(content, list) else [content])]


def spoken(content: Any) -> str:
    return "".join(p.get("text", "[part]") for p in listed(content)).strip()


def blocks(messages: Iterable[Record]) -> list[Sent]:
    """What is sent of them, without the surroundings that are told anew."""
    out: list[Sent] = []
    for message in messages:
        if message["type"] == "user":
            text = spoken(message["content"])
            if not text or text.startswith(("/", "?", "<session_context>", "<hook_context>")):
                continue
            out += [block for part in listed(message["content"]) if (block := _block(part, "user"))]
        elif message["type"] == "gemini":
            parts = listed(message.get("content"))
            calls = message.get("toolCalls") or []
            if not any("functionCall" in p or p.get("thought") for p in parts):
                parts = parts + [{"functionCall": {"id": c["id"], "name": c["name"], "args": c["args"]}} for c in calls]
                silent = not parts and not message.get("thoughts")
            else:
                silent = False
            out += [block for part in parts if (block := _block(part, "assistant"))]
            for call in calls if not silent else []:
                result = call.get("result")
                if isinstance(result, str):
                    result = [
                        {"functionResponse": {"id": call["id"], "name": call["name"], "response": {"output": result}}}
                    ]
                out += [block for part in listed(result) if (block := _block(part, "user"))]
    return out


def closed(found: list[Sent]) -> list[Sent]:
    """With the agent's own words behind results that end a conversation."""
    ends = bool(found) and found[-1].kind == "tool_result"
    return [*found, Sent("assistant", "text", CLOSED)] if ends else found


def _block(part: Record, role: str) -> Sent | None:
    if part.get("thought"):
        return None
    if call := part.get("functionCall"):
        return Sent(role, "tool_call", json.dumps(call["args"], sort_keys=True), call["name"], _id(call))
    if result := part.get("functionResponse"):
        response = result["response"]
        text = response["output"] if set(response) == {"output"} else json.dumps(response)
        return Sent("tool", "tool_result", text, result["name"], _id(result))
    if data := part.get("inlineData"):
        return Sent(role, "image", data["mimeType"])
    return Sent(role, "text", part["text"]) if part.get("text") else None


def _id(raw: Record) -> str:
    return str(raw["id"]).removeprefix(f"{raw['name']}__")
