"""What a tool call is about, in a few words: its nature, its name for a person, its main argument. Pure; for lines of pages.

Told by the names that agents use and by the names of the arguments, so that a tool nobody knows yet still shows what it was given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

_NATURES: dict[str, str] = {
    "bash": "shell", "shell": "shell", "exec_command": "shell", "local_shell": "shell", "local_shell_call": "shell", "run_shell_command": "shell",
    "container.exec": "shell", "unified_exec": "shell", "write_stdin": "shell", "bashoutput": "shell", "killshell": "shell", "shell_command": "shell",
    "powershell": "shell",
    "read": "read", "read_file": "read", "read_many_files": "read", "view_image": "read", "notebookread": "read", "cat": "read",
    "edit": "edit", "multiedit": "edit", "replace": "edit", "notebookedit": "edit", "apply_patch": "edit", "str_replace": "edit", "patch": "edit",
    "write": "write", "write_file": "write", "create_file": "write",
    "grep": "search", "glob": "search", "ls": "list", "list": "list", "list_directory": "list", "search_file_content": "search",
    "grep_files": "search", "list_dir": "list", "toolsearch": "search", "ripgrep": "search", "codesearch": "search",
    "webfetch": "web", "websearch": "web", "web_search": "web", "web_fetch": "web", "google_web_search": "web", "web_search_call": "web",
    "todowrite": "plan", "update_plan": "plan", "taskcreate": "plan", "taskupdate": "plan", "tasklist": "plan", "write_todos": "plan",
    "task": "delegate", "agent": "delegate", "spawn_agent": "delegate", "delegate": "delegate", "invoke_agent": "delegate",
    "delegate_to_agent": "delegate", "askuserquestion": "question", "ask_user": "question", "request_user_input": "question",
    "question": "question", "exitplanmode": "question", "exit_plan_mode": "question",
    "skill": "skill",
}  # fmt: skip
_NAMES = {
    "shell": "Shell",
    "exec_command": "Shell",
    "local_shell": "Shell",
    "apply_patch": "Patch",
    "update_plan": "Plan",
    "bash": "Shell",
}
DELEGATING = frozenset(tool for tool, nature in _NATURES.items() if nature == "delegate")
_ARGUMENTS = (
    "command", "cmd", "file_path", "filePath", "pattern", "query", "path", "absolute_path", "notebook_path", "url", "chars", "description", "subject", "skill",
    "prompt", "name", "taskId", "session_id",
)  # fmt: skip
_FILES = ("file_path", "filePath", "absolute_path", "notebook_path", "target_file", "path")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_SHELL_WRAPPERS = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh")
_ONE_STRING = re.compile(r'"({})"\s*:\s*"((?:[^"\\]|\\.)*)'.format("|".join(_ARGUMENTS)))

LONGEST = 240  # characters of a main argument


@dataclass(frozen=True, slots=True)
class Call:
    """`nature`: shell, read, edit, write, search, list, web, plan, delegate, question, skill, other.

    `given`: its arguments, {} where they are no object. `server`: of a tool that an MCP server gives; "" for the agent's own.
    """

    nature: str
    name: str
    argument: str
    given: Mapping[str, Any] = field(default_factory=dict)
    server: str = ""


def nature_of(tool: str | None) -> str:
    """The nature of a tool by its name alone."""
    return "other" if (tool or "").startswith("mcp__") else _NATURES.get((tool or "").casefold(), "other")


def files_of(call: Call, text: str) -> list[str]:
    """The files that a call writes, as it names them; `text` as for `call_of`. Empty for calls that write none."""
    if call.nature not in ("edit", "write"):
        return []
    patch = patch_of(call.given, text)
    if patch is not None:
        return [path.strip() for path in _PATCHED.findall(patch)]
    named = (call.given.get(name) for name in _FILES)
    return [path for path in named if isinstance(path, str) and path.strip()][:1]


def call_of(tool: str | None, text: str) -> Call:
    """Read a call. `text`: its arguments as JSON text, perhaps cut off; or plain text (a patch)."""
    bare = (tool or "").rsplit("__", 1)[-1].rsplit(".", 1)[-1] if (tool or "").startswith("mcp__") else tool or ""
    nature = nature_of(tool)
    name = _NAMES.get(bare.casefold(), bare or "Tool")
    given = _object(text)
    if nature == "edit" and (patch := patch_of(given, text)) is not None:
        return Call(nature, name, ", ".join(_PATCHED.findall(patch))[:LONGEST], given)
    server = (tool or "").split("__")[1] if (tool or "").startswith("mcp__") and (tool or "").count("__") > 1 else ""
    return Call(nature, name, _main(given, text), given, server)


def deed_of(tool: str | None, text: str) -> Call:
    """A call without its words for a person: what it does, and with what arguments."""
    return Call(nature_of(tool), "", "", _object(text))


def patch_of(given: Mapping[str, Any], text: str) -> str | None:
    """The patch of a call that carries one in the `*** Begin Patch` form."""
    for candidate in (given.get("input"), given.get("patch"), text):
        if isinstance(candidate, str) and "*** Begin Patch" in candidate:
            return candidate
    command = given.get("command")
    if isinstance(command, list):
        return next((word for word in command if isinstance(word, str) and "*** Begin Patch" in word), None)
    return None


def command_of(given: Mapping[str, Any]) -> str:
    """The command line of a shell call: a text, or a list of words without the shell that wraps them."""
    value = given.get("command", given.get("cmd", given.get("chars", "")))
    if isinstance(value, list):
        words = [str(word) for word in value]
        if len(words) == 3 and words[0] in _SHELL_WRAPPERS and words[1].startswith("-"):
            return words[2]
        return " ".join(words)
    return value if isinstance(value, str) else ""


def _object(text: str) -> Mapping[str, Any]:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        # Cut off, or never JSON: its first telling string still says what it is about.
        return {match[1]: _unescaped(match[2]) for match in reversed(list(_ONE_STRING.finditer(text[:4000])))}
    return value if isinstance(value, dict) else {}


def _unescaped(text: str) -> str:
    try:
        return str(orjson.loads(f'"{text}"'))
    except orjson.JSONDecodeError:
        return text


def _main(given: Mapping[str, Any], text: str) -> str:
    command = command_of(given)
    if command:
        return _line(command)
    for name in _ARGUMENTS:
        value = given.get(name)
        if isinstance(value, str) and value.strip():
            return _line(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return f"{name} {value}"
    todos = given.get("todos", given.get("plan"))
    if isinstance(todos, list):
        return f"{len(todos)} items" if len(todos) != 1 else "1 item"
    queries = given.get("queries")
    if isinstance(queries, list) and queries:
        return _line(str(queries[0]))
    return "" if given or text.strip() in ("{}", "null") else _line(text)


def _line(text: str) -> str:
    """One line: the first of several, with a mark that more follow."""
    stripped = text.strip()
    first, more, _ = stripped.partition("\n")
    cut = first[:LONGEST].rstrip()
    return f"{cut} …" if more or len(first) > LONGEST else cut
