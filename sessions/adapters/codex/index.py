"""What Codex keeps of its threads in databases beside the rollouts, and what of it the rollouts do not have (seen in 0.171).

`state_N.sqlite` knows which threads are archived, the names they were given, the commit and the origin they were begun at, and who spawned
whom; `goals_N.sqlite` the goal of a thread, as far as a tool or a person set it. The numbers are those of their schemas: columns are read
by name, and one that is not there says nothing.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sessions.adapters.codex.plans import GOAL_STATUS
from sessions.adapters.indexed import Known
from sessions.entries import GoalItem, GoalStatus

FILES = ("state_*.sqlite", "goals_*.sqlite")
TABLES = frozenset({"threads", "thread_spawn_edges", "thread_goals"})
_NAME = re.compile(r"(state|goals)_\d+\.sqlite")
_THREAD = ("id", "name", "archived", "git_sha", "git_branch", "git_origin_url", "agent_nickname", "agent_role")
_GOAL = ("thread_id", "objective", "status", "token_budget", "tokens_used", "time_used_seconds")


def is_index(name: str) -> bool:
    """Whether a file of this name is such a database."""
    return _NAME.fullmatch(name) is not None


def known(connection: sqlite3.Connection) -> dict[str, Known]:
    """What is said of each thread, by its id."""
    out: dict[str, Known] = {}
    for row in _rows(connection, "threads", _THREAD):
        if (thread := _text(row.get("id"))) is not None:
            out[thread] = Known(name=_text(row.get("name")), branch=_text(row.get("git_branch")), facts=_facts(row))
    for row in _rows(connection, "thread_spawn_edges", ("parent_thread_id", "child_thread_id")):
        child, parent = _text(row.get("child_thread_id")), _text(row.get("parent_thread_id"))
        if child is not None and parent is not None:
            out[child] = replace(out.get(child, Known()), parent=parent)
    for row in _rows(connection, "thread_goals", _GOAL):
        thread, goal = _text(row.get("thread_id")), _goal(row)
        if thread is not None and goal is not None:
            out[thread] = replace(out.get(thread, Known()), goal=goal)
    return out


def _facts(row: Mapping[str, Any]) -> dict[str, Any]:
    said: dict[str, Any] = {
        "commit": _text(row.get("git_sha")),
        "origin": _text(row.get("git_origin_url")),
        "nickname": _text(row.get("agent_nickname")),
        "role": _text(row.get("agent_role")),
    }
    if isinstance(row.get("archived"), int):
        said["archived"] = bool(row["archived"])
    return {name: value for name, value in said.items() if value is not None}


def _goal(row: Mapping[str, Any]) -> GoalItem | None:
    text = _text(row.get("objective"))
    if text is None:
        return None
    status, note = GOAL_STATUS.get(_text(row.get("status")) or "", (GoalStatus.PENDING, None))
    used, budget, seconds = (row.get(name) for name in ("tokens_used", "token_budget", "time_used_seconds"))
    words = [note] if note else []
    if isinstance(used, int) and used:
        words.append(f"{used:,} tokens" + (f" of {budget:,}" if isinstance(budget, int) else ""))
    if isinstance(seconds, int) and seconds:
        words.append(f"{seconds:,} s")
    return GoalItem(text, status, note=", ".join(words) or None)


def _rows(connection: sqlite3.Connection, table: str, wanted: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    there = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone()
    if there is None:
        return
    columns = [column[0] for column in connection.execute(f"SELECT * FROM {table} LIMIT 0").description]  # noqa: S608 -- our own names
    names = [name for name in wanted if name in columns]
    for row in connection.execute(f"SELECT {', '.join(names)} FROM {table}"):  # noqa: S608 -- our own names
        yield dict(zip(names, row, strict=True))


def _text(value: Any) -> str | None:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return text.strip() or None if isinstance(text, str) else None
