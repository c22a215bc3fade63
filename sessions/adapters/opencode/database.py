"""The sessions of `opencode.db`: rows of four tables, and of no other."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import partial
from typing import Any

import orjson

from sessions.adapters.expanding import Member
from sessions.adapters.opencode import rows

TABLES = frozenset({"session", "message", "part", "todo", "session_message"})
_YOUNG = 1000  # ms since a change within which another may still bear the same time
_LIVELY = 24 * 3600 * 1000  # ms before the newest change within which a session's parts are looked at one by one


def members(connection: sqlite3.Connection) -> Iterator[Member]:
    """The sessions, oldest first. Those in which nothing happened for a day are told by their messages, the others by their parts too."""
    there = {
        _text(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    } & TABLES
    if not {"session", "message", "part"} <= there:
        return
    found = list(_dicts(connection.execute("SELECT * FROM session ORDER BY time_created, id")))
    said = _counts(connection, "message")
    newest = max((_last(row, said) for row in found), default=0)
    (now,) = connection.execute("SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)").fetchone()
    for row in found:
        name = _text(row["id"])
        stamp = [_time(row), *said.get(row["id"], (0, 0))]
        if "session_message" in there:
            stamp += _counted(connection, "session_message", name)
        if _last(row, said) >= newest - _LIVELY:
            parts = _counted(connection, "part", name)
            stamp += [*parts, now] if max(parts[1], _last(row, said)) > now - _YOUNG else parts
        yield Member(name, name, ".".join(map(str, stamp)), partial(_document, connection, row, there))


def _document(connection: sqlite3.Connection, row: dict[str, Any], there: set[str]) -> bytes:
    session = _text(row["id"])
    parts: dict[bytes, list[bytes]] = {}
    orphans: list[bytes] = []
    planned = False
    query = "SELECT message_id, id, data FROM part WHERE session_id = ? ORDER BY message_id, id"
    for message_id, part_id, data in connection.execute(query, (session,)):
        ids = {"id": _text(part_id), "sessionID": session, "messageID": _text(message_id)}
        parts.setdefault(message_id, []).append(rows.record(_bytes(data), **ids))
        planned = planned or b'"todowrite"' in data
    messages: list[tuple[bytes, list[bytes]]] = []
    query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    for message_id, data in connection.execute(query, (session,)):
        said = rows.record(_bytes(data), id=_text(message_id), sessionID=session)
        messages.append((said, parts.pop(message_id, [])))
    for lost in parts.values():
        orphans += lost
    more: dict[str, bytes] = {}
    if orphans:
        more["orphans"] = b"[" + b",".join(orphans) + b"]"
    if "session_message" in there:
        second = _second(connection, session)
        if second:
            more["session_messages"] = b"[" + b",".join(second) + b"]"
    if "todo" in there and not planned:
        # Calls of the plan tool tell the list as it became; the table has only its last state, and may outlive them.
        todos = _todos(connection, session)
        if todos:
            more["todos"] = orjson.dumps(todos)
    return rows.document(rows.info(row), messages, **more)


def _second(connection: sqlite3.Connection, session: str) -> list[bytes]:
    """The rows of the coming store."""
    query = "SELECT id, type, data FROM session_message WHERE session_id = ? ORDER BY seq"
    return [
        rows.record(_bytes(data), id=_text(name), type=_text(kind))
        for name, kind, data in connection.execute(query, (session,))
    ]


def _todos(connection: sqlite3.Connection, session: str) -> list[dict[str, str]]:
    query = "SELECT content, status, priority FROM todo WHERE session_id = ? ORDER BY position"
    return [
        {"content": _text(content), "status": _text(status), "priority": _text(priority)}
        for content, status, priority in connection.execute(query, (session,))
    ]


def _counts(connection: sqlite3.Connection, table: str) -> dict[bytes, tuple[int, int]]:
    query = f"SELECT session_id, count(*), coalesce(max(time_updated), 0) FROM {table} GROUP BY session_id"  # noqa: S608 -- our own names
    return {session: (count, last) for session, count, last in connection.execute(query)}


def _counted(connection: sqlite3.Connection, table: str, session: str) -> tuple[int, int]:
    query = f"SELECT count(*), coalesce(max(time_updated), 0) FROM {table} WHERE session_id = ?"  # noqa: S608 -- our own names
    count, last = connection.execute(query, (session,)).fetchone()
    return count, last


def _last(row: dict[str, Any], said: dict[bytes, tuple[int, int]]) -> int:
    return max(_time(row), said.get(row["id"], (0, 0))[1])


def _time(row: dict[str, Any]) -> int:
    value = row.get("time_updated")
    return int(value) if isinstance(value, int | float) else 0


def _dicts(cursor: sqlite3.Cursor) -> Iterator[dict[str, Any]]:
    names = [column[0] for column in cursor.description]
    for row in cursor:
        yield dict(zip(names, row, strict=True))


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
