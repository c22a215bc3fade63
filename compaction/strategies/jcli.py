"""j-cli's way: all but the newest tool results give way to a line each, and past a fixed size the whole history to nine sections.

Its own line names the tool alone. The better one that its makers propose also says what was read: path, pattern and hits, command and exit
code. Its summariser reads the first 80,000 characters of a history, and so loses the newest of a long one: here it reads the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compaction.blocks import is_boundary
from compaction.finishing import finished
from compaction.folding import hopeless
from compaction.outputs import USED, Output, left, outputs_of
from compaction.plan import Answer, Budget, Outcome, Plan, Snapshot
from compaction.strategies.base import Param
from compaction.strategies.emulation import (
    Again,
    Way,
    compact_param,
    folded,
    light,
    summary_param,
    threshold,
    threshold_param,
    used,
)
from compaction.summary.shapes import NINE, WORKFLOWS
from compaction.tools import ToolKind, one_line, output_of
from sessions.contexts import Item
from sessions.meters.tokens import sent_texts
from sessions.windows.others import JCLI as RULE

NAME_ONLY, WHAT_WAS_READ = "the tool's name", "what was read"
EXEMPT = (
    "enterplanmode, exitplanmode, enterworktree, exitworktree, ask, askuser, askuserquestion, loadskill, todowrite, todoread, task, taskcreate, "
    "taskupdate, tasklist, agent, sendmessage, createteammate, plan"
)
ANSWER = "Understood. I go on with the work from here."

_CAP = 20_000
_SHOWN = 100  # characters of a command, or of a file's beginning


class JCli:
    id = "j-cli"
    version = 2
    label = "j-cli"
    about = (
        "Puts a line in the place of older tool results, then turns the history into nine sections; skills come back."
    )
    params: Sequence[Param] = (
        Param("micro", "Lines for old results", "flag", True, source="j-cli 12.9.5"),
        Param("results", "Newest results, whole", "count", 10, 0, source="j-cli 12.9.5: 10"),
        Param("longer", "Only results longer than", "count", 800, 0, source="j-cli 12.9.5: 800 characters"),
        Param(
            "line",
            "The line says",
            "choice",
            WHAT_WAS_READ,
            choices=(NAME_ONLY, WHAT_WAS_READ),
            source="j-cli 12.9.5: the tool's name; what was read: its makers' first proposal, April 2026",
        ),
        Param("exempt", "Tools left whole", "text", EXEMPT, source="j-cli, 2026: its tool policy table"),
        compact_param(),
        threshold_param("j-cli 12.9.5: more than 204,800 by its own estimate"),
        Param("messages", "Person's last messages, kept", "count", 5, 0, source="j-cli, 2026: 5; 12.9.5: none"),
        Param(
            "read",
            "The summariser reads, at most",
            "count",
            80_000,
            0,
            source="j-cli 12.9.5: 80,000 characters, there the first",
        ),
        Param("shape", "Shape of the summary", "choice", WORKFLOWS, choices=(WORKFLOWS, NINE), source="j-cli 12.9.5"),
        Param("skill_each", "Of each skill, at most", "tokens", 5_000, 0, source="j-cli 12.9.5: 5,000"),
        Param("skill_total", "Of all skills, at most", "tokens", 25_000, 0, source="j-cli 12.9.5: 25,000"),
        Param("goals", "Of open goals, at most", "tokens", 0, 0, source="this product's own; j-cli brings none back"),
        Param("acknowledge", "The model answers the summary", "flag", True, source="j-cli 12.9.5"),
        summary_param(f"j-cli 12.9.5: {_CAP:,}"),
    )
    presets: Mapping[str, Mapping[str, Any]] = {
        "jcli-improved": {},
        "jcli-current": {"line": NAME_ONLY},
        "jcli-seed": {"line": NAME_ONLY, "messages": 0},
        "lines only": {"compact": "never"},
    }

    def plan(self, snapshot: Snapshot, budget: Budget, params: Mapping[str, Any]) -> Plan:
        """Lines for results, kept messages, and asks. Linear in the items."""
        name = f"{self.id}:{self.version}"
        refused = hopeless(name, snapshot, budget)
        if refused is not None:
            return refused
        at = threshold(params["threshold"], RULE, budget)
        facts: dict[str, Any] = {"used": used(params, threshold=at), "before": snapshot.total}
        old = older(snapshot, params) if params["micro"] else []
        improved = params["line"] == WHAT_WAS_READ
        less = left(snapshot, budget, [(output, said(output, improved=improved)) for output in old])
        facts["lines_for_results"] = len(old)
        due_at = None if at is None else at + 1  # it compacts where the estimate is more
        done = light(name, params["compact"], less.total, due_at, less, facts)
        if done is not None:
            return done
        spoken = [n for n, item in enumerate(snapshot.items) if is_boundary(item)]
        keep = spoken[-params["messages"] :] if params["messages"] else []
        way = Way(
            params["shape"],
            None if params["summary"] is None else min(_CAP, params["summary"]),
            behind=True,
            reads=lambda items: newest(items, params["read"]),
            answer=ANSWER if params["acknowledge"] else "",
            again=Again(skill_each=params["skill_each"], skill_total=params["skill_total"], goals=params["goals"]),
            window=budget.window,
        )
        return folded(name, snapshot, less, way, keep, facts)

    def finish(self, plan: Plan, snapshot: Snapshot, answers: Sequence[Answer]) -> Outcome:
        return finished(plan, snapshot, answers)


STRATEGY = JCli()


def older(snapshot: Snapshot, params: Mapping[str, Any]) -> list[Output]:
    """The results that give way: all but the newest `results`, where longer than `longer` characters and of no exempt tool."""
    exempt = {_plain(word) for word in params["exempt"].split(",")}
    return [
        output
        for output in outputs_of(snapshot)[params["results"] :]
        if output.free
        and not output.less
        and len(output.part.text) > params["longer"]
        and _plain(output.tool) not in exempt
    ]


def _plain(tool: str) -> str:
    return tool.strip().lower().replace("_", "")


def said(output: Output, *, improved: bool) -> str:
    """The line in the place of a result."""
    call = output.call
    if call is None or not improved:
        return f"{USED}used {output.tool}]"
    text = output_of(output.part).text
    lines = text.count("\n") + 1
    match call.kind:
        case ToolKind.READ | ToolKind.EDIT | ToolKind.WRITE | ToolKind.PATCH:
            found = f"{lines:,} lines: {one_line(text, _SHOWN)}"
        case ToolKind.SEARCH:
            found = f"{sum(bool(line.strip()) for line in text.split(chr(10))):,} hits"
        case ToolKind.RUN:
            code = output_of(output.part).exit_code
            found = f"{lines:,} lines" + ("" if code is None else f", exit {code}")
        case _:
            found = f"{len(text):,} characters"
    failed = "failed, " if output.part.is_error else ""
    return f"{USED}{call.tool} {one_line(call.argument, _SHOWN)} — {failed}{found}]"


def newest(items: Sequence[Item], most: int) -> Sequence[Item]:
    """The newest items of at most `most` characters together; at least the last one."""
    room = most
    for n in range(len(items) - 1, -1, -1):
        room -= sum(len(text) for part in items[n].parts for text in sent_texts(part))
        if room < 0:
            return items[min(n + 1, len(items) - 1) :]
    return items
