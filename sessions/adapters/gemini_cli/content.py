"""From the API's content to parts: of a message, of a list of messages, of what a tool gave back.

A model's message has two shapes, the agent's own test tells them apart: content that holds a call or a thought is the whole truth
("parts"); any other is only its text, and thoughts and calls stand beside it ("components"). Results stand beside it in both.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from sessions.adapters.records import text_of
from sessions.entries import Part, PartKind, Role

MASKED = "<tool_output_masked>"
_EXIT = re.compile(r"^Exit Code: (-?\d+)$", re.MULTILINE)
_FAILED = frozenset({"error", "cancelled"})


def listed(content: Any) -> list[Any]:
    """Content as the list of parts it stands for."""
    if content is None or content == "":
        return []
    return content if isinstance(content, list) else [content]


def call_id(name: Any, raw: Any) -> str | None:
    """A call's id as the API sees it: the agent puts the tool's name before it and takes it off again before it sends."""
    if not isinstance(raw, str) or not raw:
        return None
    tool = name.strip() if isinstance(name, str) and name.strip() else "generic_tool"
    return raw.removeprefix(f"{tool}__") or raw


def parts_of(content: Any, role: Role) -> list[Part]:
    """The parts of content. Empty text is none."""
    out: list[Part] = []
    for raw in listed(content):
        part = _part(raw, role)
        if part is not None:
            out.append(part)
    return out


def model_parts(record: Mapping[str, Any]) -> list[Part]:
    """All that a model's message holds: thoughts, words, calls, and behind them the results that came back."""
    content = listed(record.get("content"))
    calls = [call for call in listed(record.get("toolCalls")) if isinstance(call, dict)]
    whole = any(isinstance(raw, dict) and (raw.get("functionCall") or raw.get("thought")) for raw in content)
    out: list[Part] = []
    if not whole:
        out += [_thought(raw) for raw in listed(record.get("thoughts")) if isinstance(raw, dict)]
    out += parts_of(content, Role.ASSISTANT)
    if not whole:
        out += [_recorded_call(call) for call in calls]
    else:
        out = [_with_facts(part, calls) for part in out]
    for call in calls:
        out += _recorded_result(call)
    return out


def user_text(content: Any) -> str:
    """A person's message as the text by which the agent judges it."""
    words: list[str] = []
    for raw in listed(content):
        if isinstance(raw, str):
            words.append(raw)
        elif isinstance(raw, dict):
            text = raw.get("text")
            words.append(text if isinstance(text, str) else "[part]" if raw else "")
    return "".join(words)


def words(parts: Iterable[Part]) -> str:
    return "".join(part.text for part in parts if part.kind is PartKind.TEXT)


def atoms(parts: Sequence[Part]) -> list[str]:
    """What a message says, in short hashes: its words (blanks around them do not count), its calls, its media. No thoughts, no results.

    The same message written in another shape or under another id has the same atoms.
    """
    out: list[str] = []
    text = words(parts).strip()
    if text:
        out.append(_hash("t", text))
    for part in parts:
        match part.kind:
            case PartKind.TOOL_CALL:
                out.append(_hash("c", part.tool or "", part.call_id or "", _sorted(part.text)))
            case PartKind.MEDIA if part.call_id is None:
                out.append(_hash("m", part.media_type or "", str(part.media_bytes), part.text))
            case PartKind.OTHER:
                out.append(_hash("o", part.text))
    return out


def results(parts: Sequence[Part]) -> dict[str, str]:
    """Of each result its call and a short hash of what it says."""
    return {
        part.call_id: _hash("r", part.text)
        for part in parts
        if part.kind is PartKind.TOOL_RESULT and part.call_id is not None
    }


def _part(raw: Any, role: Role) -> Part | None:
    if isinstance(raw, str):
        return Part(PartKind.TEXT, raw, role=role) if raw else None
    if not isinstance(raw, dict):
        return Part(PartKind.OTHER, text_of(raw), role=role)
    text = raw.get("text")
    if raw.get("thought") and isinstance(text, str):
        return Part(PartKind.REASONING, text, role=role, meta={"unsent": True})
    call, result, data, file = (raw.get(key) for key in ("functionCall", "functionResponse", "inlineData", "fileData"))
    if isinstance(call, dict):
        return _call(call, raw)
    if isinstance(result, dict):
        return _result(result)
    if isinstance(data, dict):
        return _media(data, role)
    if isinstance(file, dict):
        return Part(PartKind.MEDIA, text_of(file.get("fileUri")), role=role, media_type=_string(file.get("mimeType")))
    if isinstance(text, str):
        return Part(PartKind.TEXT, text, role=role, meta=_signature(raw)) if text else None
    return Part(PartKind.OTHER, text_of(raw), role=role)


