"""Every recorded session previews: none raises, none grows, and what is refused says why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from compaction.budget import budget_for, meter_for
from compaction.plan import Snapshot, Status
from compaction.preview import Preview, preview
from compaction.strategies import by_id, strategies
from compaction.strategies.base import settled
from sessions.adapters import by_agent
from sessions.assembly import Reading, read_whole
from sessions.contexts import hidden_by, project
from sessions.entries import Kind
from tests.builders import sized

HYBRID = by_id("hybrid")
REFUSALS = (Status.NOOP_BELOW_THRESHOLD, Status.NOOP_NOTHING_TO_DO)


def sessions_of(folder: Path, agent: str) -> list[Path]:
    adapter = by_agent(agent)
    out = []
    for path in sorted(folder.rglob("*.jsonl")):
        claim = adapter.claim(path, path.read_bytes()[:65_536])
        if claim is not None and claim.role == "session" and claim.base is None:
            out.append(path)
    return out


def taken(reading: Reading, agent: str) -> Snapshot:
    meter = meter_for(agent)
    held = tuple(sized(reading.context()))
    log = tuple(sized(reading.items()))
    edits = tuple(reading.versions[-1].edits) if reading.versions else ()
    return Snapshot(
        items=held,
        tokens=tuple(meter.of(item.sizes) for item in held),
        last_seq=reading.placed[-1].seq if reading.placed else -1,
        edits=edits,
        ghosts=hidden_by(edits),
        log=lambda: log,
        agent=agent,
        cwd=reading.facts.cwd,
    )


@pytest.mark.parametrize(
    ("folder", "agent"), [("claude-code", "claude-code"), ("retention", "claude-code"), ("codex", "codex")]
)
def test_every_recorded_session(shared_data: Path, folder: str, agent: str) -> None:
    paths = sessions_of(shared_data / folder, agent)
    assert paths
    landed = 0
    for path in paths:
        reading = read_whole(by_agent(agent), path, [(path.read_bytes(), False)])
        start = taken(reading, agent)
        made = preview(HYBRID, start, budget_for(meter_for(agent)), settled(HYBRID.params, {}))
        told = f"{path.name}: {made.status} {made.reason}"
        assert made.tokens_after <= made.tokens_before, told
        assert made.lands or (made.status in REFUSALS and made.reason), told
        if made.lands:
            landed += 1
            followed(reading, start, made, told)
    assert landed >= 4  # the smallest rollouts of Codex weigh too little by its own meter to be folded


def followed(reading: Reading, start: Snapshot, made: Preview, told: str) -> None:
    """What the agent would really be sent is what the preview showed; a second application does nothing."""
    wired = reading.adapter.wire(project(reading.items(), made.edits), reading.facts)
    assert sorted(item.digest for item in wired) == sorted(item.digest for item in made.items), told
    # The agent's own wiring may move what its harness put in round a message; all else is in the same order.
    spoken = [[item.digest for item in items if item.kind is not Kind.CONTEXT] for items in (wired, made.items)]
    assert spoken[0] == spoken[1], told
    assert made.tokens_after < made.tokens_before
    assert made.retention is not None
    held = tuple(sized(wired))
    meter = meter_for(start.agent)
    tokens = tuple(meter.of(item.sizes) for item in held)
    then = replace(start, items=held, tokens=tokens, edits=made.edits, ghosts=hidden_by(made.edits))
    again = preview(HYBRID, then, budget_for(meter), settled(HYBRID.params, {}))
    assert again.status in REFUSALS, f"{told}, then {again.status} {again.reason} {again.plan.facts}"


@pytest.mark.parametrize(("folder", "agent"), [("claude-code", "claude-code"), ("codex", "codex")])
def test_every_strategy_on_some(shared_data: Path, folder: str, agent: str) -> None:
    paths = sorted(sessions_of(shared_data / folder, agent), key=lambda path: (path.stat().st_size, path.name))
    for path in paths[len(paths) // 3 :: max(1, len(paths) // 6)][:3]:
        reading = read_whole(by_agent(agent), path, [(path.read_bytes(), False)])
        goals = tuple(reading.goals)
        for name, strategy in strategies().items():
            start = replace(taken(reading, agent), goals=lambda goals=goals: goals)
            given = {"ranges": f"{start.last_seq // 4}-{start.last_seq // 2}"} if name == "range" else {}
            made = preview(strategy, start, budget_for(meter_for(agent)), settled(strategy.params, given))
            told = f"{path.name} {name}: {made.status} {made.reason}"
            if made.lands:
                assert made.tokens_after < made.tokens_before, told
            else:
                assert made.status in REFUSALS, told
                assert made.reason, told
