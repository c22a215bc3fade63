"""Where the lines copied from another session end: forks and sub-agents that begin with their parent's log.

Such a file has the parent's `session_meta` as its second line. The first line of the session's own is told by the agent's mark
(`subagent_history_start_ordinal`), else by the first turn whose id (a UUIDv7, which holds its time) is younger than the session,
else by a pause: copies are written in one go.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sessions.adapters.records import utc

_PAUSE = 1.0  # seconds between two lines that no copying takes, where nothing better tells


@dataclass(slots=True)
class Copies:
    """`active`: the line at hand is a copy. `born`: milliseconds of the session's own id or first line."""

    active: bool = False
    until: int | None = None
    born: int | None = None
    newest: str | None = None

    def own(self, meta: Mapping[str, Any], stamp: Any) -> None:
        """The session's own first line."""
        until = meta.get("subagent_history_start_ordinal")
        self.active = False
        self.until = until if isinstance(until, int) else None
        self.born = time_of(meta.get("id"))
        if self.born is None and (at := utc(meta.get("timestamp"))) is not None:
            self.born = int(at.timestamp() * 1000)
        self.newest = stamp if isinstance(stamp, str) else None

    def parents(self) -> None:
        """Another session's first line, behind our own."""
        self.active = True

    def line(self, record: Mapping[str, Any], payload: Mapping[str, Any]) -> bool:
        """Whether this line is a copy. Called for every line but first ones, in order."""
        if not self.active:
            return False
        ordinal = record.get("ordinal")
        if self.until is not None and isinstance(ordinal, int):
            self.active = ordinal < self.until
            return self.active
        if record.get("type") == "event_msg" and payload.get("type") in ("task_started", "turn_started"):
            begun = time_of(payload.get("turn_id"))
            if begun is not None and self.born is not None and begun >= self.born:
                self.active = False
                return False
        before, now = _time(self.newest), _time(record.get("timestamp"))
        if isinstance(record.get("timestamp"), str):
            self.newest = record["timestamp"]
        if before is not None and now is not None and (now - before).total_seconds() > _PAUSE:
            self.active = False
        return self.active

    def state(self) -> list[Any]:
        return [self.active, self.until, self.born, self.newest]

    @classmethod
    def from_state(cls, raw: list[Any]) -> Copies:
        return cls(*raw)


def time_of(name: Any) -> int | None:
    """Milliseconds since 1970 that a UUIDv7 holds; None for any other name."""
    if not isinstance(name, str):
        return None
    try:
        value = uuid.UUID(name)
    except ValueError:
        return None
    return value.int >> 80 if value.version == 7 else None


def _time(stamp: Any) -> datetime | None:
    return utc(stamp)
