"""From a response item (the model's log) to the normal form: kind, role, parts, and what a rollback makes of it.

Shapes: what the API takes as input. `skipped` says in words why the agent itself leaves an item out when it reads the file again;
such an item is shown and not sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from sessions.adapters.codex import calls, wording
from sessions.adapters.codex.blocks import SHOWN, Item, block_part, left_out, list_of, name_of, plain, sealed
from sessions.adapters.records import text_of
from sessions.entries import Kind, Part, PartKind, Role

__all__ = ["Item", "message_texts", "of_replacement", "read_item", "with_meta"]


def read_item(raw: Mapping[str, Any]) -> Item:
    """The item of a payload. Never raises, whatever the payload holds."""
    name = raw.get("type")
    read = _READERS.get(name) if isinstance(name, str) else None
    if read is None:
        if name is None and isinstance(raw.get("role"), str):
            return left_out(_message(raw), "an item without a type")
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
    parts = tuple(block_part(block) for block in blocks)
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
    item = Item(kind, role, parts, name_of(raw.get("id")), sent=sent, output=output, facts=facts)
    if not isinstance(content, list):
        return left_out(item, "a message whose content is no list")
    if any(
        isinstance(b, dict) and b.get("type") == "input_image" and not isinstance(b.get("image_url"), str)
        for b in content
    ):
        return left_out(item, "an image without an address")
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


def _reasoning(raw: Mapping[str, Any]) -> Item:
    signed = isinstance(raw.get("encrypted_content"), str)
    texts = [plain(block) for block in list_of(raw.get("summary"))]
    parts = [Part(PartKind.REASONING, "\n".join(texts), signed=signed)]
    full = [plain(block) for block in list_of(raw.get("content"))]
    if full:
        parts.append(Part(PartKind.REASONING, "\n".join(full), meta={"full": True}))
    return Item(Kind.REASONING, Role.ASSISTANT, tuple(parts), name_of(raw.get("id")), output=True)


def _agent_message(raw: Mapping[str, Any]) -> Item:
    meta = {key: value for key in ("author", "recipient") if isinstance(value := raw.get(key), str)}
    parts = [block_part(block) for block in list_of(raw.get("content"))]
    parts = [Part(p.kind, p.text, signed=p.signed, meta=meta) for p in parts]
    return Item(Kind.CONTEXT, Role.USER, tuple(parts), name_of(raw.get("id")), facts={"user": True, "mail": True})


def _compaction(raw: Mapping[str, Any]) -> Item:
    part = sealed("Summary sealed by the provider", raw.get("encrypted_content"))
    return Item(Kind.SUMMARY, Role.ASSISTANT, (part,), name_of(raw.get("id")))


def _context_compaction(raw: Mapping[str, Any]) -> Item:
    if isinstance(raw.get("encrypted_content"), str):
        return _compaction(raw)
    part = Part(PartKind.MARKER, "Compaction asked of the provider")
    return Item(Kind.CONTEXT, Role.ASSISTANT, (part,), name_of(raw.get("id")))


def _ghost_snapshot(raw: Mapping[str, Any]) -> Item:
    commit = raw.get("ghost_commit")
    name = name_of(commit.get("id")) if isinstance(commit, dict) else None
    return Item(Kind.META, None, (Part(PartKind.MARKER, f"Snapshot of the files {name or ''}".rstrip()),), sent=False)


def _unknown(raw: Mapping[str, Any]) -> Item:
    return Item(Kind.OTHER, None, (Part(PartKind.OTHER, text_of(dict(raw))[:SHOWN]),), sent=False)


def _role(value: Any) -> Role:
    try:
        return Role(value)
    except ValueError:
        return Role.ASSISTANT


_READERS: dict[str, Callable[[Mapping[str, Any]], Item]] = {
    "message": _message,
    "reasoning": _reasoning,
    "function_call": calls.function_call,
    "function_call_output": calls.call_output,
    "custom_tool_call": calls.custom_tool_call,
    "custom_tool_call_output": calls.call_output,
    "local_shell_call": calls.local_shell_call,
    "web_search_call": calls.web_search_call,
    "tool_search_call": calls.tool_search_call,
    "tool_search_output": calls.tool_search_output,
    "image_generation_call": calls.image_generation_call,
    "agent_message": _agent_message,
    "compaction": _compaction,
    "compaction_summary": _compaction,
    "context_compaction": _context_compaction,
    "ghost_snapshot": _ghost_snapshot,
}
