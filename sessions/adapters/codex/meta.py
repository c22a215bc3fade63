"""What a `session_meta` and a `turn_context` say of the session."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sessions.entries import Facts

_KEPT = (
    "originator",
    "model_provider",
    "agent_nickname",
    "agent_role",
    "agent_path",
    "thread_source",
    "history_mode",
    "multi_agent_version",
)


def take(payload: Mapping[str, Any], facts: Facts) -> dict[str, Any] | None:
    """Take the facts of a source's first `session_meta`: they replace those of a source before it.

    Returns where it cuts the source it continues: `ordinal` and `offset` (bytes), whichever it names; None if it continues none.
    """
    before = facts.native_id
    facts.native_id = _text(payload, "id")
    facts.cwd = _text(payload, "cwd")
    facts.agent_version = _text(payload, "cli_version")
    git = payload.get("git")
    facts.branch = _text(git, "branch") if isinstance(git, dict) else None
    facts.extra = {key: value for key in _KEPT if (value := _text(payload, key)) is not None}
    facts.extra["era"] = "paginated" if payload.get("history_mode") == "paginated" else "wrapped"
    source = payload.get("source")
    if isinstance(source, str):
        facts.extra["source"] = source
    if isinstance(git, dict) and (repository := _text(git, "repository_url")):
        facts.extra["repository"] = repository
    if before != facts.native_id:
        facts.title = None
    base = payload.get("history_base")
    _parent(payload, base if isinstance(base, dict) else None, facts)
    return _cut(base) if isinstance(base, dict) else None


def _parent(payload: Mapping[str, Any], base: Mapping[str, Any] | None, facts: Facts) -> None:
    facts.parent_native_id = facts.parent_kind = facts.parent_call_id = None
    source = payload.get("source")
    child = source.get("subagent") if isinstance(source, dict) else None
    forked = _text(payload, "forked_from_id")
    if child is not None:
        spawn = child.get("thread_spawn") if isinstance(child, dict) else None
        facts.extra["source"] = "subagent" if spawn is not None else child if isinstance(child, str) else "subagent"
        facts.parent_kind = "subagent"
        facts.parent_native_id = (
            _text(payload, "parent_thread_id")
            or (_text(spawn, "parent_thread_id") if isinstance(spawn, dict) else None)
            or forked
            or _other(_text(payload, "session_id"), facts.native_id)
        )
    elif forked:
        facts.parent_kind, facts.parent_native_id = "fork", forked
    elif base is not None:
        facts.parent_kind, facts.parent_native_id = "revert", _text(base, "thread_id")
    elif parent := _text(payload, "parent_thread_id"):
        facts.parent_kind, facts.parent_native_id = "subagent", parent


def _cut(base: Mapping[str, Any]) -> dict[str, Any]:
    cut: dict[str, Any] = {}
    for name, key in (("ordinal", "end_ordinal_exclusive"), ("offset", "end_byte_offset")):
        value = base.get(key)
        if isinstance(value, int) and value >= 0:
            cut[name] = value
    return cut


def words(payload: Mapping[str, Any]) -> str:
    """One line on the session that begins."""
    version, cwd = _text(payload, "cli_version"), _text(payload, "cwd")
    return " ".join(filter(None, ("Codex", version, f"in {cwd}" if cwd else None)))


def settings(payload: Mapping[str, Any]) -> str:
    """One line on the settings of a turn."""
    policy = payload.get("sandbox_policy")
    sandbox = (_text(policy, "type") or _text(policy, "mode")) if isinstance(policy, dict) else None
    effort = _text(payload, "effort")
    told = (
        _text(payload, "model"),
        f"effort {effort}" if effort else None,
        f"sandbox {sandbox}" if sandbox else None,
        f"approval {approval}" if (approval := _text(payload, "approval_policy")) else None,
    )
    return " · ".join(filter(None, told))


def version_of(text: str | None) -> tuple[int, int]:
    """Major and minor number of an agent's version; (0, 0) where there is none."""
    found = re.match(r"(\d+)\.(\d+)", text or "")
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _other(value: str | None, than: str | None) -> str | None:
    return value if value != than else None


def _text(raw: Any, key: str) -> str | None:
    value = raw.get(key) if isinstance(raw, Mapping) else None
    return value if isinstance(value, str) and value else None
