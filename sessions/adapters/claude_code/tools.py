"""What a tool's structured result says for the page, and what plan tools did to the goals.

`toolUseResult` is never sent to the model; only small facts of it are kept. A call that failed changes no goal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from sessions.adapters.claude_code.content import name_of, words
from sessions.entries import GoalChange, GoalItem, GoalStatus

_HUNKS = 12  # hunks kept for the page
_HUNK_LINES = 60  # lines kept of all hunks together
_LINE = 240  # characters kept of one line

_SHORT = (  # of a structured result, and what they are called here
    ("agentId", "agent_id"),
    ("status", "status"),
    ("numFiles", "files"),
    ("code", "code"),
    ("bytes", "bytes"),
    ("url", "url"),
    ("durationMs", "milliseconds"),
    ("totalDurationMs", "milliseconds"),
    ("totalTokens", "tokens"),
    ("totalToolUseCount", "tool_uses"),
    ("commandName", "skill"),
    ("type", "type"),
)
_STATUS = {
    "pending": GoalStatus.PENDING,
    "in_progress": GoalStatus.IN_PROGRESS,
    "completed": GoalStatus.COMPLETED,
    "deleted": GoalStatus.ABANDONED,
    "cancelled": GoalStatus.ABANDONED,
}
TASK_TOOLS = frozenset({"TaskCreate", "TaskUpdate"})
PLAN_TOOLS = TASK_TOOLS | {"TodoWrite", "ExitPlanMode"}
_PLAN = 4_000  # characters of a plan that are kept
_HANDED_OVER = re.compile(r"Implement the following plan:\s*\n")


def result_facts(result: Any, *, is_error: bool) -> dict[str, Any]:
    """Small display facts of a `toolUseResult`, whatever tool made it: told apart by its fields, since names change."""
    if not isinstance(result, dict):
        return {}
    facts: dict[str, Any] = {}
    if isinstance(result.get("stdout"), str):
        facts |= _shell(result, is_error=is_error)
    file = result.get("file")
    if isinstance(file, dict):
        facts |= _file(file)
    if isinstance(result.get("filePath"), str):
        facts["file"] = result["filePath"]
    if isinstance(result.get("structuredPatch"), list):
        facts |= _patch(result["structuredPatch"])
    for source, target in _SHORT:
        value = result.get(source)
        if value is None:  # as most are
            continue
        if isinstance(value, str | int) and not isinstance(value, bool) and len(str(value)) <= 500:
            facts[target] = value
    if isinstance(result.get("persistedOutputPath"), str):
        facts["overflow"] = "tool-results/" + re.split(r"[/\\]", result["persistedOutputPath"])[-1]
    if isinstance(result.get("persistedOutputSize"), int):
        facts["overflow_bytes"] = result["persistedOutputSize"]
    return facts


def plan_payload(tool: str | None, arguments: Any) -> Any:
    """What must be kept of a plan call until its result comes; None for every other tool."""
    if tool not in PLAN_TOOLS or not isinstance(arguments, dict):
        return None
    if tool == "TodoWrite":
        todos = arguments.get("todos")
        return _todo_rows(todos) or (
            [] if todos == [] else [["", ""]]
        )  # a list that cannot be read says nothing; an empty one does
    if tool == "ExitPlanMode":
        return {"plan": words(arguments.get("plan"))[:_PLAN]}
    keep = ("subject",) if tool == "TaskCreate" else ("taskId", "status", "subject")
    return {key: words(arguments[key])[:1000] for key in keep if isinstance(arguments.get(key), str | int)}


def plan_change(tool: str, payload: Any, result: Any, text: str, tasks: dict[str, str]) -> GoalChange | None:
    """What a plan call that went through did to the goals. `tasks`: id → status so far; kept up to date."""
    result = result if isinstance(result, Mapping) else {}
    if tool == "TodoWrite":
        rows = _todo_rows(result.get("newTodos")) or payload
        return todos_change(rows) if rows else GoalChange((), whole=True)
    if not isinstance(payload, Mapping):
        return None
    if tool == "ExitPlanMode":
        # Newer versions keep the text in a file and repeat it with the answer.
        plan = words(payload.get("plan")) or words(result.get("plan"))
        agreed = "approved your plan" in text[:400]
        return GoalChange((), whole=False, plan=plan[:_PLAN]) if plan.strip() and agreed else None
    if tool == "TaskCreate":
        task = result.get("task")
        found = re.search(r"Task #(\S+) created", text)
        key = (
            words(task.get("id"))
            if isinstance(task, Mapping) and task.get("id") is not None
            else found.group(1)
            if found
            else None
        )
        subject = words(task.get("subject")) if isinstance(task, Mapping) else ""
        return _task(key, subject or payload.get("subject", ""), "pending", tasks)
    if result.get("success") is False:
        return None
    return _task(payload.get("taskId"), payload.get("subject", ""), payload.get("status"), tasks)


def plan_of_request(text: str) -> GoalChange | None:
    """The plan that was accepted with a fresh context: the agent hands it over as the next request (Claude Code 2.1.12 on)."""
    found = _HANDED_OVER.match(text)
    plan = text[found.end() :].strip() if found else ""
    return GoalChange((), whole=False, plan=plan[:_PLAN]) if plan else None


def todos_change(rows: Any) -> GoalChange | None:
    """A whole list, as TodoWrite, a prompt's `todos` or a reminder states it. Empty: nothing is said about the goals."""
    items = tuple(_todo_items(_todo_rows(rows)))
    return GoalChange(items, whole=True) if items else None


