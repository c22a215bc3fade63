"""Memory files that strategies bring back after a fold: from wide to narrow, just in time for the files that come back, within the aim."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compaction.plan import Budget, Snapshot
from compaction.preview import Preview, preview
from compaction.strategies import by_id
from compaction.strategies.base import settled
from sessions.contexts import Insert, InsertKind
from sessions.meters.tokens import count
from tests.builders import call, items, prompt, read, result, say, snapshot
from tests.compaction.test_disk import WHEN, disk_of, put

BUDGET = Budget("o200k", count)
CODE = "".join(f"def handler_{n}(value):\n    return value * {n}\n\n\n" for n in range(60))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "code" / "app"
    (folder / ".git").mkdir(parents=True)
    put(folder / "CLAUDE.md", "never push", WHEN)
    put(folder / "src" / "CLAUDE.md", "stream it", WHEN)
    put(folder / "docs" / "CLAUDE.md", "not touched", WHEN)
    put(folder.parent / "home" / ".claude" / "CLAUDE.md", "be brief", WHEN)
    put(folder / "GEMINI.md", "never force", WHEN)
    put(folder / "docs" / "deep" / "GEMINI.md", "write plainly", WHEN)
    return folder


def long(root: Path, *, disk: bool = True, agent: str = "claude-code") -> Snapshot:
    """Fifty turns over one file below `src`, much larger than what any aim here holds."""
    path = str(root / "src" / "handlers.py")
    drafts = [prompt("Look at handlers.py."), *read(path, CODE)]
    for n in range(50):
        drafts += [
            prompt(f"Change handler_{n} so that it adds one."),
            call(
                "Edit",
                file_path=path,
                old_string=f"def handler_{n}(value):\n    return value * {n}\n",
                new_string=f"def handler_{n}(value):\n    return value * {n} + 1\n",
            ),
            result("The file has been updated. " + "unchanged line\n" * 60),
            say(f"handler_{n} adds one now, because the value was off by one."),
        ]
    log = [replace(item, at=WHEN) for item in items(drafts)]
    return replace(
        snapshot(log), cwd=str(root), disk=disk_of(root, home=str(root.parent / "home")) if disk else None, agent=agent
    )


def made(strategy: str, start: Snapshot, **params: Any) -> Preview:
    chosen = by_id(strategy)
    return preview(chosen, start, BUDGET, settled(chosen.params, params))


def layers(of: Preview) -> list[str]:
    found = [edit for edit in of.edits if isinstance(edit, Insert) and edit.kind is InsertKind.LAYER]
    return [edit.text.split("\n\n", 1)[1] for edit in found]


def test_hybrid_brings_the_layers_of_what_comes_back_within_its_aim(root: Path) -> None:
    start = long(root)
    found = made("hybrid", start, aim=5_000)
    assert found.lands, found.reason
    assert layers(found) == ["stream it", "never push", "be brief"]  # the widest last, as skills and files do
    assert found.tokens_after <= 5_000


def test_hybrid_asks_for_none_where_nothing_may_be_read_or_a_person_wants_none(root: Path) -> None:
    without = made("hybrid", long(root, disk=False), aim=5_000)
    assert without.lands
    assert layers(without) == []
    assert layers(made("hybrid", long(root), aim=5_000, layer_total=0)) == []
    assert made("hybrid", long(root, disk=False), aim=5_000, layer_total=0).edits == without.edits


def test_gemini_looks_into_the_folders_below_as_its_agent_does(root: Path) -> None:
    start = long(root, agent="gemini-cli")
    assert sorted(layers(made("gemini", start))) == ["never force", "write plainly"]
    assert layers(made("gemini", start, down=0)) == ["never force"]
    assert layers(made("gemini", long(root, disk=False, agent="gemini-cli"))) == []
