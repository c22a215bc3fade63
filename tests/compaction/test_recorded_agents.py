"""Recorded sessions of every agent, small and large: each of the agents' ways previews each of them, none raises, and a refusal says why."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from compaction.budget import budget_for, meter_for
from compaction.plan import Status
from compaction.preview import preview
from compaction.strategies import by_id
from compaction.strategies.base import settled
from sessions.adapters.base import Adapter
from sessions.assembly import read_whole
from sessions.contexts import content_hash, project
from sessions.recognise import recognise
from tests.compaction.strategies.agents import AGENTS
from tests.compaction.test_recorded import taken

FEW = 4  # sessions of each folder and agent, from the smallest to the largest
LARGEST = 3_000_000  # bytes; `PALIMPSEST_RECORDINGS=all` takes every session, whatever its size
NOTHING = (Status.NOOP_BELOW_THRESHOLD, Status.NOOP_NOTHING_TO_DO, Status.FAILED_CONTEXT_OVERFLOW)


def recordings(root: Path) -> Iterator[tuple[Path, Adapter]]:
    """Sessions that one file holds whole, in order of size within each folder."""
    found: dict[tuple[str, str], list[tuple[int, Path, Adapter]]] = {}
    for path in sorted(root.rglob("*.json*")):
        with path.open("rb") as file:
            whose = recognise(str(path), file)
        if whose is None or whose[1].role != "session" or whose[1].base is not None:
            continue
        folder = path.relative_to(root).parts[0]
        found.setdefault((folder, whose[0].agent), []).append((path.stat().st_size, path, whose[0]))
    every = os.environ.get("PALIMPSEST_RECORDINGS") == "all"
    for many in found.values():
        many.sort(key=lambda one: one[:2])
        chosen = many if every else [one for one in many if one[0] <= LARGEST]
        step = 1 if every else max(1, len(chosen) // FEW)
        for _, path, adapter in chosen[::-1][::step]:
            yield path, adapter


def test_every_way_on_every_recording(shared_data: Path) -> None:
    seen = landed = 0
    agents = set()
    for path, adapter in recordings(shared_data):
        reading = read_whole(adapter, path, [(path.read_bytes(), False)])
        start = taken(reading, adapter.agent)
        meter = meter_for(adapter.agent)
        agents.add(adapter.agent)
        for name in AGENTS:
            strategy = by_id(name)
            made = preview(strategy, start, budget_for(meter, window=200_000), settled(strategy.params, {}))
            told = f"{path.name}, {name}: {made.status} {made.reason}"
            seen += 1
            assert made.lands or (made.status in NOTHING and made.reason), told
            if made.lands:
                landed += 1
                assert made.tokens_after < made.tokens_before, told
                wired = adapter.wire(project(reading.items(), made.edits), reading.facts)
                assert sorted(item.digest for item in wired) == sorted(item.digest for item in made.items), told
            else:
                assert content_hash(made.items) == content_hash(start.items), told
    assert len(agents) >= 5, agents
    assert landed > 60, (seen, landed)
    print(f"{seen:,} previews, {landed:,} would land")
