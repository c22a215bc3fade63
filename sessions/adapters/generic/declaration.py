"""A declared mapping: which files it is for, and where in their records a session's facts lie. Read from `palimpsest.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any

from sessions.adapters.generic.paths import NoPath, Step, path_of

FILE = "palimpsest.toml"
_ENTRY = frozenset(
    [
        "role", "text", "content", "reasoning", "time", "id", "parent", "model", "tool", "call_id", "arguments", "result", "error",
    ]
)  # fmt: skip
_USAGE = frozenset(["input", "cached", "cache_write", "output", "reasoning"])
_SESSION = frozenset(["id", "title", "cwd", "branch", "model", "parent"])
_KNOWN = frozenset(["name", "files", "records", "roles", "entry", "usage", "session", "input_includes_cache"])


class Undeclared(ValueError):
    """The text declares no mapping; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """One mapping. `records`: path of the list in a document; None: the file is a log of lines. Paths by the name of what they give."""

    name: str
    files: tuple[str, ...]
    raw: Mapping[str, Any]
    records: tuple[Step, ...] | None
    roles: Mapping[str, str]
    entry: Mapping[str, tuple[Step, ...]]
    usage: Mapping[str, tuple[Step, ...]]
    session: Mapping[str, tuple[Step, ...]]
    input_includes_cache: bool

    def is_for(self, path: PurePath) -> bool:
        """Whether a file is one of those it is for, by its name or the end of its path."""
        return any(fnmatchcase(path.name, pattern) or fnmatchcase(str(path), f"*/{pattern}") for pattern in self.files)


def declarations(text: bytes) -> list[Declaration]:
    """The mappings of a `palimpsest.toml`. Undeclared where it cannot be read."""
    try:
        said = tomllib.loads(text.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Undeclared(f"{FILE} is no TOML: {error}") from None
    tables = said.get("mapping")
    if not isinstance(tables, list) or not tables:
        raise Undeclared(f"{FILE} has no [[mapping]]")
    return [declared(table) for table in tables]


def declared(table: Any) -> Declaration:
    """One mapping from its table. Undeclared where it is none."""
    if not isinstance(table, Mapping):
        raise Undeclared("a mapping is a table")
    unknown = set(table) - _KNOWN
    if unknown:
        raise Undeclared(f"a mapping has no {', '.join(sorted(unknown))}")
    files, roles = table.get("files"), table.get("roles", {})
    if not isinstance(files, list) or not files or not all(isinstance(pattern, str) for pattern in files):
        raise Undeclared("`files` is a list of names or patterns")
    if not isinstance(roles, Mapping):
        raise Undeclared("`roles` is a table from the file's words to ours")
    try:
        records = path_of(table["records"]) if "records" in table else None
        found = Declaration(
            name=str(table.get("name", "mapping")),
            files=tuple(files),
            raw=dict(table),
            records=records,
            roles={str(key): str(value) for key, value in roles.items()},
            entry=_paths(table.get("entry"), _ENTRY, "entry"),
            usage=_paths(table.get("usage"), _USAGE, "usage"),
            session=_paths(table.get("session"), _SESSION, "session"),
            input_includes_cache=table.get("input_includes_cache", True) is not False,
        )
    except NoPath as error:
        raise Undeclared(str(error)) from None
    if records is not None and (
        not records or records[-1] is not None or not all(isinstance(step, str) for step in records[:-1])
    ):
        raise Undeclared("`records` names a list: $.some.names[*] or $[*]")
    if "role" not in found.entry:
        raise Undeclared("`entry.role` is needed: it says who speaks")
    return found


def _paths(table: Any, known: frozenset[str], name: str) -> dict[str, tuple[Step, ...]]:
    if table is None:
        return {}
    if not isinstance(table, Mapping):
        raise Undeclared(f"`{name}` is a table of paths")
    unknown = set(table) - known
    if unknown:
        raise Undeclared(f"`{name}` has no {', '.join(sorted(unknown))}")
    return {str(key): path_of(value) for key, value in table.items()}