def tasks_change(rows: Any, tasks: dict[str, str]) -> GoalChange | None:
    """The tasks that a reminder states, each by its id."""
    items: list[GoalItem] = []
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict) and row.get("id") is not None:
            change = _task(words(row["id"]), words(row.get("subject")), row.get("status"), tasks)
            items.extend(change.items if change else ())
    return GoalChange(tuple(items), whole=False) if items else None


def _task(key: Any, subject: str, status: Any, tasks: dict[str, str]) -> GoalChange | None:
    if not key:
        return None
    key = words(key)
    known = status if status in _STATUS else tasks.get(key, "pending")
    tasks[key] = known
    note = "deleted by the agent" if known == "deleted" else None
    return GoalChange((GoalItem(subject, _STATUS[known], key=key, note=note),), whole=False)


def _todo_rows(rows: Any) -> list[list[str]]:
    """[text, status] of every item that is one; models write strings and half-objects too."""
    out: list[list[str]] = []
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict):
            out.append([words(row.get("content") or row.get("subject"))[:1000], words(row.get("status"))])
        elif isinstance(row, list) and len(row) == 2:
            out.append([words(row[0]), words(row[1])])
        elif isinstance(row, str):
            out.append([row[:1000], "pending"])
    return [row for row in out if row[0]]


def _todo_items(rows: Iterable[list[str]]) -> Iterable[GoalItem]:
    # Their old `id`s ("1", "2") are used again by every new list: the text is what tells them apart.
    for text, status in rows:
        yield GoalItem(text, _STATUS.get(status, GoalStatus.PENDING))


def _shell(result: dict[str, Any], *, is_error: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    said = name_of(result.get("returnCodeInterpretation"))
    if said:
        facts["exit_meaning"] = said[:200]
    if result.get("interrupted") is True:
        facts["interrupted"] = True
    background = name_of(result.get("backgroundTaskId"))
    if background:
        facts["background"] = background
    if not (is_error or said or background or facts):
        facts["exit_code"] = 0
    return facts


def _file(file: dict[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    if path := name_of(file.get("filePath")):
        facts["file"] = path
    start, count = file.get("startLine"), file.get("numLines")
    if isinstance(start, int) and isinstance(count, int) and count > 0:
        facts["lines"] = [start, start + count - 1]
    if isinstance(file.get("totalLines"), int):
        facts["total_lines"] = file["totalLines"]
    return facts


def _patch(hunks: list[Any]) -> dict[str, Any]:
    """The first hunks, cut short, and the counts over all of them."""
    added = removed = 0
    kept: list[dict[str, Any]] = []
    room = _HUNK_LINES
    for hunk in hunks:
        lines = [line for line in hunk.get("lines") or [] if isinstance(line, str)] if isinstance(hunk, dict) else []
        signs = [line[:1] for line in lines]
        added += signs.count("+")
        removed += signs.count("-")
        if lines and room > 0 and len(kept) < _HUNKS:
            shown = {
                key: hunk[key]
                for key in ("oldStart", "oldLines", "newStart", "newLines")
                if isinstance(hunk.get(key), int)
            }
            kept.append(shown | {"lines": [line[:_LINE] for line in lines[:room]]})
            room -= len(lines)
    facts: dict[str, Any] = {"added": added, "removed": removed}
    if kept:
        facts["hunks"] = kept
        if room < 0 or len(kept) < len(hunks):
            facts["hunks_cut"] = True
    return facts
