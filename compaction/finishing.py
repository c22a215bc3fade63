"""From answers to the new version, for strategies that put in what they were answered and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compaction.merge import file_inserts, fold_inserts, given_inserts, merged, summary_insert
from compaction.plan import Answer, FilesAnswer, GivenAnswer, Outcome, Plan, Snapshot, Status, SummaryAnswer, SummaryAsk
from compaction.summary.shapes import NINE, faults
from sessions.contexts import Insert

LANDS = (Status.COMPLETED, Status.PRUNED_ONLY)


def finished(plan: Plan, snapshot: Snapshot, answers: Sequence[Answer]) -> Outcome:
    """The full edits: masks, folds, summaries, files. An empty or shapeless summary gives no edits and the status that says so."""
    if plan.status not in LANDS:
        return Outcome(snapshot.edits, plan.status, plan.reason)
    written = {answer.key: answer for answer in answers if isinstance(answer, SummaryAnswer)}
    refused = _refused(plan, snapshot, written)
    if refused is not None:
        return refused
    added: list[Insert] = (
        fold_inserts(plan, snapshot, written)
        if plan.folds
        else [summary_insert(plan, snapshot, answer) for answer in written.values()]
    )
    added.extend(plan.inserts)
    warnings: list[str] = []
    for answer in answers:
        if isinstance(answer, FilesAnswer | GivenAnswer):
            again = file_inserts(plan, answer) if isinstance(answer, FilesAnswer) else given_inserts(plan, answer)
            added.extend(again)
            if answer.left_out:
                path, reason = answer.left_out[0]
                more = f", and {len(answer.left_out) - 1} more" if len(answer.left_out) > 1 else ""
                warnings.append(f"not brought back: {path} ({reason}){more}")
    return Outcome(merged(snapshot, plan, added), plan.status, plan.reason, tuple(warnings))


def _refused(plan: Plan, snapshot: Snapshot, written: Mapping[str, SummaryAnswer]) -> Outcome | None:
    shapes = {ask.key: ask.template for ask in plan.asks if isinstance(ask, SummaryAsk)}
    for key, answer in written.items():
        wrong = faults(shapes.get(key, NINE), answer.text)
        if wrong:
            empty = not answer.text.strip()
            status = Status.FAILED_EMPTY_SUMMARY if empty else Status.FAILED_BAD_TEMPLATE
            return Outcome(snapshot.edits, status, "; ".join(wrong))
    return None
