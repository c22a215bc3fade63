"""Records that mark something and say nothing to the model: boundaries, bookmarks, settings, provider errors."""

from __future__ import annotations

from typing import Any

from sessions.adapters.claude_code.content import name_of, words
from sessions.adapters.records import text_of
from sessions.entries import Entry, Facts, Kind, Part, PartKind, Role

LETTER = {"user": "u", "assistant": "a", "system": "s", "attachment": "h", "progress": "p"}
_ZERO = "00000000-0000-0000-0000-000000000000"
_META = frozenset(
    [
        "summary",
        "ai-title",
        "custom-title",
        "agent-name",
        "agent-color",
        "agent-setting",
        "tag",
        "last-prompt",
        "mode",
        "permission-mode",
        "file-history-snapshot",
        "file-history-delta",
        "pr-link",
        "frame-link",
        "worktree-state",
        "relocated",
        "bridge-session",
        "atis-latch",
        "cost-state",
        "tools-used",
        "api-request-shape",
        "api-request-blob",
        "api-request",
        "attribution-snapshot",
        "speculation-accept",
        "history-suppression",
    ]
)
_EVENTS = frozenset({"queue-operation"})
_REPLACEMENTS = frozenset(
    {"content-replacement", "marble-origami-commit", "marble-origami-snapshot", "marble-origami-reset"}
)
_SHOWN = 300  # characters of a setting's value that are shown


def system_entry(record: dict[str, Any]) -> Entry:
    """A `system` record. Only `local_command` is sent: as user text."""
    subtype = name_of(record.get("subtype")) or "system"
    content = words(record.get("content")) if record.get("content") is not None else ""
    link: dict[str, Any] = {}
    match subtype:
        case "compact_boundary":
            facts = _object(record.get("compactMetadata"))
            link["boundary"] = _boundary(facts, record)
            return Entry(
                Kind.COMPACTION, Role.SYSTEM, (_marker(content or subtype, link["boundary"]["facts"]),), link=link
            )
        case "microcompact_boundary":
            facts = _object(record.get("microcompactMetadata"))
            link["micro"] = {"ids": _strings(facts.get("compactedToolIds")), "facts": _small(facts)}
            return Entry(
                Kind.COMPACTION, Role.SYSTEM, (_marker(content or subtype, link["micro"]["facts"]),), link=link
            )
        case "local_command":
            return Entry(
                Kind.COMMAND,
                Role.USER,
                (Part(PartKind.TEXT, content, meta={"local": True}),) if content else (),
                sent=bool(content),
            )
        case "model_refusal_fallback":  # what an `api_refusal` names stays in view
            retracted = _strings(record.get("retractedMessageUuids"))
            link |= {"retract": retracted} if retracted else {}
    text = f"{subtype}: {content}" if content else subtype
    return Entry(Kind.EVENT, Role.SYSTEM, (_marker(text, _small(record, _SYSTEM_FACTS)),), link=link)


_SYSTEM_FACTS = [
    "level",
    "durationMs",
    "messageCount",
    "retryInMs",
    "retryAttempt",
    "maxRetries",
    "originalModel",
    "fallbackModel",
    "hookCount",
    "preventedContinuation",
    "stopReason",
    "apiRefusalCategory",
]


def loose_entry(record: dict[str, Any], kind: Any, own_agent: str | None) -> Entry:
    """A record that is not in the tree. Unknown types are data to keep: kind `other`.

    `own_agent`: the id of the sub-agent whose file it is.
    """
    match kind:
        case "last-prompt":
            leaf = name_of(record.get("leafUuid"))
            mark: dict[str, Any] = {"leaf": None if leaf == _ZERO else leaf}
            if "leafUuid" in record and record["leafUuid"] is None:
                mark["start"] = True  # a null, unlike a missing or empty id, names the start
            if record.get("explicit") is True:
                mark["explicit"] = True
            return Entry(Kind.META, None, (_marker(kind, _small(record)),), link={"bookmark": mark})
        case "content-replacement":
            rows = [row for row in record.get("replacements") or [] if isinstance(row, dict)]
            parts = tuple(
                Part(PartKind.OTHER, words(row.get("replacement")), call_id=name_of(row.get("toolUseId")))
                for row in rows
                if name_of(row.get("toolUseId"))
            )
            return Entry(
                Kind.META,
                None,
                parts,
                link={"swap": len(parts)} if name_of(record.get("agentId")) in (None, own_agent) else {},
            )
        case "marble-origami-commit":
            collapse = {
                key: name_of(record.get(key))
                for key in ("firstArchivedUuid", "lastArchivedUuid", "summaryUuid", "collapseId")
            }
            part = Part(PartKind.MARKER, words(record.get("summary")), meta={"type": kind})
            return Entry(Kind.COMPACTION, None, (part,), link={"collapse": collapse})
        case "marble-origami-reset":
            return Entry(Kind.META, None, (_marker(kind, {}),), link={"collapse_reset": True})
        case "queue-operation":
            operation = name_of(record.get("operation")) or "queue"
            meta = {"content": words(record.get("content"))[:_SHOWN]} if record.get("content") is not None else {}
            return Entry(Kind.EVENT, None, (_marker(f"queue: {operation}", meta),))
        case "summary":
            return Entry(Kind.META, None, (_marker(kind, {"title": words(record.get("summary"))[:_SHOWN]}),))
    if isinstance(kind, str) and (kind in _META or kind in _REPLACEMENTS):
        return Entry(Kind.META, None, (_marker(kind, _small(record)),))
    name = f"of the unknown type {kind!r}" if isinstance(kind, str) else "without a type"
    return Entry(
        Kind.OTHER, None, (Part(PartKind.OTHER, text_of(record)[:4000]),), problem=f"a record {name}: kept, not read"
    )


def learn_extra(facts: Facts, kind: str, record: dict[str, Any]) -> None:
    """Facts of the session that some records state: the agent's own sums, its name, tags, pull requests."""
    match kind:
        case "cost-state":
            facts.extra["cost"] = {key: record[key] for key in ("totalCostUSD", "modelUsage") if key in record}
        case "agent-name":
            facts.extra["agent_name"] = words(record.get("agentName"))[:_SHOWN]
        case "tag":
            facts.extra["tag"] = words(record.get("tag"))[:_SHOWN]
        case "pr-link":
            facts.extra["pull_request"] = words(record.get("prUrl"))[:_SHOWN]


def _boundary(facts: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {"facts": _small(facts, skip=("preservedSegment", "preservedMessages"))}
    logical = name_of(record.get("logicalParentUuid"))
    if logical:
        out["logical"] = logical
    kept = facts.get("preservedMessages")
    if isinstance(kept, dict):
        out["keep"] = _strings(kept.get("uuids")) or _strings(kept.get("allUuids"))
        out["anchor"] = name_of(kept.get("anchorUuid"))
    segment = facts.get("preservedSegment")
    if isinstance(segment, dict):
        out["segment"] = [name_of(segment.get(key)) for key in ("headUuid", "anchorUuid", "tailUuid")]
    return out


def _marker(text: str, meta: dict[str, Any]) -> Part:
    return Part(PartKind.MARKER, text, meta=meta)


def _small(record: dict[str, Any], keys: list[str] | None = None, skip: tuple[str, ...] = ()) -> dict[str, Any]:
    """The short values of a record, for the page."""
    out: dict[str, Any] = {}
    for key in keys if keys is not None else record:
        value = record.get(key)
        if key in skip or key in ("type", "sessionId", "uuid") or value is None:
            continue
        if isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= _SHOWN):
            out[key] = value
    return out


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _strings(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
