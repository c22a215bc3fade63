"""What an agent's tools mean: raw tool name and arguments → kind, path, command; raw output → text, exit code, error lines.

All knowledge of tool names in this app is here. An unknown tool is kind `other` and still has a main argument to show.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

import orjson

from compaction.patches import parse_patch
from sessions.entries import Part


class ToolKind(StrEnum):
    READ = "read"
    EDIT = "edit"
    WRITE = "write"
    PATCH = "patch"
    RUN = "run"
    SEARCH = "search"
    FETCH = "fetch"
    PLAN = "plan"
    SKILL = "skill"
    ASK = "ask"
    AGENT = "agent"
    OTHER = "other"


PROTECTED = frozenset({ToolKind.PLAN, ToolKind.SKILL, ToolKind.ASK, ToolKind.AGENT})
"""Kinds whose results are never masked: they are decisions and state, not output that can be had again."""

_NAMES: dict[ToolKind, str] = {
    ToolKind.READ: "read read_file view view_file open_file notebookread read_many_files readfile",
    ToolKind.EDIT: "edit multiedit str_replace replace notebookedit edit_file str_replace_editor str_replace_based_edit_tool",
    ToolKind.WRITE: "write write_file create_file writefile",
    ToolKind.PATCH: "apply_patch patch",
    ToolKind.RUN: "bash shell exec_command shell_command local_shell run_shell_command container.exec exec terminal powershell",
    ToolKind.SEARCH: "grep glob search ls list list_directory find search_file_content codesearch list_dir grep_files",
    ToolKind.FETCH: "webfetch websearch web_fetch web_search google_web_search fetch",
    ToolKind.PLAN: (
        "todowrite todoread update_plan taskcreate taskupdate tasklist taskget exitplanmode enterplanmode exit_plan_mode "
        "enter_plan_mode create_goal update_goal get_goal write_todos todo todos plan save_memory"
    ),
    ToolKind.SKILL: "skill activate_skill loadskill load_skill",
    ToolKind.ASK: "askuserquestion ask_user ask_question request_user_input question",
    ToolKind.AGENT: "task agent spawn_agent delegate wait_agent wait send_input send_message close_agent subagent explore",
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}

_PATHS = (
    "file_path",
    "path",
    "notebook_path",
    "filePath",
    "absolute_path",
    "filename",
    "target_file",
)
_ANY_PATH = frozenset(_PATHS)
_COMMANDS = ("command", "cmd", "script")
_MAIN = (
    "pattern",
    "query",
    "url",
    "description",
    "subject",
    "skill",
    "name",
    "prompt",
    "objective",
    "task_name",
    "message",
)


@dataclass(slots=True)
class Call:
    """A tool call, understood. `args` is None where the arguments are no JSON object; `raw` is always their text as recorded."""

    tool: str
    kind: ToolKind
    raw: str
    args: dict[str, Any] | None
    path: str | None = None
    command: str | None = None
    patch: str | None = None
    call_id: str | None = None
    seq: int | None = None
    _argument: str | None = None

    @property
    def argument(self) -> str:
        """What the call is about, on one line: path, command, pattern, …"""
        if self._argument is None:
            self._argument = self._about()
        return self._argument

    def _about(self) -> str:
        if self.kind is ToolKind.PATCH:
            return ", ".join(change.path for change in parse_patch(self.patch or self.raw)) or "patch"
        if self.command:
            return one_line(self.command)
        args = self.args or {}
        found = self.path or next(
            (str(args[name]) for name in _MAIN if isinstance(args.get(name), str) and args[name]),
            None,
        )
        if found and self.kind is ToolKind.SEARCH and isinstance(args.get("pattern"), str) and args["pattern"] != found:
            return one_line(f"{args['pattern']} in {found}")
        return one_line(found or next((str(v) for v in args.values() if isinstance(v, str) and v), self.raw))

    @property
    def values(self) -> str:
        """The words of the arguments without their names: what the agent wrote, not the shape of the tool."""
        if self.args is None:
            return self.raw
        try:
            return "\n".join(self.args.values())  # of most calls all are texts
        except TypeError:
            return "\n".join(_strings(self.args))


@lru_cache(maxsize=4_096)
def kind_of(tool: str) -> ToolKind:
    """The kind of a tool by its name alone."""
    if tool.startswith("mcp__"):
        kind = _KINDS.get(tool.lower().rpartition("__")[2], ToolKind.OTHER)
        return ToolKind.OTHER if kind in PROTECTED else kind  # a server's tool called "task" is no plan of the agent's
    return _KINDS.get(tool.lower(), ToolKind.OTHER)


def understand(part: Part, seq: int | None = None) -> Call:
    """The meaning of a tool call part; never raises, whatever the arguments are."""
    tool = part.tool or ""
    args: dict[str, Any] | None = None
    if part.text[:1] == "{":
        try:
            loaded = orjson.loads(part.text)
        except ValueError:
            loaded = None
        if isinstance(loaded, dict):
            args = loaded
    kind = kind_of(tool)
    call = Call(tool, kind, part.text, args, None, None, None, part.call_id, seq)
    if args is None:
        if kind is ToolKind.PATCH:
            call.patch = part.text
        elif kind is ToolKind.RUN and part.text and part.text[:1] != "{":
            call.command = part.text
        return call
    if not _ANY_PATH.isdisjoint(args):
        for name in _PATHS:
            path = args.get(name)
            if path and isinstance(path, str):
                call.path = path
                break
    if kind is ToolKind.RUN:
        _understand_command(call, args)
    elif kind is ToolKind.PATCH:
        call.patch = next(
            (v for v in (args.get("input"), args.get("patch"), args.get("command")) if isinstance(v, str)),
            part.text,
        )
    elif kind is ToolKind.EDIT and isinstance(args.get("command"), str):
        verb = args["command"]
        call.kind = {"view": ToolKind.READ, "create": ToolKind.WRITE}.get(verb, ToolKind.EDIT)
    return call


def _understand_command(call: Call, args: dict[str, Any]) -> None:
    command = next((args[name] for name in _COMMANDS if args.get(name)), None)
    action = args.get("action")
    if command is None and isinstance(action, dict):  # Codex's local_shell wraps it once more
        command = action.get("command")
    if isinstance(command, list):
        words = [str(word) for word in command]
        if words[:1] == ["apply_patch"] and len(words) > 1:
            call.kind, call.patch = ToolKind.PATCH, words[1]
            return
        shell = len(words) >= 3 and words[1] in ("-lc", "-c", "-cl", "-Command")
        call.command = words[-1] if shell else shlex.join(words)
    elif isinstance(command, str):
        call.command = command
    if (
        call.command
        and "*** Begin Patch" in call.command
        and "apply_patch" in call.command.partition("*** Begin Patch")[0]
    ):
        body = call.command[call.command.index("*** Begin Patch") :]
        end = body.find("*** End Patch")
        call.kind, call.patch = (
            ToolKind.PATCH,
            body if end < 0 else body[: end + len("*** End Patch")],
        )


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth < 6 and isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner, depth + 1)
    elif depth < 6 and isinstance(value, list):
        for inner in value:
            yield from _strings(inner, depth + 1)


# ── results ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Output:
    """A tool's output without the harness's wrapping. `exit_code` None: the record does not say."""

    text: str
    exit_code: int | None
    failed: bool


_CLAUDE_EXIT = re.compile(r"\A(?:Error: )?Exit code (\d+)\n?")
_CODEX_EXIT = re.compile(r"^(?:Exit code: |Process exited with code )(-?\d+)$", re.MULTILINE)


_WRAPPED = frozenset("{ECW")  # how an output with a harness's wrapping begins


def output_of(part: Part) -> Output:
    """The output in a tool result part, by the formats Claude Code and Codex write."""
    text = part.text
    meta = part.meta
    wrapped = text[:1] in _WRAPPED
    if not wrapped and not meta:  # most outputs
        return Output(text, None, part.is_error)
    code = meta.get("exit_code")
    code = code if isinstance(code, int) and not isinstance(code, bool) else None
    if not wrapped:
        return Output(text, code, part.is_error or code not in (None, 0))
    if text.startswith("{") and '"output"' in text[:200_000]:
        try:
            loaded = orjson.loads(text)
        except ValueError:
            loaded = None
        if isinstance(loaded, dict) and isinstance(loaded.get("output"), str):
            text = loaded["output"]
            said = loaded.get("metadata")
            if isinstance(said, dict) and isinstance(said.get("exit_code"), int):
                code = said["exit_code"]
    elif match := _CLAUDE_EXIT.match(text):
        code = int(match[1]) if code is None else code
        text = text[match.end() :]
    elif text.startswith(("Exit code: ", "Chunk ID: ", "Wall time: ")):
        head, mark, body = text.partition("Output:\n")
        if mark and len(head) < 1_000:
            if match := _CODEX_EXIT.search(head):
                code = int(match[1]) if code is None else code
            text = body
    return Output(text, code, part.is_error or code not in (None, 0))


_ERROR = re.compile(
    r"\b(?:error|errors|err|exception|panic(?:ked)?|fatal|fail(?:ed|ure|s)?|traceback|denied|refused|undefined|unresolved|cannot|can't|"
    r"not found|no such|unexpected|invalid|abort(?:ed)?|assert\w*|segmentation|timed? ?out|killed|conflict)\b|[A-Z]\w*(?:Error|Exception)\b"
    r"|\bE\d{3,5}\b|\u9519\u8bef|\u5931\u8d25|\u5f02\u5e38|\u65e0\u6cd5|\u4e0d\u5b58\u5728|^FAIL|^E  ",
    re.IGNORECASE | re.MULTILINE,
)
_NAMED_ERROR = re.compile(r"^[\w.]*(?:Error|Exception)\b.{0,300}", re.MULTILINE)
_TAGS = re.compile(r"</?tool_use_error>|\x1b\[[0-9;]*m")
_ZERO = re.compile(r"\b(?:0|no) (?:errors?|failures?|failed|issues?|warnings?)\b", re.IGNORECASE)


_LOOKED_AT = 20_000  # characters of an output in which errors are sought: its head, and what it ended with


_HINTS = (
    *(
        "err",
        "exception",
        "panic",
        "fatal",
        "fail",
        "traceback",
        "denied",
        "refused",
        "undefined",
        "unresolved",
        "cannot",
        "can't",
    ),
    *(
        "not found",
        "no such",
        "unexpected",
        "invalid",
        "abort",
        "assert",
        "segmentation",
        "timed out",
        "timeout",
        "killed",
        "conflict",
    ),
    *("错误", "失败", "异常", "无法", "不存在"),
)
_HITS = 8  # of one hint: the first lines with it are looked at


def error_lines(text: str, most: int = 2) -> list[str]:
    """The lines that name what went wrong, at most `most`, each cut at 240 characters; the first line where none looks like it."""
    body = _TAGS.sub("", text if len(text) <= _LOOKED_AT else text[: _LOOKED_AT - 4_000] + "\n" + text[-4_000:])
    found: list[str] = []
    if "Traceback (most recent call last)" in body:
        found.extend(match[0].strip() for match in list(_NAMED_ERROR.finditer(body))[-1:])
    for start in _hinted(body):
        if len(found) >= most:
            break
        stop = body.find("\n", start)
        line = body[start : len(body) if stop < 0 else stop].strip()
        wanted = line and line not in found and not line.startswith("Traceback (most")
        if wanted and _ERROR.search(line) and not _ZERO.search(line):
            found.append(line)
    if not found:
        found = [line.strip() for line in body[:4_000].split("\n") if line.strip()][:1]
    return [clip(line, 240) for line in found[:most]]


def _hinted(body: str) -> list[int]:
    """Where the lines begin that may name an error, in order: plain search for each hint is much faster than one pattern of all."""
    low = body.lower()
    if len(low) != len(body):  # a letter whose lower case is longer: positions would not agree
        low = body
    starts: set[int] = set()
    for hint in _HINTS:
        at = low.find(hint)
        for _ in range(_HITS):
            if at < 0:
                break
            start = body.rfind("\n", 0, at) + 1
            starts.add(start)
            stop = low.find("\n", at)
            at = low.find(hint, stop) if stop >= 0 else -1
    at = body.find("\nE  ")  # how pytest marks the lines of an assertion
    if at >= 0:
        starts.add(at + 1)
    return sorted(starts)


_VOLATILE = re.compile(
    r"0x[0-9a-f]+|(?:/[\w.@+-]+)+/|\b[0-9a-f]{8,}\b|\d+(?:\.\d+)*(?:ms|s)?",
    re.IGNORECASE,
)


def signature(line: str) -> str:
    """An error line without what changes from run to run: numbers, addresses, folders."""
    return " ".join(_VOLATILE.sub("", line).split()).lower()


# ── text ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def one_line(text: str, most: int = 200) -> str:
    """The text on one line, runs of white space folded, cut at `most` characters."""
    if len(text) <= most and text.isprintable() and "  " not in text:  # no white space but single ones
        return text.strip()
    return clip(" ".join(text[: most * 4].split()), most)


def clip(text: str, most: int) -> str:
    """At most `most` characters, the last one an ellipsis where something was cut."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
