"""The display log: what an event says that the model's log does not, in a few words and facts.

Texts that stand in the model's log as well (prompts, answers, reasoning) are not repeated: their events keep only their marks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sessions.adapters.records import text_of
from sessions.entries import Kind, Part, PartKind

_SHOWN = 2000
_ECHOES = frozenset({"user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content"})
_ECHO_ITEMS = frozenset({"UserMessage", "AgentMessage", "Reasoning", "Plan", "HookPrompt"})
_ABORTED = {
    "interrupted": "interrupted",
    "replaced": "replaced by another",
    "review_ended": "the review ended",
    "budget_limited": "the budget was used up",
}


@dataclass(frozen=True, slots=True)
class Event:
    kind: Kind
    parts: tuple[Part, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)


def read_event(raw: Mapping[str, Any]) -> Event:
    """The event of a payload. Never raises, whatever the payload holds."""
    name = raw.get("type")
    if not isinstance(name, str):
        return Event(Kind.OTHER, _say(text_of(dict(raw))))
    if name == "item_completed":
        return _item(raw.get("item"))
    if name in _ECHOES:
        facts: dict[str, Any] = {"event": name}
        if name == "user_message":
            facts["mark"] = "user"
        return Event(Kind.EVENT, (), facts)
    match name:
        case "task_started" | "turn_started":
            return Event(Kind.EVENT, _say("Turn started"), _mark("start", raw))
        case "task_complete" | "turn_complete":
            return Event(Kind.EVENT, _say(_ended(raw)), _mark("end", raw))
        case "turn_aborted":
            reason = raw.get("reason")
            words = _ABORTED.get(reason, reason) if isinstance(reason, str) else "no reason given"
            return Event(Kind.EVENT, _say(f"Turn aborted: {words}"), _mark("abort", raw))
        case "thread_rolled_back":
            turns = raw.get("num_turns")
            turns = turns if isinstance(turns, int) and turns > 0 else 0
            words = f"Rolled back {turns} turn{'' if turns == 1 else 's'}"
            return Event(Kind.ROLLBACK, _say(words), {"mark": "rollback", "n": turns})
        case "token_count":
            return Event(Kind.EVENT, (), {"event": name})
        case "context_compacted":
            return Event(Kind.EVENT, _say("Context compacted"), {"event": name})
        case "thread_name_updated":
            return Event(Kind.META, _say(f"Named: {_word(raw, 'thread_name')}"), {"event": name})
        case "thread_settings_applied":
            return Event(Kind.META, _say("Settings applied"), {"event": name})
        case "thread_goal_updated":
            goal = raw.get("goal")
            words = _word(goal, "objective") if isinstance(goal, dict) else ""
            return Event(Kind.EVENT, _say(f"Goal: {words}"), {"event": name})
        case "error" | "stream_error" | "warning" | "background_event":
            return Event(Kind.EVENT, _say(_word(raw, "message") or text_of(raw.get("error"))), {"event": name})
        case "entered_review_mode":
            return Event(
                Kind.EVENT, _say(f"Review began: {_word(raw, 'user_facing_hint')}".rstrip(": ")), {"event": name}
            )
        case "exited_review_mode":
            return Event(Kind.EVENT, _say("Review ended"), {"event": name})
        case "sub_agent_activity":
            return _activity(raw, name)
    if name.endswith(("_end", "_begin", "_request", "_response", "_assessment", "_call")) or "call_id" in raw:
        return _tool(name, raw)
    return Event(Kind.EVENT, _say(name.replace("_", " ")), {"event": name})


def _item(raw: Any) -> Event:
    """A completed item of a paginated file."""
    if not isinstance(raw, dict):
        return Event(Kind.OTHER, _say(text_of(raw)))
    name = raw.get("type")
    if name in _ECHO_ITEMS:
        return Event(Kind.EVENT, (), {"event": f"item_completed {name}"})
    if name == "ContextCompaction":
        return Event(Kind.EVENT, _say("Context compacted"), {"event": "item_completed ContextCompaction"})
    if name == "SubAgentActivity":
        return _activity(raw, f"item_completed {name}")
    if not isinstance(name, str):
        return Event(Kind.OTHER, _say(text_of(raw)))
    return _tool(f"item_completed {name}", raw)


def _tool(name: str, raw: Mapping[str, Any]) -> Event:
    """What ran, how it ended and how long it took; its output stands in the model's log."""
    call = (
        _word(raw, "call_id") or _word(raw, "callId") or (_word(raw, "id") if name.startswith("item_completed") else "")
    )
    meta: dict[str, Any] = {}
    if isinstance(code := raw.get("exit_code"), int):
        meta["exit_code"] = code
    if (seconds := _seconds(raw)) is not None:
        meta["seconds"] = seconds
    if status := _word(raw, "status"):
        meta["status"] = status
    if isinstance(success := raw.get("success"), bool):
        meta["success"] = success
    if isinstance(changes := raw.get("changes"), dict) and changes:
        meta["files"] = [str(path) for path in list(changes)[:50]]
    if isinstance(agents := raw.get("receiver_thread_ids"), list) and agents:
        meta["agents"] = [str(agent) for agent in agents[:20]]
    elif agent := _word(raw, "new_thread_id"):
        meta["agents"] = [agent]
    if call:
        meta["call_id"] = call
    facts: dict[str, Any] = {"event": name}
    if call:
        facts["call"] = call
    words = name.removeprefix("item_completed ").replace("_", " ")
    tells = [f"exit code {meta['exit_code']}"] if "exit_code" in meta else [meta["status"]] if "status" in meta else []
    if "seconds" in meta:
        tells.append(f"{meta['seconds']:g} s")
    return Event(Kind.EVENT, (Part(PartKind.MARKER, ", ".join([words, *tells]), meta=meta),), facts)


def _activity(raw: Mapping[str, Any], name: str) -> Event:
    agent = _word(raw, "agent_thread_id")
    words = f"Sub-agent {_word(raw, 'agent_path') or agent} {_word(raw, 'kind')}".strip()
    meta = {"agents": [agent]} if agent else {}
    return Event(Kind.EVENT, (Part(PartKind.MARKER, words, meta=meta),), {"event": name})


def _mark(mark: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    turn = raw.get("turn_id")
    return {"mark": mark, "turn": turn} if isinstance(turn, str) else {"mark": mark}


def _ended(raw: Mapping[str, Any]) -> str:
    took = raw.get("duration_ms")
    words = f"Turn ended after {took / 1000:g} s" if isinstance(took, int | float) else "Turn ended"
    error = raw.get("error")
    if isinstance(error, dict) and _word(error, "message"):
        return f"{words}: {_word(error, 'message')}"
    return words


def _seconds(raw: Mapping[str, Any]) -> float | None:
    lasted = raw.get("duration")
    if isinstance(lasted, dict):
        secs, nanos = lasted.get("secs"), lasted.get("nanos")
        if isinstance(secs, int | float):
            return round(float(secs) + (nanos / 1e9 if isinstance(nanos, int | float) else 0.0), 6)
    begun, done = raw.get("started_at_ms"), raw.get("completed_at_ms")
    if isinstance(begun, int) and isinstance(done, int) and done >= begun:
        return (done - begun) / 1000
    return None


def _word(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def _say(words: str) -> tuple[Part, ...]:
    return (Part(PartKind.MARKER, words[:_SHOWN]),) if words else ()
