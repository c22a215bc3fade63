"""What a span or log record says of a model request, in every dialect: the messages sent, the answer, tokens, model, conversation.

Dialects: the semantic conventions of today and of before (events for each message), numbered attributes (OpenLLMetry, OpenInference),
the AI SDK's own, and Gemini CLI's, whose messages are Gemini contents. Messages come out as AI SDK messages.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from sessions.adapters.generic.otlp import Record
from sessions.adapters.generic.spoken import Message, blocks_of, joined, list_of, message_of, text_message
from sessions.adapters.generic.usage import counted
from sessions.adapters.generic.values import name_of, number, parsed
from sessions.adapters.records import text_of
from sessions.entries import Usage

_REQUESTS = frozenset({"chat", "generate_content", "text_completion", "completion", "llm_call", "message"})
_TOOLS = frozenset({"execute_tool", "tool_call", "tool"})
_SDK_REQUEST = re.compile(r"ai\.(?:generateText|streamText|generateObject|streamObject)(?:\.do\w+)?")
DETAILS = "gen_ai.client.inference.operation.details"
_INDEXED = re.compile(r"(?:gen_ai\.(prompt|completion)|llm\.(input|output)_messages)\.(\d+)\.(?:message\.)?(.+)")
_INDEXED_CALL = re.compile(
    r"(?:tool_calls|function_call)(?:\.(\d+))?\.(?:tool_call\.)?(?:function\.)?(name|arguments|id)"
)
_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}


@dataclass(slots=True)
class Request:
    """One model request. `given` and `answer` are None where the record does not hold them."""

    record: Record
    given: list[Message] | None = None
    answer: list[Message] | None = None
    usage: Usage | None = None
    model: str | None = None
    response_id: str | None = None
    agent: str = ""
    system: str = field(default="")  # tells agents apart that share a conversation


def operation(record: Record) -> str:
    """Whether a record is a "request", a "tool" or "" for anything else."""
    said = record.attributes
    named = name_of(said.get("gen_ai.operation.name"))
    own = name_of(said.get("ai.operationId")) or record.name
    if own.startswith("ai."):
        kind = own.split(" ")[0]
        return "tool" if kind == "ai.toolCall" else "request" if _SDK_REQUEST.fullmatch(kind) else ""
    if not record.span:
        answered = record.name == DETAILS and ("gen_ai.output.messages" in said or "gen_ai.response.id" in said)
        return "request" if answered else ""
    if named in _REQUESTS or (named is None and ("gen_ai.request.model" in said or "llm.model_name" in said)):
        return "request"
    return "tool" if named in _TOOLS or "gen_ai.tool.name" in said else ""


def conversation(record: Record) -> str | None:
    """The conversation of a record; None where it names none."""
    keys = (
        "gen_ai.conversation.id",
        "session.id",
        "ai.telemetry.metadata.sessionId",
        "traceloop.association.properties.session_id",
    )
    return next((found for key in keys if (found := name_of(record.attributes.get(key)))), None)


def request_of(record: Record) -> Request:
    """The request that a record tells of; its events may hold what its attributes do not."""
    said = dict(record.attributes)
    for name, attributes in record.events:
        if name == DETAILS:
            said |= attributes
    given, answer = _messages(said, record)
    beside = said.get("gen_ai.system_instructions", said.get("gen_ai.system.instructions"))
    system = list(_instructions(beside))
    if system:
        # The system's words stand beside: whoever is called so among the messages is the model (Gemini CLI's logs).
        given = [_as_model(message) for message in given] if given is not None else None
        given = [{"role": "system", "content": system}, *given] if given is not None else None
    answer = [{**message, "role": "assistant"} for message in answer] if answer is not None else None
    first = next((text_of(m["content"]) for m in given or [] if m["role"] == "system"), "")
    return Request(
        record,
        joined(given) if given is not None else None,
        joined(answer) if answer is not None else None,
        usage=_usage(said),
        model=next(
            (
                found
                for key in (
                    "gen_ai.response.model",
                    "ai.response.model",
                    "gen_ai.request.model",
                    "ai.model.id",
                    "llm.model_name",
                )
                if (found := name_of(said.get(key)))
            ),
            None,
        ),
        response_id=name_of(said.get("gen_ai.response.id")) or name_of(said.get("ai.response.id")),
        agent=name_of(said.get("gen_ai.agent.id")) or name_of(said.get("gen_ai.agent.name")) or "",
        system=first,
    )


def tool_of(record: Record) -> tuple[str | None, str | None, Any, Any]:
    """Call id, tool, arguments and result of a tool's record, each None where it is not said."""
    said = record.attributes

    def first(*keys: str) -> Any:
        return next((said[key] for key in keys if said.get(key) is not None), None)

    call_id = first("gen_ai.tool.call.id", "gen_ai.tool.call_id", "ai.toolCall.id", "tool_call.id")
    name = first("gen_ai.tool.name", "ai.toolCall.name", "tool.name")
    given = first("gen_ai.tool.call.arguments", "ai.toolCall.args", "input.value")
    told = first("gen_ai.tool.call.result", "ai.toolCall.result", "output.value")
    return name_of(call_id), name_of(name), given, told


# -- the dialects ---------------------------------------------------------------------------------------------------------


