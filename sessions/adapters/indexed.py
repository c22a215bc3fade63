"""What an adapter has besides where its agent keeps facts of sessions in a database beside them, some of which stand only there."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Protocol, runtime_checkable

from sessions.entries import GoalItem


@dataclass(frozen=True, slots=True)
class Known:
    """What the database says of one session. None: it says nothing.

    `name`: as a person named it. `parent`: native id of the session whose sub-agent it is. `goal`: what the session as a whole is to
    reach. `facts`: small facts for pages and programs (archived, commit, origin).
    """

    name: str | None = None
    branch: str | None = None
    parent: str | None = None
    goal: GoalItem | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class Indexed(Protocol):
    """An adapter whose agent keeps such a database. It holds no sessions."""

    index_tables: frozenset[str]  # those that are read; all others stay closed

    def indexes(self, path: PurePath) -> bool:
        """Whether a database of this name is one."""
        ...

    def indexed(self, connection: sqlite3.Connection) -> Mapping[str, Known]:
        """What it says of each session, by the agent's id. Text comes as bytes."""
        ...
