"""What a session written by Palimpsest says of the one it was written from, so that taking it in finds its parent again.

Every writer puts the same small object under the name `palimpsest` where its format has room for it; every reader hands it to `take`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sessions.entries import Entry, Facts, Kind, Part, PartKind

NAME = "palimpsest"
FACT = "written_from"  # under this name the session keeps it
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Lineage:
    """`agent`, `native_id`: the session that was written anew; `session`: its id here; `version`: its number; `content`: its hash."""

    agent: str
    native_id: str | None
    session: str | None
    version: int | None
    content: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value is not None}


def take(value: Any, facts: Facts) -> Entry:
    """Learn the parent from such an object; the entry that it is. What is no such object teaches nothing."""
    if not isinstance(value, Mapping):
        return Entry(Kind.META)
    kept = {key: _short(value.get(key)) for key in ("agent", "native_id", "session", "version", "content")}
    found = {key: known for key, known in kept.items() if known is not None}
    if isinstance(found.get("agent"), str):
        facts.extra[FACT] = found
        name = found.get("native_id")
        if isinstance(name, str) and facts.parent_kind != "subagent":
            facts.parent_native_id, facts.parent_kind = name, "fork"
    words = f"Written by Palimpsest from {found.get('agent', '?')} {found.get('native_id', '')}".rstrip()
    return Entry(Kind.META, parts=(Part(PartKind.MARKER, words),))


def _short(value: Any) -> str | int | None:
    if isinstance(value, str):
        return value[:_LONGEST] or None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
