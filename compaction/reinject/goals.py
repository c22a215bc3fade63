"""The open goals of a session's own tree, as one short list: so that what is still to be done does not hang on a summary's words."""

from __future__ import annotations

from collections.abc import Sequence

from compaction.plan import Count, Given, GivenAnswer, GoalsAsk
from compaction.tools import one_line
from sessions.contexts import InsertKind
from sessions.entries import GoalStatus
from sessions.goals import Goal

_HEADER = "Goals of this session that are still open:"
_OPEN = (GoalStatus.PENDING, GoalStatus.IN_PROGRESS)
_LONGEST = 300  # characters of one goal


def answer_goals(ask: GoalsAsk, goals: Sequence[Goal], count: Count) -> GivenAnswer:
    """Pending goals and those in progress, in the order of the tree, as many as the budget holds. Inferred ones are no plan of the agent's."""
    still = [goal for goal in goals if goal.status in _OPEN and not goal.inferred]
    if not still:
        return GivenAnswer(ask.key, ())
    lines = [f"- {goal.path}{_mark(goal)} {one_line(goal.text, _LONGEST)}" for goal in still]
    kept: list[str] = [_HEADER]
    used = count([_HEADER])[0]
    for line, tokens in zip(lines, count([line + "\n" for line in lines]), strict=True):
        if used + tokens > ask.most:
            break
        kept.append(line)
        used += tokens
    missing = len(still) - (len(kept) - 1)
    left = (("open goals", f"no room for {missing:,} of {len(still):,}"),) if missing else ()
    if len(kept) == 1:
        return GivenAnswer(ask.key, (), left)
    text = "\n".join(kept)
    seqs = tuple(sorted({goal.last_seq for goal in still[: len(kept) - 1]}))
    return GivenAnswer(ask.key, (Given(InsertKind.GOALS, "open goals", text, count([text])[0], seqs),), left)


def _mark(goal: Goal) -> str:
    return " (in progress)" if goal.status is GoalStatus.IN_PROGRESS else ""
