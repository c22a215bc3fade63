"""Which messages of a log are a person's, and which the agent put in: told by the tags that frame them.

The rule is the agent's own (seen in what 0.171 rolls back): a user message is context as soon as one of its texts is framed by a
known opening and its closing. An opening alone is not enough: a person may ask about a tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_FRAMES: tuple[tuple[str, str], ...] = (
    ("# agents.md instructions", "</instructions>"),
    ("<environment_context>", "</environment_context>"),
    ("<user_shell_command>", "</user_shell_command>"),
    ("<turn_aborted>", "</turn_aborted>"),
    ("<subagent_notification>", "</subagent_notification>"),
    ("<codex_internal_context source=", "</codex_internal_context>"),
    ("<goal_context>", "</goal_context>"),
    ("<recommended_plugins>", "</recommended_plugins>"),
    ("<skill>", "</skill>"),
    ("<hook_prompt hook_run_id=", "</hook_prompt>"),
)
_EXTERNAL = re.compile(r"<(external_[\w.-]+)(?:\s[^>]*)?>")
_WARNINGS = (
    "Warning: apply_patch was requested via ",
    "Warning: The maximum number of unified exec processes",
    "Warning: Your account was flagged",
)
# Of versions before 0.9: no person's words either, but the newest agent no longer knows it and counts it as a turn.
_FORGOTTEN = ("<user_instructions>", "</user_instructions>")

# Developer texts that a rollback takes away with the turn they stand before.
_TRIMMED = (
    "<permissions instructions>",
    "<model_switch>",
    "<apps_instructions>",
    "<collaboration_mode>",
    "<multi_agent_role>",
    "<multi_agent_mode>",
    "<environments_instructions>",
    "<git_attribution>",
    "<plugins_instructions>",
    "<realtime_conversation>",
    "<skills_instructions>",
    "<tools>",
    "<personality_spec>",
    "<token_budget>",
    "<context_window>",
    "<context_window_guidance>",
    "<rollout_budget>",
)

_SUMMARY_OPENING = (
    "Another language model started to solve this problem and produced a summary of its thinking process."
)
_SUMMARY_LEAD = "assist with your own analysis:\n"


def is_context(texts: Iterable[str]) -> bool:
    """Whether a user message with these texts was put in by the agent."""
    return any(_framed(text) for text in texts)


def is_forgotten_context(texts: Iterable[str]) -> bool:
    """Whether it is context that the newest agent takes for a person's message when it counts turns to roll back."""
    return any(text.lstrip().startswith(_FORGOTTEN[0]) and text.rstrip().endswith(_FORGOTTEN[1]) for text in texts)


def is_shell_command(texts: Iterable[str]) -> bool:
    """Whether a user message is a command that the person ran, with what it printed."""
    return any(text.lstrip()[:20].casefold() == "<user_shell_command>" for text in texts)


def is_trimmed(texts: Iterable[str]) -> bool:
    """Whether a developer message goes when the turn after it is rolled back."""
    return any(text.lstrip()[:32].casefold().startswith(_TRIMMED) for text in texts)


def is_summary(text: str) -> bool:
    """Whether a user message is the summary of a local compaction."""
    return text.startswith(_SUMMARY_OPENING) and _SUMMARY_LEAD in text[:1000]


def _framed(text: str) -> bool:
    if text.startswith(_WARNINGS):
        return True
    start = text.lstrip()[:64]
    if not start.startswith(("<", "#")):
        return False
    opening = start.casefold()
    ending = text.rstrip()[-64:].casefold()
    for first, last in _FRAMES:
        if opening.startswith(first):
            return ending.endswith(last)
    external = _EXTERNAL.match(opening)
    return external is not None and ending.endswith(f"</{external[1]}>")
