"""Whose words a user's message holds: a person's, the agent's own, or a compaction's."""

from __future__ import annotations

import re
from pathlib import PurePath

import orjson

ENVIRONMENT = "<session_context>"
HOOK = "<hook_context>"
_SNAPSHOT = "<state_snapshot>"
_SNAPSHOT_KEYS = frozenset({"active_tasks", "discovered_facts", "constraints_and_preferences", "recent_arc"})
_PLACES = (
    re.compile(r"\*\*Workspace Directories:\*\*\s*\n\s*-\s+(\S[^\n]*)"),
    re.compile(r"I'm currently working in the director(?:y|ies): (\S[^\n]*)"),
    re.compile(r"I'm currently working in the following directories:\s*\n\s*-\s+(\S[^\n]*)"),
)
_INVESTIGATION = "Your task is to do a deep investigation of the codebase"


def left_out(text: str) -> bool:
    """Whether the agent leaves a user's message with this text (trimmed) out when it goes on from a session."""
    return not text or text.startswith(("/", "?", ENVIRONMENT, HOOK))


def is_command(text: str) -> bool:
    return text.startswith("/")


def is_snapshot(text: str) -> bool:
    """Whether this is a compaction's summary."""
    if _SNAPSHOT in text:
        return True
    if not text.startswith("{"):
        return False
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return isinstance(value, dict) and value.keys() >= _SNAPSHOT_KEYS


def is_investigation(text: str) -> bool:
    """Whether this begins a sub-agent of the time before such files said what they are."""
    return text.startswith(_INVESTIGATION)


def place_of(environment: str) -> str | None:
    """The folder in which the agent was started, as it describes it to the model."""
    for pattern in _PLACES:
        found = pattern.search(environment[:20_000])
        if found is not None and PurePath(found[1].strip()).name:
            return found[1].strip()
    return None
