"""Whose words a user record holds: a person's, a command's, or the harness's."""

from __future__ import annotations

from typing import Any

from sessions.entries import Kind

SUMMARY_OPENING = "This session is being continued from a previous conversation"

_COMMANDS = (
    "<command-name>",
    "<command-message>",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
)
_HARNESS = (
    "<local-command-caveat>",
    "Caveat: The messages below",
    "[Request interrupted by user",
    "<task-notification>",
    "<teammate-message",
    "<agent-message",
    "<system-reminder>",
)


def kind_of_text(text: str) -> Kind:
    """PROMPT for a person's words, COMMAND for slash and shell commands and their output, CONTEXT for what the harness wrote."""
    head = text[:200].lstrip()
    if head.startswith(_COMMANDS):
        return Kind.COMMAND
    return Kind.CONTEXT if head.startswith(_HARNESS) else Kind.PROMPT


def origin_is_human(record: dict[str, Any]) -> bool:
    """False only where the record says that something other than a person wrote it."""
    origin = record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    return kind is None or kind == "human"
