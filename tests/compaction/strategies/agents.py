"""Sessions and previews for the tests of the agents' own ways."""

from collections.abc import Sequence
from typing import Any

from compaction.plan import Budget, Snapshot
from compaction.preview import Preview, preview
from compaction.strategies import by_id
from compaction.strategies.base import settled
from sessions.contexts import Item
from sessions.entries import Kind
from sessions.meters.tokens import count
from tests.builders import Draft, call, prompt, result, say, think

BUDGET = Budget("o200k", count)
AGENTS = ("opencode", "codex", "gemini", "universal", "j-cli", "claude-code")


def run(name: str, start: Snapshot, budget: Budget = BUDGET, *, pins: Sequence[int] = (), **params: Any) -> Preview:
    strategy = by_id(name)
    return preview(strategy, start, budget, settled(strategy.params, params), pins=pins)


def preset(name: str, which: str, start: Snapshot, budget: Budget = BUDGET) -> Preview:
    return run(name, start, budget, **by_id(name).presets[which])


def windowed(window: int, threshold: int | None = None) -> Budget:
    return Budget("o200k", count, window, threshold)


def output(tokens: int, tool: str = "Bash", **more: Any) -> list[Draft]:
    """A call and an output of so many tokens where four characters are one."""
    return [call(tool, command="make", file_path="/home/ada/app/a.py", **more), result("word " * (tokens * 4 // 5))]


def turn(n: int, size: int = 60) -> list[Draft]:
    """One turn: a message, a search, an edit, an answer."""
    return [
        prompt(f"Task {n}: change handler_{n}"),
        think(f"thinking about handler_{n}"),
        call("Grep", pattern=f"handler_{n}", path="/home/ada/app/src"),
        result("\n".join(f"src/mod_{n}.py:{line}: handler_{n}(x{line})" for line in range(size))),
        call("Edit", file_path=f"/home/ada/app/src/mod_{n}.py", old_string="", new_string=f"def handler_{n}(): ...\n"),
        result("ok"),
        say(f"handler_{n} is changed, because it returned the wrong value."),
    ]


def turns(number: int, size: int = 60) -> list[Draft]:
    return [draft for n in range(number) for draft in turn(n, size)]


def seqs(items: Sequence[Item]) -> list[int]:
    return [item.seq for item in items if item.seq is not None]


def said(items: Sequence[Item]) -> list[str]:
    """The person's messages."""
    return [item.text for item in items if item.kind is Kind.PROMPT]


def kinds(items: Sequence[Item]) -> list[str]:
    return [item.kind.value for item in items]
