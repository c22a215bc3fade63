"""Random histories, and random parameters of any strategy: what the laws of compaction are tried on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from compaction.plan import Snapshot
from compaction.strategies.base import Param, Strategy
from sessions.entries import GoalStatus
from sessions.goals import Goal
from tests.builders import Draft, call, context, items, media, prompt, raw_call, result, say, snapshot, think

WORDS = st.sampled_from(
    [
        "fix parse_ledger in src/import/csv.rs",
        "never rename WriterQueue",
        "because the buffer overflows, I decided to use ChunkCursor",
        "不要改动数据库结构 import_ledger",
        "error: cannot borrow `buf`",
        "see https://example.org/docs and #42",
        "next I will run the tests",
        "## 7. Pending Tasks",
        "```",
        "",
    ]
)
TEXTS = st.builds(
    lambda words, times: "\n".join(words * times), st.lists(WORDS, min_size=1, max_size=3), st.integers(1, 12)
)
SPOKEN = TEXTS.map(lambda text: text or "go on")
TOOLS = st.sampled_from(
    ["Read", "Bash", "Edit", "Write", "Grep", "TodoWrite", "Task", "Skill", "AskUserQuestion", "shell", "mcp__x__y"]
)


@st.composite
def calls(draw: st.DrawFn) -> list[Draft]:
    """The calls of one answer and their results, the last of which may never have come."""
    number = draw(st.integers(0, 3))
    made: list[Draft] = []
    for _ in range(number):
        tool = draw(TOOLS)
        text = draw(TEXTS)
        args: dict[str, Any] = {
            "file_path": "/home/ada/app/a.py",
            "command": text,
            "content": text,
            "old_string": "a",
            "new_string": text,
        }
        made.append(draw(st.sampled_from([call(tool, **args), raw_call(tool, text)])))
    answered = number if draw(st.integers(0, 5)) else max(0, number - 1)
    for _ in range(answered):
        made.append(result(draw(TEXTS), error=draw(st.booleans()), images=draw(st.integers(0, 1))))
    return made


@st.composite
def turns(draw: st.DrawFn) -> list[Draft]:
    out = [prompt(draw(SPOKEN))]
    if draw(st.integers(0, 4)) == 0:
        out.append(
            draw(
                st.sampled_from(
                    [media(), context("<system-reminder>x</system-reminder>"), context("# CLAUDE.md: never push")]
                )
            )
        )
    for _ in range(draw(st.integers(0, 4))):
        if draw(st.booleans()):
            out.append(think(draw(TEXTS), signed=draw(st.booleans())))
        if draw(st.booleans()):
            out.append(say(draw(SPOKEN)))
        out += draw(calls())
    return out


HISTORIES = st.lists(turns(), min_size=1, max_size=7).map(lambda many: [draft for one in many for draft in one])

PATHS = ("1", "1.1", "1.2", "2", "2'")


@st.composite
def goal_trees(draw: st.DrawFn) -> tuple[Goal, ...]:
    """A tree of five goals of any status, or none. Entries belong to its goals in turn, see `grown`."""
    if draw(st.integers(0, 3)) == 0:
        return ()
    return tuple(
        Goal(
            path,
            f"goal {path}",
            draw(st.sampled_from(list(GoalStatus))),
            parent=path.rpartition(".")[0] or None,
            note=draw(st.sampled_from([None, "the driver has no ENODEV"])),
        )
        for path in PATHS
    )


def grown(
    start: Snapshot | None,
    edits: Any,
    more: Sequence[Draft],
    goals: tuple[Goal, ...] = (),
    pins: frozenset[int] = frozenset(),
) -> Snapshot:
    """The session gone on with `more`, in the version that `edits` make; calls that waited are answered as interrupted or go on waiting."""
    log = () if start is None else start.log()
    done = {call_id for item in log for call_id in item.results}
    waiting = [call_id for item in log for call_id in item.calls if call_id not in done]
    late = [result("interrupted", of=call_id, error=True) for call_id in waiting] if len(more) % 2 else []
    made = items([*late, *more], log)
    owned = [replace(item, goal=PATHS[(item.turn or 0) % len(PATHS)]) for item in made]
    return replace(snapshot(owned, edits, pins=pins), goals=lambda: goals)


def params_of(strategy: Strategy) -> st.SearchStrategy[dict[str, Any]]:
    """Any values a person may give, drawn from what the parameters declare of themselves."""
    return st.fixed_dictionaries({param.name: st.sampled_from(_values(param)) for param in strategy.params})


def _values(param: Param) -> list[Any]:
    match param.kind:
        case "flag":
            return [True, False]
        case "choice":
            return list(param.choices)
        case "share":
            tried: list[Any] = [0.1, 0.5, 0.9]
        case "ranges":
            return ["", "0-4", "2-9,12", "0-3,4-40", "7"]
        case "text":
            return [param.default, "move parse_ledger to src/import/csv.rs"]
        case "count":
            tried = [0, 1, 2, 5]
        case _:
            tried = [0, 60, 250, 900]
    low = float("-inf") if param.low is None else param.low
    high = float("inf") if param.high is None else param.high
    return [param.default, *(value for value in tried if low <= value <= high)]
