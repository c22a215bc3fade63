"""The blocks of a message as parts, in every dialect: the names of their types tell the dialects apart.

OpenAI (chat and Responses), Anthropic, AI SDK (Core and Model messages) and OpenTelemetry GenAI. Media are described, never inlined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sessions.adapters.generic.media import media
from sessions.adapters.generic.values import name_of, words
from sessions.adapters.records import text_of
from sessions.entries import Part, PartKind

type ToolOf = Callable[[str], str | None]

_MEDIA = frozenset(
    [
        "image",
        "image_url",
        "input_image",
        "document",
        "file",
        "input_file",
        "input_audio",
        "audio",
        "blob",
        "uri",
        "media",
        "image-data",
        "image-url",
        "file-data",
        "file-url",
    ]
)
_WORDS = frozenset(("text", "input_text", "output_text"))
_DENIED = "execution-denied"


def no_tool(call_id: str) -> str | None:
    """Where no calls are remembered."""
    return None


def parts_of(content: Any, tool_of: ToolOf = no_tool) -> tuple[Part, ...]:
    """The parts of a message's content: a string, a list of blocks, or one block."""
    if content is None:
        return ()
    if isinstance(content, str):
        return (Part(PartKind.TEXT, content),) if content else ()
    blocks = content if isinstance(content, list) else [content]
    return tuple(part for block in blocks for part in block_parts(block, tool_of))


def block_parts(block: Any, tool_of: ToolOf = no_tool) -> Iterator[Part]:
    """The parts of one block; none is lost: what no dialect knows is kept as it is."""
    if isinstance(block, str):
        yield Part(PartKind.TEXT, block)
        return
    if not isinstance(block, dict):
        yield Part(PartKind.OTHER, text_of(block))
        return
    kind = block["type"] if isinstance(block.get("type"), str) else None
    match kind:
        case _ if kind in _WORDS:
            yield Part(PartKind.TEXT, words(block.get("text", block.get("content"))))
        case "refusal":
            yield Part(PartKind.TEXT, words(block.get("refusal")), meta={"refusal": True})
        case "thinking":
            yield Part(PartKind.REASONING, words(block.get("thinking")), signed=bool(block.get("signature")))
        case "redacted_thinking" | "redacted-reasoning":
            yield Part(PartKind.REASONING, signed=True, meta={"redacted": True})
        case "reasoning":
            yield reasoning(block)
        case "tool_use" | "tool-call" | "tool_call" | "server_tool_call":
            yield call_of(block)
        case "tool_result" | "tool-result" | "tool_call_response" | "server_tool_call_response":
            yield from result_of(block, tool_of)
        case "function_call" | "custom_tool_call":
            yield call_of(block)
        case _ if kind in _MEDIA:
            yield media(block)
        case None if isinstance(block.get("text"), str):
            yield Part(PartKind.TEXT, block["text"])
        case _:
            yield Part(PartKind.OTHER, text_of(block), meta={"type": kind} if kind else {})


def reasoning(block: Mapping[str, Any]) -> Part:
    """Reasoning as the AI SDK, OpenTelemetry and the Responses interface write it."""
    summary = block.get("summary")
    if isinstance(summary, list):
        told = "\n\n".join(words(item.get("text")) for item in summary if isinstance(item, dict))
        shown = parts_of(block.get("content"))
        told = told or "\n\n".join(part.text for part in shown)
        return Part(PartKind.REASONING, told, signed=bool(block.get("encrypted_content")))
    signed = bool(block.get("signature")) or _signature(block.get("providerOptions") or block.get("providerMetadata"))
    return Part(PartKind.REASONING, words(block.get("text", block.get("content"))), signed=signed)


def _signature(options: Any) -> bool:
    """Whether a provider's options of a reasoning part hold a signature or an encrypted body."""
    if not isinstance(options, dict):
        return False
    marks = ("signature", "thoughtSignature", "encryptedContent", "reasoningEncryptedContent", "redactedData")
    return any(isinstance(said, dict) and any(said.get(mark) for mark in marks) for said in options.values())


def call_of(block: Mapping[str, Any]) -> Part:
    """A call in any dialect. Arguments that are text stay the text they are, also where they are no valid JSON."""
    for key in ("input", "args", "arguments", "rawInput"):
        if block.get(key) is not None:
            given: Any = block[key]
            break
    else:
        given = {}
    call_id = next((block[key] for key in ("toolCallId", "call_id", "id") if name_of(block.get(key))), None)
    return Part(
        PartKind.TOOL_CALL,
        text_of(given),
        tool=name_of(block.get("toolName")) or name_of(block.get("name")),
        call_id=name_of(call_id),
        meta={"by_provider": True} if block.get("providerExecuted") is True else {},
    )


def result_of(block: Mapping[str, Any], tool_of: ToolOf = no_tool) -> Iterator[Part]:
    """A result in any dialect, and after it the media it holds."""
    call_id = next(
        (
            block[key]
            for key in ("tool_use_id", "toolCallId", "call_id", "tool_call_id", "id")
            if name_of(block.get(key))
        ),
        None,
    )
    failed = block.get("is_error") is True or block.get("isError") is True
    for key in ("output", "content", "result", "response"):
        if block.get(key) is not None:
            told: Any = block[key]
            break
    else:
        told = None
    if isinstance(told, dict) and isinstance(told.get("type"), str) and ("value" in told or told["type"] == _DENIED):
        failed = failed or told["type"] in ("error-text", "error-json", _DENIED)
        told = told.get("reason", "execution denied") if told["type"] == _DENIED else told["value"]
    text, shown = told_by(told, call_id)
    tool = name_of(block.get("toolName")) or name_of(block.get("name")) or (tool_of(call_id) if call_id else None)
    yield Part(PartKind.TOOL_RESULT, text, tool=tool, call_id=call_id, is_error=failed)
    yield from shown


def told_by(told: Any, call_id: str | None) -> tuple[str, list[Part]]:
    """The words of a result and the media in it. A list of blocks is its texts; any other value is its JSON."""
    if told is None:
        return "", []
    if not isinstance(told, list) or not all(
        isinstance(piece, dict) and isinstance(piece.get("type"), str) for piece in told
    ):
        return text_of(told), []
    texts: list[str] = []
    shown: list[Part] = []
    for piece in told:
        if piece["type"] in _MEDIA:
            shown.append(media(piece, call_id))
        elif isinstance(piece.get("text"), str):
            texts.append(piece["text"])
        else:
            texts.append(text_of(piece))
    return "\n".join(texts), shown
