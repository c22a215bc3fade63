"""A context as an ordered list of events: who said what, which call was made and what came of it.

Dropped, as no one's words: context the harness put in, reminders inside messages, built-in slash commands, reasoning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from compaction.tools import Call, Output, ToolKind, output_of, understand
from sessions.contexts import InsertKind, Item
from sessions.entries import Kind, PartKind, Role


class Voice(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    CALL = "call"
    RESULT = "result"
    SUMMARY = "summary"  # of an earlier compaction
    FILE = "file"  # a file that an earlier version re-injected


@dataclass(slots=True)
class Event:
    """One thing said or done. `n`: its number; `pos`: of its item in the context; `step`: of the model's answers so far, from 1.

    `seqs`: the entries it comes from (of inserted text the bounds of what it stands for). `call`: of a call and of its result.
    """

    n: int
    pos: int
    seqs: tuple[int, ...]
    voice: Voice
    text: str
    step: int
    call: Call | None = None
    output: Output | None = None

    @property
    def failed(self) -> bool:
        return self.output is not None and self.output.failed


_REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_COMMAND = re.compile(r"<command-name>\s*/?([\w:.-]+)\s*</command-name>")
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_BUILT_IN = frozenset(
    [
        "compact",
        "clear",
        "model",
        "resume",
        "continue",
        "cost",
        "config",
        "login",
        "logout",
        "help",
        "exit",
        "quit",
        "status",
        "context",
        "usage",
        "memory",
        "hooks",
        "mcp",
        "agents",
        "doctor",
        "init",
        "review",
        "terminal-setup",
        "vim",
        "permissions",
        "add-dir",
        "rewind",
        "export",
        "fast",
        "theme",
        "effort",
    ]
)
_WRAPPERS = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions",
    "<INSTRUCTIONS>",
    "# AGENTS.md instructions",
    "<skill>",
    "<local-command",
    "<bash-",
    "<turn_aborted>",
    "Caveat: The messages below",
    "[Request interrupted",
    "<task-notification>",
    "<user_shell_command>",
    "<subagent_notification>",
)


def is_wrapper(text: str) -> bool:
    """Whether a user-role text is the harness's and no person's."""
    return text.lstrip().startswith(_WRAPPERS)


def spoken(text: str) -> str:
    """A person's words in a message: reminders taken out, a slash command reduced to what was asked with it."""
    if "<" in text:
        text = _REMINDER.sub("", text)
        if (name := _COMMAND.search(text)) is not None:
            arguments = _ARGUMENTS.search(text)
            asked = arguments[1].strip() if arguments else ""
            if name[1] in _BUILT_IN or not asked:
                return ""
            return f"/{name[1]} {asked}"
        if is_wrapper(text):
            return ""
    elif text.startswith(("[Request interrupted", "Caveat: The messages")):
        return ""
    return text.strip()


def read(items: Iterable[Item], understood: Mapping[str, Call] | None = None) -> list[Event]:
    """The events of a context, in its order. `understood`: its calls by id, where the caller knows them already."""
    events: list[Event] = []
    known = understood or {}
    calls: dict[str, Call] = {}
    step = 0
    answering = False
    # Looked up once: an attribute of an enumeration costs as much as what is done with it here.
    text_part, call_part, result_part = PartKind.TEXT, PartKind.TOOL_CALL, PartKind.TOOL_RESULT
    call_voice, result_voice = Voice.CALL, Voice.RESULT
    for pos, item in enumerate(items):
        kind = item.kind
        if kind is Kind.REASONING or kind is Kind.CONTEXT:
            continue
        seqs = (item.seq,) if item.seq is not None else _bounds(item)
        voice = None if kind is Kind.TOOL_CALL or kind is Kind.TOOL_RESULT else _voice(item)
        for part in item.parts:
            if part.kind is text_part:
                if voice is None:
                    continue
                role = part.role or item.role
                speaker = voice
                if part.role is not None and voice in (Voice.USER, Voice.ASSISTANT):
                    speaker = Voice.ASSISTANT if role is Role.ASSISTANT else Voice.USER
                text = spoken(part.text) if speaker is Voice.USER else part.text
                if not text:
                    continue
                if speaker is Voice.ASSISTANT:
                    step += not answering
                    answering = True
                else:
                    answering = False
                events.append(Event(len(events), pos, seqs, speaker, text, step))
            elif part.kind is call_part:
                step += not answering
                answering = True
                call = known.get(part.call_id or "") or understand(part, item.seq)
                if part.call_id:
                    calls[part.call_id] = call
                events.append(Event(len(events), pos, seqs, call_voice, call.values, step, call))
            elif part.kind is result_part:
                answering = False
                output = output_of(part)
                asked = calls.get(part.call_id or "")
                told = _REMINDER.sub("", output.text) if "<system-reminder>" in output.text else output.text
                events.append(Event(len(events), pos, seqs, result_voice, told, step, asked, output))
    return events


def _voice(item: Item) -> Voice | None:
    kind = item.kind
    if kind is Kind.PROMPT or kind is Kind.COMMAND:
        return Voice.USER
    if kind is Kind.MESSAGE:
        return Voice.ASSISTANT
    if kind is Kind.SUMMARY or kind is InsertKind.SUMMARY:
        return Voice.SUMMARY
    if kind is InsertKind.FILE:
        return Voice.FILE
    if kind is InsertKind.MESSAGE:
        if item.role is Role.USER:
            return Voice.USER
        return Voice.ASSISTANT if item.role is Role.ASSISTANT else None
    return None


def _bounds(item: Item) -> tuple[int, ...]:
    spans = item.stands_for.spans
    if spans:
        first, last = spans[0][0], spans[-1][1] - 1
        return (first,) if first == last else (first, last)
    return ()


def is_edit(event: Event) -> bool:
    return event.call is not None and event.call.kind in (
        ToolKind.EDIT,
        ToolKind.WRITE,
        ToolKind.PATCH,
    )
