"""From a response item (the model's log) to the normal form: kind, role, parts, and what a rollback makes of it.

Shapes: what the API takes as input. `skipped` says in words why the agent itself leaves an item out when it reads the file again;
such an item is shown and not sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from sessions.adapters.codex import wording
from sessions.adapters.records import text_of
from sessions.entries import Kind, Part, PartKind, Role

_EXIT = re.compile(r"(?:^Exit code: |^Process exited with code )(-?\d+)", re.MULTILINE)
_SECONDS = re.compile(r"^Wall time: ([\d.]+) seconds", re.MULTILINE)
_REFUSED = ("unsupported call", "aborted", "failed to parse function arguments")
_SHOWN = 4000  # characters of an unknown item that are shown; its bytes are in the source


@dataclass(frozen=True, slots=True)
class Item:
    """A response item read. `output`: made by the model. `answer`: the result of a call."""

    kind: Kind
    role: Role | None
    parts: tuple[Part, ...]
    native_id: str | None = None
    sent: bool = True
    output: bool = False
    answer: bool = False
    skipped: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def read_item(raw: Mapping[str, Any]) -> Item:
    """The item of a payload. Never raises, whatever the payload holds."""
    name = raw.get("type")
    read = _READERS.get(name) if isinstance(name, str) else None
    if read is None:
        if name is None and isinstance(raw.get("role"), str):
            return _left_out(_message(raw), "an item without a type")
        return _unknown(raw)
    return read(raw)


def of_replacement(items: list[Any]) -> tuple[tuple[Part, ...], str | None]:
    """The parts of a replacement history, and why the agent leaves the whole of it out, if it does.

    Each part has the role of its item and in `meta` the item's number, kind, id, and whether it counts as a turn (`user`) or goes
    with the turn after it (`trim`). Items that the agent drops one by one are left out.
    """
    out: list[Part] = []
    problem: str | None = None
    for number, raw in enumerate(items):
        item = read_item(raw) if isinstance(raw, dict) else None
        if item is None or item.skipped is not None:
            problem = problem or (
                item.skipped if item is not None else "the agent itself leaves this out: an item is no object"
            )
        if item is None or item.kind in (Kind.META, Kind.OTHER):
            continue
        meta: dict[str, Any] = {"item": number, "kind": item.kind.value}
        if item.native_id:
            meta["id"] = item.native_id
        meta.update((fact, True) for fact in ("user", "trim") if item.facts.get(fact))
        out.extend(with_meta(part, meta, item.role) for part in item.parts or (Part(PartKind.TEXT),))
    return tuple(out), problem


def with_meta(part: Part, meta: Mapping[str, Any], role: Role | None) -> Part:
    return Part(
        part.kind,
        part.text,
        part.tool,
        part.call_id,
        part.is_error,
        part.signed,
        part.media_type,
        part.media_bytes,
        role,
        {**part.meta, **meta},
    )


def message_texts(parts: tuple[Part, ...]) -> Iterator[str]:
    return (part.text for part in parts if part.kind is PartKind.TEXT)


def _message(raw: Mapping[str, Any]) -> Item:
    content = raw.get("content")
    blocks: list[Any] = content if isinstance(content, list) else [] if content is None else [content]
    parts = tuple(_block(block) for block in blocks)
    texts = list(message_texts(parts))
    role = _role(raw.get("role"))
    kind = Kind.MESSAGE
    facts: dict[str, Any] = {}
    sent = True
    output = False
    match role:
        case Role.USER:
            kind, facts = _of_user(texts)
        case Role.DEVELOPER:
            kind = Kind.CONTEXT
            if wording.is_trimmed(texts):
                facts["trim"] = True
        case Role.SYSTEM:
            kind = Kind.CONTEXT
            sent = False  # the agent keeps such a message in its log and does not send it
        case _:
            output = True
            if _is_mail(texts):
                facts["user"] = True
    item = Item(kind, role, parts, _text(raw.get("id")), sent=sent, output=output, facts=facts)
    if not isinstance(content, list):
        return _left_out(item, "a message whose content is no list")
    if any(
        isinstance(b, dict) and b.get("type") == "input_image" and not isinstance(b.get("image_url"), str)
        for b in content
    ):
        return _left_out(item, "an image without an address")
    return item


def _of_user(texts: list[str]) -> tuple[Kind, dict[str, Any]]:
    if texts and wording.is_summary(texts[0]):
        return Kind.SUMMARY, {}
    if wording.is_context(texts):
        return (Kind.COMMAND if wording.is_shell_command(texts) else Kind.CONTEXT), {"trim": True}
    if wording.is_forgotten_context(texts):
        return Kind.CONTEXT, {"user": True}
    return Kind.PROMPT, {"user": True}


def _is_mail(texts: list[str]) -> bool:
    """Whether an assistant's message is mail between agents, as versions before the `agent_message` item wrote it."""
    if len(texts) != 1 or not texts[0].startswith("{") or '"recipient"' not in texts[0]:
        return False
    try:
        mail = orjson.loads(texts[0])
    except orjson.JSONDecodeError:
        return False
    return isinstance(mail, dict) and {"author", "recipient", "content", "trigger_turn"} <= mail.keys()


