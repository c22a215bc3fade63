"""Makes rollouts for tests, line by line: each function gives a list of records, `data` their bytes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from sessions.adapters.codex import ADAPTER
from sessions.assembly import Reading, read_whole
from sessions.contexts import Item

type Record = dict[str, Any]

THREAD = "01a22af3-fd5a-7913-af5a-df87f641d04b"
NAME = PurePath(f"rollout-2026-11-30T05-36-02-{THREAD}.jsonl")
STAMP = "2026-11-30T05:36:02.912Z"
SUMMARY_HEAD = (  # the agent's own opening and closing words, by which it knows a summary; what stands between does not matter
    "Another language model started to solve this problem and produced a summary of its thinking process. "
    "(…) assist with your own analysis:\n"
)
PNG = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def line(kind: str, payload: Record, **more: Any) -> Record:
    return {"timestamp": STAMP, "type": kind, "payload": payload, **more}


def meta(native_id: str = THREAD, version: str = "0.125.0", **more: Any) -> list[Record]:
    known = {
        "id": native_id,
        "timestamp": STAMP,
        "cwd": "/srv/project",
        "originator": "codex_exec",
        "cli_version": version,
    }
    return [line("session_meta", {**known, "source": "cli", "model_provider": "mock", **more})]


def item(kind: str, **fields: Any) -> list[Record]:
    return [line("response_item", {"type": kind, **fields})]


def event(kind: str, **fields: Any) -> list[Record]:
    return [line("event_msg", {"type": kind, **fields})]


def message(role: str, *texts: str, **more: Any) -> list[Record]:
    block = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": block, "text": text} for text in texts], **more)


def user(text: str, *, shown: bool = True) -> list[Record]:
    """A person's message, and (in files before pages) the event that shows it."""
    return message("user", text) + (event("user_message", message=text, images=[]) if shown else [])


def says(text: str) -> list[Record]:
    return message("assistant", text)


def thinks(text: str) -> list[Record]:
    return item("reasoning", summary=[{"type": "summary_text", "text": text}], content=None, encrypted_content="SEALED")


def call(call_id: str, name: str = "exec_command", arguments: str = "{}") -> list[Record]:
    return item("function_call", name=name, arguments=arguments, call_id=call_id)


def output(call_id: str, text: str = "ok") -> list[Record]:
    return item("function_call_output", call_id=call_id, output=text)


def mail(text: str, **more: Any) -> list[Record]:
    content = [{"type": "input_text", "text": text}]
    return item("agent_message", author="/root", recipient="/root/child", content=content, **more)


def image(text: str) -> list[Record]:
    content: list[Record] = [
        {"type": "input_text", "text": text},
        {"type": "input_text", "text": "<image name=[Image #1]>"},
        {"type": "input_image", "image_url": PNG},
        {"type": "input_text", "text": "</image>"},
    ]
    return item("message", role="user", content=content)


def context() -> list[Record]:
    """What the agent puts in before a turn."""
    return message("developer", "<permissions instructions>\nAll.</permissions instructions>") + message(
        "user", "<environment_context>\n  <cwd>/srv/project</cwd>\n</environment_context>"
    )


def start(turn: str, **more: Any) -> list[Record]:
    return event("task_started", turn_id=turn, started_at=1, model_context_window=258400, **more)


def end(turn: str) -> list[Record]:
    return event("task_complete", turn_id=turn, last_agent_message=None, completed_at=1, duration_ms=1500)


def turn(name: str, *parts: Sequence[Record]) -> list[Record]:
    return [*start(name), *(record for part in parts for record in part), *end(name)]


def compacted(text: str, history: Sequence[Record] | None = None, **more: Any) -> list[Record]:
    """A compaction; `history`: records of response items that make its replacement history."""
    payload: Record = {"message": SUMMARY_HEAD + text, **more}
    if history is not None:
        payload["replacement_history"] = [record["payload"] for record in history]
    return [line("compacted", payload)]


def summary(text: str) -> list[Record]:
    return message("user", SUMMARY_HEAD + text)


def rollback(turns: int) -> list[Record]:
    return event("thread_rolled_back", num_turns=turns)


def turn_context(model: str, **more: Any) -> list[Record]:
    known = {
        "cwd": "/srv/project",
        "approval_policy": "never",
        "sandbox_policy": {"type": "read-only"},
        "summary": "auto",
    }
    return [line("turn_context", {**known, "model": model, **more})]


def counts(*figures: int) -> Record:
    """A usage: input, cached, output, reasoning; the total follows."""
    given, cached, made, thought = figures
    return {
        "input_tokens": given,
        "cached_input_tokens": cached,
        "output_tokens": made,
        "reasoning_output_tokens": thought,
        "total_tokens": given + made,
    }


def token_count(total: Record | None, last: Record | None, window: int = 258400) -> list[Record]:
    if total is None:
        return event("token_count", info=None, rate_limits={"primary": None})
    return event(
        "token_count",
        info={"total_token_usage": total, "last_token_usage": last, "model_context_window": window},
        rate_limits=None,
    )


def usage_record(response: str, usage: Record) -> list[Record]:
    return [line("token_usage_record", {"thread_id": THREAD, "turn_id": "t", "response_id": response, "usage": usage})]


def numbered(records: Sequence[Record], first: int = 0) -> list[Record]:
    """The records with ordinals, as a paginated file has them."""
    return [{**record, "ordinal": first + n} for n, record in enumerate(records)]


def data(records: Sequence[Record]) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def read(*records: Sequence[Record], name: PurePath = NAME) -> Reading:
    """A session of one source."""
    return read_whole(ADAPTER, name, [(data([one for part in records for one in part]), False)])


def chain(*sources: Sequence[Record], name: PurePath = NAME) -> Reading:
    """A session that continues others: the last source is its own."""
    return read_whole(ADAPTER, name, [(data(source), n < len(sources) - 1) for n, source in enumerate(sources)])


def words(items: Sequence[Item]) -> list[str]:
    """A context in short: role, and what is said."""
    return [f"{str(one.role)[0]}:{_short(one)}" for one in items]


def _short(one: Item) -> str:
    text = one.text
    if text.startswith(SUMMARY_HEAD):
        return "SUM " + text[len(SUMMARY_HEAD) :]
    if text.startswith("<permissions"):
        return "permissions"
    if text.startswith("<environment_context>"):
        return "environment"
    return text