def _messages(said: Mapping[str, Any], record: Record) -> tuple[list[Message] | None, list[Message] | None]:
    given = list_of(said.get("gen_ai.input.messages"))
    answer = list_of(said.get("gen_ai.output.messages"))
    if given is None:
        prompt = parsed(said.get("ai.prompt"))
        given = list_of(said.get("ai.prompt.messages"))
        if given is None and isinstance(prompt, dict):
            given = list_of(prompt.get("messages")) or (
                [text_message("user", prompt["prompt"])] if "prompt" in prompt else None
            )
            if given is not None and name_of(prompt.get("system")):
                given = [text_message("system", prompt["system"]), *given]
    if answer is None and any(
        key in said for key in ("ai.response.text", "ai.response.toolCalls", "ai.response.object")
    ):
        answer = [_sdk_answer(said)]
    if given is None and answer is None:
        numbered = _numbered(said)
        given, answer = numbered.get("in"), numbered.get("out")
    if given is None and answer is None:
        given, answer = _by_events(record.events)
    return given, answer


def _sdk_answer(said: Mapping[str, Any]) -> Message:
    content: list[dict[str, Any]] = []
    if name_of(said.get("ai.response.reasoning")):
        content.append({"type": "reasoning", "text": said["ai.response.reasoning"]})
    for key in ("ai.response.text", "ai.response.object"):
        if name_of(said.get(key)):
            content.append({"type": "text", "text": said[key]})
    calls = parsed(said.get("ai.response.toolCalls"))
    content += [block for call in (calls if isinstance(calls, list) else []) for block in blocks_of(call)]
    return {"role": "assistant", "content": content}


def _numbered(said: Mapping[str, Any]) -> dict[str, list[Message]]:
    """Messages whose every field is an attribute of its own, numbered."""
    found: dict[tuple[str, int], dict[str, Any]] = defaultdict(dict)
    for key, value in said.items():
        if place := _INDEXED.fullmatch(key):
            side = "in" if "prompt" in (place[1], place[2]) or place[2] == "input" else "out"
            found[side, int(place[3])][place[4]] = value
    out: dict[str, list[Message]] = {}
    for (side, _), fields in sorted(found.items()):
        calls: dict[str, dict[str, Any]] = defaultdict(dict)
        for key, value in fields.items():
            if place := _INDEXED_CALL.fullmatch(key):
                calls[place[1] or ""][place[2]] = value
        role = fields.get("role", "assistant" if side == "out" else "user")
        item = {**fields, "role": role, "tool_calls": [calls[n] for n in sorted(calls)]}
        out.setdefault(side, []).extend(message_of(item))
    return out


def is_message(record: Record) -> bool:
    """Whether a log record is one message of a request, as the conventions of before had it."""
    return not record.span and (record.name in _EVENTS or record.name == "gen_ai.choice")


def with_logs(request: Request, logs: Sequence[Record]) -> Request:
    """The request with the messages that its log records hold, where it holds none itself."""
    if request.given is not None or request.answer is not None:
        return request
    events = [(log.name, log.body if isinstance(log.body, dict) else log.attributes) for log in logs]
    given, answer = _by_events(events)
    system = next((text_of(m["content"]) for m in given or [] if m["role"] == "system"), "")
    return replace(request, given=joined(given or []), answer=joined(answer or []), system=system)


def _by_events(events: Sequence[tuple[str, Mapping[str, Any]]]) -> tuple[list[Message] | None, list[Message] | None]:
    """Messages as events, one each."""
    given: list[Message] = []
    answer: list[Message] = []
    for name, said in events:
        body = parsed(said.get("gen_ai.event.content")) or said
        if name in _EVENTS and isinstance(body, dict):
            given.extend(message_of({"role": _EVENTS[name], **body}))
        elif name == "gen_ai.choice" and isinstance(body, dict):
            held = parsed(body.get("message"))
            answer.extend(message_of({"role": "assistant", **(held if isinstance(held, dict) else body)}))
    return given or None, answer or None


def _instructions(value: Any) -> Iterator[dict[str, Any]]:
    value = parsed(value)
    if isinstance(value, str) and value.startswith('"'):
        with suppress(orjson.JSONDecodeError):
            value = orjson.loads(value)
    if isinstance(value, dict):
        value = value.get("parts", [value])
    for part in value if isinstance(value, list) else [] if value is None or value == "" else [value]:
        yield from blocks_of(part)


def _as_model(message: Message) -> Message:
    return {**message, "role": "assistant"} if message["role"] == "system" else message


def _usage(said: Mapping[str, Any]) -> Usage | None:
    def first(*keys: str) -> int | None:
        return next((found for key in keys if (found := number(said.get(key))) is not None), None)

    return counted(
        prompt=first(
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.prompt_tokens",
            "ai.usage.inputTokens",
            "ai.usage.promptTokens",
            "llm.token_count.prompt",
        ),
        read=first(
            "gen_ai.usage.cache_read.input_tokens",
            "gen_ai.usage.cache_read_input_tokens",
            "ai.usage.cachedInputTokens",
            "llm.token_count.prompt_details.cache_read",
        ),
        write=first(
            "gen_ai.usage.cache_creation.input_tokens",
            "gen_ai.usage.cache_creation_input_tokens",
            "ai.usage.inputTokenDetails.cacheWriteTokens",
        ),
        output=first(
            "gen_ai.usage.output_tokens",
            "gen_ai.usage.completion_tokens",
            "ai.usage.outputTokens",
            "ai.usage.completionTokens",
            "llm.token_count.completion",
        ),
        reasoning=first(
            "gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens", "ai.usage.reasoningTokens"
        ),
    )