def _call(call: Mapping[str, Any], raw: Mapping[str, Any]) -> Part:
    name = _string(call.get("name"))
    return Part(
        PartKind.TOOL_CALL,
        text_of(call.get("args", {})),
        tool=name,
        call_id=call_id(name, call.get("id")),
        role=Role.ASSISTANT,
        meta=_signature(raw),
    )


def _recorded_call(call: Mapping[str, Any]) -> Part:
    name = _string(call.get("name"))
    return Part(
        PartKind.TOOL_CALL,
        text_of(call.get("args", {})),
        tool=name,
        call_id=call_id(name, call.get("id")),
        role=Role.ASSISTANT,
        meta=_call_facts(call),
    )


def _call_facts(call: Mapping[str, Any]) -> dict[str, Any]:
    meta: dict[str, Any] = {}
    if agent := _string(call.get("agentId")):
        meta["agent_id"] = agent
    status = call.get("status")
    if isinstance(status, str) and status not in ("success", *_FAILED):
        meta["status"] = status  # the agent was stopped while it wrote
    return meta


def _with_facts(part: Part, calls: Sequence[Mapping[str, Any]]) -> Part:
    if part.kind is not PartKind.TOOL_CALL or part.call_id is None:
        return part
    for call in calls:
        if call_id(call.get("name"), call.get("id")) == part.call_id:
            part.meta.update(_call_facts(call))
    return part


def _recorded_result(call: Mapping[str, Any]) -> Iterator[Part]:
    result = call.get("result")
    if not result:
        return
    name = _string(call.get("name"))
    own = call_id(name, call.get("id"))
    if isinstance(result, str):
        found = [Part(PartKind.TOOL_RESULT, result, tool=name, call_id=own, role=Role.TOOL)]
    else:
        found = parts_of(result, Role.USER)
    facts = _display_facts(call.get("resultDisplay"))
    for part in found:
        if part.kind is PartKind.TOOL_RESULT:
            meta = {**part.meta, **facts}
            failed = part.is_error or call.get("status") in _FAILED
            yield Part(part.kind, part.text, part.tool or name, part.call_id or own, failed, role=Role.TOOL, meta=meta)
        elif part.kind is PartKind.MEDIA:
            yield Part(
                part.kind,
                part.text,
                call_id=own,
                media_type=part.media_type,
                media_bytes=part.media_bytes,
                role=Role.USER,
            )
        else:
            yield part


def _result(result: Mapping[str, Any]) -> Part:
    name = _string(result.get("name"))
    response = result.get("response")
    failed = False
    if isinstance(response, dict) and response.keys() == {"output"}:
        text = text_of(response["output"])
    elif isinstance(response, dict) and response.keys() == {"error"}:
        text, failed = text_of(response["error"]), True
    else:
        text = text_of(response)
    meta: dict[str, Any] = {}
    if MASKED in text:
        meta["masked"] = True
    found = _EXIT.search(text[-2000:])
    if found is not None:
        meta["exit_code"] = int(found[1])
    return Part(PartKind.TOOL_RESULT, text, name, call_id(name, result.get("id")), failed, role=Role.TOOL, meta=meta)


def _media(data: Mapping[str, Any], role: Role) -> Part:
    kind = _string(data.get("mimeType"))
    body = data.get("data")
    size = len(body) * 3 // 4 - body[-2:].count("=") if isinstance(body, str) else None
    return Part(PartKind.MEDIA, kind or "media", media_type=kind, media_bytes=size, role=role)


def _thought(raw: Mapping[str, Any]) -> Part:
    """A thought as the agent writes it when it lays a message out in parts."""
    subject, description = raw.get("subject"), raw.get("description")
    text = description if isinstance(description, str) else ""
    if isinstance(subject, str) and subject:
        text = f"**{subject}** {text}"
    return Part(PartKind.REASONING, text, role=Role.ASSISTANT, meta={"unsent": True})


def _display_facts(display: Any) -> dict[str, Any]:
    """What a page shows of a result in a word: lines added and removed."""
    stat = display.get("diffStat") if isinstance(display, dict) else None
    if not isinstance(stat, dict):
        return {}

    def total(what: str) -> int:
        found = (stat.get(f"{who}_{what}_lines") for who in ("model", "user"))
        return sum(n for n in found if isinstance(n, int) and not isinstance(n, bool))

    return {"added": total("added"), "removed": total("removed")}


def _signature(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {"signature": True} if isinstance(raw.get("thoughtSignature"), str) else {}


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _sorted(text: str) -> str:
    """Arguments with their keys in one order; as they are where they are no JSON."""
    try:
        return orjson.dumps(orjson.loads(text), option=orjson.OPT_SORT_KEYS).decode()
    except (orjson.JSONDecodeError, TypeError):
        return text


def _hash(*words: str) -> str:
    hasher = hashlib.blake2b(digest_size=6)
    for word in words:
        hasher.update(word.encode("utf-8", "surrogatepass") + b"\x00")
    return hasher.hexdigest()