def _block(block: Any) -> Part:
    if isinstance(block, str):
        return Part(PartKind.TEXT, block)
    if not isinstance(block, dict):
        return Part(PartKind.OTHER, text_of(block)[:_SHOWN])
    name = block.get("type")
    if name in ("input_text", "output_text", "text", "summary_text", "reasoning_text") or (
        name is None and "text" in block
    ):
        return Part(PartKind.TEXT, text_of(block.get("text") if block.get("text") is not None else ""))
    if name in ("input_image", "image"):
        return media(block.get("image_url"), "image")
    if name in ("input_audio", "audio"):
        return media(block.get("audio_url") or block.get("audio"), "audio")
    if name == "encrypted_content":
        return _sealed("Sealed text", block.get("encrypted_content"))
    return Part(PartKind.OTHER, text_of(block)[:_SHOWN])


def media(address: Any, what: str) -> Part:
    """An image or sound as what it is and how large: never its bytes, never fetched."""
    if not isinstance(address, str):
        return Part(PartKind.MEDIA, what, media_type=f"{what}/*")
    if address.startswith("data:"):
        head, _, body = address[:200].partition(",")
        kind = head[5:].split(";")[0] or f"{what}/*"
        size = len(address) - len(head) - 1
        size = size * 3 // 4 - address[-2:].count("=") if ";base64" in head and body else max(size, 0)
        return Part(PartKind.MEDIA, f"{kind}, {size:,} bytes", media_type=kind, media_bytes=size)
    return Part(PartKind.MEDIA, address[:300], media_type=f"{what}/*")


def _sealed(what: str, secret: Any) -> Part:
    size = len(secret) if isinstance(secret, str) else 0
    return Part(PartKind.MARKER, f"{what} ({size:,} characters that only the provider can read)", signed=True)


def _reasoning(raw: Mapping[str, Any]) -> Item:
    signed = isinstance(raw.get("encrypted_content"), str)
    texts = [_plain(block) for block in _list(raw.get("summary"))]
    parts = [Part(PartKind.REASONING, "\n".join(texts), signed=signed)]
    full = [_plain(block) for block in _list(raw.get("content"))]
    if full:
        parts.append(Part(PartKind.REASONING, "\n".join(full), meta={"full": True}))
    return Item(Kind.REASONING, Role.ASSISTANT, tuple(parts), _text(raw.get("id")), output=True)


def _function_call(raw: Mapping[str, Any]) -> Item:
    arguments = raw.get("arguments")
    item = _call(raw, _text(raw.get("name")) or "function", arguments)
    if not isinstance(arguments, str):
        return _left_out(item, "a call whose arguments are no text")
    return item if _text(raw.get("call_id")) else _left_out(item, "a call without an id")


def _custom_tool_call(raw: Mapping[str, Any]) -> Item:
    item = _call(raw, _text(raw.get("name")) or "custom tool", raw.get("input"))
    return item if isinstance(raw.get("input"), str) else _left_out(item, "a call whose input is no text")


def _local_shell_call(raw: Mapping[str, Any]) -> Item:
    return _call(raw, "local_shell", raw.get("action"))


def _web_search_call(raw: Mapping[str, Any]) -> Item:
    return _call(raw, "web_search", raw.get("action"))


def _tool_search_call(raw: Mapping[str, Any]) -> Item:
    return _call(raw, "tool_search", raw.get("arguments"))


def _image_generation_call(raw: Mapping[str, Any]) -> Item:
    item = _call(raw, "image_generation", raw.get("revised_prompt") or "")
    size = len(result) * 3 // 4 if isinstance(result := raw.get("result"), str) else None
    picture = Part(
        PartKind.MEDIA, "image" if size is None else f"image, {size:,} bytes", media_type="image/*", media_bytes=size
    )
    return Item(item.kind, item.role, (*item.parts, picture), item.native_id, output=True)


def _call(raw: Mapping[str, Any], tool: str, arguments: Any) -> Item:
    meta = {key: value for key in ("namespace", "status") if isinstance(value := raw.get(key), str)}
    text = "" if arguments is None else text_of(arguments)
    part = Part(PartKind.TOOL_CALL, text, tool=tool, call_id=_text(raw.get("call_id")), meta=meta)
    return Item(Kind.TOOL_CALL, Role.ASSISTANT, (part,), _text(raw.get("id")), output=True)


