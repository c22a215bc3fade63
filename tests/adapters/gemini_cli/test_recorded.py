"""Recorded sessions of every era: entries, turns, steps, and tokens against the agent's own figures; and what the store makes of them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path, PurePath
from typing import Any

import pytest

from sessions.adapters.gemini_cli import ADAPTER
from sessions.assembly import Reading, read_whole
from sessions.ingesting import ingest_paths
from sessions.models import Session
from sessions.projection import context_items
from sessions.sourcebytes import content, stored
from webapp.models import Workspace

# name → entries, turns, steps, native versions by kind
RECORDED: dict[str, tuple[int, int, int, dict[str, int]]] = {
    "agent-sessions-jsonl_v040.jsonl": (5, 1, 2, {}),
    "agent-sessions-large.json": (8, 2, 2, {}),
    "agent-sessions-schema_drift.json": (3, 1, 0, {}),
    "agent-sessions-small.json": (3, 1, 1, {}),
    "agentsview-standard_session.json": (5, 2, 2, {}),
    "agentsview-system_messages.json": (4, 0, 0, {}),
    "agentsview-thinking_only.json": (3, 1, 1, {}),
    "agentsview-tool_calls.json": (3, 1, 1, {}),
    "gen061-checkpoint-mytag.json": (11, 2, 5, {}),
    "gen061-export-session.json": (10, 2, 3, {}),
    "gen061-image-and-topic.jsonl": (16, 1, 3, {}),
    "gen061-imported-by-session-file.jsonl": (12, 2, 2, {"replacement": 1}),
    "gen061-interactive-chatsave-compress-rewind.jsonl": (42, 3, 7, {"compaction": 1, "rewind": 1}),
    "gen061-main-resumed-3x-compacted-2x.jsonl": (79, 4, 13, {"compaction": 2, "replacement": 1}),
    "gen061-main-resumed-once-same-minute.jsonl": (44, 2, 8, {"replacement": 1}),
    "gen061-parent-of-subagent.jsonl": (12, 1, 2, {}),
    "gen061-stub-left-by-resume.jsonl": (2, 0, 0, {}),
    "mgemini-session-2025-12-03T04-51-dea67935.json": (19, 2, 3, {}),
    "mgemini-session-2025-12-03T08-28-fc2fd534.json": (21, 3, 15, {}),
    "mgemini-session-2025-12-10T03-48-c8424283.json": (6, 2, 0, {}),
    "mgemini-session-2025-12-13T18-18-606305e2.json": (5, 2, 1, {}),
    "mgemini-session-2025-12-24T06-27-36e8d28f.json": (42, 4, 30, {}),
    "mgemini-session-2025-12-28T04-02-3d0463e2.json": (10, 1, 6, {}),
    "mgemini-session-2025-12-30T18-12-d5169a00.json": (54, 13, 39, {}),
    "mgemini-session-2025-12-30T21-46-d5169a00.json": (25, 3, 20, {}),
    "mgemini-session-2026-01-02T02-34-9330d511.json": (36, 5, 29, {}),
    "mgemini-session-2026-01-02T02-35-9330d511.json": (3, 0, 0, {}),
}


def read(path: Path) -> Reading:
    return read_whole(ADAPTER, path, [(path.read_bytes(), False)])


def messages(path: Path) -> dict[str, dict[str, Any]]:
    """Every message that a file ever held, by id, with all that was ever said of it."""
    raw = path.read_bytes()
    if path.suffix == ".json":
        return {m["id"]: m for m in json.loads(raw).get("messages", [])}
    found: dict[str, dict[str, Any]] = {}
    for line in raw.splitlines():
        record = json.loads(line)
        if "id" in record:
            found[record["id"]] = found.get(record["id"], {}) | record
    return found


@pytest.mark.parametrize("name", RECORDED)
def test_what_a_recording_holds(name: str, shared_data: Path) -> None:
    reading = read(shared_data / "gemini" / name)
    entries, turns, steps, kinds = RECORDED[name]
    assert len(reading.placed) == entries
    assert max((placed.turn or 0 for placed in reading.placed), default=0) == turns
    assert len(reading.steps) == steps
    assert Counter(version.kind for version in reading.versions) == kinds
    assert not [placed.entry.problem for placed in reading.placed if placed.entry.kind == "malformed"]


@pytest.mark.parametrize("name", RECORDED)
def test_tokens_are_the_agents_own(name: str, shared_data: Path) -> None:
    """Of each message once, whatever was listed again; thoughts are output, the cached are part of the input."""
    path = shared_data / "gemini" / name
    own = [m["tokens"] for m in messages(path).values() if m.get("tokens")]
    usages = [step.usage for step in read(path).steps if step.usage]
    assert sum(usage.prompt or 0 for usage in usages) == sum(tokens["input"] + tokens["tool"] for tokens in own)
    assert sum(usage.cache_read or 0 for usage in usages) == sum(tokens["cached"] for tokens in own)
    assert sum(usage.output or 0 for usage in usages) == sum(tokens["output"] + tokens["thoughts"] for tokens in own)
    assert sum(usage.reasoning or 0 for usage in usages) == sum(tokens["thoughts"] for tokens in own)
    assert sum(usage.context or 0 for usage in usages) == sum(tokens["total"] for tokens in own)


@pytest.mark.parametrize("name", RECORDED)
def test_no_thought_call_or_result_is_lost_or_doubled(name: str, shared_data: Path) -> None:
    """Beside its message or inside its content: each thing that a message holds stands in the sent log once."""
    found = messages(shared_data / "gemini" / name).values()
    inside = [part for m in found if isinstance(m.get("content"), list) for part in m["content"]]
    whole = [
        m
        for m in found
        if isinstance(m.get("content"), list) and any("functionCall" in p or p.get("thought") for p in m["content"])
    ]
    beside = [m for m in found if m not in whole]
    calls = {c.get("id") for m in beside for c in m.get("toolCalls") or []} | {
        p["functionCall"]["id"] for p in inside if "functionCall" in p
    }
    results = {c.get("id") for m in found for c in m.get("toolCalls") or [] if c.get("result")}
    results |= {p["functionResponse"]["id"] for p in inside if "functionResponse" in p}
    thoughts = sum(len(m.get("thoughts") or []) for m in beside) + sum(bool(part.get("thought")) for part in inside)
    sent = [p.entry for p in read(shared_data / "gemini" / name).placed if p.entry.sent]
    if name.endswith("mytag.json"):
        calls, results = {"1", "2", "3"}, {"1", "2", "3"}  # of a checkpoint, which has turns and no messages
    parts = Counter(part.kind.value for entry in sent for part in entry.parts)
    assert parts["tool_call"] == len(calls)
    assert parts["tool_result"] == len(results)
    assert parts["reasoning"] == thoughts


@pytest.mark.django_db
def test_every_recording_comes_in_and_its_context_is_what_the_bytes_say(shared_data: Path) -> None:
    workspace = Workspace.objects.create(name="Scriptorium", slug="scriptorium")
    folder = shared_data / "gemini"
    first = ingest_paths(workspace, [folder])
    assert Counter(taken.outcome for taken in first) == {"added": 38, "kept": 1}
    for taken in first:
        if taken.outcome != "added":
            continue
        assert taken.session is not None
        session = Session.objects.select_related("source").get(pk=taken.session)
        assert b"".join(stored(session.source)) == Path(taken.path).read_bytes()
        reading = read_whole(ADAPTER, PurePath(taken.path), [(b"".join(content(session.source)), False)])
        stored_items, items = context_items(session), reading.context()
        assert [(i.seq, i.role, i.kind, i.parts) for i in stored_items] == [
            (i.seq, i.role, i.kind, i.parts) for i in items
        ]
        assert session.versions.count() == len(reading.versions) + 1
        assert (taken.entries, taken.steps) == (len(reading.placed), len(reading.steps))
    assert sum(taken.added for taken in ingest_paths(workspace, [folder])) == 0


@pytest.mark.django_db
def test_sub_agents_find_their_parents_and_copies_do_not_double(shared_data: Path) -> None:
    workspace = Workspace.objects.create(name="Scriptorium", slug="scriptorium")
    ingest_paths(workspace, [shared_data / "gemini"])
    child = Session.objects.get(native_id="5f5801f7-1b52-4a42-b38a-c0c939bdcea4")
    assert child.parent is not None
    assert child.parent.native_id == "c08ed6ed-7395-481b-ab88-928076450bcd"
    twins = Session.objects.filter(native_id="9330d511-4926-4229-a4b7-f13824f66b81").order_by("-entries_count")
    assert twins[1].parent == twins[0]
    # An export and a recording once more hold answers of another file: their tokens are counted there.
    sums = Counter(
        step.response_id
        for session in Session.objects.all()
        for step in session.steps.filter(copied=False, response_id__isnull=False)
    )
    assert max(sums.values()) == 1
