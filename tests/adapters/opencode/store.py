"""Writes sessions as the agent keeps them: a database in the layout of 1.18.33 (the tables that matter), and a storage tree."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from tests.adapters.opencode.build import START, Record, Session

_TABLES = """
CREATE TABLE IF NOT EXISTS `session` (`id` text PRIMARY KEY, `project_id` text NOT NULL, `parent_id` text, `slug` text NOT NULL,
  `directory` text NOT NULL, `title` text NOT NULL, `version` text NOT NULL, `share_url` text, `summary_additions` integer,
  `revert` text, `cost` real DEFAULT 0 NOT NULL, `tokens_input` integer DEFAULT 0 NOT NULL, `time_created` integer NOT NULL,
  `time_updated` integer NOT NULL, `time_archived` integer);
CREATE TABLE IF NOT EXISTS `message` (`id` text PRIMARY KEY, `session_id` text NOT NULL REFERENCES `session`(`id`) ON DELETE CASCADE,
  `time_created` integer NOT NULL, `time_updated` integer NOT NULL, `data` text NOT NULL);
CREATE TABLE IF NOT EXISTS `part` (`id` text PRIMARY KEY, `message_id` text NOT NULL REFERENCES `message`(`id`) ON DELETE CASCADE,
  `session_id` text NOT NULL, `time_created` integer NOT NULL, `time_updated` integer NOT NULL, `data` text NOT NULL);
CREATE TABLE IF NOT EXISTS `todo` (`session_id` text NOT NULL, `content` text NOT NULL, `status` text NOT NULL,
  `priority` text NOT NULL, `position` integer NOT NULL, PRIMARY KEY(`session_id`, `position`));
CREATE TABLE IF NOT EXISTS `session_message` (`id` text PRIMARY KEY, `session_id` text NOT NULL, `type` text NOT NULL,
  `seq` integer NOT NULL, `time_created` integer NOT NULL, `time_updated` integer NOT NULL, `data` text NOT NULL);
"""


class Store:
    """A database that stays open, as an agent at work keeps it. Each write is a moment later than the one before."""

    def __init__(self, path: Path, *, journal: str = "wal") -> None:
        self.path = path
        self.now = START
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute(f"PRAGMA journal_mode = {journal}")
        self.connection.executescript(_TABLES)

    def close(self) -> None:
        self.connection.close()

    def write(self, session: Session) -> None:
        """Bring the rows of a session to what it is; rows that did not change keep their times."""
        self.now += 1000
        info = session.info
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.execute(
            "INSERT INTO session (id, project_id, parent_id, slug, directory, title, version, revert, time_created, time_updated) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET title = excluded.title, revert = excluded.revert, "
            "time_updated = excluded.time_updated",
            (
                info["id"], info["projectID"], info.get("parentID"), info["slug"], info["directory"], info["title"], info["version"],
                json.dumps(info["revert"]) if "revert" in info else None, info["time"]["created"], self.now,
            ),
        )  # fmt: skip
        for message in session.messages:
            said = message["info"]
            self._put("message", said["id"], (info["id"], said["time"]["created"]), _less(said, "id", "sessionID"))
            for part in message["parts"]:
                data = _less(part, "id", "sessionID", "messageID")
                self._put("part", part["id"], (said["id"], info["id"], said["time"]["created"]), data)
        self.connection.execute("COMMIT")

    def rewrite(self, session: Session) -> None:
        """The same, where messages of it may be gone."""
        self.connection.execute("DELETE FROM part WHERE session_id = ?", (session.info["id"],))
        self.connection.execute("DELETE FROM message WHERE session_id = ?", (session.info["id"],))
        self.write(session)

    def _put(self, table: str, name: str, keys: tuple[Any, ...], data: str) -> None:
        marks = ", ".join("?" * (len(keys) + 3))
        columns = "session_id, time_created" if table == "message" else "message_id, session_id, time_created"
        self.connection.execute(
            f"INSERT INTO {table} (id, {columns}, time_updated, data) VALUES ({marks}) ON CONFLICT (id) DO UPDATE SET "
            "time_updated = excluded.time_updated, data = excluded.data WHERE data <> excluded.data",
            (name, *keys, self.now, data),
        )


def lay_out(session: Session, storage: Path) -> Path:
    """The files of a session in a storage tree; where its info is."""
    info = session.info
    anchor: Path = storage / "session" / info["projectID"] / f"{info['id']}.json"
    _write(anchor, info)
    _write(storage / "todo" / f"{info['id']}.json", [])
    _write(storage / "session_share" / f"{info['id']}.json", {"secret": "hunter2"})
    for message in session.messages:
        said = message["info"]
        _write(storage / "message" / info["id"] / f"{said['id']}.json", said)
        for part in message["parts"]:
            _write(storage / "part" / said["id"] / f"{part['id']}.json", part)
    return anchor


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    body = json.dumps(value, indent=2)
    if not path.exists() or path.read_text() != body:
        path.write_text(body)


def _less(record: Record, *names: str) -> str:
    return json.dumps({key: value for key, value in record.items() if key not in names})
