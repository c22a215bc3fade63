"""From requests that each repeat the whole conversation to the conversation: what each one added, and where it was made anew.

A thread is what one agent in one conversation was sent. The next request of a thread extends what is known of it, or replaces it (a
compaction, a rollback). The thread with the most messages is the session; the others are lanes beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from sessions.adapters.base import Line
from sessions.adapters.generic.genai import Request, conversation, is_message, operation, request_of, tool_of, with_logs
from sessions.adapters.generic.messages import HEAD
from sessions.adapters.generic.otlp import Record, telemetry
from sessions.adapters.generic.owncounts import with_own_counts
from sessions.adapters.generic.spoken import Message
from sessions.adapters.generic.values import parsed
from sessions.adapters.records import text_of

SAID, LIST, RECORD = "$said", "$list", "$record"
_NAMES = (
    "gen_ai.operation.name",
    "gen_ai.tool.name",
    "ai.toolCall.name",
    "gen_ai.agent.name",
    "event.name",
    "error.type",
)


@dataclass(slots=True)
class Thread:
    """`known`: the list as the next request should begin with it. `every`: all messages there ever were in it."""

    lane: str = ""
    known: list[Message] = field(default_factory=list)
    every: list[Message] = field(default_factory=list)
    contents: dict[int, list[Any]] = field(default_factory=dict)  # of `every`, by identity
    calls: dict[str, str] = field(default_factory=dict)  # ids as later requests write them, to those of the answers
    size: int = 0


type _Made = tuple[Record, dict[str, Any]]


def records(data: bytes) -> Iterator[Line]:
    """The records of a file of telemetry, in order of time."""
    found = telemetry(data)
    ordered = sorted(found.records, key=lambda record: (record.begin, record.start))
    requests = with_own_counts(_requests(ordered), ordered)
    threads = _threads(requests.values())
    first = min((record.start for record in ordered), default=0)
    head = {"conversation": next((name for record in ordered if (name := conversation(record))), None)}
    head["conversation"] = head["conversation"] or next((record.trace for record in ordered if record.trace), None)
    yield Line(0, orjson.dumps({HEAD: head}), True, 1, span=max(1, first))
    number = 1
    for record, made in _made(ordered, requests, threads):
        number += 1
        yield Line(record.start, orjson.dumps(made, default=str), True, number, span=record.stop - record.start)
    for start, stop in found.others:
        number += 1
        yield Line(
            start, b'{"%s":{"name":"metrics or other telemetry"}}' % RECORD.encode(), True, number, span=stop - start
        )
    if found.torn is not None and data[found.torn :].strip(b" \t\r\n,"):
        yield Line(found.torn, data[found.torn :], False, number + 1, span=len(data) - found.torn)


def _requests(ordered: Sequence[Record]) -> dict[int, Request]:
    """The model requests by the place of their record, each once: not also its wrapper, and of spans and logs the spans if they tell."""
    logs: dict[str, list[Record]] = defaultdict(list)
    for record in ordered:
        if is_message(record):
            logs[record.id].append(record)
    found = {record.start: request_of(record) for record in ordered if operation(record) == "request"}
    here = {request.record.id for request in found.values() if request.record.span}
    for name, group in logs.items():
        if name not in here:  # the spans are in another file: the last message stands for the request
            found[group[-1].start] = request_of(group[-1])
    found = {
        place: with_logs(request, logs[request.record.id]) if request.record.id in logs else request
        for place, request in sorted(found.items(), key=lambda item: (item[1].record.begin, item[0]))
    }
    inner = {request.record.parent for request in found.values() if request.record.span and request.record.parent}
    found = {
        place: request for place, request in found.items() if not (request.record.span and request.record.id in inner)
    }
    told = {
        request.record.span for request in found.values() if request.given is not None or request.answer is not None
    }
    spans = any(request.record.span for request in found.values())
    if True in told or (spans and not told):
        found = {place: request for place, request in found.items() if request.record.span}
    elif told == {False}:
        found = {place: request for place, request in found.items() if not request.record.span}
    return found


def _key(request: Request) -> tuple[str, str, str]:
    return conversation(request.record) or request.record.trace, request.agent, request.system


def _threads(requests: Any) -> dict[tuple[str, str, str], Thread]:
    threads: dict[tuple[str, str, str], Thread] = {}
    for request in requests:
        thread = threads.setdefault(_key(request), Thread())
        thread.size = max(thread.size, len(request.given or ())) + 1
    main = max(threads.values(), key=lambda thread: thread.size, default=None)
    for n, thread in enumerate(threads.values()):
        thread.lane = "" if thread is main else f"agent {n + 1}"
    return threads


def _made(
    ordered: Sequence[Record], requests: dict[int, Request], threads: dict[tuple[str, str, str], Thread]
) -> Iterator[_Made]:
    for n, record in enumerate(ordered):
        request = requests.get(record.start)
        if request is None:
            yield record, {RECORD: _shown(record)}
            continue
        thread = threads[_key(request)]
        step = record.id or f"r{n}"
        if request.given is not None:
            yield from (
                (record, made | {"lane": thread.lane, "at": record.begin}) for made in _sent(thread, request.given)
            )
        for message in _named(request.answer or [], step):
            thread.known.append(message)
            thread.every.append(message)
            said = {SAID: message, "step": step, "model": request.model, "response": request.response_id}
            yield record, said | {"lane": thread.lane, "at": record.end}
        usage = request.usage
        counts = [usage.fresh, usage.cache_read, usage.cache_write, usage.output, usage.reasoning] if usage else None
        facts = {
            "step": step,
            "model": request.model,
            "response": request.response_id,
            "usage": counts,
            "lane": thread.lane,
        }
        yield record, {RECORD: _shown(record)} | facts
    for thread in threads.values():
        yield from _unanswered(thread, ordered)


def _sent(thread: Thread, given: list[Message]) -> Iterator[dict[str, Any]]:
    """What a request brings that is not known of its thread."""
    same = 0
    while same < min(len(given), len(thread.known)) and _same(thread, thread.known[same], given[same]):
        same += 1
    if same < len(thread.known):
        kept = [_known(thread, message) for message in given]
        new = kept[-1:] if kept and kept[-1]["role"] in ("user", "tool") and not _is_known(thread, given[-1]) else []
        listed = kept[: len(kept) - len(new)]
        rolled = same == len(listed)
        how = "rollback" if rolled else "compaction" if len(listed) < len(thread.known) else "replacement"
        thread.known = listed
        thread.every += [message for message in listed if not any(message is known for known in thread.every)]
        yield {LIST: listed, "how": how}
    else:
        new = given[same:]
    for came in new:
        message = _answering(thread, came)
        thread.known.append(message)
        thread.every.append(message)
        yield {SAID: message}


def _known(thread: Thread, message: Message) -> Message:
    """The message as it was when it came, where it did: answers lose their thoughts, and calls their names, on the way back."""
    return next((known for known in thread.every if _same(thread, known, message)), message)


def _is_known(thread: Thread, message: Message) -> bool:
    return any(_same(thread, known, message) for known in thread.every)


def _same(thread: Thread, known: Message, given: Message) -> bool:
    if known["role"] != given["role"]:
        return False
    content = thread.contents.get(id(known))
    if content is None:
        content = thread.contents[id(known)] = _content(known)
    if content != _content(given):
        return False
    for ours, theirs in zip(_calls(known), _calls(given), strict=True):
        if isinstance(theirs.get("toolCallId"), str) and isinstance(ours.get("toolCallId"), str):
            thread.calls[theirs["toolCallId"]] = ours["toolCallId"]
    return True


def _content(message: Message) -> list[Any]:
    """What of a message tells whether it is another: its words, calls and results, without thoughts, ids and space."""
    words = "".join(block.get("text", "") for block in message["content"] if block.get("type") == "text")
    out: list[Any] = ["".join(words.split())]
    for block in message["content"]:
        if block.get("type") == "tool-call":
            out.append(["call", block.get("toolName"), _plain(block.get("input"))])
        elif block.get("type") == "tool-result":
            out.append(["result", _plain(block.get("output"))])
        elif block.get("type") not in ("text", "reasoning"):
            out.append(["other", block.get("type")])
    return out


def _plain(value: Any) -> bytes:
    try:
        return orjson.dumps(parsed(value), option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return text_of(value).encode()


def _calls(message: Message) -> list[dict[str, Any]]:
    return [block for block in message["content"] if block.get("type") == "tool-call"]


def _named(messages: list[Message], step: str) -> Iterator[Message]:
    """Answers whose every call has an id."""
    for message in messages:
        content = [
            {**block, "toolCallId": block.get("toolCallId") or f"{step}-{n}"}
            if block.get("type") == "tool-call"
            else block
            for n, block in enumerate(message["content"])
        ]
        yield {**message, "content": content}


def _answering(thread: Thread, message: Message) -> Message:
    """Results under the ids of the calls they answer: as later requests name them, else in the order of the calls."""
    if message["role"] != "tool":
        return next(_named([message], f"q{len(thread.every)}")) if message["role"] == "assistant" else message
    last = next((known for known in reversed(thread.known) if known["role"] == "assistant"), None)
    waiting = [call["toolCallId"] for call in _calls(last)] if last is not None else []
    answered = {b.get("toolCallId") for known in thread.known if known["role"] == "tool" for b in known["content"]}
    waiting = [name for name in waiting if name not in answered]
    content = []
    for block in message["content"]:
        name = thread.calls.get(str(block.get("toolCallId")), block.get("toolCallId"))
        if name not in waiting and waiting:
            name = waiting[0]
        if name in waiting:
            waiting.remove(name)
        content.append({**block, "toolCallId": name})
    return {**message, "content": content}


def _unanswered(thread: Thread, ordered: Sequence[Record]) -> Iterator[_Made]:
    """Results that only a tool's own record has: of calls after which no request came."""
    answered = {
        block.get("toolCallId") for message in thread.known if message["role"] == "tool" for block in message["content"]
    }
    waiting = {
        call["toolCallId"]: call
        for message in thread.known
        for call in _calls(message)
        if call["toolCallId"] not in answered
    }
    for record in ordered:
        if operation(record) != "tool":
            continue
        name, tool, _, told = tool_of(record)
        call = waiting.pop(name, None) if name else None
        if call is None or told is None:
            continue
        value = parsed(told)
        if isinstance(value, dict) and isinstance(value.get("output"), str):
            told = value["output"]
        block = {
            "type": "tool-result",
            "toolCallId": name,
            "toolName": tool or call.get("toolName"),
            "output": text_of(told),
        }
        message = {"role": "tool", "content": [block | ({"isError": True} if record.failed else {})]}
        yield record, {SAID: message, "lane": thread.lane, "at": record.end}


def _shown(record: Record) -> dict[str, Any]:
    """The small facts of a record: what it is, how long it took, whether it failed."""
    out: dict[str, Any] = {"name": record.name[:200], "kind": "span" if record.span else "log"}
    if record.end > record.begin:
        out["ms"] = (record.end - record.begin) // 1_000_000
    if record.failed:
        out["failed"] = record.failed[:400]
    if isinstance(record.body, str):
        out["text"] = record.body[:400]
    for key in _NAMES:
        if isinstance(record.attributes.get(key), str):
            out[key] = record.attributes[key][:200]
    return out | {"at": record.begin, "id": record.id}
