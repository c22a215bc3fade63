"""Which tool of one agent is which of another: the same deed, its arguments under other names.

Names and arguments as the agents' own records have them (Claude Code 2.1, Codex 0.171, Gemini CLI 0.61, OpenCode 1.18). An argument that
is not listed keeps its name: what was called stays readable. Where there is no equal, a call is told in words.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import orjson

ANY_TOOL = frozenset({"openai", "anthropic", "ai-sdk", "trace", "j-cli"})  # formats in which a tool has any name
_OBJECTS = frozenset({"anthropic", "ai-sdk"})  # and its arguments are an object

# deed → agent → its tools (the first is the one that is written), and what it calls our arguments
_DEEDS: Mapping[str, Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]]] = {
    "shell": {
        "claude-code": (("Bash",), {"command": "command"}),
        "codex": (("exec_command", "shell_command", "shell", "local_shell"), {"command": "cmd"}),
        "gemini-cli": (("run_shell_command",), {"command": "command"}),
        "opencode": (("bash",), {"command": "command"}),
    },
    "read": {
        "claude-code": (("Read",), {"path": "file_path"}),
        "gemini-cli": (("read_file",), {"path": "file_path"}),
        "opencode": (("read",), {"path": "filePath"}),
    },
    "write": {
        "claude-code": (("Write",), {"path": "file_path", "content": "content"}),
        "gemini-cli": (("write_file",), {"path": "file_path", "content": "content"}),
        "opencode": (("write",), {"path": "filePath", "content": "content"}),
    },
    "edit": {
        "claude-code": (("Edit",), {"path": "file_path", "old": "old_string", "new": "new_string"}),
        "gemini-cli": (("replace",), {"path": "file_path", "old": "old_string", "new": "new_string"}),
        "opencode": (("edit",), {"path": "filePath", "old": "oldString", "new": "newString"}),
    },
    "find": {
        "claude-code": (("Glob",), {"pattern": "pattern"}),
        "gemini-cli": (("glob",), {"pattern": "pattern"}),
        "opencode": (("glob",), {"pattern": "pattern"}),
    },
    "search": {
        "claude-code": (("Grep",), {"pattern": "pattern"}),
        "gemini-cli": (("grep_search", "search_file_content"), {"pattern": "pattern"}),
        "opencode": (("grep",), {"pattern": "pattern"}),
    },
}
# agent → its tool for the whole list of tasks, where the list stands, what a task's words are called, what else each task has
_PLANS: Mapping[str, tuple[str, str, str, Mapping[str, str]]] = {
    "claude-code": ("TodoWrite", "todos", "content", {"activeForm": ""}),
    "codex": ("update_plan", "plan", "step", {}),
    "gemini-cli": ("write_todos", "todos", "description", {}),
    "opencode": ("todowrite", "todos", "content", {"priority": "medium"}),
}
_EVERYWHERE = frozenset({"pending", "in_progress", "completed"})  # states that every one of them has
_OTHER_NAMES = {"command": ("command", "cmd"), "path": ("absolute_path", "path", "filePath", "file_path")}


def carried(tool: str | None, arguments: str, source: str, target: str) -> tuple[str, str] | None:
    """The target's tool and arguments (JSON) for a call of the source; None where it has no equal."""
    if tool is None:
        return None
    try:
        given = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        given = arguments
    if target in ANY_TOOL:
        whole = target not in _OBJECTS or isinstance(given, dict)
        return tool, arguments if whole else orjson.dumps({"arguments": given}).decode()
    if not isinstance(given, dict):
        return None
    if source in _PLANS and target in _PLANS and tool == _PLANS[source][0]:
        return _plan(given, source, target)
    for agents in _DEEDS.values():
        if target not in agents or not _is_of(tool, source, agents):
            continue
        names, wanted = agents[target]
        there = agents[source][1] if source in agents else wanted
        out = dict(given)
        for ours, theirs in wanted.items():
            value = _take(out, there.get(ours, theirs), ours)
            if ours == "command":
                value = _line(value)
            if not isinstance(value, str):
                return None
            out[theirs] = value
        return names[0], orjson.dumps(out).decode()
    return None


def _plan(given: Mapping[str, Any], source: str, target: str) -> tuple[str, str] | None:
    """A list of tasks as another agent's tool takes it; None where it holds what that one cannot say."""
    _, listed, said, _ = _PLANS[source]
    tool, wanted, words, more = _PLANS[target]
    tasks = given.get(listed)
    out: list[dict[str, Any]] = []
    for task in tasks if isinstance(tasks, list) else []:
        text, status = (task.get(said), task.get("status")) if isinstance(task, dict) else (None, None)
        if not isinstance(text, str) or status not in _EVERYWHERE:
            return None
        out.append({words: text, "status": status} | {key: value or text for key, value in more.items()})
    return (tool, orjson.dumps({wanted: out}).decode()) if out else None


def _is_of(tool: str, source: str, agents: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]]) -> bool:
    if source in agents:
        return tool in agents[source][0]
    return source in ANY_TOOL and any(tool in names for names, _ in agents.values())


def _take(given: dict[str, Any], name: str, ours: str) -> Any:
    for one in (name, *_OTHER_NAMES.get(ours, ())):
        if one in given:
            return given.pop(one)
    return None


def _line(command: Any) -> Any:
    """A command as one line: Codex's older tools give a list, often of a shell and what it is to run."""
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        if len(command) == 3 and command[1] in ("-c", "-lc"):
            return command[2]
        return shlex.join(command)
    return command