def _call_output(raw: Mapping[str, Any]) -> Item:
    body = raw.get("output")
    call_id = _text(raw.get("call_id"))
    tool = _text(raw.get("name"))
    extra: list[Part] = []
    if isinstance(body, list):
        blocks = [_block(block) for block in body]
        text = "\n".join(part.text for part in blocks if part.kind in (PartKind.TEXT, PartKind.OTHER))
        extra = [
            Part(p.kind, p.text, call_id=call_id, signed=p.signed, media_type=p.media_type, media_bytes=p.media_bytes)
            for p in blocks
            if p.kind in (PartKind.MEDIA, PartKind.MARKER)
        ]
    else:
        text = "" if body is None else text_of(body)
    meta = _outcome(text)
    failed = bool(meta.get("exit_code")) or text.startswith(_REFUSED)
    part = Part(PartKind.TOOL_RESULT, text, tool=tool, call_id=call_id, is_error=failed, meta=meta)
    item = Item(Kind.TOOL_RESULT, Role.TOOL, (part, *extra), _text(raw.get("id")), answer=True)
    return item if isinstance(body, str | list) else _left_out(item, "a result whose output is neither text nor a list")


def _outcome(text: str) -> dict[str, Any]:
    """Exit code and seconds, where the result says them in one of the agent's three ways."""
    meta: dict[str, Any] = {}
    if text.startswith("{") and '"metadata"' in text[-200:]:
        try:
            known = orjson.loads(text).get("metadata")
        except (orjson.JSONDecodeError, AttributeError):
            known = None
        if isinstance(known, dict):
            meta = {
                name: value
                for name, key in (("exit_code", "exit_code"), ("seconds", "duration_seconds"))
                if isinstance(value := known.get(key), int | float)
            }
        return meta
    head = text[:240].partition("Output:\n")[0]
    code = _EXIT.search(head)
    if code is not None and (head.startswith("Exit code:") or "Wall time:" in head):
        meta["exit_code"] = int(code[1])
        seconds = _SECONDS.search(head)
        if seconds is not None:
            meta["seconds"] = float(seconds[1])
    return meta


def _tool_search_output(raw: Mapping[str, Any]) -> Item:
    tools = raw.get("tools")
    part = Part(
        PartKind.TOOL_RESULT,
        text_of(tools if tools is not None else []),
        tool="tool_search",
        call_id=_text(raw.get("call_id")),
    )
    return Item(Kind.TOOL_RESULT, Role.TOOL, (part,), _text(raw.get("id")), answer=True)


def _agent_message(raw: Mapping[str, Any]) -> Item:
    meta = {key: value for key in ("author", "recipient") if isinstance(value := raw.get(key), str)}
    parts = [_block(block) for block in _list(raw.get("content"))]
    parts = [Part(p.kind, p.text, signed=p.signed, meta=meta) for p in parts]
    return Item(Kind.CONTEXT, Role.USER, tuple(parts), _text(raw.get("id")), facts={"user": True, "mail": True})


def _compaction(raw: Mapping[str, Any]) -> Item:
    part = _sealed("Summary sealed by the provider", raw.get("encrypted_content"))
    return Item(Kind.SUMMARY, Role.ASSISTANT, (part,), _text(raw.get("id")))


def _context_compaction(raw: Mapping[str, Any]) -> Item:
    if isinstance(raw.get("encrypted_content"), str):
        return _compaction(raw)
    part = Part(PartKind.MARKER, "Compaction asked of the provider")
    return Item(Kind.CONTEXT, Role.ASSISTANT, (part,), _text(raw.get("id")))


def _ghost_snapshot(raw: Mapping[str, Any]) -> Item:
    commit = raw.get("ghost_commit")
    name = _text(commit.get("id")) if isinstance(commit, dict) else None
    return Item(Kind.META, None, (Part(PartKind.MARKER, f"Snapshot of the files {name or ''}".rstrip()),), sent=False)


def _unknown(raw: Mapping[str, Any]) -> Item:
    return Item(Kind.OTHER, None, (Part(PartKind.OTHER, text_of(dict(raw))[:_SHOWN]),), sent=False)


def _left_out(item: Item, why: str) -> Item:
    return Item(
        item.kind,
        item.role,
        item.parts,
        item.native_id,
        sent=False,
        output=item.output,
        answer=item.answer,
        skipped=f"the agent itself leaves this out: {why}",
        facts={},
    )


def _role(value: Any) -> Role:
    try:
        return Role(value)
    except ValueError:
        return Role.ASSISTANT


def _plain(block: Any) -> str:
    if isinstance(block, dict):
        return text_of(block.get("text") if block.get("text") is not None else "")
    return text_of(block)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


_READERS: dict[str, Callable[[Mapping[str, Any]], Item]] = {
    "message": _message,
    "reasoning": _reasoning,
    "function_call": _function_call,
    "function_call_output": _call_output,
    "custom_tool_call": _custom_tool_call,
    "custom_tool_call_output": _call_output,
    "local_shell_call": _local_shell_call,
    "web_search_call": _web_search_call,
    "tool_search_call": _tool_search_call,
    "tool_search_output": _tool_search_output,
    "image_generation_call": _image_generation_call,
    "agent_message": _agent_message,
    "compaction": _compaction,
    "compaction_summary": _compaction,
    "context_compaction": _context_compaction,
    "ghost_snapshot": _ghost_snapshot,
}
